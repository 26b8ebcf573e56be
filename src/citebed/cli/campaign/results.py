"""Results: ``campaign status``, ``tables``, ``export``, ``backup``, ``simulate`` …"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.campaign.options import METHOD, Database, Folder, open_folder, print_table
from citebed.cli.options import RowOptions
from citebed.cli.output import print_rows, say
from citebed.errors import UnknownName
from citebed.judging.crate import CrateOptions
from citebed.options import option
from citebed.wording import count, printable

if TYPE_CHECKING:
    import polars as pl

    from citebed.judging.store.campaign_store import Transaction


def agreement(folder: Folder, output: RowOptions) -> None:
    """Measure agreement on papers judged twice. Prints raw, Cohen's kappa, Krippendorff's alpha.

    Example: citebed campaign agreement cr26
    """
    nothing = "no paper has two judgements yet. Get them with 'citebed campaign second'"
    print_or_say(open_folder(folder).agreement, nothing, output.style)


def print_or_say(table: pl.DataFrame, nothing: str, style: str) -> None:
    """Print a table, or the reason why it is empty."""
    if table.is_empty():
        say(nothing)
    if not table.is_empty() or style != "table":
        print_table(table, style)


def disagreements(folder: Folder, output: RowOptions) -> None:
    """List all judgements of papers on which assessors disagree.

    Example: citebed campaign disagreements cr26
    """
    nothing = "no paper has different judgements from two assessors"
    print_or_say(open_folder(folder).disagreements, nothing, output.style)


def status(folder: Folder, output: RowOptions) -> None:
    """Show the state of every form, and the open tasks.

    The states are: in outbox, sent, opened, begun, finished. A mail is "sent" only if citebed gave
    it to a mail server. If you send it yourself from the outbox, it stays "in outbox".

    Example: citebed campaign status cr26
    """
    from citebed.judging.status import mails_in_outbox
    from citebed.report.campaign import campaign_counts

    opened = open_folder(folder)
    print_table(opened.status(), output.style)
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


def problems(
    folder: Folder,
    output: RowOptions,
    settle: tuple[str, ...] = option(
        (), "Mark as settled: a problem's number, or a file for all its problems (repeatable)."
    ),
) -> None:
    """List unreadable lines of returned forms.

    Example: citebed campaign problems cr26
    """
    opened = open_folder(folder)
    if settle:
        wanted = (int(each) if each.isascii() and each.isdigit() else each for each in settle)
        say(f"settled {count(opened.settle(*wanted), 'problem')}")
    print_table(opened.problems, output.style)


def exclusions(folder: Folder, output: RowOptions) -> None:
    """List exclusions of questions, and why.

    Example: citebed campaign exclusions cr26
    """
    print_table(open_folder(folder).exclusions, output.style)


@dataclass(frozen=True, kw_only=True)
class TableChoice(RowOptions):
    """Which tables to print, and how."""

    only: tuple[str, ...] = option(
        (),
        "Print only this table: returns, reformulations, comparison, sources, cranfield, times, "
        "strengths, preference_agreement or position; "
        "after a simulation also expected or drawn (repeatable).",
    )
    latex: bool = option(False, "Print LaTeX.")

    @property
    def format(self) -> str | None:
        """The format beside JSON and CSV."""
        return "latex" if self.latex else None

    def print_tables(self, tables: dict[str, pl.DataFrame], *, simulated: bool) -> None:
        """Print some or all tables, each under its title."""
        from citebed.report.campaign import TITLES
        from citebed.report.tables import frame_table

        def cell(value: Any) -> str:
            if isinstance(value, float):
                return f"{value:,.2f}"
            return f"{value:,}" if isinstance(value, int) else str(value)

        names, style = self.only or tuple(tables), self.style
        for name in names:
            if name not in tables:
                raise UnknownName("table", name, tables)
        if style in ("json", "csv"):
            rows = [{"table": name, **row} for name in names for row in tables[name].to_dicts()]
            print_rows(rows, style)
            return
        for name in names:
            table = tables[name].drop("simulated", strict=False)  # the title already says it
            mark = "% " if style == "latex" else ""
            label = " (SIMULATED)" if simulated else ""
            typer.echo(f"{mark}{TITLES.get(name, name)}{label}")
            typer.echo(frame_table(table, cell).written(style))


def tables(folder: Folder, options: TableChoice) -> None:
    """Print summary tables of returns, rewordings and sources.

    Example: citebed campaign tables cr26 --latex
    """
    opened = open_folder(folder)
    options.print_tables(opened.tables(), simulated=opened.simulated)
    with opened.reading() as tx:
        note_what_closing_does(tx)


def preferences(folder: Folder, options: TableChoice) -> None:
    """Score papers that assessors compared in pairs, by the model of Bradley and Terry.

    Prints strengths with 95 % intervals, agreement, and how often the left paper won. 0 is an
    average paper of the query. If one assessor compared the papers of a query, the intervals are
    about that person's preferences only.

    Example: citebed campaign preferences cr26
    """
    opened = open_folder(folder)
    if not (tables := opened.preferences.tables()):
        say("no assessor has compared papers yet. Let them with 'citebed campaign compare'")
        options = replace(options, only=())
    options.print_tables(tables, simulated=opened.simulated)


def export(
    folder: Folder,
    output: Annotated[Path, typer.Option("-o", "--output", help="Output folder.")],
    published: CrateOptions,
    graded: bool = option(False, "Keep the grades of phase one (default: binary)."),
    to: tuple[str, ...] = option(
        (), "Also export the whole collection as beir or ir_datasets (repeatable)."
    ),
) -> None:
    """Write the judgements as qrels, with topics and pools. Their hash is the version.

    t1.qrels and t12.qrels contain the queries judged in both phases, ready for 'citebed contrast';
    the files named all-queries contain all queries that are not excluded. ro-crate-metadata.json
    describes the files for repositories.

    Example: citebed campaign export cr26 -o qrels/
    """
    from citebed.judging.export import FILES

    opened = open_folder(folder)
    with opened.reading() as tx:
        note_what_closing_does(tx)
    done = opened.export(
        output, graded=graded, shapes=to, **vars(published)
    )  # last, so that an error leaves no folder
    typer.echo(f"wrote {printable(done.folder)}, version {done.version}")
    for name, (queries, judged) in (done.sets | dict(done.machines)).items():
        size = f"{count(judged, 'judgement')} of {count(queries, 'query')}"
        typer.echo(f"  {FILES.get(name, name)}: {size}")
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


def backup(
    folder: Folder, file: Annotated[Path, typer.Argument(help="Backup file (.jsonl or .jsonl.gz).")]
) -> None:
    """Write the whole campaign into one JSON Lines file. Assessors can keep working.

    Example: citebed campaign backup cr26 cr26.jsonl.gz
    """
    rows = open_folder(folder).backup(file)
    judged = count(rows["judgements"], "judgement")
    typer.echo(f"wrote {printable(file)}: {judged}, {count(sum(rows.values()), 'row')} in all")


def restore(
    folder: Folder,
    file: Annotated[Path, typer.Argument(help="A backup.")],
    collection: Annotated[Path, typer.Option(help="Collection that the campaign judges.")],
    database: Database = None,
) -> None:
    """Restore a campaign from a backup. The folder must be new, the database empty.

    Example: citebed campaign restore again/ cr26.jsonl.gz --collection mine/
    """
    from citebed.judging import restore_campaign

    restored = restore_campaign(file, folder, collection, database)
    typer.echo(f"restored {restored.name} with {count(restored.judgements.height, 'judgement')}")
    if missing := restored.not_in_collection():
        say(f"note: {count(len(missing), 'judged paper')} are not in {printable(collection)}, "
            f"e.g. {printable(missing[0])}. Is this the collection that was judged?")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SimulateCommand:
    """The options of a simulated campaign."""

    pool: int = option(15, "Documents per query in phase two.", min=1)
    judges: int = option(60, "Number of invited authors.", min=1)
    seed: int = option(0, "Random seed; the same seed repeats the same campaign.")
    response: float = option(
        85 / 500, "Probability that an invited author answers phase one.", show_default="85 of 500"
    )
    response_two: float = option(
        44 / 74, "Probability that an invited author answers phase two.", show_default="44 of 74"
    )
    noise: float = option(0.05, "Probability that a simulated judgement is flipped.")
    laziness: float = option(0.1, "Probability that an item at the end of a list stays unanswered.")
    cited: float = option(
        4.82 / 11.39,
        "Share of the relevant documents that a paper cites.",
        show_default="4.82 of 11.39",
    )
    irrelevant: int = option(3, "Number of other documents that a paper cites.", min=0)
    effort: int = option(
        20, "Results per query that the organiser checks by hand, over several searches.", min=0
    )
    skill: float = option(0.8, "Probability that the organiser judges a result correctly.")
    systems: tuple[str, ...] = option(
        (), "Run or model (repeatable; default: Okapi, KL divergence and cosine).", "--system"
    )
    method: str = option("rounds", METHOD)


def simulate(
    collection: Annotated[Path, typer.Argument(help="Collection with judgements.")],
    options: SimulateCommand,
    tables: TableChoice,
    queries: str | None = option(None, "Query set (default: the first with judgements)."),
    output: Path | None = option(None, "Keep the campaign in this new folder.", "-o", "--output"),
) -> None:
    """Simulate a campaign on a judged collection, to plan one.

    Each simulated author gets a judged query as the research question of a paper. By default,
    response rates and the number of cited papers follow the campaign of Ritchie, Robertson &
    Teufel; noise, laziness, effort and skill are guesses. Unjudged documents count as not relevant.
    Everything printed is marked SIMULATED.

    Example: citebed campaign simulate cranfield/ --pool 15 --judges 60 --seed 7
    """
    from citebed.judging import SimulationOptions
    from citebed.judging import simulate as run_simulation

    played = run_simulation(collection, queries, SimulationOptions(**vars(options)), folder=output)
    tables.print_tables(played.tables, simulated=True)
    say(f"SIMULATED with the query set '{played.query_set}': citebed asked no author and sent no "
        "mail.")  # fmt: skip
    if played.queries.height < 30:
        say(f"note: {count(played.queries.height, 'query')} with both phases; with more --judges, "
            "or --response 1 --response-two 1, the intervals are narrower")  # fmt: skip
    if output is not None:
        say(f"The campaign is stored. See it with: citebed campaign status {printable(output)}")
