"""What a draft is once it is read: passages of prose to search with, and what it cites already."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from citebed.errors import CitebedError, UnknownName
from citebed.text.normalise import unique


@dataclass(frozen=True)
class Entry:
    """An entry of the draft's own bibliography.

    ``key`` is its BibTeX key, or its number where the list is numbered; ``text`` is the
    reference as it reads; ``title`` and ``year`` are known only where a field says so (a .bib
    file).
    """

    key: str
    text: str
    title: str = ""
    doi: str | None = None
    arxiv: str | None = None
    year: int | None = None


@dataclass(frozen=True)
class Cited:
    """What a draft cites: BibTeX keys, numbers of markers (``[12]``), and the works behind them.

    ``dois`` and ``arxiv`` hold identifiers met in the text or in the entries, in lower case and
    without an address or a version; ``titles`` the titles of those ``entries`` that state one;
    ``authored`` what is cited by names and year alone (``Smith et al. 2019``).
    """

    keys: tuple[str, ...] = ()
    dois: tuple[str, ...] = ()
    arxiv: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    entries: tuple[Entry, ...] = ()
    authored: tuple[str, ...] = ()


PAGE = "page"
"""The source of a place in a PDF, whose lines are pages."""


class Place(NamedTuple):
    """Where something stands: the file (``""`` for the draft itself), line and column from 1."""

    source: str = ""
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        if self.source == PAGE:
            return f"page {self.line}"
        return f"{self.source}:{self.line}" if self.source else f"line {self.line}"


@dataclass(frozen=True)
class Passage:
    """A paragraph (or a sentence, or everything) as a recommender wants to read it.

    ``text`` is clean prose: no commands, no citation markers, no line breaks; ``sentences`` are
    its sentences in order, ``sentence_cites`` what each of them cites, ``places`` where each
    stands. ``line`` and ``column`` are where it starts in its file, which is ``source`` (``""``
    for the draft itself, else the file that the draft includes). ``cites`` holds keys, DOIs,
    ``arXiv:`` ids and numbers, in order. What is ``silent`` asks for no citations, and that is
    what it is: a ``caption``, a ``heading or stub`` … ``wanted`` are the numbers of the sentences
    in which a citation is still to come (``\\cite{}``, ``[?]``).
    """

    text: str
    line: int = 1
    section: str = ""
    number: int = 1
    cites: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    sentence_cites: tuple[tuple[str, ...], ...] = ()
    source: str = ""
    column: int = 1
    places: tuple[Place, ...] = ()
    silent: str = ""
    wanted: tuple[int, ...] = ()


STUB = "heading or stub"
"""What a passage is called that is too short to ask; within a whole text it does ask."""


@dataclass(frozen=True)
class Draft:
    """A text in the making, read; ``notes`` say what could not be read, for the user.

    ``file`` is where it was read from, as it was given (``""`` for a text); ``library`` are the
    texts of its .bib files.
    """

    passages: tuple[Passage, ...]
    title: str = ""
    authors: tuple[str, ...] = ()
    cited: Cited = Cited()
    bibliography_files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    file: str = ""
    library: tuple[str, ...] = field(default=(), repr=False)

    def file_of(self, place: Place) -> str:
        """The file in which something stands, to be opened from where the draft was."""
        is_here = place.source in ("", PAGE)
        return self.file if is_here else str(Path(self.file).parent / place.source)


# --- What to search with --------------------------------------------------------------------

Unit = Literal["text", "paragraph", "sentence"]


def pieces(draft: Draft, unit: Unit) -> list[Passage]:
    """The draft as one passage, as its paragraphs, or as its sentences; numbered from 1.

    A sentence has its paragraph's section, its own place, and only what it cites itself. What is
    silent stays so; the whole is made of the rest.
    """
    if unit not in get_args(Unit):
        raise UnknownName("unit of text", unit, get_args(Unit))
    if unit == "paragraph" or not draft.passages:
        return list(draft.passages)
    return [_whole(draft)] if unit == "text" else _sentences(draft)


def _whole(draft: Draft) -> Passage:
    asking = [passage for passage in draft.passages if passage.silent in ("", STUB)]
    passages = asking or list(draft.passages)
    first = passages[0]
    return Passage(
        text="\n\n".join(passage.text for passage in passages),
        line=first.line,
        number=1,
        cites=unique(name for passage in passages for name in passage.cites),
        sentences=tuple(text for passage in passages for text in passage.sentences),
        sentence_cites=tuple(names for passage in passages for names in passage.sentence_cites),
        source=first.source,
        column=first.column,
        places=tuple(place for passage in passages for place in passage.places),
        silent="" if asking or not draft.file else first.silent,  # what is typed is meant
    )


def _sentences(draft: Draft) -> list[Passage]:
    items: list[Passage] = []
    for passage in draft.passages:
        parts = zip(passage.sentences, passage.sentence_cites, passage.places, strict=True)
        items += [
            Passage(
                text,
                place.line,
                passage.section,
                number,
                cites,
                sentences=(text,),
                sentence_cites=(cites,),
                source=place.source,
                column=place.column,
                places=(place,),
                silent=passage.silent,
                wanted=(0,) if number - len(items) - 1 in passage.wanted else (),
            )
            for number, (text, cites, place) in enumerate(parts, len(items) + 1)
        ]
    return items


def sentence_at(draft: Draft, line: int, column: int) -> Draft:
    """The draft with no other passage than the sentence that stands at a place of its text: the
    last one that begins there or before, else the first. It is meant, even if it is a stub."""
    sentences = _sentences(draft)
    if not sentences:
        return draft
    before = [each for each in sentences if (each.line, each.column) <= (line, column)]
    chosen = max(before, key=lambda each: (each.line, each.column), default=sentences[0])
    silent = "" if chosen.silent == STUB else chosen.silent
    return replace(draft, passages=(replace(chosen, silent=silent),))


def passage_of(draft: Draft, number: int) -> Draft:
    """The draft with no other passage than the one of a number, from 1."""
    if not 1 <= number <= len(draft.passages):
        raise CitebedError(f"the draft has no passage {number}; it has {len(draft.passages)}.")
    return replace(draft, passages=(draft.passages[number - 1],))
