"""The verbs of a campaign: ``campaign new``, ``invite``, ``returns``, ``pool``, ``export`` …"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.judgement_sets import say
from citebed.cli.output import AsCsv, AsJson
from citebed.cli.scoring_options import print_rows, style_of
from citebed.errors import CitebedError, UnknownName
from citebed.wording import count, for_terminal, printable

if TYPE_CHECKING:
    import polars as pl

    from citebed.judging import Campaign
    from citebed.judging.mails import Smtp

campaign = typer.Typer(
    help="Build a test collection with the authors of its papers, in two phases.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[
    Path, typer.Argument(metavar="CAMPAIGN", help="The campaign's folder.", show_default=False)
]
Url = Annotated[
    str | None, typer.Option("--database", help="Another place than its file names.", hidden=True)
]
Forms = Annotated[
    str, typer.Option(help="The kinds of form in a mail, by commas: text, pdf, html, web.")
]
Outbox = Annotated[
    Path | None, typer.Option(help="Where the mails are written; CAMPAIGN/outbox by default.")
]
Send = Annotated[bool, typer.Option("--send", help="Send what waits, by the campaign's SMTP.")]
ALL_FORMS = "text,pdf,html,web"


def _open(folder: Path, database: str | None = None) -> Campaign:
    from citebed.judging import open_campaign

    return open_campaign(folder, database)


def _print(table: pl.DataFrame, as_json: bool, as_csv: bool) -> None:
    """A table for people, or its rows for programs."""
    from citebed.report.grid import Grid

    style = style_of(None, as_json, as_csv)
    if style != "table":
        rows = table.with_columns(_times(table)).to_dicts()
        print_rows(rows, style)
        return
    cells = [["" if cell is None else _cell(cell) for cell in row] for row in table.iter_rows()]
    left = frozenset(range(table.width))
    typer.echo(Grid(table.columns, cells, left).text(), nl=False)


def _times(table: pl.DataFrame) -> list[pl.Expr]:
    import polars as pl

    return [
        pl.col(name).dt.strftime("%Y-%m-%dT%H:%M:%SZ")
        for name, kind in table.schema.items()
        if isinstance(kind, pl.Datetime)
    ]


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return for_terminal(text if len(text) <= 60 else f"{text[:59]}…")


# --- phase one --------------------------------------------------------------------------------


@campaign.command()
def new(
    folder: Folder,
    collection: Annotated[Path, typer.Option(help="The collection to be judged.")],
    papers: Annotated[
        Path, typer.Option(help="Source papers with authors and addresses: CSV or BibTeX.")
    ],
    title: Annotated[str | None, typer.Option(help="What it is called in mails.")] = None,
    organiser: Annotated[str, typer.Option(help="Who signs the mails.")] = "",
    contact: Annotated[str, typer.Option(help="The organiser's mail address.")] = "",
    address: Annotated[
        str, typer.Option(help="Where 'citebed serve' will be reached.")
    ] = "http://localhost:8000",
    grades: Annotated[
        int, typer.Option(min=2, max=9, help="Grades of phase one; other than 4 need --grade.")
    ] = 4,
    grade: Annotated[
        list[str] | None, typer.Option(help="What a grade means, the lowest first; repeat.")
    ] = None,
    relevant_from: Annotated[int, typer.Option(help="The lowest grade that is relevant.")] = 2,
    database: Annotated[
        str | None,
        typer.Option(help="postgresql://…; by default a file in the collection's folder."),
    ] = None,
) -> None:
    """Start a campaign: its source papers, their authors and reference lists.

    Example: citebed campaign new cr26 --collection mine/ --papers papers.csv --contact me@uni.org
    """
    from citebed.judging import new_campaign
    from citebed.judging.settings import FOUR_GRADES

    words = tuple(grade or (FOUR_GRADES if grades == len(FOUR_GRADES) else ()))
    if len(words) != grades:
        raise CitebedError(f"{grades} grades need {grades} times --grade, the lowest first; "
                           f"{len(words)} were given.")  # fmt: skip
    settings: dict[str, Any] = {"title": title} if title else {}
    settings |= {"organiser": organiser, "contact": contact, "address": address}
    settings |= {"grades": words, "relevant_from": relevant_from}
    made = new_campaign(folder, collection, papers, database=database, **settings)
    with made.reading() as connection:
        from citebed.judging.status import campaign_counts

        typer.echo(campaign_counts(made, connection))
    say(f"Its database is {printable(made.database.url)}. Next: citebed campaign invite "
        f"{printable(folder)}")  # fmt: skip


@campaign.command()
def papers(folder: Folder, file: Annotated[Path, typer.Argument(help="CSV or BibTeX.")]) -> None:
    """Add source papers; those that the campaign has stay as they are.

    Example: citebed campaign papers cr26 more.csv
    """
    added = _open(folder).add_papers(file)
    typer.echo(f"added {count(added, 'paper')}")


@campaign.command()
def invite(
    folder: Folder,
    forms: Forms = ALL_FORMS,
    outbox: Outbox = None,
    on: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="As of this day: papers online by then."),
    ] = None,
    send: Send = False,
) -> None:
    """Write to everybody who is due, once: first authors' questions, then the pooled papers.

    Example: citebed campaign invite cr26 --forms text,pdf,html,web
    """
    opened = _open(folder)
    written = opened.invite(_ways(forms), outbox, on=on.date() if on else None)
    _told(opened, written, outbox, send)


@campaign.command()
def remind(
    folder: Folder,
    forms: Forms = ALL_FORMS,
    outbox: Outbox = None,
    after_days: Annotated[int, typer.Option(min=0, help="Days since the last mail.")] = 7,
    send: Send = False,
) -> None:
    """Write again to those who have not answered; never to those who opted out.

    Example: citebed campaign remind cr26 --after-days 10
    """
    opened = _open(folder)
    written = opened.remind(_ways(forms), outbox, after_days=after_days)
    _told(opened, written, outbox, send)


def _ways(forms: str) -> list[str]:
    return [way.strip() for way in forms.split(",") if way.strip()]


def _told(opened: Campaign, written: list[Path], outbox: Path | None, send: bool) -> None:
    place = printable(outbox or opened.outbox)
    typer.echo(f"wrote {count(len(written), 'mail')} into {place}")
    if not send:
        return
    sent = opened.send(_smtp(opened.folder))
    typer.echo(f"sent {sent.sent}, failed {sent.failed}, to be tried again {sent.later}")
    if sent.unsure:
        say(f"note: {count(len(sent.unsure), 'mail')} may or may not have gone out when a run was "
            f"cut short, and will not be sent again: {', '.join(sent.unsure[:5])}")  # fmt: skip


def _smtp(folder: Path) -> Smtp:
    from citebed.judging.campaign import FILE, campaign_file
    from citebed.judging.mails import Smtp

    facts = campaign_file(folder).get("smtp")
    if not isinstance(facts, dict) or "host" not in facts:
        raise CitebedError(
            'no mail server is set up: write [smtp] and host = "…" into '
            f"{printable(folder / FILE)}, or send the mails from the outbox."
        )
    try:
        return Smtp(**facts)
    except TypeError as error:
        raise CitebedError(f"[smtp] in {printable(folder / FILE)}: expected host, port, user, "
                           "starttls, per_minute.") from error  # fmt: skip


@campaign.command()
def returns(
    folder: Folder,
    paths: Annotated[list[Path], typer.Argument(help="Files and folders.", metavar="PATH…")],
    as_json: AsJson = False,
) -> int:
    """Take in whatever came back: filled forms of any kind, or mails that carry them.

    What cannot be read is listed with its line, and is never guessed; then the exit code is 1.

    Example: citebed campaign returns cr26 inbox/
    """
    done = _open(folder).returns(paths)
    if as_json:
        print_rows([_returned_row(each) for each in done], "json")
    for each in done if not as_json else ():
        numbers = ""
        if each.recorded is not None:
            stated = count(each.recorded.questions, "question")
            numbers = f", {stated}, {count(each.recorded.judgements, 'new judgement')}"
        typer.echo(f"{printable(each.name)}: {each.outcome}{numbers}")
        for line, what in each.unread:
            place = f"line {line}: " if line else ""
            typer.echo(f"  {place}{for_terminal(what)}", err=True)
    return int(any(each.unread for each in done))


def _returned_row(each: Any) -> dict[str, Any]:
    recorded = each.recorded
    return {
        "file": printable(each.name),
        "outcome": each.outcome,
        "via": each.via,
        "questions": recorded.questions if recorded else 0,
        "judgements": recorded.judgements if recorded else 0,
        "unread": [{"line": line, "what": what} for line, what in each.unread],
    }


# --- questions --------------------------------------------------------------------------------


@campaign.command()
def questions(folder: Folder, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """The research questions: as stated, as worded now, and why some are set aside.

    Example: citebed campaign questions cr26
    """
    _print(_open(folder).questions, as_json, as_csv)


@campaign.command()
def suggest(folder: Folder, query: Annotated[str, typer.Argument(help="A query's id.")]) -> None:
    """What might be changed in a question so that it stands alone; you decide.

    Example: citebed campaign suggest cr26 P05-1001-a1q2
    """
    for each in _open(folder).suggestions(query):
        change = "" if each.instead is None else f" → '{each.instead}'"
        typer.echo(for_terminal(f"{each.kind}: '{each.found}'{change} ({each.why})"))


@campaign.command()
def reformulate(
    folder: Folder,
    query: Annotated[str, typer.Argument(help="A query's id.")],
    text: Annotated[str, typer.Argument(help="The query as it should read.")],
    why: Annotated[
        list[str],
        typer.Option("--class", help="typo, filler, anaphor or context; may be repeated."),
    ],
) -> None:
    """Word a question anew; its author is asked to approve in phase two.

    Example: citebed campaign reformulate cr26 P05-1001-a1q2 "word alignment" --class anaphor
    """
    _open(folder).reformulate(query, text, *why)


@campaign.command()
def exclude(
    folder: Folder,
    query: Annotated[str, typer.Argument(help="A query's id.")],
    reason: Annotated[str, typer.Option(help="Why, for the record.")],
    lift: Annotated[bool, typer.Option("--lift", help="Take it back.")] = False,
) -> None:
    """Set a question aside by hand, with the reason on record.

    Example: citebed campaign exclude cr26 P05-1001-a1q2 --reason "not about the collection"
    """
    _open(folder).exclude(query, reason, lift=lift)


# --- phase two --------------------------------------------------------------------------------


@campaign.command()
def search(
    folder: Folder,
    query: Annotated[str, typer.Argument(help="A query's id.")],
    words: Annotated[str | None, typer.Argument(help="The query itself by default.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many results.")] = 15,
    mark: Annotated[
        list[str] | None, typer.Option(help="Mark this result for judging; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search by hand for a query, and mark what its author should judge; all of it is on record.

    Example: citebed campaign search cr26 P05-1001-a1q1 "word alignment" --mark P03-1041
    """
    opened = _open(folder)
    number, hits = opened.search(query, words or opened.question(query), k=k)
    for doc_id in mark or ():
        opened.mark(query, doc_id, search=number)
    marked = set(mark or ())
    rows = [{**hit._asdict(), "marked": hit.marked or hit.doc_id in marked} for hit in hits]
    if as_json:
        print_rows(rows, "json")
        return
    for row in rows:
        sign = "*" if row["marked"] else " "
        year = row["year"] or "    "
        typer.echo(for_terminal(f"{sign}{row['rank']:3}  {row['doc_id']}  {year}  {row['title']}"))
    say(f"search {number}; * is marked for judging")


