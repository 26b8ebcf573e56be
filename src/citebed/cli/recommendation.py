"""The command ``recommend``."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from citebed.cli.options import CollectionFolder, typed
from citebed.cli.output import announce_terminal_input, check_page, print_notes, print_rows, say
from citebed.cli.search import DEFAULT_FIELDS, FieldWeights, FilterOptions, Model, open_both
from citebed.errors import UnknownName
from citebed.options import argument, option
from citebed.report.terminal import progress_bar
from citebed.wording import count, list_first, printable

if TYPE_CHECKING:
    from citebed.retrieval.recommend.recommendations import Recommendations

_FORMS = ("text", "json", "csv", "lines", "bibtex")


@dataclass(frozen=True, kw_only=True)
class RecommendCommand:
    """Options of a recommendation."""

    k: int | None = option(
        None,
        "Number of recommendations per passage (default: up to 10 for one text, up to 3 per "
        "passage of a draft, without unlikely papers).",
        "-k",
        min=1,
    )
    each: str | None = option(
        None,
        "Unit to recommend for: paragraph, sentence or text (default: paragraph for files, text "
        "otherwise).",
    )
    before: str | None = option(
        None, "Only papers published up to this year or date, e.g. 2019 or 2019-07-31."
    )
    min_probability: float | None = option(
        None,
        "Show only papers with at least this probability of being right; 0 shows the best papers "
        "for any text.",
        min=0.0,
        max=1.0,
    )
    keep_cited: bool = option(False, "Also show papers that the text already cites.")
    bib: tuple[Path, ...] = option((), "Your .bib file; papers in it are marked (repeatable).")
    in_bib: bool = option(False, "Show only papers that are in your .bib files or in the draft's.")
    good: tuple[str, ...] = option(
        (), "Mark a paper (id, DOI or key) as relevant; similar papers rank higher (repeatable)."
    )
    not_this: tuple[str, ...] = option(
        (),
        "Leave out a paper; if you also use --good, papers like it rank lower (repeatable).",
    )


@dataclass(frozen=True, kw_only=True)
class RecommendOutput:
    """How to print recommendations, and files to write."""

    append: Path | None = option(None, "Append new entries to this .bib file (created if missing).")
    html: Path | None = option(
        None, "Write the recommendations to this .html file instead of printing them."
    )
    full: bool = option(
        False, "With --bibtex or --append: write entries with all fields instead of short ones."
    )
    format: str | None = option(
        None, f"One of {', '.join(_FORMS)}; 'lines' prints 'file:line:column: message' for editors."
    )
    bibtex: bool = option(False, "Print BibTeX entries, ready to paste.")
    as_json: bool = option(False, "Print the results as JSON, for programs.", "--json")
    as_csv: bool = option(False, "Print the results as CSV, for programs.", "--csv")

    @property
    def form(self) -> str:
        """The output format; an error if several were given."""
        flags = {"bibtex": self.bibtex, "json": self.as_json, "csv": self.as_csv}
        given = [name for name, is_given in flags.items() if is_given]
        options = [f"--{name}" for name in given]
        options += [f"--format {self.format}"] if self.format else []
        if len({*given, self.format} - {None}) > 1:
            raise typer.BadParameter(f"{' and '.join(options)} were given. Choose one.")
        if self.format is not None and self.format not in _FORMS:
            raise UnknownName("output format", self.format, _FORMS)
        return self.format or (given or ["text"])[0]


def recommend(
    context: typer.Context,
    collection: CollectionFolder,
    options: RecommendCommand,
    conditions: FilterOptions,
    output: RecommendOutput,
    text: str = argument(
        "-",
        "A text, a file, or - for standard input. Files: LaTeX (.tex), Markdown (.md, "
        ".qmd, .rmd), Typst (.typ), reStructuredText (.rst), plain text, Word (.docx), "
        "OpenDocument (.odt), Jupyter (.ipynb), PDF.",
    ),
    model: Model = "bm25+learned",
    fields: FieldWeights = DEFAULT_FIELDS,
) -> None:
    """Recommend papers that a text should cite, and explain each one.

    citebed leaves out papers that the text already cites, and the paper that you are writing. If
    the draft uses .bib files, citebed marks the papers in them.

    Example: citebed recommend acm-cr/ "BM25 is hard to beat." -k 5
    """
    from citebed.drafts import draft_from_bytes
    from citebed.drafts.reader import may_be_path, resolve_draft
    from citebed.files.input_files import open_standard_input
    from citebed.retrieval.pipeline import Stage, parse_pipeline
    from citebed.retrieval.recommend.recommender import Recommender
    from citebed.retrieval.search.queries import checked_date

    form, append, html = output.form, output.append, output.html
    if output.full and not (append or form == "bibtex"):
        raise typer.BadParameter("--full is for BibTeX: add --bibtex or --append FILE.bib.")
    if html is not None:
        check_page(html, {os.path.realpath(text)})
        if form != "text":
            raise typer.BadParameter("--html cannot be combined with another output format.")
    among = conditions.filter()
    opened, its_index = open_both(collection)
    if options.before is not None:
        checked_date(options.before)
    if text == "-":
        announce_terminal_input("the text")
        draft, unit = draft_from_bytes(open_standard_input().read(), "standard input"), "text"
    else:
        is_file = may_be_path(text) and Path(text).exists()
        draft, unit = resolve_draft(Path(text) if is_file else text)
    print_notes(draft.notes)
    pipeline = parse_pipeline(model)
    with progress_bar(quiet=not isinstance(pipeline.stage, Stage), unit="texts") as progress:
        recommender = Recommender(opened, its_index, pipeline, fields, progress=progress)
        found = recommender.recommend_for(
            draft, options.k, each=options.each or unit, before=options.before,
            keep_cited=options.keep_cited, in_bib=options.in_bib, among=among,
            bib=[*options.bib, *([append] if append and append.exists() else ())],
            min_probability=options.min_probability, relevant=options.good,
            nonrelevant=options.not_this,
        )  # fmt: skip
    added = () if append is None else found.append_to(append, full=output.full)
    if html is None:
        _print(found, form, output.full)
    else:
        _write_page(found, html, text, typed(context))
    if append is not None or form == "bibtex":
        print_notes(found.without_bibtex)
    if append is not None:
        name, entries = printable(append), count(len(added), "entry")
        said = f"added {entries} to {name}: {list_first(added, 20)}"
        say(said if added else f"nothing new for {name}")
    if (append is not None or form == "bibtex") and (strange := found.strange_commands):
        from citebed.collection.formats.bibtex_writer import describe_unknown_commands

        print_notes([describe_unknown_commands(strange)])


def _write_page(found: Recommendations, path: Path, text: str, command: str) -> None:
    from citebed.files.output_files import write_file
    from citebed.report.recommendations import recommendation_page

    print_notes(found.notes)
    name = Path(text).name if found.passages and found[0:1] and found[0].file else "the text"
    page = recommendation_page(found, f"What {name} should cite", command)
    write_file(path, printable(page))
    typer.echo(f"{printable(path)}: {found.summary or count(len(found), 'paper')}")


def _print(found: Recommendations, form: str, full: bool) -> None:
    """Print recommendations in the requested format."""
    from citebed.report.recommendations import editor_lines, passage_lines

    print_notes(found.notes)
    match form:
        case "json" | "csv":
            print_rows(found.rows, form)
        case "bibtex":
            entries = found.bibtex(full=full)
            sys.stdout.write(f"{entries}\n" if entries else "")
        case "lines":
            sys.stdout.writelines(f"{line}\n" for line in editor_lines(found))
        case _:
            if found.summary:
                typer.echo(f"{found.summary}\n")
            for passage in found.passages:
                lines = passage_lines(passage, found.of(passage), alone=len(found.passages) == 1)
                sys.stdout.write("\n".join(lines) + "\n")
    for line in found.left_out_note:
        say(line)
