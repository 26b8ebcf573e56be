"""Match the references of a paper with the documents of a collection or bibliography.

Candidates share a DOI, an arXiv id or the title with the reference: the title complete, without its
subtitle, or with slips. Features say how well the rest agrees: start and end of the title, names,
year, identifiers. The probability of candidate ``i`` is ``P(i) = exp(s_i) / (1 + Σ exp(s_j))``,
where ``s`` is the weighted sum of its features. This is a conditional logit (McFadden, 1974); the 1
stands for "none of them".
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from citebed.papers.annotation import Candidate
from citebed.papers.references import ParsedReference
from citebed.text.names import family_name
from citebed.text.regex import limit_combining_marks
from citebed.text.titles import GRAM, gram_hashes, grams, letters_of, numbers, plain_title
from citebed.text.words import FUNCTION_WORDS, plain_words

# --- Features of a match -----------------------------------------------------------------------


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
    volume: str | None = None
    doc_id: str = ""
    type: str | None = None


Features = dict[str, float]


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
            if " - " in between or not _HARD.isdisjoint(between):
                self.breaks[size] = 2
            elif "," in between:
                self.breaks[size] = 1
            words.append(word[0])
            at, size = word.end(), size + len(word[0])
        self.breaks[size] = 2
        self.plain = "".join(words).lower()


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


def find_title(document: CandidateDocument, query: ReferenceQuery) -> TitleMatch | None:
    """Return the position of a document's title in a reference, or ``None``."""
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
    if main or share < _SIMILAR:
        return main
    slips, end = edit_distance(plain, text)
    if slips > _MAX_SLIPS * len(plain):
        return None
    return TitleMatch(max(0, end - len(plain)), end, slips)


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
    plain, breaks = PlainText(head).plain, query.plain.breaks
    at = _find_exact(plain, query) if rest and len(plain) >= _SHORTEST_MAIN_TITLE else -1
    if at not in breaks or breaks.get(at + len(plain)) != 2:
        return None
    return TitleMatch(at, at + len(plain), cut=True)


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


def prints_doi(reference: ParsedReference, doi: str) -> bool:
    """Return True if a reference prints a DOI, even with a blank or hyphen from a line end."""
    own, read = PlainText(doi).plain, PlainText(reference.doi or "").plain
    return own == read or (own.startswith(read) and own in PlainText(reference.text).plain)


def compute_features(document: CandidateDocument, query: ReferenceQuery) -> Features | None:
    """Return the features of a match by their names in `WEIGHTS`; those left out are 0.

    Return ``None`` if the reference has neither the title nor an identifier of the document.
    """
    reference, doi = query.reference, (document.doi or "").lower()
    same_doi = bool(doi) and prints_doi(reference, doi)
    is_preprint = (reference.doi or "").startswith("10.48550/")
    other_doi = bool(doi and reference.doi) and not same_doi and not is_preprint
    same_arxiv = bool(reference.arxiv) and reference.arxiv == document.arxiv
    match = find_title(document, query)
    if match is None and not (same_doi or same_arxiv):
        return None
    named = []
    for family in map(family_name, document.authors[:_MOST_NAMES]):
        words = plain_words(family)
        joined = "".join(words) or PlainText(family).plain
        inside = joined in query.plain.plain and (len(joined) >= 5 or not words)
        named.append(inside or (bool(words) and all(word in query.words for word in words)))
    share = sum(named) / len(named) if named else 0.0
    untitled: Features = {"slips": 2.0, "untitled": not query.title}
    features: Features = {"bias": 1.0}
    features |= _title_features(document, match, query) if match else untitled
    features |= {
        "authors": share,
        "other_authors": share == 0 and bool(document.authors) and bool(reference.authors),
        "anonymous": not document.authors,
    }
    if document.year is not None and reference.year is not None:
        apart = abs(document.year - reference.year)
        by_distance = ("same_year", "near_year", "years_apart", "years_apart", "other_year")
        features[by_distance[min(apart, 4)]] = 1.0
    features |= {"same_doi": same_doi, "other_doi": other_doi, "same_arxiv": same_arxiv}
    return features | _place_features(document, query)


