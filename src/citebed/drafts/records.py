"""A draft after reading: passages of prose to search with, and what it cites already."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from citebed.errors import CitebedError, UnknownName
from citebed.text.normalise import unique

PAGE = "page"
"""The source of a position in a PDF, whose lines are pages."""


class Place(NamedTuple):
    """A position: the file (``""`` for the draft itself), and line and column from 1."""

    source: str = ""
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        if self.source == PAGE:
            return f"page {self.line}"
        return f"{self.source}:{self.line}" if self.source else f"line {self.line}"


@dataclass(frozen=True)
class Entry:
    """An entry of the draft's own bibliography.

    ``key`` is its BibTeX key, or its number in a numbered list; ``text`` is the printed reference.
    ``title`` and ``year`` are set only if a field states them (in a .bib file). ``place`` is the
    position of a printed reference.
    """

    key: str
    text: str
    title: str = ""
    doi: str | None = None
    arxiv: str | None = None
    year: int | None = None
    place: Place | None = None


@dataclass(frozen=True)
class Cited:
    """The works that a draft cites: BibTeX keys, numbers of markers (``[12]``), and entries.

    ``dois`` and ``arxiv`` are identifiers in the text or in the entries, in lower case and without
    URL or version. ``titles`` are the titles of ``entries`` with a title field. ``authored`` are
    citations by names and year only (``Smith et al. 2019``).
    """

    keys: tuple[str, ...] = ()
    dois: tuple[str, ...] = ()
    arxiv: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    entries: tuple[Entry, ...] = ()
    authored: tuple[str, ...] = ()


@dataclass(frozen=True)
class Passage:
    """A paragraph, a sentence or a whole text to search with.

    ``text`` is clean prose without commands, citation markers and line breaks. For each of its
    ``sentences``, ``sentence_cites`` has its citations and ``places`` its position. The passage
    starts at ``line`` and ``column`` of the file ``source``: ``""`` is the draft itself, any other
    name a file that it includes. ``cites`` are keys, DOIs, ``arXiv:`` ids and numbers, in order.
    ``silent`` is the reason why the passage needs no citations (``caption``, ``heading or stub`` …)
    or ``""``. ``wanted`` are the indexes of sentences with a placeholder for a citation
    (``\\cite{}``, ``[?]``). ``context`` are other texts around the same place, by sentences, that
    re-rank what is found for the passage.
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
    context: tuple[tuple[str, ...], ...] = ()

    def part(self, numbers: Sequence[int]) -> Passage:
        """Return the passage with only these sentences."""
        sentences = tuple(self.sentences[number] for number in numbers)
        cites = tuple(self.sentence_cites[number] for number in numbers)
        places = tuple(self.places[number] for number in numbers)
        start = places[0] if places else Place(self.source, self.line, self.column)
        wanted = tuple(at for at, number in enumerate(numbers) if number in self.wanted)
        return replace(
            self, text=" ".join(sentences), source=start.source, line=start.line,
            column=start.column, cites=unique(name for names in cites for name in names),
            sentences=sentences, sentence_cites=cites, places=places, wanted=wanted,
        )  # fmt: skip


STUB = "heading or stub"
"""A passage that is too short to search with alone; it counts as part of a whole text."""


@dataclass(frozen=True)
class Draft:
    """A draft; ``notes`` tell the user what could not be read.

    ``file`` is the path of the draft (``""`` for a text); ``library`` are the texts of its .bib
    files, and ``library_files`` the paths of the first of them.
    """

    passages: tuple[Passage, ...]
    title: str = ""
    authors: tuple[str, ...] = ()
    cited: Cited = Cited()
    bibliography_files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    file: str = ""
    library: tuple[str, ...] = field(default=(), repr=False)
    library_files: tuple[str, ...] = ()

    def file_of(self, place: Place) -> str:
        """Return the path of the file with this position."""
        is_here = place.source in ("", PAGE)
        return self.file if is_here else str(Path(self.file).parent / place.source)


# --- Passages to search with ----------------------------------------------------------------

Unit = Literal["text", "paragraph", "sentence"]


def pieces(draft: Draft, unit: Unit) -> list[Passage]:
    """Return the draft as one passage, as its paragraphs, or as its sentences, numbered from 1.

    A sentence has its paragraph's section, its own position and its own citations. Silent passages
    stay silent, and are not part of the whole text.
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
        silent=""
        if asking or not draft.file
        else first.silent,  # a user who types a short text means it
    )


def _sentences(draft: Draft) -> list[Passage]:
    parts = (each.part([at]) for each in draft.passages for at in range(len(each.sentences)))
    return [replace(part, number=number) for number, part in enumerate(parts, 1)]


def select_sentence(draft: Draft, line: int, column: int) -> Draft:
    """Return the draft with only the sentence at a position, even if it is a stub.

    That is the last sentence that begins there or before, or else the first sentence.
    """
    sentences = _sentences(draft)
    if not sentences:
        return draft
    before = [each for each in sentences if (each.line, each.column) <= (line, column)]
    chosen = max(before, key=lambda each: (each.line, each.column), default=sentences[0])
    silent = "" if chosen.silent == STUB else chosen.silent
    return replace(draft, passages=(replace(chosen, silent=silent),))


def select_passage(draft: Draft, number: int) -> Draft:
    """Return the draft with only the passage of this number, from 1."""
    if not 1 <= number <= len(draft.passages):
        raise CitebedError(f"the draft has no passage {number}; it has {len(draft.passages)}.")
    return replace(draft, passages=(draft.passages[number - 1],))


# --- Stored drafts ----------------------------------------------------------------------------


def draft_to_json(draft: Draft) -> str:
    """Return a draft as JSON."""
    return json.dumps(asdict(draft), ensure_ascii=False)


def draft_from_json(text: str) -> Draft:
    """Return the draft in a JSON text; raise ``CitebedError`` if the text is damaged."""
    from pydantic import TypeAdapter

    try:
        draft: Draft = TypeAdapter(Draft).validate_json(text, strict=True)
        for each in draft.passages:
            sizes = {len(each.sentences), len(each.sentence_cites), len(each.places)} - {0}
            if len(sizes) > 1 or not set(each.wanted) <= set(range(len(each.sentences))):
                raise ValueError(f"passage {each.number} does not fit its sentences")
    except ValueError as error:
        first = str(error).splitlines()[1:3] or [str(error)]  # pydantic's first line is a count
        raise CitebedError(f"stored draft is damaged: {' '.join(first)}") from error
    return draft
