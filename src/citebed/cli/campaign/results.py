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

    from citebed.judging.store.campaign_store import Transaction


@campaign.command()
def agreement(folder: Folder, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """Measure agreement on papers judged twice: raw, Cohen's kappa, Krippendorff's alpha.

    Example: citebed campaign agreement cr26
    """
    nothing = (
        "no paper has two judgements yet. Assign a second assessor with 'citebed campaign second'"
    )
    _print_or_say(open_folder(folder).agreement, nothing, as_json, as_csv)


def _print_or_say(table: pl.DataFrame, nothing: str, as_json: bool, as_csv: bool) -> None:
    """Print a table, or the reason why it is empty."""
    if table.is_empty():
        say(nothing)
    if not table.is_empty() or as_json or as_csv:
        print_table(table, as_json, as_csv)


@campaign.command()
def disagreements(folder: Folder, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """List papers on which assessors disagree, with every judgement.

    Example: citebed campaign disagreements cr26
    """
    nothing = "no paper has different judgements from two assessors"
    _print_or_say(open_folder(folder).disagreements, nothing, as_json, as_csv)


@campaign.command()
def status(folder: Folder, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """Show the state of every form (in outbox, sent, opened, begun, finished) and the open tasks.

    A mail is "sent" only if citebed gave it to a mail server. A mail that was written to the outbox
    stays "in outbox", even after you sent it yourself.

    Example: citebed campaign status cr26
    """
    from citebed.judging.status import mails_in_outbox
    from citebed.report.campaign import campaign_counts

    opened = open_folder(folder)
    print_table(opened.status(), as_json, as_csv)
    with opened.reading() as tx:
        say(campaign_counts(tx))
        if waiting := mails_in_outbox(tx):
            say(f"note: {count(waiting, 'mail')} in {printable(opened.outbox)}: send them from "
                f"there, or with 'citebed campaign invite {printable(folder)} --send'")  # fmt: skip
        note_what_closing_does(tx)


def note_what_closing_does(tx: Transaction) -> None:
    """Print how many questions the rule on co-authors will exclude."""
    from citebed.judging.questions import exclusions_at_closing

    if due := exclusions_at_closing(tx):
        say(f"note: {count(len(due), 'question')} of co-authors whose first author also answered "
            "will be excluded when 'citebed campaign close' closes phase one")  # fmt: skip


@campaign.command()
def problems(
    folder: Folder,
    settle: Annotated[
        list[str] | None,
        typer.Option(
            help="Mark as settled: a problem's number, or a file for all its problems (repeatable)."
        ),
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """List unreadable answers in returned forms, with line numbers.

    Example: citebed campaign problems cr26
    """
    opened = open_folder(folder)
    if settle:
        wanted = (int(each) if each.isascii() and each.isdigit() else each for each in settle)
        say(f"settled {count(opened.settle(*wanted), 'problem')}")
    print_table(opened.problems, as_json, as_csv)


@campaign.command()
def exclusions(folder: Folder, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """List excluded questions, the reasons, and whether an exclusion was undone.

    Example: citebed campaign exclusions cr26
    """
    print_table(open_folder(folder).exclusions, as_json, as_csv)


@campaign.command()
def tables(
    folder: Folder,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Table: returns, reformulations, comparison, sources or cranfield (repeatable)."
        ),
    ] = None,
    latex: AsLatex = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Print the tables of the paper: returns, reformulations, collections, documents by source.

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
    """Print some or all tables, each under its title."""
    from citebed.report.campaign import TITLES
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
        table = tables[name].drop("simulated", strict=False)  # the title already says it
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
    output: Annotated[Path, typer.Option("-o", "--output", help="Output folder.")],
    graded: Annotated[
        bool, typer.Option("--graded", help="Keep the grades of phase one (default: binary).")
    ] = False,
    to: Annotated[
        list[str] | None,
        typer.Option(help="Also export the whole collection as beir or ir_datasets (repeatable)."),
    ] = None,
) -> None:
    """Write the judgements as qrels, with topics, pools and a version made from their content.

    t1.qrels and t12.qrels contain the queries judged in both phases, ready for 'citebed contrast';
    the files named all-queries contain every query.

    Example: citebed campaign export cr26 -o qrels/
    """
    from citebed.judging.export import FILES

    opened = open_folder(folder)
    with opened.reading() as tx:
        note_what_closing_does(tx)
    done = opened.export(
        output, graded=graded, shapes=to or ()
    )  # last, so that an error leaves no folder
    typer.echo(f"wrote {printable(done.folder)}, version {done.version}")
    for name, (queries, judged) in done.sets.items():
        typer.echo(f"  {FILES[name]}: {count(judged, 'judgement')} of {count(queries, 'query')}")
    for each in done.restated:
        say(f"warning: {printable(each.warning())}")
    if done.restated:
        say("These judgements were made for an earlier wording. Ask the author again, or exclude "
            "the question with 'citebed campaign exclude'.")  # fmt: skip
    if done.sets["t1"][0]:
        say(f"Next: citebed contrast {printable(output / FILES['t1'])} "
            f"{printable(output / FILES['t12'])} RUN…")  # fmt: skip
    else:
        say(f"note: no query is judged in both phases yet: {FILES['t1']} and {FILES['t12']} are "
            "empty")  # fmt: skip


@campaign.command()
def backup(
    folder: Folder, file: Annotated[Path, typer.Argument(help="Backup file (.jsonl or .jsonl.gz).")]
) -> None:
    """Write the whole campaign into one JSON Lines file. Assessors can keep working meanwhile.

    Example: citebed campaign backup cr26 cr26.jsonl.gz
    """
    rows = open_folder(folder).backup(file)
    judged = count(rows["judgements"], "judgement")
    typer.echo(f"wrote {printable(file)}: {judged}, {count(sum(rows.values()), 'row')} in all")


@campaign.command()
def restore(
    folder: Folder,
    file: Annotated[Path, typer.Argument(help="A backup.")],
    collection: Annotated[Path, typer.Option(help="Collection that the campaign judges.")],
    database: Database = None,
) -> None:
    """Restore a campaign from a backup, into a new folder and an empty database.

    Example: citebed campaign restore again/ cr26.jsonl.gz --collection mine/
    """
    from citebed.judging import restore_campaign

    restored = restore_campaign(file, folder, collection, database)
    typer.echo(f"restored {restored.name} with {count(restored.judgements.height, 'judgement')}")
    if missing := restored.not_in_collection():
        say(f"note: {count(len(missing), 'judged paper')} are not in {printable(collection)}, "
            f"e.g. {printable(missing[0])}. Is this the collection that was judged?")  # fmt: skip


@campaign.command()
def simulate(
    collection: Annotated[Path, typer.Argument(help="Collection with judgements.")],
    pool: Annotated[int, typer.Option(min=1, help="Documents per query in phase two.")] = 15,
    judges: Annotated[int, typer.Option(min=1, help="Number of invited authors.")] = 60,
    seed: Annotated[
        int, typer.Option(help="Random seed; the same seed repeats the same campaign.")
    ] = 0,
    queries: Annotated[
        str | None, typer.Option(help="Query set (default: the first with judgements).")
    ] = None,
    response: Annotated[
        float,
        typer.Option(
            help="Probability that an invited author answers phase one.", show_default="85 of 500"
        ),
    ] = 85 / 500,
    response_two: Annotated[
        float,
        typer.Option(
            help="Probability that an invited author answers phase two.", show_default="44 of 74"
        ),
    ] = 44 / 74,
    noise: Annotated[
        float, typer.Option(help="Probability that a simulated judgement is flipped.")
    ] = 0.05,
    laziness: Annotated[
        float, typer.Option(help="Probability that an item at the end of a list stays unanswered.")
    ] = 0.1,
    cited: Annotated[
        float,
        typer.Option(
            help="Share of the relevant documents that a paper cites.",
            show_default="4.82 of 11.39",
        ),
    ] = 4.82 / 11.39,
    irrelevant: Annotated[
        int, typer.Option(min=0, help="Number of other documents that a paper cites.")
    ] = 3,
    effort: Annotated[
        int,
        typer.Option(
            min=0,
            help="Results per query that the organiser checks by hand, over several searches.",
        ),
    ] = 20,
    skill: Annotated[
        float, typer.Option(help="Probability that the organiser judges a result correctly.")
    ] = 0.8,
    system: Annotated[
        list[str] | None,
        typer.Option(help="Run file or model (repeatable; default: the paper's three models)."),
    ] = None,
    method: Method = "rounds",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Keep the campaign in this new folder.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Table: expected, drawn, or one of 'campaign tables' (repeatable)."),
    ] = None,
    latex: AsLatex = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Simulate a whole campaign on a judged collection, to plan a real one.

    Each invited author gets a judged query as the question behind a paper. By default, response
    rates and the number of cited papers follow the campaign of Ritchie, Robertson & Teufel; noise,
    laziness, effort and skill are guesses. Unjudged documents count as not relevant. Everything
    printed is marked SIMULATED.

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
    say(f"SIMULATED with the query set '{played.query_set}': citebed asked no author and sent no "
        "mail.")  # fmt: skip
    if played.queries.height < 30:
        say(f"note: {count(played.queries.height, 'query')} with both phases; with more --judges, "
            "or --response 1 --response-two 1, the intervals are narrower")  # fmt: skip
    if output is not None:
        say(f"The campaign is stored. See it with: citebed campaign status {printable(output)}")
