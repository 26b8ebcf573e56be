"""Papers as PDFs: a document with its full text, and a citing paper if it cites.

PDFium runs in a child process with limits (``citebed.papers.child_process``). If it cannot read a
file, citebed reports a problem and imports the other files.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from citebed.collection.formats.base import Chunk, Format
from citebed.records import Context, Document, Problem, Record, Reference, Section, Sentence
from citebed.text.headings import BELOW
from citebed.text.normalise import fold

_MAX_BYTES = 200 << 20
_MIN_CONFIDENCE = 0.5


def _sniff(head: str) -> bool:
    return head.lstrip().startswith("%PDF-")


def _parse(chunk: Chunk) -> Iterator[Record]:
    from citebed.collection.formats.full_text import paper_records
    from citebed.collection.formats.xml import file_stem
    from citebed.collection.formats.zotero import parse_attached_to
    from citebed.papers.annotator import annotate
    from citebed.papers.child_process import PaperFile, PaperProblem, read_paper
    from citebed.papers.references import parse_reference

    paper = read_paper(PaperFile(chunk.source, chunk.data))
    if isinstance(paper, PaperProblem):
        yield Problem(chunk.line, paper.what)
        return
    for note in paper.notes:
        yield Problem(chunk.line, note, "mended")
    annotation = annotate(paper, file_stem(chunk.source), sections=())
    sections = []
    for section, paragraphs in groupby(paper.paragraphs, key=lambda each: each.section):
        # Words that head a paragraph are part of its text.
        texts = (f"{each.heading} {each.content.text}" for each in paragraphs)
        if text := fold(" ".join(texts)):
            sections.append(Section(section.rsplit(BELOW, maxsplit=1)[-1], text))
    parent = parse_attached_to(chunk.context)
    document = Document(
        doc_id=annotation.paper_id,
        title=fold(paper.title),
        authors=paper.authors,
        year=paper.year,
        date=str(paper.year) if paper.year else None,
        doi=paper.doi,
        abstract=fold(paper.abstract) or None,
        sections=tuple(sections),
        line=chunk.line,
    )
    if parent is not None:  # a library knows more than its PDF, and is not mistaken
        # Without author or year, an abstract that only one of them has would keep them apart.
        abstract = document.abstract if parent.authors and parent.year else None
        document = parent._replace(abstract=parent.abstract or abstract, sections=document.sections)
    if not (document.title or document.sections):
        yield Problem(chunk.line, "citebed found no title and no running text in it")
        return
    contexts = tuple(
        Context(
            context.context_id,
            context.heading,
            tuple(Sentence(fold(each.printed), each.cites, None) for each in context.sentences),
        )
        for context in annotation.contexts
    )
    references = []
    for reference in annotation.references:
        read = parse_reference(reference.text)
        is_sure = read.confidence >= _MIN_CONFIDENCE
        references.append(
            Reference(
                reference.ref_id,
                doi=reference.doi or read.doi,
                url=reference.url or read.url,
                title=read.title if is_sure and read.title else None,
                arxiv=reference.arxiv or read.arxiv,
                author=next(iter(read.authors), None) if is_sure else None,
            )
        )
    yield from paper_records(document, contexts, tuple(references))


PDF = Format("pdf", "papers as PDF", _sniff, _parse, limit=_MAX_BYTES)
