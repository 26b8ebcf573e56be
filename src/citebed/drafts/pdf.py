"""A draft as a PDF: its paragraphs as blocks of prose, its reference list as what it cites.

A "line" is the number of the page: nothing else in a PDF can be found again by a person.
"""

from __future__ import annotations

from citebed.drafts.findings import Block, Findings, Origin, Raw
from citebed.drafts.records import PAGE, Place
from citebed.drafts.references import entry_of
from citebed.papers.child_process import PaperFile, PaperProblem, read_paper
from citebed.papers.paper import PlacedText


def read_pdf(data: bytes, name: str, findings: Findings) -> None:
    """Read a PDF into ``findings``; raises ``FormatError`` for one that is no paper."""
    paper = read_paper(PaperFile(name, data))
    if isinstance(paper, PaperProblem):
        raise paper.error
    findings.title, findings.authors = paper.title, paper.authors
    if paper.abstract:
        findings.blocks.append(_block(PlacedText(paper.abstract), "Abstract"))
    for each in paper.paragraphs:
        kind = "item" if each.is_item else ""
        findings.blocks.append(_block(each.content, each.section, kind))
    for number, entry in enumerate(paper.references, 1):
        findings.entries.append(entry_of(entry.label or str(number), entry.content.text))
    for note in paper.notes:
        findings.note(note)


def _block(content: PlacedText, section: str, kind: str = "") -> Block:
    page = content.places[0].page + 1 if content.places else 1
    raw = Raw(content.text, [Origin(0, Place(PAGE, page), exact=False)])
    return Block(content.text, raw, section, kind)
