"""The desk: ``campaign questions``, ``suggest``, ``reformulate``, ``search``, ``pool`` …"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from citebed.cli.campaign.options import Folder, Method, QueryId, campaign, open_folder, print_table
from citebed.cli.output import AsCsv, AsJson, print_rows, say
from citebed.errors import CitebedError
from citebed.wording import count, printable


@campaign.command()
def questions(folder: Folder, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """The research questions: as stated, as worded now, and why some are set aside.

    Example: citebed campaign questions cr26
    """
    print_table(open_folder(folder).questions, as_json, as_csv)


@campaign.command()
def suggest(folder: Folder, query: QueryId) -> None:
    """What might be changed in a question so that it stands alone; you decide.

    Example: citebed campaign suggest cr26 P05-1001-a1q2
    """
    for each in open_folder(folder).suggestions(query):
        change = "" if each.instead is None else f" → '{each.instead}'"
        typer.echo(f"{each.kind}: '{each.text}'{change} ({each.why})")


@campaign.command()
def reformulate(
    folder: Folder,
    query: QueryId,
    text: Annotated[str, typer.Argument(help="The query as it should read.")],
    why: Annotated[
        list[str],
        typer.Option("--class", help="typo, filler, anaphor or context; may be repeated."),
    ],
) -> None:
    """Word a question anew; its author is asked to approve in phase two.

    Example: citebed campaign reformulate cr26 P05-1001-a1q2 "word alignment" --class anaphor
    """
    open_folder(folder).reformulate(query, text, *why)


@campaign.command()
def exclude(
    folder: Folder,
    query: QueryId,
    reason: Annotated[str, typer.Option(help="Why, for the record.")],
    lift: Annotated[bool, typer.Option("--lift", help="Take it back.")] = False,
) -> None:
    """Set a question aside by hand, with the reason on record.

    Example: citebed campaign exclude cr26 P05-1001-a1q2 --reason "not about the collection"
    """
    open_folder(folder).exclude(query, reason, lift=lift)


@campaign.command()
def close(folder: Folder) -> None:
    """Close phase one: questions of co-authors whose first author answered too are set aside.

    'citebed campaign questions' shows before which those are; pooling closes phase one as well.

    Example: citebed campaign close cr26
    """
    number = open_folder(folder).close_phase_one()
    say(f"phase one is closed; {count(number, 'question')} of co-authors set aside")


@campaign.command()
def search(
    folder: Folder,
    query: QueryId,
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
    opened = open_folder(folder)
    number, hits = opened.search(query, words or opened.question(query), k=k)
    for doc_id in mark or ():
        opened.mark(query, doc_id, search=number)
    marked = set(mark or ())
    rows = [{**hit._asdict(), "marked": hit.marked or hit.doc_id in marked} for hit in hits]
    if as_json:
        print_rows(rows, "json")
        return
    for row in rows:
        sign = "*" if row["marked"] else "c" if row["cited"] else " "
        year = row["year"] or "    "
        typer.echo(f"{sign}{row['rank']:3}  {row['doc_id']}  {year}  {row['title']}")
    say(f"search {number}; * is marked for judging, c is cited and was judged in phase one")


@campaign.command()
def unmark(
    folder: Folder,
    query: QueryId,
    doc_id: Annotated[str, typer.Argument(help="A document's id.")],
) -> None:
    """Take the mark of a search by hand away; that it was there stays on record.

    Example: citebed campaign unmark cr26 P05-1001-a1q1 P03-1041
    """
    open_folder(folder).mark(query, doc_id, on=False)


@campaign.command()
def pool(
    folder: Folder,
    size: Annotated[
        int | None, typer.Option(min=1, help="Documents a query; 15 by default.")
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(help="A run to pool; may be repeated. The paper's three models by default."),
    ] = None,
    method: Method = "rounds",
    depth: Annotated[int, typer.Option(min=1, help="How deep runs are looked at.")] = 100,
    seed: Annotated[int, typer.Option(help="For the random stratum and the bandit.")] = 0,
    coupling: Annotated[
        bool, typer.Option(help="Search by bibliographic coupling too, where citations are known.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make the lists of phase two: manual results first, then one of each run in turn.

    This closes phase one, as 'citebed campaign close' does.

    Example: citebed campaign pool cr26 --size 15 --runs a.run --runs b.run
    """
    options = {"method": method, "depth": depth, "seed": seed, "coupling": coupling}
    opened = open_folder(folder)
    due = opened.questions["at_closing"].drop_nulls().len()
    made = opened.pool(runs, size, **options)
    if due:
        say(f"phase one is closed; {count(due, 'question')} of co-authors set aside")
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
    query: QueryId,
    judge: Annotated[str, typer.Argument(help='"Name <name@host>".')],
) -> None:
    """Have the list of a query judged by somebody else too, to see how far judges agree.

    Example: citebed campaign second cr26 P05-1001-a1q1 "Ben Carr <ben@example.org>"
    """
    from citebed.judging.asking.papers import address_in

    name, address = address_in(judge)
    if "@" not in address:
        raise CitebedError(f"'{judge}' is no judge: give \"Name <name@host>\".")
    if open_folder(folder).second_judge(query, name or address, address):
        say(f"Next: citebed campaign invite {printable(folder)}")
    else:
        say("there is nothing on that list that they were not asked about")
