"""Prepare judging: ``campaign questions``, ``suggest``, ``reformulate``, ``search``, ``pool`` …"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from citebed.cli.campaign.options import METHOD, Folder, QueryId, open_folder, print_table
from citebed.cli.options import JsonOptions, RowOptions
from citebed.cli.output import say
from citebed.errors import CitebedError
from citebed.options import argument, option
from citebed.wording import count, printable


def questions(folder: Folder, output: RowOptions) -> None:
    """List the research questions, their wordings and exclusions.

    Example: citebed campaign questions cr26
    """
    print_table(open_folder(folder).questions, output.style)


def suggest(folder: Folder, query: QueryId) -> None:
    """Suggest edits that make a question self-contained. You decide.

    Example: citebed campaign suggest cr26 P05-1001-a1q2
    """
    for each in open_folder(folder).suggestions(query):
        change = "" if each.replacement is None else f" → '{each.replacement}'"
        typer.echo(f"{each.kind}: '{each.text}'{change} ({each.why})")


def reformulate(
    folder: Folder,
    query: QueryId,
    text: Annotated[str, typer.Argument(help="New wording of the query.")],
    why: Annotated[list[str], typer.Option(
        "--class", help="Kind of edit: typo, filler, anaphor or context (repeatable).")],
) -> None:  # fmt: skip
    """Reword a question. Its author approves the new wording in phase two.

    Example: citebed campaign reformulate cr26 P05-1001-a1q2 "word alignment" --class anaphor
    """
    open_folder(folder).reformulate(query, text, *why)


def exclude(
    folder: Folder,
    query: QueryId,
    reason: Annotated[str, typer.Option(help="Reason, which citebed stores.")],
    lift: bool = option(False, "Undo the exclusion."),
) -> None:
    """Exclude a question by hand, with a reason that is stored.

    Example: citebed campaign exclude cr26 P05-1001-a1q2 --reason "not about the collection"
    """
    open_folder(folder).exclude(query, reason, lift=lift)


def close(folder: Folder) -> None:
    """Close phase one. Excludes questions of co-authors whose first author also answered.

    'citebed campaign questions' shows these questions beforehand. Pooling closes phase one as well.

    Example: citebed campaign close cr26
    """
    number = open_folder(folder).close_phase_one()
    say(f"phase one is closed; excluded {count(number, 'question')} of co-authors")


def search(
    folder: Folder,
    query: QueryId,
    output: JsonOptions,
    words: str | None = argument(None, "Search text (default: the query itself)."),
    k: int = option(15, "Number of results.", "-k", min=1),
    mark: tuple[str, ...] = option((), "Mark this result for judging (repeatable)."),
) -> None:
    """Search for papers on a question by hand. Mark those that its author should judge.

    Example: citebed campaign search cr26 P05-1001-a1q1 "word alignment" --mark P03-1041
    """
    opened = open_folder(folder)
    number, hits = opened.search(query, words or opened.question(query), k=k)
    for doc_id in mark:
        opened.mark(query, doc_id, search=number)
    rows = [{**hit._asdict(), "marked": hit.marked or hit.doc_id in mark} for hit in hits]
    lines = []
    for row in rows:
        sign = "*" if row["marked"] else "j" if row["judged"] else "c" if row["cited"] else " "
        year = row["year"] or "    "
        lines.append(f"{sign}{row['rank']:3}  {row['doc_id']}  {year}  {row['title']}")
    output.print(rows, lines)
    if not output.as_json:
        say(f"search {number}; * is marked for judging, j is cited and judged in phase one, c is "
            "cited and not judged")  # fmt: skip


def unmark(
    folder: Folder,
    query: QueryId,
    doc_id: Annotated[str, typer.Argument(help="Document id.")],
) -> None:
    """Remove a mark made in manual search. The history keeps it.

    Example: citebed campaign unmark cr26 P05-1001-a1q1 P03-1041
    """
    open_folder(folder).mark(query, doc_id, on=False)


@dataclass(frozen=True, kw_only=True)
class PoolOptions(JsonOptions):
    """How to build pools."""

    size: int | None = option(None, "Documents per query (default 15).", min=1)
    runs: tuple[Path, ...] = option(
        (), "Run to pool (repeatable; default: Okapi, KL divergence and cosine)."
    )
    plan: Path | None = option(
        None, "Add the papers of this plan of 'campaign next' to the lists, and no others."
    )
    method: str = option("rounds", METHOD)
    depth: int = option(100, "How far down each run citebed may go for new papers.", min=1)
    seed: int = option(0, "Random seed, for mtf and bandit.")
    coupling: bool = option(
        False,
        "Also search by bibliographic coupling, if the collection has citations.",
        "--coupling/--no-coupling",
    )


def pool(folder: Folder, options: PoolOptions) -> None:
    """Build the pools of phase two. Manual results come first, then papers of each run in turn.

    This closes phase one, as 'citebed campaign close' does.

    Example: citebed campaign pool cr26 --size 15 --runs a.run --runs b.run
    """
    if options.plan and replace(options, plan=None, as_json=False) != PoolOptions():
        raise CitebedError("--plan adds the papers of a plan and no others. Leave out the other "
                           "options of 'citebed campaign pool'.")  # fmt: skip
    opened = open_folder(folder)
    due = opened.questions["at_closing"].drop_nulls().len()
    made = opened.pool(
        list(options.runs) or None, options.size, plan=options.plan, method=options.method,
        depth=options.depth, seed=options.seed, coupling=options.coupling,
    )  # fmt: skip
    if due:
        say(f"phase one is closed; excluded {count(due, 'question')} of co-authors")
    options.print([each._asdict() for each in made], (each.summary() for each in made))
    nothing = ("the judges have every paper of the plan already" if options.plan
               else "no query is waiting for pooling")  # fmt: skip
    if not options.as_json:
        say(f"pooled {count(len(made), 'query')}. Next: citebed campaign invite {printable(folder)}"
            if made else nothing)  # fmt: skip


def _parse_judge(judge: str) -> tuple[str, str]:
    from citebed.judging.papers import parse_address

    name, address = parse_address(judge)
    if "@" not in address:
        raise CitebedError(f"'{judge}' is not a valid assessor. Use \"Name <name@host>\".")
    return name or address, address


def compare(
    folder: Folder,
    output: JsonOptions,
    query: tuple[str, ...] = argument((), "Query ids (default: all queries with a pool)."),
    judge: str = option("", 'Second assessor, "Name <name@host>" (default: the author).'),
    per_paper: int = option(4, "How often an assessor compares each paper: an even number.", min=2),
    seed: int = option(0, "Random seed of the pairs."),
) -> None:
    """Let assessors compare the papers of a pool in pairs, on the web, instead of judging each.

    'citebed campaign invite' writes the mails. An author who already has the list keeps it.

    Example: citebed campaign compare cr26 P05-1001-a1q1
    """
    name, email = _parse_judge(judge) if judge else ("", "")
    made = open_folder(folder).compare(
        query, name=name, email=email, per_paper=per_paper, seed=seed
    )
    output.print([each._asdict() for each in made], (each.summary() for each in made))
    if not output.as_json:
        nothing = "no query has a pool of papers that this assessor has not compared"
        say(f"Next: citebed campaign invite {printable(folder)}" if made else nothing)


def second(
    folder: Folder,
    query: QueryId,
    judge: Annotated[str, typer.Argument(help='"Name <name@host>".')],
) -> None:
    """Assign a pool to a second assessor, to measure agreement.

    Example: citebed campaign second cr26 P05-1001-a1q1 "Ben Carr <ben@example.org>"
    """
    if open_folder(folder).second_judge(query, *_parse_judge(judge)):
        say(f"Next: citebed campaign invite {printable(folder)}")
    else:
        say("this assessor already has every document of that list")
