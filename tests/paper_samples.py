"""A small paper of our own words, in two columns, as a PDF, and as it is annotated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pypdfium2
from reportlab.lib.pagesizes import letter
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import (
    BaseDocTemplate,
    Frame,
    FrameBreak,
    PageTemplate,
    Paragraph,
)

from citebed.papers.annotation import Annotation, Candidate
from citebed.papers.annotator import annotate
from citebed.papers.pdf_reader import read_document
from citebed.papers.review import write_proposal

TITLE = "Finding the Papers That a Sentence Asks For"
ABSTRACT = (
    "Writers know that a claim wants a source, and seldom which one. We ask how well a machine "
    "finds it from the words around the gap. On a shelf of made-up papers simple counting of "
    "words is hard to beat, and we say why."
)
INTRODUCTION = (
    "Whoever writes a paper leans on others who wrote before. Early systems counted words and "
    "weighed them by how rare they are [1]. Later ones learned to rank from clicks of patient "
    "readers [2, 3]. None of them was asked by somebody in the middle of a sentence.",
    "A gap in a draft is a question of its own kind. Baker and Cook showed that the words before "
    "the gap matter more than those behind it [4]. Shelves that grow each week make the task "
    "harder still, since what was a good answer in spring is an old one in autumn [5, 6].",
    "We therefore build a small shelf, hide one source at a time, and let five methods look for "
    "it. All five are simple, and their code fits on a page [7].",
)
RELATED = (
    "Recommending sources from whole drafts has a long history [3, 8]. Those methods see the "
    "list of references and miss the sentence. Methods that see the sentence alone were measured "
    "on hidden sources of one venue [9].",
    "Judging by hand is slow, and so most studies take what was cited as right [10]. Dyer warned "
    "that a source that was not cited may serve as well [11].",
)
REFERENCES = (
    "Ada Archer. 1999. Counting rare words on long shelves. Journal of Made-Up Retrieval 3, 2.",
    "Ben Baker. 2004. Clicks of patient readers. In Proceedings of the Paper House. 10-19.",
    "Cara Cook. 2006. Learning to rank what readers open. In Proceedings of the Paper House.",
    "Ben Baker and Cara Cook. 2011. Words before the gap. Journal of Made-Up Retrieval 15, 1.",
    "Dan Dyer. 2013. Shelves that grow each week. In Proceedings of Weekly Indexing. 1-8.",
    "Eve Elder. 2014. Forgetting nothing while growing. In Proceedings of Weekly Indexing. 9-16.",
    "Finn Fisher. 2015. Five methods on one page. Notes on Short Programs 7.",
    "Gail Glover. 2016. Drafts as questions. In Proceedings of the Paper House. 77-86.",
    "Hal Hunter. 2017. Hidden sources of one venue. Journal of Made-Up Retrieval 21, 4.",
    "Ida Ironside. 2018. What was cited is right, they say. Notes on Judging 2.",
    "Dan Dyer. 2019. Sources that would have served. doi: 10.5555/made.up.2019.11.",
)
_BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=9.5, leading=11.4, alignment=4)
_NEXT = ParagraphStyle("next", parent=_BODY, firstLineIndent=10)
_SMALL = ParagraphStyle(
    "small", parent=_BODY, fontSize=7.5, leading=9, leftIndent=14, firstLineIndent=-14, alignment=0
)
_HEAD = ParagraphStyle(
    "head", fontName="Times-Bold", fontSize=11, leading=14, spaceBefore=8, spaceAfter=3
)
_TITLE = ParagraphStyle("title", fontName="Times-Bold", fontSize=17, leading=22, alignment=1)
_AUTHOR = ParagraphStyle("author", fontName="Times-Roman", fontSize=11, leading=14, alignment=1)


def write_sample_pdf(path: Path) -> None:
    """The paper as a PDF in two columns."""
    story = [Paragraph(TITLE, _TITLE), Paragraph("Jo Writer and Kim Reader", _AUTHOR)]
    story += [FrameBreak(), Paragraph("ABSTRACT", _HEAD)]
    story += [Paragraph(ABSTRACT, _BODY), Paragraph("1 INTRODUCTION", _HEAD)]
    story += _paragraphs(INTRODUCTION)
    story += [Paragraph("2 RELATED WORK", _HEAD), *_paragraphs(RELATED)]
    story += [Paragraph("REFERENCES", _HEAD)]
    story += [Paragraph(f"[{n}] {text}", _SMALL) for n, text in enumerate(REFERENCES, 1)]
    width, height = letter
    top = Frame(54, height - 130, width - 108, 76, 0, 0, 0, 0, id="top")
    columns = [Frame(left, 302, 246, height - 444, 0, 0, 0, 0, id=str(left)) for left in (54, 312)]
    template = PageTemplate("page", [top, *columns], pagesize=letter)
    BaseDocTemplate(str(path), pageTemplates=[template], title=TITLE, invariant=1).build(story)


def _paragraphs(texts: tuple[str, ...]) -> list[Paragraph]:
    return [Paragraph(text, _NEXT if n else _BODY) for n, text in enumerate(texts)]


def sample_annotation(path: Path) -> Annotation:
    """The text read from the PDF, with some errors of a machine: a marker that means another"""
    document = pypdfium2.PdfDocument(path)
    try:
        read = annotate(read_document(document), "sample")
    finally:
        document.close()
    first, second, *others = read.contexts
    before, wrong, *behind = second.sentences
    marker = replace(wrong.markers[0], cites=("5",), confidence=0.6)
    wrong = replace(wrong, markers=(marker,), cites=("5",), confidence=0.6)
    halves = [
        replace(second, sentences=(before, wrong), confidence=0.6),
        replace(second, sentences=tuple(behind), confidence=0.7),
    ]
    contexts = [replace(first, confidence=0.99), *halves, *others]
    numbered = (replace(each, context_id=f"{n:02d}") for n, each in enumerate(contexts, 1))
    sure = [replace(each, confidence=0.99) for each in read.references]
    offered = (
        Candidate("shelves", "Shelves that grow", 0.6, "10.5555/shelves"),
        Candidate("weeks", "Weeks of growing", 0.3, "10.5555/weeks"),
    )
    sure[4] = replace(sure[4], confidence=0.6, candidates=offered)
    sure[8] = replace(sure[8], confidence=0.5)
    return replace(read, contexts=tuple(numbered), references=tuple(sure))


def review_folder(folder: Path, *stems: str) -> Path:
    """A folder with the paper to confirm, under these names."""
    folder.mkdir(exist_ok=True)
    for stem in stems or ("sample",):
        pdf = folder / f"{stem}.pdf"
        write_sample_pdf(pdf)
        write_proposal(folder, stem, sample_annotation(pdf), pdf)
    return folder
