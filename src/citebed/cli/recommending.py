"""The command ``recommend``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.output import (
    AsCsv,
    AsJson,
    CollectionFolder,
    check_page,
    print_csv,
    print_json,
    tell_of_terminal,
    typed,
)
from citebed.cli.retrieve import DEFAULT_FIELDS, FieldWeights, Model, note, open_both
from citebed.errors import UnknownName
from citebed.report.terminal import progress_bar
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.drafts import Draft
    from citebed.retrieval.recommend.recommendations import Recommendations

_FORMS = ("text", "json", "csv", "lines", "bibtex")


def recommend(
    context: typer.Context,
    collection: CollectionFolder,
    text: Annotated[
        str,
        typer.Argument(
            help="A text, a file, or - for standard input. Files: LaTeX (.tex), Markdown (.md, "
            ".qmd, .rmd), Typst (.typ), reStructuredText (.rst), plain text, Word (.docx), "
            "OpenDocument (.odt), Jupyter (.ipynb), PDF."
        ),
    ] = "-",
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            min=1,
            help="Maximum recommendations per passage (default: 10 for one text, 3 per passage of"
            " a draft; unlikely papers are not shown).",
        ),
    ] = None,
    each: Annotated[
        str | None,
        typer.Option(
            help="Unit to recommend for: paragraph, sentence or text (default: paragraph for "
            "files, text otherwise)."
        ),
    ] = None,
    model: Model = "bm25+learned",
    fields: FieldWeights = DEFAULT_FIELDS,
    before: Annotated[
        str | None,
        typer.Option(help="Only papers published before this date, e.g. 2019 or 2019-07-31."),
    ] = None,
    min_probability: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Minimum probability; 0 shows the best papers in any case.",
        ),
    ] = None,
    least: Annotated[float | None, typer.Option(min=0.0, max=1.0, hidden=True)] = None,
    keep_cited: Annotated[
        bool, typer.Option("--keep-cited", help="Also show papers that the text already cites.")
    ] = False,
    bib: Annotated[
        list[Path] | None,
        typer.Option(help="Your .bib file; papers in it are marked (repeatable)."),
    ] = None,
    in_bib: Annotated[
        bool,
        typer.Option(
            "--in-bib", help="Show only papers that are in your .bib files or in the draft's."
        ),
    ] = False,
    years: Annotated[
        str, typer.Option(help="Only papers from these years: 2015, 2010-2020, 2010- or -1999.")
    ] = "",
    venue: Annotated[
        list[str] | None,
        typer.Option(help="Only papers from this venue (name as in the collection)."),
    ] = None,
    type_: Annotated[
        list[str] | None, typer.Option("--type", help="Only papers of this type, e.g. article.")
    ] = None,
    author: Annotated[
        list[str] | None, typer.Option(help="Only papers by this author, e.g. 'Zhai, Chengxiang'.")
    ] = None,
    good: Annotated[
        list[str] | None,
        typer.Option(help="Mark a paper (id, DOI or key) as relevant; similar papers rank higher."),
    ] = None,
    not_this: Annotated[
        list[str] | None,
        typer.Option(
            help="Mark a paper as not relevant: it is excluded and similar papers rank lower."
        ),
    ] = None,
    append: Annotated[
        Path | None,
        typer.Option(help="Append new entries to this .bib file (created if missing)."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help=f"One of {', '.join(_FORMS)}; 'lines' prints 'file:line:column: message' for "
            "editors.",
        ),
    ] = None,
    bibtex: Annotated[
        bool, typer.Option("--bibtex", help="Print BibTeX entries, ready to paste.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option("--full", help="Print BibTeX entries with all fields instead of short ones."),
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(help="Write the recommendations to this .html file instead of printing them."),
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Recommend papers that a text should cite, and explain each one.

    Papers that the text already cites, and the paper itself, are excluded. Papers in the .bib files
    that the draft names are marked. --venue, --type, --author, --good and --not-this are
    repeatable.

    Example: citebed recommend acm-cr/ "BM25 is hard to beat." -k 5
    """
    from citebed.collection.filters import Filter
    from citebed.retrieval.pipeline import Stage, parse_pipeline
    from citebed.retrieval.recommend.recommender import Recommender
    from citebed.retrieval.search.queries import checked_date

    shown = _form(form, {"bibtex": bibtex, "json": as_json, "csv": as_csv})
    if full and not (append or shown == "bibtex"):
        raise typer.BadParameter("--full is for BibTeX: add --bibtex or --append FILE.bib.")
    if html is not None:
        check_page(html, {os.path.realpath(text)})
        if shown != "text":
            raise typer.BadParameter("--html cannot be combined with another output format.")
    if least is not None:
        note(["--least is now --min-probability"])
        min_probability = least if min_probability is None else min_probability
    among = Filter(years, tuple(venue or ()), tuple(type_ or ()), tuple(author or ()))
    opened, its_index = open_both(collection, quiet=False)
    if before is not None:
        checked_date(before)
    draft, unit = _draft_to_ask(text)
    mine = [*(bib or ()), *([append] if append and append.exists() else ())]
    pipeline = parse_pipeline(model)
    with progress_bar(quiet=not isinstance(pipeline.stage, Stage), unit="texts") as progress:
        found = Recommender(opened, its_index, pipeline, fields, progress=progress).recommend_for(
            draft, k, each=each or unit, before=before, keep_cited=keep_cited, bib=mine,
            min_probability=min_probability, among=among, in_bib=in_bib,
            relevant=good or (), nonrelevant=not_this or (),
        )  # fmt: skip
    added = None if append is None else found.append_to(append, full=full)
    if html is None:
        _print(found, shown, full)
    else:
        _write_page(found, html, text, typed(context))
    if append is not None or shown == "bibtex":
        note(found.without_bibtex)
    if append is not None:
        _tell_added(append, added or ())
    if (append is not None or shown == "bibtex") and (strange := found.strange_commands):
        from citebed.collection.formats.bibtex_writer import describe_unknown_commands

        note([describe_unknown_commands(strange)])


