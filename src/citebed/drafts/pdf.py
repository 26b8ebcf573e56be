"""Read a PDF as a draft: its paragraphs and its reference list.

The line of a position is the page number, which is all that a reader can find again.
"""

from __future__ import annotations

from citebed.drafts.parsed_draft import Block, Origin, ParsedDraft, Raw
from citebed.drafts.records import PAGE, Place
from citebed.drafts.references import parse_entry
from citebed.papers.child_process import PaperFile, PaperProblem, read_paper
from citebed.papers.paper import PlacedText


def read_pdf(data: bytes, name: str, parsed: ParsedDraft) -> None:
    """Read a PDF into ``parsed``; raise ``FormatError`` if it cannot be read."""
    paper = read_paper(PaperFile(name, data))
    if isinstance(paper, PaperProblem):
        raise paper.error
    parsed.title, parsed.authors = paper.title, paper.authors
    if paper.abstract:
        parsed.blocks.append(_block(PlacedText(paper.abstract), "Abstract"))
    for each in paper.paragraphs:
        kind = "item" if each.is_item else ""
        parsed.blocks.append(_block(each.content, each.section, kind))
    for number, entry in enumerate(paper.references, 1):
        parsed.entries.append(parse_entry(entry.label or str(number), entry.content.text))
    for note in paper.notes:
        parsed.note(note)


def _block(content: PlacedText, section: str, kind: str = "") -> Block:
    page = content.places[0].page + 1 if content.places else 1
    raw = Raw(content.text, [Origin(0, Place(PAGE, page), exact=False)])
    return Block(content.text, raw, section, kind)
