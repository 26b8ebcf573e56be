"""``citebed annotate``: annotate PDFs of citing papers, and review the annotations in a browser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from citebed.cli.output import AsJson, Quiet, needs, print_json
from citebed.errors import CitebedError
from citebed.papers.review import Review, write_proposal
from citebed.papers.review_state import THRESHOLD
from citebed.report.terminal import progress_bar
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.collection.annotation import AnnotatedPaper
    from citebed.collection.progress import Progress


def annotate(
    papers: Annotated[
        list[Path], typer.Argument(help="PDFs to annotate; with --review, a folder of annotations.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The folder for .xml, .dois and .review.json files."),
    ] = None,
    sections: Annotated[
        str,
        typer.Option(help="Sections to annotate, comma-separated, or 'all'."),
    ] = "introduction,related work",
    against: Annotated[
        list[Path] | None,
        typer.Option(
            help="Link references to the documents of this collection or bibliography (repeatable)."
        ),
    ] = None,
    grobid: Annotated[
        str | None, typer.Option(help="URL of a GROBID server to parse the PDFs with.")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=0, help="Number of worker processes (0: one per core).")
    ] = 0,
    review: Annotated[
        bool,
        typer.Option(
            "--review",
            is_eager=True,
            help="Review a folder of annotations in the browser.",
        ),
    ] = False,
    export: Annotated[
        bool,
        typer.Option(
            "--export",
            help="With --review: export the confirmed annotations and exit.",
            callback=needs("review"),
        ),
    ] = False,
    sure: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="With --review: ask about decisions with a confidence below this.",
            callback=needs("review"),
        ),
    ] = THRESHOLD,
    port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65535,
            help="With --review: port to listen on (0: any free port).",
            callback=needs("review"),
        ),
    ] = 0,
    browser: Annotated[
        bool,
        typer.Option(help="With --review: open the page in the browser.", callback=needs("review")),
    ] = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Extract citing sentences from PDFs of papers and resolve their references.

    The output folder holds files that 'citebed import' reads. The .review.json files hold the
    confidence and page position of every decision; 'citebed annotate --review FOLDER' opens a
    local page that asks about the doubtful ones.

    Example: citebed annotate papers/*.pdf -o annotated/ --against acm-cr/
    """
    if review:
        (folder,) = papers if len(papers) == 1 else (None,)
        if folder is None or not folder.is_dir():
            raise CitebedError(
                "--review takes exactly one folder, e.g. citebed annotate --review annotated/"
            )
        _export(folder, sure, as_json, quiet) if export else _serve(folder, port, browser, sure)
        return
    if output is None:
        raise CitebedError("no output folder. Add -o annotated/")
    parts = [part for part in map(str.strip, sections.split(",")) if part]
    if not parts:
        raise CitebedError(
            "--sections is empty. Name sections of a paper, e.g. --sections introduction, or 'all'."
        )
    names = Counter(path.stem for path in papers)
    if twice := [name for name, times in names.items() if times > 1]:
        raise CitebedError(
            f"two input files have the name {twice[0]}. Annotate them into different folders."
        )
    with progress_bar(quiet or as_json, unit="papers") as progress:
        how = _How(parts, against or [], grobid, workers)
        rows = [_row(paper) for paper in _annotated(papers, output, how, progress)]
    _tell(rows, output, as_json=as_json, quiet=quiet)
    if any(row["unread"] for row in rows):
        raise typer.Exit(1)


class _How(NamedTuple):
    """Options of the annotation."""

    sections: list[str]
    against: list[Path]
    grobid: str | None
    workers: int


def _annotated(
    papers: list[Path], output: Path, how: _How, progress: Progress
) -> Iterator[AnnotatedPaper]:
    """Annotate the papers and write each when it is done."""
    from citebed.collection.annotation import annotate_papers

    for paper in annotate_papers(papers, **how._asdict(), progress=progress):
        if paper.annotation is not None:
            write_proposal(output, paper.path.stem, paper.annotation, paper.path)
        yield paper


def _export(folder: Path, sure: float, as_json: bool, quiet: bool) -> None:
    exported = Review(folder, sure).export()
    if as_json:
        print_json([each._asdict() for each in exported])
    elif not quiet:
        for each in exported:
            rest = "" if each.finished else f"; skipped {count(each.left_out, 'paragraph')}"
            made = count(each.contexts, "paragraph")
            state = "confirmed" if each.finished else "not all confirmed"
            typer.echo(f"{printable(each.stem)}: {made}{rest}; {state}")


def _serve(folder: Path, port: int, browser: bool, sure: float) -> None:
    from citebed.web.review import serve_review

    def tell(address: str) -> None:
        typer.echo(f"review at {address} (Ctrl-C to stop)")

    serve_review(folder, port, browser=browser, threshold=sure, started=tell)


def _row(paper: AnnotatedPaper) -> dict[str, Any]:
    """Return the counts of an annotated paper."""
    made = paper.annotation
    sentences = [s for context in made.contexts for s in context.sentences] if made else []
    references = made.references if made else ()
    sure = [each.confidence for each in sentences] + [each.confidence for each in references]
    return {
        "paper": paper.path.name,
        "title": made.title if made else "",
        "contexts": len(made.contexts) if made else 0,
        "sentences": len(sentences),
        "citing": sum(bool(each.cites) for each in sentences),
        "references": len(references),
        "linked": sum(each.doc_id is not None for each in references),
        "dois": sum(each.doi is not None for each in references),
        "doubtful": sum(confidence < THRESHOLD for confidence in sure),
        "unread": made is None,
        "notes": "; ".join(paper.notes),
    }


def _tell(rows: list[dict[str, Any]], output: Path, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        print_json(rows)
        return
    for row in rows:
        name = printable(row["paper"])
        if row["unread"]:
            typer.echo(f"citebed: {name}: {printable(row['notes'])}", err=True)
        elif not quiet:
            typer.echo(f"{name}: {printable(_made(row))}")
            if row["notes"]:
                typer.echo(f"note: {name}: {printable(row['notes'])}", err=True)
    if not quiet and any(row["contexts"] for row in rows):
        typer.echo(f"\nReview them with: citebed annotate --review {printable(output)}")
        typer.echo(f"Import them with: citebed import COLLECTION {printable(output)}")


def _made(row: dict[str, Any]) -> str:
    doubts = f"; {count(row['doubtful'], 'decision')} to look at" if row["doubtful"] else ""
    return (
        f"{count(row['contexts'], 'paragraph')} with {count(row['citing'], 'citing sentence')} of "
        f"{row['sentences']:,}, {count(row['references'], 'reference')}, {row['dois']:,} with a "
        f"DOI{doubts}"
    )
