"""What a draft is once it is read: passages of prose to search with, and what it cites already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from citebed.errors import UnknownName
from citebed.text.normalise import unique


@dataclass(frozen=True)
class Entry:
    """An entry of the draft's own bibliography.

    ``key`` is its BibTeX key, or its number where the list is numbered; ``text`` is the
    reference as it reads; ``title`` is known only where a field says so (a .bib file).
    """

    key: str
    text: str
    title: str = ""
    doi: str | None = None
    arxiv: str | None = None


@dataclass(frozen=True)
class Cited:
    """What a draft cites: BibTeX keys, numbers of markers (``[12]``), and the works behind them.

    ``dois`` and ``arxiv`` hold identifiers met in the text or in the entries, in lower case and
    without an address or a version; ``titles`` the titles of those ``entries`` that state one.
    """

    keys: tuple[str, ...] = ()
    dois: tuple[str, ...] = ()
    arxiv: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class Passage:
    """A paragraph (or a sentence, or everything) as a recommender wants to read it.

    ``text`` is clean prose: no commands, no citation markers, no line breaks; ``sentences`` are
    its sentences in order, ``sentence_cites`` what each of them cites. ``line`` is where it
    starts in its file, which is ``source`` (``""`` for the draft itself, else the file that the
    draft includes). ``cites`` holds keys, DOIs, ``arXiv:`` ids and numbers, in order.
    """

    text: str
    line: int = 1
    section: str = ""
    number: int = 1
    cites: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    sentence_cites: tuple[tuple[str, ...], ...] = ()
    source: str = ""


@dataclass(frozen=True)
class Draft:
    """A text in the making, read; ``notes`` say what could not be read, for the user."""

    passages: tuple[Passage, ...]
    title: str = ""
    authors: tuple[str, ...] = ()
    cited: Cited = Cited()
    bibliography_files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


# --- What to search with --------------------------------------------------------------------

Unit = Literal["text", "paragraph", "sentence"]


def pieces(draft: Draft, unit: Unit) -> list[Passage]:
    """The draft as one passage, as its paragraphs, or as its sentences; numbered from 1.

    A sentence has its paragraph's line and section, and only what it cites itself.
    """
    if unit not in get_args(Unit):
        raise UnknownName("unit of text", unit, get_args(Unit))
    if unit == "paragraph" or not draft.passages:
        return list(draft.passages)
    return [_whole(draft)] if unit == "text" else _sentences(draft)


def _whole(draft: Draft) -> Passage:
    passages = draft.passages
    return Passage(
        text="\n\n".join(passage.text for passage in passages),
        line=passages[0].line,
        number=1,
        cites=unique(name for passage in passages for name in passage.cites),
        sentences=tuple(text for passage in passages for text in passage.sentences),
        sentence_cites=tuple(names for passage in passages for names in passage.sentence_cites),
        source=passages[0].source,
    )


def _sentences(draft: Draft) -> list[Passage]:
    found: list[Passage] = []
    for passage in draft.passages:
        for text, cites in zip(passage.sentences, passage.sentence_cites, strict=True):
            number = len(found) + 1
            place = (passage.line, passage.section, number)
            found.append(Passage(text, *place, cites, (text,), (cites,), passage.source))
    return found