@campaign.command()
def unmark(
    folder: Folder,
    query: Annotated[str, typer.Argument(help="A query's id.")],
    doc_id: Annotated[str, typer.Argument(help="A document's id.")],
) -> None:
    """Take the mark of a search by hand away; that it was there stays on record.

    Example: citebed campaign unmark cr26 P05-1001-a1q1 P03-1041
    """
    _open(folder).mark(query, doc_id, on=False)


@campaign.command()
def pool(
    folder: Folder,
    size: Annotated[
        int | None, typer.Option(min=1, help="Documents a query; 15 by default.")
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(help="A run to pool; may be repeated. The seed's three models by default."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="rounds, depth(k=10), mtf(random=0.2) or bandit(random=0.2).")
    ] = "rounds",
    depth: Annotated[int, typer.Option(min=1, help="How deep runs are looked at.")] = 100,
    seed: Annotated[int, typer.Option(help="For the random stratum and the bandit.")] = 0,
    coupling: Annotated[
        bool, typer.Option(help="Search by bibliographic coupling too, where citations are known.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Make the lists of phase two: manual results first, then one of each run in turn.

    Example: citebed campaign pool cr26 --size 15 --runs a.run --runs b.run
    """
    options = {"method": method, "depth": depth, "seed": seed, "coupling": coupling}
    made = _open(folder).pool(runs, size, **options)
    if as_json:
        print_rows([each._asdict() for each in made], "json")
        return
    for each in made:
        typer.echo(f"{each.query_id}: {count(each.documents, 'document')}, {each.manual} manual"
                   + (f", list {each.round}" if each.round > 1 else ""))  # fmt: skip
    say(f"pooled {count(len(made), 'query')}. Next: citebed campaign invite {printable(folder)}"
        if made else "no query waits for pooling")  # fmt: skip


@campaign.command()
def second(
    folder: Folder,
    query: Annotated[str, typer.Argument(help="A query's id.")],
    judge: Annotated[str, typer.Argument(help='"Name <name@host>".')],
) -> None:
    """Have the list of a query judged by somebody else too, to see how far judges agree.

    Example: citebed campaign second cr26 P05-1001-a1q1 "Ben Carr <ben@example.org>"
    """
    from email.utils import parseaddr

    name, address = parseaddr(judge)
    if "@" not in address:
        raise CitebedError(f"'{judge}' is no judge: give \"Name <name@host>\".")
    if _open(folder).second_judge(query, name or address, address):
        say(f"Next: citebed campaign invite {printable(folder)}")
    else:
        say("there is nothing on that list that they were not asked about")


@campaign.command()
def agreement(folder: Folder, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """How far judges agree on papers judged twice: raw, Cohen's kappa, Krippendorff's alpha.

    Example: citebed campaign agreement cr26
    """
    _print(_open(folder).agreement, as_json, as_csv)


@campaign.command()
def status(folder: Folder, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """Every form: sent, opened, begun, finished; and what is left to do.

    Example: citebed campaign status cr26
    """
    from citebed.judging.status import campaign_counts

    opened = _open(folder)
    _print(opened.status(), as_json, as_csv)
    with opened.reading() as connection:
        say(campaign_counts(opened, connection))


@campaign.command()
def problems(folder: Folder, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """What could not be read in what came back, with its line.

    Example: citebed campaign problems cr26
    """
    _print(_open(folder).problems, as_json, as_csv)


@campaign.command()
def exclusions(folder: Folder, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """Every question that was set aside, why, and whether it was taken back.

    Example: citebed campaign exclusions cr26
    """
    _print(_open(folder).exclusions, as_json, as_csv)


@campaign.command()
def tables(
    folder: Folder,
    only: Annotated[
        list[str] | None,
        typer.Option(help="returns, reformulations, comparison, sources or cranfield; repeat."),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="As LaTeX, for a paper.")] = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """The tables of the paper: returns, reformulations, collections, documents by source.

    Example: citebed campaign tables cr26 --latex
    """
    opened = _open(folder)
    print_tables(opened.tables(), only, style_of("latex" if latex else None, as_json, as_csv),
                 simulated=opened.simulated)  # fmt: skip


def print_tables(
    found: dict[str, pl.DataFrame], only: list[str] | None, style: str, *, simulated: bool
) -> None:
    """Some or all tables, each under its title."""
    from citebed.judging.tables import TITLES
    from citebed.report.grid import Grid

    names = only or list(found)
    for name in names:
        if name not in found:
            raise UnknownName("table", name, found)
    if style in ("json", "csv"):
        print_rows([{"table": name, **row} for name in names for row in found[name].to_dicts()],
                   style)  # fmt: skip
        return
    for name in names:
        table = found[name].drop("simulated", strict=False)  # the title says so
        rows = [
            ["" if cell is None else _figure(cell) for cell in row] for row in table.iter_rows()
        ]
        texts = (at for at, kind in enumerate(table.dtypes) if not kind.is_numeric())
        mark = "% " if style == "latex" else ""
        label = " (SIMULATED)" if simulated else ""
        typer.echo(f"{mark}{TITLES.get(name, name)}{label}")
        typer.echo(Grid(table.columns, rows, frozenset(texts)).written(style))


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
    done = _open(folder).export(output, graded=graded, shapes=to or ())
    typer.echo(f"wrote {printable(done.folder)}, version {done.version}")
    for name, (queries, judged) in done.sets.items():
        typer.echo(f"  {name}.qrels: {count(judged, 'judgement')} of {count(queries, 'query')}")


@campaign.command()
def organiser(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="The name to log in with.")],
    database: Url = None,
) -> None:
    """Give somebody a password for the organisers' pages, or a new one; asks for it twice.

    In scripts the password may come in CITEBED_PASSWORD.

    Example: citebed campaign organiser cr26 ada
    """
    import os

    from citebed.judging.organisers import add_organiser

    opened = _open(folder, database)
    password = os.environ.get("CITEBED_PASSWORD") or typer.prompt(
        f"Password for {name}", hide_input=True, confirmation_prompt=True, err=True
    )
    add_organiser(opened.database, name, password)
    typer.echo(f"{for_terminal(name)} may log in")


# --- planning ---------------------------------------------------------------------------------


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
            help="The share of those invited who answer phase one.", show_default="85 of 500"
        ),
    ] = 85 / 500,
    response_two: Annotated[
        float,
        typer.Option(
            help="The share of those invited who answer phase two.", show_default="44 of 74"
        ),
    ] = 44 / 74,
    noise: Annotated[float, typer.Option(help="The chance that a judgement is turned.")] = 0.05,
    laziness: Annotated[
        float, typer.Option(help="The share of each list that stays unanswered.")
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
        int, typer.Option(min=0, help="Results a query that the organiser looks at by hand.")
    ] = 20,
    skill: Annotated[
        float, typer.Option(help="The chance that the organiser is right about a result.")
    ] = 0.8,
    system: Annotated[
        list[str] | None,
        typer.Option(help="A run's file or a model; repeat. The seed's three models by default."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="rounds, depth(k=10), mtf(random=0.2) or bandit(random=0.2).")
    ] = "rounds",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Keep the campaign in this new folder.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="expected, methods, or a table of 'campaign tables'; repeat."),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="As LaTeX, for a paper.")] = False,
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
    from citebed.judging import Simulation
    from citebed.judging import simulate as play

    style = style_of("latex" if latex else None, as_json, as_csv)
    shares = {"response": response, "response_two": response_two, "noise": noise}
    shares |= {"laziness": laziness, "cited": cited, "skill": skill}
    options = Simulation(pool=pool, judges=judges, seed=seed, irrelevant=irrelevant, effort=effort,
                         systems=tuple(system or ()), method=method, **shares)  # fmt: skip
    played = play(collection, queries, options, folder=output)
    print_tables(played.tables, only, style, simulated=True)
    say(f"SIMULATED with the query set '{played.query_set}': no author was asked, "
        "no mail was sent.")  # fmt: skip
    if played.queries.height < 30:
        say(f"note: {count(played.queries.height, 'query')} with both phases; with more --judges, "
            "or --response 1 --response-two 1, the intervals are narrower")  # fmt: skip
    if output is not None:
        say(f"The campaign is kept: citebed campaign status {printable(output)}")


# --- keeping ----------------------------------------------------------------------------------


@campaign.command()
def backup(
    folder: Folder, file: Annotated[Path, typer.Argument(help="A .jsonl or .jsonl.gz.")]
) -> None:
    """Write everything into one file of JSON Lines, also while judges are at work.

    Example: citebed campaign backup cr26 cr26.jsonl.gz
    """
    rows = _open(folder).backup(file)
    judged = count(rows["judgements"], "judgement")
    typer.echo(f"wrote {printable(file)}: {judged}, {count(sum(rows.values()), 'row')} in all")


@campaign.command()
def restore(
    folder: Folder,
    file: Annotated[Path, typer.Argument(help="A backup.")],
    collection: Annotated[Path, typer.Option(help="The collection that is judged.")],
    database: Annotated[
        str | None,
        typer.Option(help="postgresql://…; by default a file in the collection's folder."),
    ] = None,
) -> None:
    """Make a campaign of a backup, in a new folder and an empty database.

    Example: citebed campaign restore again/ cr26.jsonl.gz --collection mine/
    """
    from citebed.judging import restore_campaign

    restored = restore_campaign(file, folder, collection, database)
    typer.echo(f"restored {restored.name} with {count(restored.judgements.height, 'judgement')}")
