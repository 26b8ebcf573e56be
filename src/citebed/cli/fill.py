"""The command ``fill``."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citebed.cli.options import LineOptions
from citebed.cli.output import print_notes, print_rows, say
from citebed.errors import CitebedError, UnknownName
from citebed.options import option
from citebed.wording import count, printable
from citebed.writing.fill import FillOptions

if TYPE_CHECKING:
    from citebed.retrieval.library.library import Library
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


def fill(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="[COLLECTION] DRAFT",
            help="The draft; you can name the collection's folder before it. By default, "
            "citebed looks for a collection beside the draft. Drafts: LaTeX, Markdown, Quarto, "
            "Typst, reStructuredText, plain text, Word, OpenDocument, Jupyter.",
            show_default=False,
        ),
    ],
    options: FillCommand,
    output: LineOptions,
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
        raise typer.BadParameter(
            f"expected [COLLECTION] DRAFT; found {count(len(sources), 'path')}"
        )
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
    filling = fill_draft(draft, Recommender(*open_both(folder)), options)
    print_notes(filling.notes)
    writes, is_done = bool(options.write or options.in_place), True
    if (options.interactive or writes or options.diff) and (resumed := filling.resume()):
        say(f"continuing with {count(resumed, 'earlier choice')}")
    if options.interactive:
        is_done = choose_in_terminal(filling, input)
        if is_done and not (writes or options.diff):
            say("saved; to write the citations, run again with --write OUT or --in-place")
    if options.accept_first:
        least = FAIR if options.min_probability is None else options.min_probability
        accepted = filling.accept_first(least)
        say(f"filled {accepted} of {count(len(filling.gaps), 'gap')}")
    if options.diff:  # a patch in a file must have the bytes of the draft
        stream = sys.stdout if sys.stdout.isatty() else exact()
        stream.write(filling.diff())
    elif writes and is_done:
        _write(filling, options)
    elif output.is_rows:
        print_rows(filling.rows, output.style)
    elif not options.interactive:
        lines = editor_lines(filling) if output.format == "lines" else gap_lines(filling)
        sys.stdout.writelines(f"{line}\n" for line in lines)


def _write(filling: Filling, options: FillCommand) -> None:
    if not any(filling.chosen.values()):
        what = "Lower --min-probability, or use --interactive."
        what = what if options.accept_first else "Use --interactive or --accept-first."
        raise CitebedError(f"nothing was chosen. {what}")
    has_new = not all(is_owned for _, is_owned in filling.keys().values())
    paths = filling.write(options.write) if options.write else filling.write_in_place()
    listed = ", ".join(map(printable, paths))
    say(f"backups: {listed}" if options.in_place else f"wrote {listed}")
    bibs = {path.name for path in paths if path.suffix == ".bib"}
    own = {Path(name).name for name in filling.gaps.draft.bibliography_files}
    if has_new and not options.in_place and bibs - own and own:
        names = ", ".join(sorted(bibs))
        say(f"note: the draft does not use {names} yet. Add it beside {', '.join(sorted(own))}.")
    filling.forget()


# --- Output ---------------------------------------------------------------------------------------


def gap_lines(filling: Filling) -> Iterator[str]:
    """Yield the gaps and their suggestions for people."""
    if not len(filling.gaps):
        claims = " and no claim that cites nothing" if filling.options.find_gaps else ""
        yield f"no gaps: no placeholder for a citation{claims} was found"
    for gap in filling.gaps:
        yield from _lines_of_gap(filling, gap)
        yield ""


def editor_lines(filling: Filling) -> Iterator[str]:
    """Yield ``file:line:column: message`` for each gap."""
    for gap in filling.gaps:
        keys = ", ".join(f"{each.key} ({each.title})" for each in filling.suggestions(gap)[:3])
        what = f"citation missing: {keys}" if keys else "citation missing; no suggestion"
        yield f"{gap.file}:{gap.line}:{gap.column}: {what}"


def _lines_of_gap(filling: Filling, gap: Gap) -> Iterator[str]:
    from citebed.retrieval.recommend.display import format_confidence, format_key, format_record

    what = gap.written or "empty citation"
    if gap.probability is not None:
        what = f"claim without a citation ({gap.probability:.0%} likely)"
    yield f"── gap {gap.number}: {gap.file}:{gap.line}:{gap.column}: {what}"
    yield from textwrap.wrap(gap.text, 90, initial_indent="   ", subsequent_indent="   ")
    if gap.span is None:
        yield "   (citebed cannot find the place in the file: insert the key by hand)"
    found = filling.suggestions(gap)
    if not found:
        yield "   no suggestion"
    for number, each in enumerate(found, 1):
        mark = "*" if each.doc_id in filling.chosen.get(gap.number, ()) else " "
        yield f" {mark}{number:>2}. {each.title or each.doc_id}"
        yield f"      {format_record(each)}"
        because = f"because of: {each.reason}" if each.reason else ""
        about = (f"cite as: {format_key(each)}", format_confidence(each), because)
        yield "      " + "  ".join(filter(None, about))


# --- Interactive ----------------------------------------------------------------------------------

_HELP = (
    "1-9: choose (1 3 for two), s: skip, u: undo, o NUMBER: about a paper, /words: search, "
    "q: save and quit"
)


def choose_in_terminal(filling: Filling, ask: Callable[[str], str]) -> bool:
    """Ask for each open gap; return True if none is left. Each answer is stored at once."""
    from citebed.retrieval.library.library import Library

    typer.echo(_HELP)
    library = Library(filling.recommender)
    gaps = [gap for gap in filling.gaps if gap.number not in filling.chosen]
    at = 0
    while at < len(gaps):
        typer.echo(f"\n[{at + 1} of {len(gaps)}]")
        for line in _lines_of_gap(filling, gaps[at]):
            typer.echo(line)
        try:
            move = _answer(filling, gaps[at], library, ask)
        except (EOFError, KeyboardInterrupt):
            typer.echo("")
            move = None
        if move == -1:
            at = max(at - 1, 0)
            filling.chosen.pop(gaps[at].number, None)
        filling.save()
        if move is None:
            say("saved; run the same command to continue")
            return False
        at += move == 1
    return True


def _answer(  # noqa: PLR0912 - one branch for each command
    filling: Filling, gap: Gap, library: Library, ask: Callable[[str], str]
) -> int | None:
    """Return 1 if the gap was answered or skipped, -1 for undo, and ``None`` to quit."""
    shown = [each.doc_id for each in filling.suggestions(gap)]
    while True:
        answer = ask("> ").strip()
        command, words = answer[:1].lower(), answer[1:].strip()
        numbers = [int(each) for each in re.findall(r"\d+", answer)]
        if answer.lower() in ("q", "u"):
            return -1 if command == "u" else None
        if answer.lower() == "s":
            filling.choose(gap.number)
            return 1
        if re.fullmatch(r"\d[\d, ]*|o *\d+", answer.lower()):
            if not all(1 <= number <= len(shown) for number in numbers):
                typer.echo(f"there are {len(shown)} papers; type a number from 1")
            elif command == "o":
                row = library.about(shown[numbers[0] - 1]).row
                for name in ("title", "authors", "year", "venue", "doi", "abstract"):
                    value = ", ".join(row[name]) if name == "authors" else row[name]
                    if value:
                        typer.echo(textwrap.fill(f"{name}: {value}", 90, subsequent_indent="  "))
            else:
                filling.choose(gap.number, *(shown[number - 1] for number in numbers))
                return 1
        elif command == "/" and words:
            rows = library.find(words, k=9).rows
            shown = [row["doc_id"] for row in rows]
            for number, row in enumerate(rows, 1):
                about = ", ".join(filter(None, (str(row["year"] or ""), row["venue"])))
                typer.echo(f" {number:>2}. {row['title']} ({about})")
            if not rows:
                typer.echo("nothing found")
        else:
            typer.echo(_HELP)
