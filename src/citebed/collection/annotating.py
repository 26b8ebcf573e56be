"""Citing papers annotated from their PDFs, with references linked to documents that are at hand."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from citebed.collection.collection import Collection
from citebed.collection.grobid import annotation_by_grobid
from citebed.collection.importing import import_sources
from citebed.collection.progress import SILENT, Progress
from citebed.collection.storing import store
from citebed.errors import FormatError
from citebed.papers.annotation import Annotation
from citebed.papers.annotator import PARTS
from citebed.papers.annotator import annotate as annotate_paper
from citebed.papers.child_process import PaperProblem, read_papers
from citebed.papers.reference_matcher import Bibliography

Paths = str | Path | Iterable[str | Path]


class AnnotatedPaper(NamedTuple):
    """A PDF and its annotation, or why there is none; ``notes`` are what is odd about it."""

    path: Path
    annotation: Annotation | None
    notes: tuple[str, ...] = ()


def annotate(
    paper: str | Path,
    *,
    sections: Iterable[str] = PARTS,
    against: Paths = (),
    grobid: str | None = None,
) -> Annotation:
    """The annotation of a citing paper from its PDF; the options are those of `annotate_papers`.

    Raises ``CitebedError`` where the file cannot be read.
    """
    (made,) = annotate_papers(paper, sections=sections, against=against, grobid=grobid, workers=1)
    if made.annotation is None:
        raise FormatError(str(paper), None, "; ".join(made.notes))
    return made.annotation


def annotate_papers(
    papers: Paths,
    *,
    sections: Iterable[str] = PARTS,
    against: Paths = (),
    grobid: str | None = None,
    workers: int = 0,
    progress: Progress = SILENT,
) -> Iterator[AnnotatedPaper]:
    """The annotation of each PDF, in their order.

    ``sections`` are the parts of a paper whose paragraphs are taken (``introduction``,
    ``related work``), or ``all``. ``against`` are collections or bibliographies of any format
    that have the cited papers. With ``grobid`` a GROBID server at that address reads the PDFs.
    """
    paths, parts = [Path(each) for each in _several(papers)], tuple(sections)
    wanted = () if "all" in parts else parts
    known = _bibliography([Path(each) for each in _several(against)])
    progress.step("annotating", len(paths))
    if grobid is None:
        for path, paper in zip(paths, read_papers(paths, workers), strict=True):
            progress.add(1)
            if isinstance(paper, PaperProblem):
                yield AnnotatedPaper(path, None, (paper.what,))
            else:
                made = annotate_paper(paper, path.stem, sections=wanted, against=known)
                yield AnnotatedPaper(path, made, paper.notes)
        return
    for path in paths:
        progress.add(1)
        yield AnnotatedPaper(path, annotation_by_grobid(path, grobid, wanted, known))


def _several(paths: Paths) -> list[str | Path]:
    return [paths] if isinstance(paths, str | Path) else list(paths)


def _is_collection(path: Path) -> bool:
    return (path / store.MANIFEST).is_file()


def _bibliography(sources: Sequence[Path]) -> Bibliography | None:
    """The documents of collections and of files in any format."""
    if not sources:
        return None
    tables = [Collection(each).documents for each in sources if _is_collection(each)]
    files = [each for each in sources if not _is_collection(each)]
    if files:
        with tempfile.TemporaryDirectory() as folder:
            import_sources(folder, files)
            tables.append(Collection(Path(folder)).documents)
    names = ["doc_id", "doi", "arxiv", "title", "authors", "year", "venue"]
    documents = pl.concat([table.select(names) for table in tables])
    return Bibliography(documents.unique("doc_id", keep="first", maintain_order=True))
