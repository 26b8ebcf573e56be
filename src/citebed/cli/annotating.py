"""``citebed annotate``: from PDFs of citing papers to annotated ones, and the page to confirm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from citebed.cli.output import AsJson, Quiet, print_json
from citebed.errors import CitebedError
from citebed.papers.deciding import THRESHOLD
from citebed.papers.review import Review, write_proposal
from citebed.report.terminal import progress_bar
from citebed.wording import count, printable

if TYPE_CHECKING:
    from citebed.collection.annotating import AnnotatedPaper
    from citebed.collection.progress import Progress


def annotate(
    papers: Annotated[
        list[Path], typer.Argument(help="PDFs of citing papers; with --review their folder.")
    ],
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
    review: Annotated[
        bool,
        typer.Option("--review", help="Open the page on which a folder's papers are confirmed."),
    ] = False,
    export: Annotated[
        bool,
        typer.Option("--export", help="With --review: write what was confirmed, and open no page."),
    ] = False,
    sure: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="With --review: ask what is less likely right."),
    ] = THRESHOLD,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="With --review: 0 for any free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option(help="With --review: open the page in the browser.")
    ] = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find the paragraphs of papers that cite, sentence by sentence, and which papers they cite.

    The files in the output folder are what 'citebed import' reads. How sure each decision is, and
    where on the page it stands, is in the .review.json files; 'citebed annotate --review FOLDER'
    asks what is in doubt on a page of this machine.

    Example: citebed annotate papers/*.pdf -o annotated/ --against acm-cr/
    """
    if review:
        (folder,) = papers if len(papers) == 1 else (None,)
        if folder is None or not folder.is_dir():
            raise CitebedError(
                "name one folder to review, as: citebed annotate --review annotated/"
            )
        _export(folder, sure, as_json, quiet) if export else _serve(folder, port, browser, sure)
        return
    if output is None:
        raise CitebedError("say where the annotations are to be written, as: -o annotated/")
    parts = [part for part in map(str.strip, sections.split(",")) if part]
    if not parts:
        raise CitebedError("expected parts of a paper, as --sections introduction, or 'all'.")
    names = Counter(path.stem for path in papers)
    if twice := [name for name, times in names.items() if times > 1]:
        raise CitebedError(f"two papers would be written as {twice[0]}: annotate them apart.")
    with progress_bar(quiet or as_json, unit="papers") as progress:
        how = _How(parts, against or [], grobid, workers)
        rows = [_row(paper) for paper in _annotated(papers, output, how, progress)]
    _tell(rows, output, as_json=as_json, quiet=quiet)
    if any(row["unread"] for row in rows):
        raise typer.Exit(1)


class _How(NamedTuple):
    """How papers are to be annotated."""

    sections: list[str]
    against: list[Path]
    grobid: str | None
    workers: int


def _annotated(
    papers: list[Path], output: Path, how: _How, progress: Progress
) -> Iterator[AnnotatedPaper]:
    """The papers, each written when it is done."""
    from citebed.collection.annotating import annotate_papers

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
            rest = "" if each.finished else f"; {count(each.left_out, 'paragraph')} left out"
            made = count(each.contexts, "paragraph")
            state = "confirmed" if each.finished else "not all confirmed"
            typer.echo(f"{printable(each.stem)}: {made}{rest}; {state}")


def _serve(folder: Path, port: int, browser: bool, sure: float) -> None:
    from citebed.web.review.serving import serve_review

    def tell(address: str) -> None:
        typer.echo(f"confirm at {address} (Ctrl-C ends it)")

    serve_review(folder, port, browser=browser, threshold=sure, started=tell)


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
        typer.echo(f"\nConfirm them with: citebed annotate --review {printable(output)}")
        typer.echo(f"Read them with: citebed import COLLECTION {printable(output)}")


def _made(row: dict[str, Any]) -> str:
    doubts = f"; {count(row['doubtful'], 'decision')} to look at" if row["doubtful"] else ""
    return (
        f"{count(row['contexts'], 'paragraph')} with {count(row['citing'], 'citing sentence')} of "
        f"{row['sentences']:,}, {count(row['references'], 'reference')}, {row['dois']:,} with a "
        f"DOI{doubts}"
    )