def _title_features(
    document: CandidateDocument, match: TitleMatch, query: ReferenceQuery
) -> Features:
    size = max(1, len(document.plain))
    breaks = query.plain.breaks
    near = range(max(0, match.start - match.slips), match.start + match.slips + 1)
    ours, theirs = set(numbers(document.title)), set(numbers(query.reference.title))
    fit = 0.0  # the overlap of this title and the parsed one, by all that both cover
    if parsed := query.title_match:
        shared = min(match.end, parsed.end) - max(match.start, parsed.start)
        covered = max(match.end, parsed.end) - min(match.start, parsed.start)
        fit = max(0, shared) / max(1, covered)
    return {
        "slips": min(2.0, 10 * match.slips / size),
        "length": min(max((size - 30) / 30, -1.0), 1.0),
        "fit": fit,
        "untitled": query.title_match is None,
        "start": any(at in breaks for at in near),
        "end": 2 in (breaks.get(match.end), breaks.get(match.end + (match.slips > 0))),
        "cut": match.cut,
        "numbers": bool(query.title) and not (ours <= theirs or theirs <= ours),
        "replaced": match.slips > 0 and _has_other_words(document.title, query.reference.title),
    }


def _has_other_words(left: str, right: str) -> bool:
    """Return True if each title has words that are not in the other, not even misspelt."""
    ours, theirs = plain_words(left), plain_words(right)
    only = "".join(word for word in ours if word not in theirs)
    other = "".join(word for word in theirs if word not in ours)
    if not only or not other:
        return False
    short, long = sorted((only, other), key=len)
    return edit_distance(short, long)[0] > 0.4 * len(short)


_PROCEEDINGS = frozenset(
    ("proceedings", "proc", "conference", "conf", "symposium", "workshop", "companion", "abstracts")
)
_IN = re.compile(r"\bIn:? [A-Z]|\bin:? (?:Proc|Int|[A-Z]{3})")
_JOURNAL = re.compile(r"J\.|\w*(?:journal|Trans|zeitschrift)", re.IGNORECASE)
_PAGES = re.compile(r"(?<![\d/.])(\d{1,6})\s?[-–—]{1,2}\s?\d{1,6}(?![\d/])")


def _place_features(document: CandidateDocument, query: ReferenceQuery) -> Features:
    """Compare the venues and the first pages, unless one of them is unknown.

    ``venue`` is the share of the reference's words, perhaps abbreviated, in the document's venue.
    ``kind`` is 1 if both are proceedings, or neither, and -1 otherwise; 0 if the reference does not
    show it.
    """
    features: Features = {"venueless": 1.0}
    text, venue = query.reference.text, query.reference.venue
    words = [
        word
        for word in plain_words(venue)
        if word not in FUNCTION_WORDS and len(word) > 1 and not word[0].isdigit()
    ]
    if document.venue and words:
        known = plain_words(document.venue)
        share = sum(
            any(own.startswith(word) or (word.startswith(own) and len(own) > 2) for own in known)
            for word in words
        ) / len(words)
        in_proceedings = not _PROCEEDINGS.isdisjoint(words) or _IN.search(text)
        stated_kind = 1.0 if in_proceedings else -1.0 if _JOURNAL.match(venue) else 0.0
        kind = 1.0 if not _PROCEEDINGS.isdisjoint(known) else -1.0
        features = {"venue": share, "kind": kind * stated_kind}
    first = re.match(r"\d+", document.pages or "")
    stated = _PAGES.findall(text)
    if first and first[0] != "1" and stated:
        features["same_page" if first[0] in stated else "other_page"] = 1.0
    volume = document.volume or ""
    if volume and re.search(rf"(?<![\d.–-]){re.escape(volume)}(?![\d–-])", text):
        features["volume"] = 1.0
    return features


LIKELY = 0.5
"""A reference is linked to a document from this probability on."""
_SHOWN = 0.02
"""Candidates are shown in a review from this probability on."""
_MOST_TITLES = 4
"""Number of similar titles that are compared with a reference."""
_LONG = 20
"""If a title of this many letters is equal, similar titles are not compared."""

WEIGHTS = {
    "bias": -3.19,
    "slips": -2.88,
    "length": 0.80,
    "fit": -0.16,
    "untitled": -0.28,
    "start": 4.39,
    "end": 1.04,
    "cut": -2.73,
    "numbers": -3.50,
    "replaced": -3.26,
    "authors": 2.42,
    "other_authors": -4.51,
    "anonymous": 0.47,
    "same_year": -0.48,
    "near_year": -1.96,
    "years_apart": -2.63,
    "other_year": -2.14,
    "same_doi": 18.00,
    "other_doi": -3.00,
    "same_arxiv": 17.00,
    "venue": 1.2,
    "venueless": 0.59,
    "kind": 0.76,
    "volume": 1.0,
    "same_page": 0.34,
    "other_page": -1.02,
}
"""The weight of each feature.

`bench/reference_weights.py` fitted them to 4,868 generated references with slips, in twenty styles,
to documents in half of ACM-CR's venues. Half of these documents were not in the collection, and one
in 25 had a near-duplicate with nearly the same title or with other authors. On the other venues, at
a threshold of 0.5, precision is 97.6 % and recall 98.4 %; on documents of eLife they are 99.3 % and
99.0 %. Matches with a probability of 0.95 are right in 94 to 99 % of cases.

Some weights are set by hand. A printed DOI outweighs a misread title, but not another document with
exactly this title and these names. Titles with different numbers belong to different papers.
"""


