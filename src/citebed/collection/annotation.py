"""Annotate the PDFs of citing papers, and link their references to given documents.

citebed reads the PDFs itself, or asks a GROBID server.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import polars as pl

from citebed.collection.collection import Collection
from citebed.collection.formats.base import Chunk
from citebed.collection.formats.tei import TEI
from citebed.collection.importing import import_sources
from citebed.collection.progress import SILENT, Progress
from citebed.errors import CitebedError, FormatError
from citebed.files.environment import check_online
from citebed.files.file_kinds import MANIFEST
from citebed.papers.annotation import AnnotatedContext, Annotation
from citebed.papers.annotator import PARTS, annotate_references, annotate_sentences, part_of
from citebed.papers.annotator import annotate as annotate_paper
from citebed.papers.child_process import PaperProblem, read_papers
from citebed.papers.reference_matcher import ReferenceMatcher
from citebed.papers.references import ParsedReference
from citebed.records import CitingPaper, Document

Paths = str | Path | Iterable[str | Path]


class AnnotatedPaper(NamedTuple):
    """A PDF and its annotation (``None`` if it failed), with notes on oddities and problems."""

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
    """Annotate a citing paper from its PDF; for the options see `annotate_papers`.

    Raise ``CitebedError`` if the file cannot be read.
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
    """Annotate several PDFs, in their order.

    ``sections`` are the parts of a paper whose paragraphs are annotated (``introduction``,
    ``related work``), or ``all``. ``against`` are collections or bibliographies of any format that
    contain the cited papers. ``grobid`` is the address of a GROBID server that reads the PDFs.
    """
    paths, parts = [Path(each) for each in _listed(papers)], tuple(sections)
    wanted = () if "all" in parts else parts
    sources = [Path(each) for each in _listed(against)]
    known = None
    if sources:
        folders = [each for each in sources if (each / MANIFEST).is_file()]
        files = [each for each in sources if each not in folders]
        tables = [Collection(each).documents for each in folders]
        if files:
            with tempfile.TemporaryDirectory() as folder:
                import_sources(folder, files)
                tables.append(Collection(Path(folder)).documents)
        names = ["doc_id", "doi", "arxiv", "title", "authors", "year", "venue"]
        documents = pl.concat([table.select(names) for table in tables])
        known = ReferenceMatcher(documents.unique("doc_id", keep="first", maintain_order=True))
    progress.step("annotating", len(paths))
    if grobid is not None:
        for path in paths:
            progress.add(1)
            yield AnnotatedPaper(path, annotate_with_grobid(path, grobid, wanted, known))
        return
    for path, paper in zip(paths, read_papers(paths, workers), strict=True):
        progress.add(1)
        if isinstance(paper, PaperProblem):
            yield AnnotatedPaper(path, None, (paper.what,))
        else:
            made = annotate_paper(paper, path.stem, sections=wanted, against=known)
            # It has citation markers, and no paragraph of any section that cites was read.
            failed = (
                not made.contexts
                and bool(made.notes)
                and not annotate_paper(paper, path.stem, sections=()).contexts
            )
            yield AnnotatedPaper(path, None if failed else made, (*paper.notes, *made.notes))


def _listed(paths: Paths) -> list[str | Path]:
    return [paths] if isinstance(paths, str | Path) else list(paths)


# --- GROBID -----------------------------------------------------------------------------------


_TIMEOUT = 120
_MAX_BYTES = 64 << 20
_LOCAL = ("localhost", "127.0.0.1", "::1")
_OPTIONS = {"includeRawCitations": "1", "consolidateCitations": "0", "consolidateHeader": "0"}


def annotate_with_grobid(
    path: Path, address: str, sections: Names[str], known: ReferenceMatcher | None
) -> Annotation:
    """Annotate a PDF that a GROBID server reads; the annotation has no positions."""
    if urlsplit(address).hostname not in _LOCAL:
        check_online(f"{path} would be sent to {address}", "Leave out --grobid.")
    records = list(TEI.parse(Chunk(_fetch_tei(path, address), str(path))))
    paper = next((each for each in records if isinstance(each, CitingPaper)), None)
    document = next((each for each in records if isinstance(each, Document)), None)
    if document is None:
        raise FormatError(str(path), None, f"GROBID at {address} found no paper in it.")
    contexts: list[AnnotatedContext] = []
    for context in paper.contexts if paper else ():
        part = part_of(context.section, sections)
        if part is not None and any(sentence.cites for sentence in context.sentences):
            sentences = tuple(annotate_sentences(context.sentences))
            number = f"{len(contexts) + 1:02d}"
            contexts.append(AnnotatedContext(number, part, context.section, 1.0, sentences))
    references = paper.references if paper else ()
    parsed = [
        ParsedReference(
            text=each.raw or ". ".join(filter(None, (each.author, each.title))),
            authors=(each.author,) if each.author else (),
            title=each.title or "",
            doi=each.doi,
            url=each.url,
            arxiv=each.arxiv,
            confidence=1.0 if each.title else 0.0,
        )
        for each in references
    ]
    ids = [each.ref_id for each in references]
    return Annotation(
        paper_id=document.doi or path.stem,
        doi=document.doi,
        title=document.title,
        authors=document.authors,
        abstract=document.abstract or "",
        year=document.year,
        contexts=tuple(contexts),
        references=tuple(annotate_references(ids, [()] * len(ids), parsed, known)),
        pages=(),
    )


def _fetch_tei(path: Path, address: str) -> bytes:
    """Send a PDF to a GROBID server and return its TEI."""
    try:
        pdf = path.read_bytes()
    except OSError as error:
        raise CitebedError(f"{path}: {error.strerror}") from None
    edge = secrets.token_hex(16)
    part = f"--{edge}\r\nContent-Disposition: form-data; name="
    fields = "".join(f'{part}"{name}"\r\n\r\n{value}\r\n' for name, value in _OPTIONS.items())
    head = f'{part}"input"; filename="paper.pdf"\r\nContent-Type: application/pdf\r\n\r\n'
    body = (fields + head).encode() + pdf + f"\r\n--{edge}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={edge}", "Accept": "application/xml"}
    place = f"{address.rstrip('/')}/api/processFulltextDocument"
    try:
        with urlopen(Request(place, body, headers), timeout=_TIMEOUT) as response:
            return bytes(response.read(_MAX_BYTES))
    except HTTPError as error:
        raise CitebedError(f"GROBID at {address} did not read {path}: {error.reason}") from None
    except (URLError, TimeoutError, OSError, ValueError) as error:
        why = getattr(error, "reason", error)
        raise CitebedError(
            f"GROBID at {address} cannot be reached ({why}); expected the address of a running "
            "server, such as http://localhost:8070. Leave out --grobid to read without one."
        ) from None
