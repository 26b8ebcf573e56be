"""What speaks for a printed reference being a document, and what against it.

A document's title must stand in the reference, whole, without its subtitle, or with slips. How
much else agrees (where the title begins and ends, names, year, identifiers) is told as features,
which `matching` weighs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from citebed.papers.references import ParsedReference
from citebed.patterns import with_few_marks
from citebed.text.names import family_name
from citebed.text.titles import GRAM, grams, numbers
from citebed.text.words import FUNCTION_WORDS, plain_words

LIKE, HEAD = 0.7, 0.25
"""Of a title that stands in a reference with slips, or without its subtitle, at least so many of
its trigrams do."""
_SLIPS = 0.2
"""More slips than one in five letters make another title."""
_SHORTEST_HEAD = 12
_MOST_NAMES = 6
_HARD = frozenset('.?!:;"“”„«»‘`()[]{}–—')
_WORD = re.compile(r"[^\W_]+")
_SUBTITLE = re.compile(r"\s*(?:[:;.?!]|\s[-–—])\s")


class Titled(NamedTuple):
    """A document as references know it; ``plain`` is its title in letters and digits only."""

    plain: str
    title: str
    authors: Sequence[str] = ()
    year: int | None = None
    doi: str | None = None
    arxiv: str | None = None
    venue: str | None = None
    pages: str | None = None


class Place(NamedTuple):
    """Where a title stands among the letters of a reference, with how many slips."""

    start: int
    end: int
    slips: int = 0
    cut: bool = False


class Letters:
    """A text as letters and digits only, as `plain_title` gives them, and what parts them.

    ``breaks`` has a number for places before a letter, and for the end: 2 where punctuation ends a
    phrase there, 1 at a comma.
    """

    def __init__(self, text: str) -> None:
        if not text.isascii():
            text = unicodedata.normalize("NFKD", with_few_marks(text))
        words: list[str] = []
        self.breaks: dict[int, int] = {0: 2}
        at = size = 0
        for word in _WORD.finditer(text):
            between = text[at : word.start()]
            if between != " " and (strength := _strength(between)):
                self.breaks[size] = strength
            words.append(word[0])
            at, size = word.end(), size + len(word[0])
        self.breaks[size] = 2
        self.plain = "".join(words).lower()


def _strength(between: str) -> int:
    if " - " in between or not _HARD.isdisjoint(between):
        return 2
    return int("," in between)


@dataclass(frozen=True)
class Asked:
    """A reference as it is compared with documents."""

    reference: ParsedReference

    @cached_property
    def letters(self) -> Letters:
        return Letters(self.reference.text)

    @cached_property
    def title(self) -> str:
        return Letters(self.reference.title).plain

    @cached_property
    def place(self) -> Place | None:
        """Where the title stands that was read from the reference."""
        at = self.letters.plain.find(self.title) if self.title else -1
        return Place(at, at + len(self.title)) if at >= 0 else None

    @cached_property
    def grams(self) -> set[str]:
        return grams(self.letters.plain, GRAM)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(plain_words(self.reference.text))


# --- Where a title stands ---------------------------------------------------------------------


def place_of(document: Titled, asked: Asked) -> Place | None:
    """Where a document's title stands in a reference, if it does."""
    plain, text = document.plain, asked.letters.plain
    if not plain:
        return None
    if plain == asked.title and asked.place:
        return asked.place
    if (at := _found(plain, asked)) >= 0:
        return Place(at, at + len(plain))
    own = grams(plain, GRAM)
    share = len(own & asked.grams) / max(1, len(own))
    head = _without_subtitle(document, asked) if share > HEAD else None
    return head or (_with_slips(plain, text) if share >= LIKE else None)


def _found(plain: str, asked: Asked) -> int:
    """Where letters stand in a reference, behind a break if they ever do."""
    text, breaks = asked.letters.plain, asked.letters.breaks
    first = at = text.find(plain)
    while at >= 0:
        if at in breaks and at + len(plain) in breaks:
            return at
        at = text.find(plain, at + 1)
    return first


