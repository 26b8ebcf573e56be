"""Compute features that show whether a printed reference is a given document.

The reference must contain the document's title: complete, without its subtitle, or with slips. The
features say how well the rest agrees: start and end of the title, names, year, identifiers.
`reference_matcher` weighs them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from citebed.papers.references import ParsedReference
from citebed.text.names import family_name
from citebed.text.regex import limit_combining_marks
from citebed.text.titles import GRAM, grams, numbers
from citebed.text.words import FUNCTION_WORDS, plain_words

_SIMILAR, _MAIN_TITLE = 0.7, 0.25
"""Least share of a title's trigrams in a reference, for a title with slips or without subtitle."""
_MAX_SLIPS = 0.2
"""A title with slips in more than one of five letters is another title."""
_SHORTEST_MAIN_TITLE = 12
_MOST_NAMES = 6
_HARD = frozenset('.?!:;"“”„«»‘`()[]{}–—')
_WORD = re.compile(r"[^\W_]+")
_SUBTITLE = re.compile(r"\s*(?:[:;.?!]|\s[-–—])\s")


class CandidateDocument(NamedTuple):
    """A document that may match a reference; ``plain`` is its title in letters and digits only."""

    plain: str
    title: str
    authors: Sequence[str] = ()
    year: int | None = None
    doi: str | None = None
    arxiv: str | None = None
    venue: str | None = None
    pages: str | None = None


class TitleMatch(NamedTuple):
    """Start and end of a title among the letters of a reference, and its number of slips."""

    start: int
    end: int
    slips: int = 0
    cut: bool = False
    """True for a title without its subtitle."""


class PlainText:
    """A text in letters and digits only, as `plain_title` makes it, and its breaks.

    ``breaks`` maps offsets to 2 if punctuation ends a phrase there, and to 1 for a comma.
    """

    def __init__(self, text: str) -> None:
        if not text.isascii():
            text = unicodedata.normalize("NFKD", limit_combining_marks(text))
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
class ReferenceQuery:
    """A reference to compare with documents."""

    reference: ParsedReference

    @cached_property
    def plain(self) -> PlainText:
        return PlainText(self.reference.text)

    @cached_property
    def title(self) -> str:
        return PlainText(self.reference.title).plain

    @cached_property
    def title_match(self) -> TitleMatch | None:
        """The position of the title that was parsed from the reference."""
        at = self.plain.plain.find(self.title) if self.title else -1
        return TitleMatch(at, at + len(self.title)) if at >= 0 else None

    @cached_property
    def grams(self) -> set[str]:
        return grams(self.plain.plain, GRAM)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(plain_words(self.reference.text))


# --- Find a title -----------------------------------------------------------------------------


def _find_title(document: CandidateDocument, query: ReferenceQuery) -> TitleMatch | None:
    plain, text = document.plain, query.plain.plain
    if not plain:
        return None
    if plain == query.title and query.title_match:
        return query.title_match
    if (at := _find_exact(plain, query)) >= 0:
        return TitleMatch(at, at + len(plain))
    own = grams(plain, GRAM)
    share = len(own & query.grams) / max(1, len(own))
    main = _find_main_title(document, query) if share > _MAIN_TITLE else None
    return main or (_find_with_slips(plain, text) if share >= _SIMILAR else None)


def _find_exact(plain: str, query: ReferenceQuery) -> int:
    """Return the offset of letters in a reference, preferably between breaks; -1 if missing."""
    text, breaks = query.plain.plain, query.plain.breaks
    first = at = text.find(plain)
    while at >= 0:
        if at in breaks and at + len(plain) in breaks:
            return at
        at = text.find(plain, at + 1)
    return first


def _find_main_title(document: CandidateDocument, query: ReferenceQuery) -> TitleMatch | None:
    head, *rest = _SUBTITLE.split(document.title, maxsplit=1)
    plain = PlainText(head).plain
    if not rest or len(plain) < _SHORTEST_MAIN_TITLE:
        return None
    at = _find_exact(plain, query)
    breaks = query.plain.breaks
    if at not in breaks or breaks.get(at + len(plain)) != 2:
        return None
    return TitleMatch(at, at + len(plain), cut=True)


def _find_with_slips(plain: str, text: str) -> TitleMatch | None:
    slips, end = edit_distance(plain, text)
    if slips > _MAX_SLIPS * len(plain):
        return None
    return TitleMatch(max(0, end - len(plain)), end, slips)


def edit_distance(pattern: str, text: str) -> tuple[int, int]:
    """Return the least edit distance between a pattern and any part of a text, and that part's end.

    The algorithm is from G. Myers, A fast bit-vector algorithm for approximate string matching,
    1999.
    """
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
    "bias", "slips", "length", "fit", "untitled", "start", "end", "cut", "numbers", "replaced",
    "authors", "other_authors", "anonymous", "same_year", "near_year", "years_apart", "other_year",
    "same_doi", "other_doi", "same_arxiv", "venue", "venueless", "kind", "same_page", "other_page",
)  # fmt: skip


def compute_features(
    document: CandidateDocument, query: ReferenceQuery
) -> tuple[float, ...] | None:
    """Return the values of `FEATURES`.

    Return ``None`` if the reference has neither the title nor an identifier of the document.
    """
    same_doi, other_doi, same_arxiv = _compare_identifiers(document, query.reference)
    match = _find_title(document, query)
    if match is None and not (same_doi or same_arxiv):
        return None
    return (
        1.0,
        *_title_features(document, match, query),
        (share := _share_of_authors(document.authors, query)),
        float(share == 0 and bool(document.authors) and bool(query.reference.authors)),
        float(not document.authors),
        *_year_features(document.year, query.reference.year),
        *(float(same_doi), float(other_doi), float(same_arxiv)),
        *_venue_features(document.venue, query),
        *_page_features(document.pages, query),
    )


