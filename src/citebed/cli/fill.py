"""The command ``fill``."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.options import RowOptions
from citebed.cli.output import print_notes, print_rows, say
from citebed.errors import CitebedError, UnknownName
from citebed.options import option
from citebed.wording import count, printable
from citebed.writing.fill import FillOptions

if TYPE_CHECKING:
    from citebed.retrieval.recommend.recommendations import Recommendation
    from citebed.writing.fill import Filling
    from citebed.writing.gaps import Gap

_FORMATS = ("text", "lines")


@dataclass(frozen=True, kw_only=True)
class FillCommand(FillOptions):
    """What to suggest, and what to do with it."""

    interactive: bool = option(False, "Choose in the terminal; a later call continues.", "-i")
    accept_first: bool = option(
        False,
        "Fill each gap with its first suggestion, if that has at least --min-probability "
        "(default: 0.4).",
    )
    write: Path | None = option(
        None, "Write the filled draft to this new file or folder, with a .bib file beside it."
    )
    in_place: bool = option(False, "Change the draft and its .bib file; backups end with .bak.")
    diff: bool = option(False, "Print the changes as a patch, and write nothing.")


@dataclass(frozen=True, kw_only=True)
class FillOutput(RowOptions):
    """How to print gaps and suggestions."""

    format: str | None = option(
        None, "One of text, lines; 'lines' prints 'file:line:column: message' for editors."
    )


def fill(  # noqa: PLR0912 - one branch for each way of output
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="[COLLECTION] DRAFT",
            help="The draft, and before it, if you like, the collection's folder. By default, "
            "citebed looks for a collection beside the draft. Drafts: LaTeX, Markdown, Quarto, "
            "Typst, reStructuredText, plain text, Word, OpenDocument, Jupyter.",
            show_default=False,
        ),
    ],
    options: FillCommand,
    output: FillOutput,
) -> None:
    """Find missing citations in a draft, suggest papers for each, and fill them in.

    A gap is a placeholder such as \\cite{}, \\citep{TODO}, [?], [@] or [citation needed]; with
    --find-gaps also a sentence that makes a claim and cites nothing. Only citation commands change.

    Example: citebed fill mine/ draft.tex --accept-first --min-probability 0.5 --diff
    """
    from citebed.cli.search import open_both
    from citebed.report.terminal import exact
    from citebed.retrieval.ranking.confidence import FAIR
    from citebed.retrieval.recommend.recommender import Recommender
    from citebed.writing.collection_choice import find_collection
    from citebed.writing.fill import fill_draft

    if len(sources) > 2:
        raise typer.BadParameter("expected one draft, and before it, if you like, a collection")
    if output.format is not None and output.format not in _FORMATS:
        raise UnknownName("output format", output.format, _FORMATS)
    if options.write is not None and options.in_place:
        raise typer.BadParameter("--write and --in-place were given. Choose one.")
    if options.interactive and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise typer.BadParameter(
            "--interactive needs a terminal. In scripts, use --accept-first with --min-probability."
        )
    draft = sources[-1]
    folder = find_collection(draft.parent, sources[0] if len(sources) == 2 else None)
    collection, index = open_both(folder)
    filling = fill_draft(draft, Recommender(collection, index), options)
    print_notes(filling.notes)
    resumed = filling.resume() if options.interactive or options.write or options.in_place else 0
    if resumed:
        say(f"continuing with {count(resumed, 'earlier choice')}")
    is_done = True
    if options.interactive:
        is_done = choose_in_terminal(filling, input)
        if is_done and not (options.write or options.in_place or options.diff):
            say("saved; to write the citations, run again with --write OUT or --in-place")
    if options.accept_first:
        accepted = filling.accept_first(
            FAIR if (least := options.min_probability) is None else least
        )
        say(f"filled {accepted} of {count(len(filling.gaps), 'gap')}")
    if options.diff:
        if sys.stdout.isatty():
            typer.echo(filling.diff(), nl=False)
        else:  # a patch must have the bytes of the draft
            exact().write(filling.diff())
    elif (options.write or options.in_place) and is_done:
        _write(filling, options)
    elif output.is_rows:
        print_rows(filling.rows, output.style)
    elif not options.interactive:
        lines = editor_lines(filling) if output.format == "lines" else gap_lines(filling)
        for line in lines:
            typer.echo(line)


def _write(filling: Filling, options: FillCommand) -> None:
    if not any(filling.chosen.values()):
        raise CitebedError("nothing was chosen. Use --interactive or --accept-first.")
    new = {key for key, is_owned in filling.keys().values() if not is_owned}
    paths = filling.write(options.write) if options.write else filling.write_in_place()
    listed = ", ".join(map(printable, paths))
    say(f"backups: {listed}" if options.in_place else f"wrote {listed}")
    bibs = {path.name for path in paths if path.suffix == ".bib"}
    own = {Path(name).name for name in filling.gaps.draft.bibliography_files}
    if new and not options.in_place and bibs - own and own:
        names = ", ".join(sorted(bibs))
        say(f"note: the draft does not use {names} yet. Add it beside {', '.join(sorted(own))}.")
    filling.forget()


# --- Output ---------------------------------------------------------------------------------------


def gap_lines(filling: Filling) -> Iterator[str]:
    """Yield the gaps and their suggestions for people."""
    if not len(filling.gaps):
        yield "no gaps: no placeholder for a citation was found"
    for gap in filling.gaps:
        yield from _gap_head(gap)
        yield from _suggestion_lines(filling, gap)
        yield ""


def editor_lines(filling: Filling) -> Iterator[str]:
    """Yield ``file:line:column: message`` for each gap."""
    for gap in filling.gaps:
        found = filling.suggestions(gap)
        keys = ", ".join(f"{each.key} ({each.title})" for each in found[:3])
        what = f"citation missing: {keys}" if found else "citation missing; no suggestion"
        yield f"{gap.file}:{gap.line}:{gap.column}: {what}"


def _gap_head(gap: Gap) -> Iterator[str]:
    what = gap.written or "empty citation"
    if gap.probability is not None:
        what = f"claim without a citation ({gap.probability:.0%} likely)"
    yield f"── gap {gap.number}: {gap.file}:{gap.line}:{gap.column}: {what}"
    yield from textwrap.wrap(gap.text, 90, initial_indent="   ", subsequent_indent="   ")
    if gap.span is None:
        yield "   (citebed cannot find the place in the file: insert the key by hand)"


def _suggestion_lines(filling: Filling, gap: Gap) -> Iterator[str]:
    found = filling.suggestions(gap)
    if not found:
        yield "   no suggestion"
    for number, each in enumerate(found, 1):
        yield from _paper_lines(each, number, each.doc_id in filling.chosen.get(gap.number, ()))


def _paper_lines(each: Recommendation, number: int, is_chosen: bool) -> Iterator[str]:
    from citebed.retrieval.recommend.display import format_confidence, format_record

    mark = "*" if is_chosen else " "
    yield f" {mark}{number:>2}. {each.title or each.doc_id}"
    yield f"      {format_record(each)}"
    because = f"because of: {each.reason}" if each.reason else ""
    key = f"cite as: {each.key}{' (in your .bib)' if each.in_bib else ''}"
    yield "      " + "  ".join(filter(None, (key, format_confidence(each), because)))


# --- Interactive ----------------------------------------------------------------------------------

_HELP = (
    "1-9: choose (1 3 for two), s: skip, u: undo, o NUMBER: about a paper, /words: search, "
    "q: save and quit"
)


def choose_in_terminal(filling: Filling, ask: Callable[[str], str]) -> bool:
    """Ask for each open gap; return True if none is left. Each answer is stored at once."""
    typer.echo(_HELP)
    done: list[int] = []
    open_gaps = [gap for gap in filling.gaps if gap.number not in filling.chosen]
    at = 0
    while at < len(open_gaps):
        gap = open_gaps[at]
        typer.echo(f"\n[{at + 1} of {len(open_gaps)}]")
        for line in (*_gap_head(gap), *_suggestion_lines(filling, gap)):
            typer.echo(line)
        try:
            move = _answer(filling, gap, ask)
        except (EOFError, KeyboardInterrupt):
            typer.echo("")
            move = None
        if move is None:
            filling.save()
            say("saved; run the same command to continue")
            return False
        if move > 0:
            done.append(gap.number)
            filling.save()
        elif done:
            filling.chosen.pop(done.pop())
            filling.save()
        at = max(at + move, 0)
    return True


def _answer(filling: Filling, gap: Gap, ask: Callable[[str], str]) -> int | None:
    """Return 1 if the gap was answered or skipped, -1 for undo, and ``None`` to quit."""
    from citebed.retrieval.library.library import Library

    shown = [each.doc_id for each in filling.suggestions(gap)]
    library: Library | None = None
    while True:
        answer = ask("> ").strip()
        command, words = answer[:1].lower(), answer[1:].strip()
        numbers = answer.replace(",", " ").split()
        if answer.lower() in ("q", "s", "u"):
            if command == "s":
                filling.choose(gap.number)
            return {"q": None, "s": 1, "u": -1}[command]
        if numbers and all(each.isdecimal() for each in numbers):
            if all(1 <= int(each) <= len(shown) for each in numbers):
                filling.choose(gap.number, *(shown[int(each) - 1] for each in numbers))
                return 1
            typer.echo(f"there are {len(shown)} papers; type a number from 1")
        elif command == "/" and words:
            library = library or Library(filling.recommender)
            found = library.find(words, k=9)
            shown = [row["doc_id"] for row in found.rows]
            for number, row in enumerate(found.rows, 1):
                about = ", ".join(filter(None, (str(row["year"] or ""), row["venue"] or "")))
                typer.echo(f" {number:>2}. {row['title']} ({about})")
            if not shown:
                typer.echo("nothing found")
        elif command == "o" and words.isdecimal() and 1 <= int(words) <= len(shown):
            library = library or Library(filling.recommender)
            row = library.about(shown[int(words) - 1]).row
            for name in ("title", "authors", "year", "venue", "doi", "abstract"):
                value = row.get(name)
                value = ", ".join(value) if isinstance(value, list | tuple) else value
                if value:
                    typer.echo(textwrap.fill(f"{name}: {value}", 90, subsequent_indent="  "))
        else:
            typer.echo(_HELP)
