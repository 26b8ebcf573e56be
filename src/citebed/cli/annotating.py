"""``citebed annotate``: from PDFs of citing papers to annotated ones, and the page to confirm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.output import AsJson, Quiet, print_json
from citebed.errors import CitebedError
from citebed.report.terminal import progress_bar
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.collection.annotating import AnnotatedPaper

_DOUBTFUL = 0.9


def annotate(
    papers: Annotated[list[Path], typer.Argument(help="PDFs of citing papers.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The folder for .xml, .dois and .review.json files."),
    ] = None,
    sections: Annotated[
        str,
        typer.Option(help="Parts of a paper to take, with commas between; 'all' for all of it."),
    ] = "introduction,related work",
    against: Annotated[
        list[Path] | None,
        typer.Option(
            help="A collection or bibliography that has cited papers: references are linked to "
            "its documents; may be repeated."
        ),
    ] = None,
    grobid: Annotated[
        str | None, typer.Option(help="The address of a GROBID server that is to read the PDFs.")
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 for one per core.")] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find the paragraphs of papers that cite, sentence by sentence, and which papers they cite.

    The files in the output folder are what 'citebed import' reads. How sure each decision is, and
    where on the page it stands, is in the .review.json files.

    Example: citebed annotate papers/*.pdf -o annotated/ --against acm-cr/
    """
    from citebed.collection.annotating import annotate_papers, write_annotation

    if output is None:
        raise CitebedError("say where the annotations are to be written, as: -o annotated/")
    parts = [part for part in map(str.strip, sections.split(",")) if part]
    rows, failed = [], 0
    with progress_bar(quiet or as_json, unit="papers") as progress:
        for paper in annotate_papers(
            papers,
            sections=parts,
            against=against or (),
            grobid=grobid,
            workers=workers,
            progress=progress,
        ):
            if paper.annotation is not None:
                write_annotation(output, paper)
            rows.append(_row(paper))
            failed += paper.annotation is None
    _tell(rows, output, as_json=as_json, quiet=quiet)
    if failed:
        raise typer.Exit(1)


def _row(paper: AnnotatedPaper) -> dict[str, Any]:
    """What was made of a paper, in figures."""
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
        "doubtful": sum(confidence < _DOUBTFUL for confidence in sure),
        "notes": "; ".join(paper.notes),
    }


def _tell(rows: list[dict[str, Any]], output: Path, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        print_json(rows)
        return
    for row in rows:
        name = printable(row["paper"])
        if not row["title"] and not row["references"] and row["notes"]:
            typer.echo(f"citebed: {name}: {printable(row['notes'])}", err=True)
        elif not quiet:
            typer.echo(f"{name}: {printable(_made(row))}")
            if row["notes"]:
                typer.echo(f"note: {name}: {printable(row['notes'])}", err=True)
    if not quiet and any(row["contexts"] for row in rows):
        typer.echo(f"\nRead them with: citebed import COLLECTION {printable(output)}")


def _made(row: dict[str, Any]) -> str:
    doubts = f"; {count(row['doubtful'], 'decision')} to look at" if row["doubtful"] else ""
    return (
        f"{count(row['contexts'], 'paragraph')} with {count(row['citing'], 'citing sentence')} of "
        f"{row['sentences']:,}, {count(row['references'], 'reference')}, {row['dois']:,} with a "
        f"DOI{doubts}"
    )