def _title_features(
    document: CandidateDocument, match: TitleMatch | None, query: ReferenceQuery
) -> tuple[float, ...]:
    if match is None:
        return (2.0, 0.0, 0.0, float(not query.title), 0.0, 0.0, 0.0, 0.0, 0.0)
    size = max(1, len(document.plain))
    breaks = query.plain.breaks
    near = range(max(0, match.start - match.slips), match.start + match.slips + 1)
    starts = any(at in breaks for at in near)
    ends = 2 in (breaks.get(match.end), breaks.get(match.end + (match.slips > 0)))
    length = min(max((size - 30) / 30, -1.0), 1.0)
    other_numbers = bool(query.title) and not _same_numbers(document.title, query.reference.title)
    return (
        min(2.0, 10 * match.slips / size),
        length,
        _overlap(match, query.title_match),
        float(query.title_match is None),
        float(starts),
        float(ends),
        float(match.cut),
        float(other_numbers),
        float(match.slips > 0 and _has_other_words(document.title, query.reference.title)),
    )


def _overlap(match: TitleMatch, parsed: TitleMatch | None) -> float:
    """Return the overlap of the document's title and the parsed title, by all that both cover."""
    if parsed is None:
        return 0.0
    shared = min(match.end, parsed.end) - max(match.start, parsed.start)
    covered = max(match.end, parsed.end) - min(match.start, parsed.start)
    return max(0, shared) / max(1, covered)


def _has_other_words(left: str, right: str) -> bool:
    """Return True if each title has words that are not in the other, not even misspelt."""
    ours, theirs = plain_words(left), plain_words(right)
    only = "".join(word for word in ours if word not in theirs)
    other = "".join(word for word in theirs if word not in ours)
    if not only or not other:
        return False
    short, long = sorted((only, other), key=len)
    return edit_distance(short, long)[0] > 0.4 * len(short)


def _same_numbers(left: str, right: str) -> bool:
    ours, theirs = set(numbers(left)), set(numbers(right))
    return ours <= theirs or theirs <= ours


def _share_of_authors(authors: Sequence[str], query: ReferenceQuery) -> float:
    """Return the share of the first authors whose family names are in the reference."""
    named = [_is_named(family_name(name), query) for name in authors[:_MOST_NAMES]]
    return sum(named) / len(named) if named else 0.0


def _is_named(family: str, query: ReferenceQuery) -> bool:
    words = plain_words(family)
    if not words:
        return PlainText(family).plain in query.plain.plain
    if all(word in query.words for word in words):
        return True
    joined = "".join(words)
    return len(joined) >= 5 and joined in query.plain.plain


def _year_features(year: int | None, stated: int | None) -> tuple[float, float, float, float]:
    if year is None or stated is None:
        return (0.0, 0.0, 0.0, 0.0)
    apart = abs(year - stated)
    return (float(apart == 0), float(apart == 1), float(2 <= apart <= 3), float(apart > 3))


def _compare_identifiers(
    document: CandidateDocument, reference: ParsedReference
) -> tuple[bool, bool, bool]:
    """Return three flags: equal DOIs, different DOIs, equal arXiv ids."""
    arxiv = bool(reference.arxiv) and reference.arxiv == document.arxiv
    if not reference.doi or not document.doi:
        return False, False, arxiv
    same = reference.doi == document.doi.lower()
    preprint = reference.doi.startswith("10.48550/")
    return same, not same and not preprint, arxiv


_PROCEEDINGS = frozenset(
    ("proceedings", "proc", "conference", "conf", "symposium", "workshop", "companion", "abstracts")
)
_IN = re.compile(r"\bIn:? [A-Z]|\bin:? (?:Proc|Int|[A-Z]{3})")


def _venue_features(venue: str | None, query: ReferenceQuery) -> tuple[float, float, float]:
    """Compare the venues.

    Return the share of the reference's words, perhaps abbreviated, in the document's venue; 1 if
    one of the venues is unknown; and, for a reference to proceedings, 1 or -1 depending on whether
    the document's venue is proceedings, too.
    """
    words = [word for word in plain_words(query.reference.venue) if _is_venue_word(word)]
    if not venue or not words:
        return 0.0, 1.0, 0.0
    known = plain_words(venue)
    share = sum(any(own.startswith(word) for own in known) for word in words) / len(words)
    proceedings = not _PROCEEDINGS.isdisjoint(words) or bool(_IN.search(query.reference.text))
    kind = 1.0 if not _PROCEEDINGS.isdisjoint(known) else -1.0
    return share, 0.0, kind if proceedings else 0.0


def _is_venue_word(word: str) -> bool:
    return word not in FUNCTION_WORDS and len(word) > 1 and not word[0].isdigit()


_PAGES = re.compile(r"(?<![\d/.])(\d{1,6})\s?[-–—]{1,2}\s?\d{1,6}(?![\d/])")


def _page_features(pages: str | None, query: ReferenceQuery) -> tuple[float, float]:
    """Return 1 and 0 if the first pages are equal, 0 and 1 if they differ, else 0 and 0."""
    first = re.match(r"\d+", pages or "")
    stated = _PAGES.findall(query.reference.text)
    if first is None or first[0] == "1" or not stated:
        return 0.0, 0.0
    return float(first[0] in stated), float(first[0] not in stated)