class ReferenceMatcher:
    """Finds references among the documents of a collection or of any bibliography.

    ``documents`` needs the columns ``doc_id`` and ``title``; ``authors``, ``year``, ``doi``,
    ``arxiv``, ``venue``, ``pages``, ``volume`` and ``type`` are optional.
    """

    def __init__(self, documents: pl.DataFrame) -> None:
        # Missing columns become nulls.
        columns = [
            pl.col(name).cast(kind) if name in documents.columns else pl.lit(None, kind).alias(name)
            for name, kind in _COLUMNS.items()
        ]
        title = pl.col("title").fill_null("")
        self._documents = (
            documents.select(columns)
            .with_columns(
                title,
                pl.col("authors").fill_null([]),
                pl.col("doi").str.to_lowercase(),
                stated_doi="doi",
                plain=plain_title(title),
            )
            .rechunk()
        )
        self._stated: list[tuple[str, str, str | None]] = list(
            zip(documents["doc_id"], documents["title"], self._documents["stated_doi"], strict=True)
        )
        # Records with the same title, year and first page are copies of one work.
        first_page = pl.col("pages").str.extract(r"(\d+)")
        self._works = self._documents.select(
            pl.concat_str("plain", "year", first_page, separator=" ")
        ).to_series()
        titles: list[str] = self._documents["plain"].to_list()
        self._index = TitleIndex(titles)
        self._by_title = RowsBy(self._documents["plain"])
        self._by_doi = RowsBy(self._documents["doi"])
        self._by_arxiv = RowsBy(self._documents["arxiv"])

    def candidates(self, references: Sequence[ParsedReference]) -> list[tuple[Candidate, ...]]:
        """Return for each reference up to two candidate documents, the most probable first."""
        every = []
        for rows in self.features([ReferenceQuery(reference) for reference in references]):
            scores = [
                (sum(WEIGHTS[name] * value for name, value in features.items()), row)
                for row, features in rows
            ]
            top = max([0.0, *(score for score, _ in scores)])
            total = math.exp(-top) + sum(math.exp(score - top) for score, _ in scores)
            shares: dict[object, list[float]] = {}  # of works; copies of one share theirs
            for score, row in sorted(scores, key=lambda each: -each[0]):
                share = shares.setdefault(self._works[row] or f"{row}", [row, 0.0])
                share[1] += math.exp(score - top) / total
            likely = sorted(shares.values(), key=lambda share: -share[1])[:2]
            every.append(
                tuple(
                    Candidate(doc_id, title, round(probability, 4), doi)
                    for row, probability in likely
                    if probability >= _SHOWN
                    for doc_id, title, doi in (self._stated[int(row)],)
                )
            )
        return every

    def features(self, queries: Sequence[ReferenceQuery]) -> list[list[tuple[int, Features]]]:
        """Return for each reference the rows of candidate documents with their features."""
        rows = self.candidate_rows(queries)
        documents = self.load_documents(row for some in rows for row in some)
        return [
            [
                (row, features)
                for row in some
                if (features := compute_features(documents[row], query)) is not None
            ]
            for query, some in zip(queries, rows, strict=True)
        ]

    def candidate_rows(
        self, queries: Sequence[ReferenceQuery], most: int = _MOST_TITLES
    ) -> list[list[int]]:
        """Return for each reference the rows of documents with its DOI, arXiv id or title, and
        unless a long title is equal, of up to ``most`` documents with similar titles."""
        rows = []
        for query in queries:
            exact = [
                *self._by_doi.get(query.reference.doi),
                *self._by_arxiv.get(query.reference.arxiv),
                *self._by_title.get(query.title),
            ]
            rows.append(list(dict.fromkeys(exact))[: 4 * _MOST_TITLES])
        inexact = [
            at
            for at, query in enumerate(queries)
            if len(query.title) < _LONG or not self._by_title.get(query.title)
        ]
        similar = self._index.search([queries[at].plain.plain for at in inexact], most)
        for at, more in zip(inexact, similar, strict=True):
            rows[at] = list(dict.fromkeys((*rows[at], *more)))
        return rows

    def has_title(self, query: ReferenceQuery) -> bool:
        """Return True if a document has exactly the parsed title of a reference."""
        return bool(self._by_title.get(query.title))

    def load_documents(self, rows: Iterable[int]) -> dict[int, CandidateDocument]:
        """Return the documents in some rows, by row."""
        order = sorted(set(rows))
        table = self._documents[order].select(CandidateDocument._fields)
        loaded = (CandidateDocument(*values) for values in table.iter_rows())
        return dict(zip(order, loaded, strict=True))

    def doc_id(self, row: int) -> str:
        """Return the id of the document in a row."""
        return self._stated[row][0]


