"""The command ``annotate``: annotate PDFs of citing papers, and review them in a browser."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.options import ReportOptions
from citebed.cli.output import print_json, say
from citebed.errors import CitebedError
from citebed.options import option
from citebed.papers.review import Review, write_proposal
from citebed.papers.review_state import THRESHOLD
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.collection.annotation import AnnotatedPaper


@dataclass(frozen=True, kw_only=True)
class AnnotateOptions(ReportOptions):
    """How to annotate papers."""

    output: Path | None = option(
        None,
        "Folder for the annotations: .xml (citing paragraphs), .dois (the DOIs of the references) "
        "and .review.json.",
        "--output",
        "-o",
    )
    sections: str = option(
        "introduction,related work", "Sections to annotate, comma-separated, or 'all'."
    )
    against: tuple[Path, ...] = option(
        (), "Link references to the documents of this collection or bibliography (repeatable)."
    )
    grobid: str | None = option(None, "URL of a GROBID server to parse the PDFs with.")
    workers: int = option(0, "Number of worker processes (0: one per core).", min=0)


@dataclass(frozen=True, kw_only=True)
class ReviewOptions:
    """How to review annotations."""

    review: bool = option(False, "Review a folder of annotations in the browser.")
    export: bool = option(
        False,
        "With --review: write .xml and .dois files with what you confirmed, and exit.",
        needs="review",
    )
    sure: float = option(
        THRESHOLD,
        "With --review: ask about everything whose confidence is below this.",
        min=0.0,
        max=1.0,
        needs="review",
    )
    port: int = option(
        0, "With --review: port to listen on (0: any free port).", min=0, max=65535, needs="review"
    )
    browser: bool = option(
        True,
        "With --review: open the page in the browser.",
        "--browser/--no-browser",
        needs="review",
    )


def annotate(
    papers: Annotated[
        list[Path], typer.Argument(help="PDFs to annotate; with --review, a folder of annotations.")
    ],
    options: AnnotateOptions,
    review: ReviewOptions,
) -> None:
    """Extract citing sentences from PDFs of papers and resolve their references.

    The output folder holds files that 'citebed import' reads. The .review.json files say how sure
    citebed is of each citing sentence and reference, and where it is on the page. 'citebed annotate
    --review FOLDER' opens a local page that asks about the doubtful ones.

    Example: citebed annotate papers/*.pdf -o annotated/ --against acm-cr/
    """
    if review.review:
        _review(papers, review, options)
        return
    output = options.output
    if output is None:
        raise CitebedError("no output folder. Add -o annotated/")
    sections = [part for part in map(str.strip, options.sections.split(",")) if part]
    if not sections:
        raise CitebedError(
            "--sections is empty. Name sections of a paper, e.g. --sections introduction, or 'all'."
        )
    names = Counter(path.stem for path in papers)
    if twice := [name for name, times in names.items() if times > 1]:
        raise CitebedError(
            f"two input files have the name {twice[0]}. Annotate them into different folders."
        )
    from citebed.collection.annotation import annotate_papers

    rows = []
    with options.progress("papers") as progress:
        for paper in annotate_papers(
            papers, sections=sections, against=list(options.against), grobid=options.grobid,
            workers=options.workers, progress=progress,
        ):  # fmt: skip
            if paper.annotation is not None:
                write_proposal(output, paper.path.stem, paper.annotation, paper.path)
            rows.append(_row(paper))
    if options.as_json:
        print_json(rows)
    else:
        _print(rows, output, options.quiet)
    if any(row["unread"] for row in rows):
        raise typer.Exit(1)


def _review(papers: list[Path], options: ReviewOptions, output: ReportOptions) -> None:
    """Export the confirmed annotations of a folder, or open the page that asks about the others."""
    if len(papers) != 1 or not papers[0].is_dir():
        raise CitebedError(
            "--review takes exactly one folder, e.g. citebed annotate --review annotated/"
        )
    if not options.export:
        from citebed.web.review import serve_review

        serve_review(
            papers[0], options.port, browser=options.browser, threshold=options.sure,
            started=lambda address: typer.echo(f"review at {address} (Ctrl-C to stop)"),
        )  # fmt: skip
        return
    exported = Review(papers[0], options.sure).export()
    lines = []
    for each in exported:
        rest = "" if each.finished else f"; skipped {count(each.left_out, 'paragraph')}"
        state = "confirmed" if each.finished else "not all confirmed"
        lines.append(f"{printable(each.stem)}: {count(each.contexts, 'paragraph')}{rest}; {state}")
    output.print([each._asdict() for each in exported], lines)


def _row(paper: AnnotatedPaper) -> dict[str, Any]:
    """Return the counts of an annotated paper."""
    made = paper.annotation
    sentences = [s for context in made.contexts for s in context.sentences] if made else []
    references = made.references if made else ()
    confidences = [each.confidence for each in sentences]
    confidences += [each.confidence for each in references]
    return {
        "paper": paper.path.name,
        "title": made.title if made else "",
        "contexts": len(made.contexts) if made else 0,
        "sentences": len(sentences),
        "citing": sum(bool(each.cites) for each in sentences),
        "references": len(references),
        "linked": sum(each.doc_id is not None for each in references),
        "dois": sum(each.doi is not None for each in references),
        "doubtful": sum(confidence < THRESHOLD for confidence in confidences),
        "unread": made is None,
        "notes": "; ".join(paper.notes),
    }


def _print(rows: list[dict[str, Any]], output: Path, quiet: bool) -> None:
    for row in rows:
        name, notes = printable(row["paper"]), printable(row["notes"])
        if row["unread"]:
            say(f"citebed: {name}: {notes}")
        elif not quiet:
            doubts = f"; {count(row['doubtful'], 'decision')} to look at" if row["doubtful"] else ""
            typer.echo(
                f"{name}: {count(row['contexts'], 'paragraph')} with "
                f"{count(row['citing'], 'citing sentence')} of {row['sentences']:,}, "
                f"{count(row['references'], 'reference')}, {row['dois']:,} with a DOI{doubts}"
            )
            if notes:
                say(f"note: {name}: {notes}")
    if not quiet and any(row["contexts"] for row in rows):
        typer.echo(f"\nReview them with: citebed annotate --review {printable(output)}")
        typer.echo(f"Import them with: citebed import COLLECTION {printable(output)}")
