"""Papers as PDFs: a document with its full text, and a citing paper where its text cites.

PDFium runs in a child process with limits (``citebed.papers.child_process``). A file that it cannot
read is reported, and the other files are imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from citebed.collection.formats.base import Chunk, Format
from citebed.records import Context, Document, Problem, Record, Reference, Section, Sentence
from citebed.text.headings import BELOW
from citebed.text.normalise import fold

if TYPE_CHECKING:
    from citebed.papers.annotation import Annotation
    from citebed.papers.paper import ReadPaper

_MOST_BYTES = 200 << 20
_SURE = 0.5


def _sniff(head: str) -> bool:
    return head.lstrip().startswith("%PDF-")


def _parse(chunk: Chunk) -> Iterator[Record]:
    """The document, then the citing paper if it has one; what is odd about the file is told."""
    from citebed.collection.formats.fulltext import paper_records
    from citebed.collection.formats.xml import file_stem
    from citebed.papers.annotator import annotate
    from citebed.papers.child_process import PaperFile, PaperProblem, read_paper

    paper = read_paper(PaperFile(chunk.source, chunk.data))
    if isinstance(paper, PaperProblem):
        yield Problem(chunk.line, paper.what)
        return
    for note in paper.notes:
        yield Problem(chunk.line, note, "mended")
    annotation = annotate(paper, file_stem(chunk.source), sections=())
    document = _document(paper, annotation, chunk)
    if not (document.title or document.sections):
        yield Problem(chunk.line, "no title and no running text were found in it")
        return
    yield from paper_records(document, _contexts(annotation), tuple(_references(annotation)))


def _document(paper: ReadPaper, annotation: Annotation, chunk: Chunk) -> Document:
    return Document(
        doc_id=annotation.paper_id,
        title=fold(paper.title),
        authors=paper.authors,
        year=paper.year,
        date=str(paper.year) if paper.year else None,
        doi=paper.doi,
        abstract=fold(paper.abstract) or None,
        sections=tuple(_sections(paper)),
        line=chunk.line,
    )


def _sections(paper: ReadPaper) -> Iterator[Section]:
    """The text below each heading; words that head a paragraph are part of its text."""
    for section, paragraphs in groupby(paper.paragraphs, key=lambda each: each.section):
        texts = (f"{each.heading} {each.content.text}" for each in paragraphs)
        if text := fold(" ".join(texts)):
            yield Section(section.rsplit(BELOW, maxsplit=1)[-1], text)


def _contexts(annotation: Annotation) -> tuple[Context, ...]:
    """The paragraphs that cite, with the names of the cited as they were printed."""
    return tuple(
        Context(
            context.context_id,
            context.heading,
            tuple(Sentence(fold(each.printed), each.cites, None) for each in context.sentences),
        )
        for context in annotation.contexts
    )


def _references(annotation: Annotation) -> Iterator[Reference]:
    """The list of references; a title that was not surely read is left to DOI and arXiv id."""
    from citebed.papers.references import parse_reference

    for each in annotation.references:
        read = parse_reference(each.text)
        sure = read.confidence >= _SURE
        yield Reference(
            each.ref_id,
            doi=each.doi or read.doi,
            url=each.url or read.url,
            title=read.title if sure and read.title else None,
            arxiv=each.arxiv or read.arxiv,
            author=next(iter(read.authors), None) if sure else None,
        )


PDF = Format("pdf", "papers as PDF", _sniff, _parse, limit=_MOST_BYTES)