_COLUMNS = {
    **dict.fromkeys(
        ("doc_id", "title", "doi", "arxiv", "venue", "pages", "volume", "type"), pl.String()
    ),
    "authors": pl.List(pl.String()),
    "year": pl.Int32(),
}


class RowsBy:
    """An index from the values of a column to their rows; most values have one row."""

    def __init__(self, names: pl.Series) -> None:
        self._row = {name: row for row, name in enumerate(names.to_list())}
        self._rows: dict[str, list[int]] = {}
        repeated = pl.DataFrame({"name": names}).with_row_index().filter(names.is_duplicated())
        for row, name in repeated.iter_rows():
            self._rows.setdefault(name, []).append(row)

    def get(self, name: str | None) -> list[int]:
        """Return the rows with this value, in their order; none for an empty value."""
        if not name or name not in self._row:
            return []
        return self._rows.get(name) or [self._row[name]]


# --- Search for similar titles ------------------------------------------------------------------
# Titles and texts are compared as letters and digits only, so that blanks, hyphens and line breaks
# make no difference. The index maps every run of seven letters to the titles that contain it. A
# slip costs the few runs that include it. A search looks up the rarest runs of a text.

_RUN = 7
_BITS = 22
_SHIFT = np.uint64(64 - _BITS)
_ROW = np.uint64(32)
_POSTINGS = 1500
"""Number of index entries that one search may read, in a collection of any size."""
_LEAST_SHARE = 0.4
"""A result needs at least this share of the best score."""

Rows = npt.NDArray[np.int64]


class TitleIndex:
    """An index of titles, given in letters and digits only."""

    def __init__(self, titles: Sequence[str]) -> None:
        buckets, rows = _hash_runs(titles)
        keys = (buckets << _ROW) | rows
        keys.sort()
        self._rows = (keys & np.uint64(0xFFFFFFFF)).astype(np.int32)
        counts = np.bincount((keys >> _ROW).astype(np.int64), minlength=1 << _BITS)
        self._starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        self._rarity = np.log((len(titles) + 1) / np.maximum(1, counts)).astype(np.float32)
        weights = np.repeat(self._rarity, counts)
        self._lengths = np.sqrt(np.bincount(self._rows, weights, minlength=len(titles)) + 1.0)

    def search(self, texts: Sequence[str], limit: int) -> list[list[int]]:
        """Return for each text up to ``limit`` rows of titles that it may contain, best first."""
        buckets, owners = _hash_runs(texts)
        bounds = np.searchsorted(owners, np.arange(len(texts) + 1, dtype=np.uint64))
        return [self._search(buckets[start:end], limit) for start, end in pairwise(bounds.tolist())]

    def _search(self, buckets: npt.NDArray[np.uint64], limit: int) -> list[int]:
        grams = buckets.astype(np.int64)
        counts = self._starts[grams + 1] - self._starts[grams]
        rarest = np.argsort(counts)
        within = np.cumsum(counts[rarest]) <= _POSTINGS
        rarest = rarest[within & (counts[rarest] > 0)]
        if not len(rarest):
            return []
        grams, counts = grams[rarest], counts[rarest]
        ends = np.cumsum(counts)
        places = np.arange(ends[-1]) + np.repeat(self._starts[grams] - (ends - counts), counts)
        rows, weights = self._rows[places].astype(np.int64), np.repeat(self._rarity[grams], counts)
        order = np.argsort(rows)
        rows = rows[order]
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        titles = rows[starts]
        scores = np.add.reduceat(weights[order], starts) / self._lengths[titles]
        best = np.argsort(-scores)[:limit]
        return [int(row) for row in titles[best[scores[best] >= _LEAST_SHARE * scores[best[0]]]]]


def _hash_runs(texts: Sequence[str]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return the bucket of every run of letters, and the row of its text."""
    hashes = gram_hashes(letters_of(texts), _RUN)
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    owners = np.repeat(np.arange(len(texts), dtype=np.uint64), sizes)
    inside = owners[: len(hashes)] == owners[_RUN - 1 : _RUN - 1 + len(hashes)]
    return hashes[inside] >> _SHIFT, owners[: len(hashes)][inside]