def _without_subtitle(document: Titled, asked: Asked) -> Place | None:
    head, *rest = _SUBTITLE.split(document.title, maxsplit=1)
    plain = Letters(head).plain
    if not rest or len(plain) < _SHORTEST_HEAD:
        return None
    at = _found(plain, asked)
    breaks = asked.letters.breaks
    if at not in breaks or breaks.get(at + len(plain)) != 2:
        return None
    return Place(at, at + len(plain), cut=True)


def _with_slips(plain: str, text: str) -> Place | None:
    slips, end = nearest(plain, text)
    if slips > _SLIPS * len(plain):
        return None
    return Place(max(0, end - len(plain)), end, slips)


def nearest(pattern: str, text: str) -> tuple[int, int]:
    """The fewest letters to change, add or leave out so that a pattern stands in a text, and where
    it ends there (G. Myers, A fast bit-vector algorithm for approximate string matching, 1999)."""
    positions: dict[str, int] = {}
    for at, sign in enumerate(pattern):
        positions[sign] = positions.get(sign, 0) | 1 << at
    size = len(pattern)
    whole, last = (1 << size) - 1, 1 << size - 1
    up, down, distance = whole, 0, size
    best = (size, 0)
    for at, sign in enumerate(text, start=1):
        same = positions.get(sign, 0)
        diagonal = (((same & up) + up) ^ up) | same | down
        rise, fall = down | ~(diagonal | up), up & diagonal
        distance += 1 if rise & last else -1 if fall & last else 0
        rise, fall = rise << 1, fall << 1
        up, down = (fall | ~(diagonal | rise)) & whole, rise & diagonal & whole
        best = min(best, (distance, at))
    return best


# --- Features ---------------------------------------------------------------------------------

FEATURES = (
    *("bias", "slips", "length", "fit", "untitled", "start", "end", "cut", "numbers", "replaced"),
    *(
        "authors",
        "other_authors",
        "anonymous",
        "same_year",
        "near_year",
        "years_apart",
        "other_year",
    ),
    *(
        "same_doi",
        "other_doi",
        "same_arxiv",
        "venue",
        "venueless",
        "kind",
        "same_page",
        "other_page",
    ),
)


def features_of(document: Titled, asked: Asked) -> tuple[float, ...] | None:
    """What `FEATURES` names, in that order; ``None`` where the reference has neither the title nor
    an identifier of the document."""
    same_doi, other_doi, same_arxiv = _identified(document, asked.reference)
    place = place_of(document, asked)
    if place is None and not (same_doi or same_arxiv):
        return None
    return (
        1.0,
        *_placed(document, place, asked),
        (share := _named(document.authors, asked)),
        float(share == 0 and bool(document.authors) and bool(asked.reference.authors)),
        float(not document.authors),
        *_dated(document.year, asked.reference.year),
        *(float(same_doi), float(other_doi), float(same_arxiv)),
        *_published(document.venue, asked),
        *_paged(document.pages, asked),
    )


def _placed(document: Titled, place: Place | None, asked: Asked) -> tuple[float, ...]:
    if place is None:
        return (2.0, 0.0, 0.0, float(not asked.title), 0.0, 0.0, 0.0, 0.0, 0.0)
    size = max(1, len(document.plain))
    breaks = asked.letters.breaks
    near = range(max(0, place.start - place.slips), place.start + place.slips + 1)
    starts = any(at in breaks for at in near)
    ends = 2 in (breaks.get(place.end), breaks.get(place.end + (place.slips > 0)))
    length = min(max((size - 30) / 30, -1.0), 1.0)
    other_numbers = bool(asked.title) and not _counts_alike(document.title, asked.reference.title)
    return (
        min(2.0, 10 * place.slips / size),
        length,
        _fit(place, asked.place),
        float(asked.place is None),
        float(starts),
        float(ends),
        float(place.cut),
        float(other_numbers),
        float(place.slips > 0 and _is_replaced(document.title, asked.reference.title)),
    )


