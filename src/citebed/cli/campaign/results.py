"""Results: ``campaign status``, ``tables``, ``export``, ``backup``, ``simulate`` …"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.campaign.options import (
    AsLatex,
    Database,
    Folder,
    Method,
    campaign,
    open_folder,
    print_table,
)
from citebed.cli.output import AsCsv, AsJson, print_rows, say, style_of
from citebed.errors import UnknownName
from citebed.wording import count, printable

if TYPE_CHECKING:
    import polars as pl

    from citebed.judging.store.handle import Transaction


@campaign.command()
def agreement(folder: Folder, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """How far judges agree on papers judged twice: raw, Cohen's kappa, Krippendorff's alpha.

    Example: citebed campaign agreement cr26
    """
    nothing = (
        "no paper was judged by two yet: have a list judged again with 'citebed campaign second'"
    )
    _print_or_say(open_folder(folder).agreement, nothing, as_json, as_csv)


def _print_or_say(table: pl.DataFrame, nothing: str, as_json: bool, as_csv: bool) -> None:
    """A table; where it is empty, people read why."""
    if table.is_empty():
        say(nothing)
    if not table.is_empty() or as_json or as_csv:
        print_table(table, as_json, as_csv)


@campaign.command()
def disagreements(folder: Folder, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """Papers that judges of a question value differently, with what each of them said.

    Example: citebed campaign disagreements cr26
    """
    nothing = "no paper is valued differently by two judges"
    _print_or_say(open_folder(folder).disagreements, nothing, as_json, as_csv)


@campaign.command()
def status(folder: Folder, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """Every form: sent, opened, begun, finished; and what is left to do.

    Example: citebed campaign status cr26
    """
    from citebed.judging.results.status import campaign_counts

    opened = open_folder(folder)
    print_table(opened.status(), as_json, as_csv)
    with opened.reading() as tx:
        say(campaign_counts(tx))
        note_what_closing_does(tx)


def note_what_closing_does(tx: Transaction) -> None:
    """Say how many questions the rule on co-authors is about to take, before it does."""
    from citebed.judging.asking.questions import due_at_closing

    if due := due_at_closing(tx):
        say(f"note: {count(len(due), 'question')} of co-authors whose first author answered too "
            "will be set aside when phase one is closed: 'citebed campaign close'")  # fmt: skip


@campaign.command()
def problems(
    folder: Folder,
    settle: Annotated[
        list[str] | None,
        typer.Option(help="A problem's number, or a file for all of its; may be repeated."),
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """What could not be read in what came back, with its line.

    Example: citebed campaign problems cr26
    """
    opened = open_folder(folder)
    if settle:
        wanted = (int(each) if each.isascii() and each.isdigit() else each for each in settle)
        say(f"settled {count(opened.settle(*wanted), 'problem')}")
    print_table(opened.problems, as_json, as_csv)


@campaign.command()
def exclusions(folder: Folder, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """Every question that was set aside, why, and whether it was taken back.

    Example: citebed campaign exclusions cr26
    """
    print_table(open_folder(folder).exclusions, as_json, as_csv)


@campaign.command()
def tables(
    folder: Folder,
    only: Annotated[
        list[str] | None,
        typer.Option(help="returns, reformulations, comparison, sources or cranfield; repeat."),
    ] = None,
    latex: AsLatex = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """The tables of the paper: returns, reformulations, collections, documents by source.

    Example: citebed campaign tables cr26 --latex
    """
    opened = open_folder(folder)
    print_tables(opened.tables(), only, style_of("latex" if latex else None, as_json, as_csv),
                 simulated=opened.simulated)  # fmt: skip
    with opened.reading() as tx:
        note_what_closing_does(tx)


def print_tables(
    tables: dict[str, pl.DataFrame], only: list[str] | None, style: str, *, simulated: bool
) -> None:
    """Some or all tables, each under its title."""
    from citebed.judging.results.tables import TITLES
    from citebed.report.tables import frame_table

    names = only or list(tables)
    for name in names:
        if name not in tables:
            raise UnknownName("table", name, tables)
    if style in ("json", "csv"):
        print_rows([{"table": name, **row} for name in names for row in tables[name].to_dicts()],
                   style)  # fmt: skip
        return
    for name in names:
        table = tables[name].drop("simulated", strict=False)  # the title says so
        mark = "% " if style == "latex" else ""
        label = " (SIMULATED)" if simulated else ""
        typer.echo(f"{mark}{TITLES.get(name, name)}{label}")
        typer.echo(frame_table(table, _figure).written(style))


def _figure(value: Any) -> str:
    return (
        f"{value:,.2f}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )


@campaign.command()
def export(
    folder: Folder,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write.")],
    graded: Annotated[
        bool, typer.Option("--graded", help="Keep the grades of phase one; binary otherwise.")
    ] = False,
    to: Annotated[
        list[str] | None,
        typer.Option(help="Also the whole collection as beir or ir_datasets; may be repeated."),
    ] = None,
) -> None:
    """Write J1, J2 and J1+2 as qrels, with topics, pools, and a version by their content.

    Example: citebed campaign export cr26 -o qrels/
    """
    opened = open_folder(folder)
    done = opened.export(output, graded=graded, shapes=to or ())
    with opened.reading() as tx:
        note_what_closing_does(tx)
    typer.echo(f"wrote {printable(done.folder)}, version {done.version}")
    for name, (queries, judged) in done.sets.items():
        typer.echo(f"  {name}.qrels: {count(judged, 'judgement')} of {count(queries, 'query')}")


@campaign.command()
def backup(
    folder: Folder, file: Annotated[Path, typer.Argument(help="A .jsonl or .jsonl.gz.")]
) -> None:
    """Write everything into one file of JSON Lines, also while judges are at work.

    Example: citebed campaign backup cr26 cr26.jsonl.gz
    """
    rows = open_folder(folder).backup(file)
    judged = count(rows["judgements"], "judgement")
    typer.echo(f"wrote {printable(file)}: {judged}, {count(sum(rows.values()), 'row')} in all")


@campaign.command()
def restore(
    folder: Folder,
    file: Annotated[Path, typer.Argument(help="A backup.")],
    collection: Annotated[Path, typer.Option(help="The collection that is judged.")],
    database: Database = None,
) -> None:
    """Make a campaign of a backup, in a new folder and an empty database.

    Example: citebed campaign restore again/ cr26.jsonl.gz --collection mine/
    """
    from citebed.judging import restore_campaign

    restored = restore_campaign(file, folder, collection, database)
    typer.echo(f"restored {restored.name} with {count(restored.judgements.height, 'judgement')}")
    if missing := restored.not_in_collection():
        say(f"note: {count(len(missing), 'judged paper')} are not in {printable(collection)}, "
            f"{printable(missing[0])} first: is it the collection that was judged?")  # fmt: skip


@campaign.command()
def simulate(
    collection: Annotated[Path, typer.Argument(help="A judged collection.")],
    pool: Annotated[int, typer.Option(min=1, help="Documents a query in phase two.")] = 15,
    judges: Annotated[int, typer.Option(min=1, help="Authors who are invited.")] = 60,
    seed: Annotated[int, typer.Option(help="The same seed plays the same campaign.")] = 0,
    queries: Annotated[
        str | None, typer.Option(help="A query set; by default the first that is judged.")
    ] = None,
    response: Annotated[
        float,
        typer.Option(
            help="The chance that somebody invited answers phase one.", show_default="85 of 500"
        ),
    ] = 85 / 500,
    response_two: Annotated[
        float,
        typer.Option(
            help="The chance that somebody invited answers phase two.", show_default="44 of 74"
        ),
    ] = 44 / 74,
    noise: Annotated[float, typer.Option(help="The chance that a judgement is turned.")] = 0.05,
    laziness: Annotated[
        float, typer.Option(help="The chance of each place at a list's end to stay unanswered.")
    ] = 0.1,
    cited: Annotated[
        float,
        typer.Option(
            help="The share of the relevant documents that a paper cites.",
            show_default="4.82 of 11.39",
        ),
    ] = 4.82 / 11.39,
    irrelevant: Annotated[int, typer.Option(min=0, help="Other documents that a paper cites.")] = 3,
    effort: Annotated[
        int,
        typer.Option(
            min=0,
            help="Results a query that the organiser looks at by hand, over several searches.",
        ),
    ] = 20,
    skill: Annotated[
        float, typer.Option(help="The chance that the organiser is right about a result.")
    ] = 0.8,
    system: Annotated[
        list[str] | None,
        typer.Option(help="A run's file or a model; repeat. The paper's three models by default."),
    ] = None,
    method: Method = "rounds",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Keep the campaign in this new folder.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="expected, drawn, or a table of 'campaign tables'; repeat."),
    ] = None,
    latex: AsLatex = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Play a whole campaign on a judged collection with made-up authors, to plan a real one.

    Each invited author is given a judged query as the question behind a paper. How many answer,
    and how much they were found to cite, is by default as in Ritchie, Robertson & Teufel's
    campaign; noise, laziness, effort and skill are guesses. Unjudged documents count as not
    relevant. Everything printed is SIMULATED.

    Example: citebed campaign simulate cranfield/ --pool 15 --judges 60 --seed 7
    """
    from citebed.judging import SimulationOptions
    from citebed.judging import simulate as play

    style = style_of("latex" if latex else None, as_json, as_csv)
    shares = {"response": response, "response_two": response_two, "noise": noise}
    shares |= {"laziness": laziness, "cited": cited, "skill": skill}
    options = SimulationOptions(
        pool=pool, judges=judges, seed=seed, irrelevant=irrelevant, effort=effort,
        systems=tuple(system or ()), method=method, **shares,
    )  # fmt: skip
    played = play(collection, queries, options, folder=output)
    print_tables(played.tables, only, style, simulated=True)
    say(f"SIMULATED with the query set '{played.query_set}': no author was asked, "
        "no mail was sent.")  # fmt: skip
    if played.queries.height < 30:
        say(f"note: {count(played.queries.height, 'query')} with both phases; with more --judges, "
            "or --response 1 --response-two 1, the intervals are narrower")  # fmt: skip
    if output is not None:
        say(f"The campaign is kept: citebed campaign status {printable(output)}")