def _write_page(found: Recommendations, path: Path, text: str, command: str) -> None:
    from citebed.files.output_files import write_file
    from citebed.report.recommendations import recommendation_page

    note(found.notes)
    name = Path(text).name if found.passages and found[0:1] and found[0].file else "the text"
    page = recommendation_page(found, f"What {name} should cite", command)
    write_file(path, printable(page))
    typer.echo(f"{printable(path)}: {found.summary or count(len(found), 'paper')}")


def _form(named: str | None, flags: dict[str, bool]) -> str:
    """Return the output format; raise an error if several were given."""
    given = [name for name, is_given in flags.items() if is_given]
    options = [f"--{name}" for name in given] + ([f"--format {named}"] if named else [])
    if len({*given, named} - {None}) > 1:
        raise typer.BadParameter(f"{' and '.join(options)} were given. Choose one.")
    if named is not None and named not in _FORMS:
        raise UnknownName("output format", named, _FORMS)
    return named or (given or ["text"])[0]


def _draft_to_ask(text: str) -> tuple[Draft, str]:
    """Return the text to recommend for (from the argument, a file or standard input) and the
    options."""
    from citebed.drafts import draft_from_bytes
    from citebed.drafts.reader import may_be_path, resolve_draft
    from citebed.files.input_files import open_standard_input

    if text == "-":
        tell_of_terminal("the text")
        draft, each = draft_from_bytes(open_standard_input().read(), "standard input"), "text"
    else:
        is_file = may_be_path(text) and Path(text).exists()
        draft, each = resolve_draft(Path(text) if is_file else text)
    note(draft.notes)
    return draft, each


def _print(found: Recommendations, form: str, full: bool) -> None:
    """Print recommendations in the requested format."""
    from citebed.report.recommendations import editor_lines, passage_lines

    note(found.notes)
    if form == "json":
        print_json(found.rows)
    elif form == "csv":
        print_csv([_flat(row) for row in found.rows])
    elif form == "bibtex":
        entries = found.bibtex(full=full)
        sys.stdout.write(f"{entries}\n" if entries else "")
    elif form == "lines":
        sys.stdout.writelines(f"{line}\n" for line in editor_lines(found))
    else:
        if found.summary:
            typer.echo(f"{found.summary}\n")
        for passage in found.passages:
            lines = passage_lines(passage, found.of(passage), alone=len(found.passages) == 1)
            sys.stdout.write("\n".join(lines) + "\n")
        note(found.untold)
    for line in found.left_out_note:
        typer.echo(line, err=True)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its lists joined into text."""
    return {
        name: "; ".join(value) if isinstance(value, tuple) else value for name, value in row.items()
    }


_MOST_NAMES = 20


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _tell_added(path: Path, keys: Sequence[str]) -> None:
    name = printable(path)
    entries = count(len(keys), "entry")
    told = f"added {entries} to {name}: {_listed(keys)}" if keys else f"nothing new for {name}"
    typer.echo(told, err=True)