def _fit(place: Place, own: Place | None) -> float:
    """How far the document's title is the reference's: what they share of what both cover."""
    if own is None:
        return 0.0
    shared = min(place.end, own.end) - max(place.start, own.start)
    covered = max(place.end, own.end) - min(place.start, own.start)
    return max(0, shared) / max(1, covered)


def _is_replaced(left: str, right: str) -> bool:
    """Whether one title has other words where the other has some, and not the same misread."""
    ours, theirs = plain_words(left), plain_words(right)
    only = "".join(word for word in ours if word not in theirs)
    other = "".join(word for word in theirs if word not in ours)
    if not only or not other:
        return False
    short, long = sorted((only, other), key=len)
    return nearest(short, long)[0] > 0.4 * len(short)


def _counts_alike(left: str, right: str) -> bool:
    ours, theirs = set(numbers(left)), set(numbers(right))
    return ours <= theirs or theirs <= ours


def _named(authors: Sequence[str], asked: Asked) -> float:
    """How many of the first authors' family names are in the reference."""
    found = [_is_named(family_name(name), asked) for name in authors[:_MOST_NAMES]]
    return sum(found) / len(found) if found else 0.0


def _is_named(family: str, asked: Asked) -> bool:
    words = plain_words(family)
    if not words:
        return Letters(family).plain in asked.letters.plain
    if all(word in asked.words for word in words):
        return True
    joined = "".join(words)
    return len(joined) >= 5 and joined in asked.letters.plain


def _dated(year: int | None, stated: int | None) -> tuple[float, float, float, float]:
    if year is None or stated is None:
        return (0.0, 0.0, 0.0, 0.0)
    apart = abs(year - stated)
    return (float(apart == 0), float(apart == 1), float(2 <= apart <= 3), float(apart > 3))


def _identified(document: Titled, reference: ParsedReference) -> tuple[bool, bool, bool]:
    """Whether DOIs are the same, whether they are not, and whether arXiv ids are the same."""
    arxiv = bool(reference.arxiv) and reference.arxiv == document.arxiv
    if not reference.doi or not document.doi:
        return False, False, arxiv
    same = reference.doi == document.doi.lower()
    preprint = reference.doi.startswith("10.48550/")
    return same, not same and not preprint, arxiv


_TOGETHER = frozenset(
    ("proceedings", "proc", "conference", "conf", "symposium", "workshop", "companion", "abstracts")
)
_IN = re.compile(r"\bIn:? [A-Z]|\bin:? (?:Proc|Int|[A-Z]{3})")


def _published(venue: str | None, asked: Asked) -> tuple[float, float, float]:
    """How much of the reference's venue is in the document's, words cut or not; whether one of
    them is not known; and, where the reference names proceedings, whether the document's are (1)
    or are not (-1)."""
    words = [word for word in plain_words(asked.reference.venue) if _tells(word)]
    if not venue or not words:
        return 0.0, 1.0, 0.0
    known = plain_words(venue)
    share = sum(any(own.startswith(word) for own in known) for word in words) / len(words)
    together = not _TOGETHER.isdisjoint(words) or _IN.search(asked.reference.text) is not None
    kind = 1.0 if not _TOGETHER.isdisjoint(known) else -1.0
    return share, 0.0, kind if together else 0.0


def _tells(word: str) -> bool:
    return word not in FUNCTION_WORDS and len(word) > 1 and not word[0].isdigit()


_PAGES = re.compile(r"(?<![\d/.])(\d{1,6})\s?[-–—]{1,2}\s?\d{1,6}(?![\d/])")


def _paged(pages: str | None, asked: Asked) -> tuple[float, float]:
    """Whether the document's first page is that of the reference, and whether it is another."""
    first = re.match(r"\d+", pages or "")
    stated = _PAGES.findall(asked.reference.text)
    if first is None or first[0] == "1" or not stated:
        return 0.0, 0.0
    return float(first[0] in stated), float(first[0] not in stated)
