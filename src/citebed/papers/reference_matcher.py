"""Match the references of a paper with the documents of a collection or bibliography.

Candidates share a DOI, an arXiv id or the title with the reference. The probability of candidate
``i`` is ``P(i) = exp(s_i) / (1 + Σ exp(s_j))``, where ``s`` is the weighted sum of its features
(`evidence`). This is a conditional logit (McFadden, 1974); the 1 stands for "none of them".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from citebed.papers.annotation import Candidate
from citebed.papers.evidence import (
    FEATURES,
    CandidateDocument,
    ReferenceQuery,
    compute_features,
)
from citebed.papers.references import ParsedReference
from citebed.text.titles import gram_hashes, letters_of, plain_title

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
    "venue": 0.39,
    "venueless": 0.59,
    "kind": 0.76,
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


@dataclass(frozen=True)
class ReferenceMatch:
    """The document of a reference with its probability, and the second most probable one."""

    doc_id: str
    probability: float
    runner_up: str | None = None
    runner_up_probability: float = 0.0


class ReferenceMatcher:
    """Finds references among the documents of a collection or of any bibliography.

    ``documents`` needs the columns ``doc_id`` and ``title``; ``authors``, ``year``, ``doi``,
    ``arxiv``, ``venue`` and ``pages`` are optional.
    """

    def __init__(self, documents: pl.DataFrame) -> None:
        self._documents = _prepare(documents)
        self._doc_ids: list[str] = self._documents["doc_id"].to_list()
        titles: list[str] = self._documents["plain"].to_list()
        self._index = TitleIndex(titles)
        self._by_title = _RowsBy(self._documents["plain"])
        self._by_doi = _RowsBy(self._documents["doi"])
        self._by_arxiv = _RowsBy(self._documents["arxiv"])

    def match(
        self, references: Sequence[ParsedReference], *, least: float = 0.5
    ) -> list[ReferenceMatch | None]:
        """Return for each reference the best match, if its probability is at least ``least``."""
        candidates = self.candidates([ReferenceQuery(reference) for reference in references])
        return [
            self._choose([(row, _score(values)) for row, values in rows], least)
            for rows in candidates
        ]

    def candidates(
        self, queries: Sequence[ReferenceQuery]
    ) -> list[list[tuple[int, tuple[float, ...]]]]:
        """Return for each reference the rows of candidate documents with their features."""
        rows = [self._exact_matches(query) for query in queries]
        inexact = [at for at, query in enumerate(queries) if not self._has_long_title(query)]
        similar = self._index.search([queries[at].plain.plain for at in inexact], _MOST_TITLES)
        for at, more in zip(inexact, similar, strict=True):
            rows[at] = list(dict.fromkeys((*rows[at], *more)))
        documents = self._load({row for some in rows for row in some})
        return [
            [
                (row, values)
                for row in some
                if (values := compute_features(documents[row], query)) is not None
            ]
            for query, some in zip(queries, rows, strict=True)
        ]

    def doc_id(self, row: int) -> str:
        """Return the id of the document in a row."""
        return self._doc_ids[row]

    def _exact_matches(self, query: ReferenceQuery) -> list[int]:
        """Return the rows of documents with an identifier or the title of a reference."""
        reference = query.reference
        rows = [
            *self._by_doi.get(reference.doi),
            *self._by_arxiv.get(reference.arxiv),
            *self._by_title.get(query.title),
        ]
        return list(dict.fromkeys(rows))[: 4 * _MOST_TITLES]

    def _has_long_title(self, query: ReferenceQuery) -> bool:
        """Return True if a document has the parsed title, and the title is long."""
        return len(query.title) >= _LONG and bool(self._by_title.get(query.title))

    def _load(self, rows: set[int]) -> dict[int, CandidateDocument]:
        order = sorted(rows)
        table = self._documents[order].select(CandidateDocument._fields)
        documents = (CandidateDocument(*values) for values in table.iter_rows())
        return dict(zip(order, documents, strict=True))

    def _choose(self, scored: list[tuple[int, float]], least: float) -> ReferenceMatch | None:
        if not scored:
            return None
        best, *others = sorted(scored, key=lambda each: -each[1])
        top = max(0.0, best[1])
        total = math.exp(-top) + sum(math.exp(score - top) for _, score in scored)
        probability = math.exp(best[1] - top) / total
        if probability < least:
            return None
        doc_id = self._doc_ids[best[0]]
        if not others:
            return ReferenceMatch(doc_id, probability)
        row, score = others[0]
        return ReferenceMatch(
            doc_id, probability, self._doc_ids[row], math.exp(score - top) / total
        )


_WEIGHTS = tuple(WEIGHTS[name] for name in FEATURES)


def _score(values: Sequence[float]) -> float:
    return sum(weight * value for weight, value in zip(_WEIGHTS, values, strict=True))


_COLUMNS = {
    "doc_id": pl.String(),
    "title": pl.String(),
    "authors": pl.List(pl.String()),
    "year": pl.Int32(),
    "doi": pl.String(),
    "arxiv": pl.String(),
    "venue": pl.String(),
    "pages": pl.String(),
}


def _prepare(documents: pl.DataFrame) -> pl.DataFrame:
    """Select the columns, with nulls for missing ones, and add the plain titles."""
    columns = [
        pl.col(name).cast(kind) if name in documents.columns else pl.lit(None, kind).alias(name)
        for name, kind in _COLUMNS.items()
    ]
    return (
        documents.select(columns)
        .with_columns(
            pl.col("title").fill_null(""),
            pl.col("authors").fill_null([]),
            pl.col("doi").str.to_lowercase(),
            plain=plain_title(pl.col("title").fill_null("")),
        )
        .rechunk()
    )


class _RowsBy:
    """An index from the values of a column to their rows; most values have one row."""

    def __init__(self, names: pl.Series) -> None:
        rows = pl.Series(range(len(names)), dtype=pl.Int64)
        repeated = names.is_duplicated()
        self._row = dict(zip(names.to_list(), rows.to_list(), strict=True))
        self._rows: dict[str, list[int]] = {}
        for name, row in zip(names.filter(repeated), rows.filter(repeated), strict=True):
            self._rows.setdefault(name, []).append(row)

    def get(self, name: str | None) -> list[int]:
        """Return the rows with this value, in their order; none for an empty value."""
        if not name or name not in self._row:
            return []
        return self._rows.get(name) or [self._row[name]]


class Bibliography:
    """Documents that references are linked to, in a table as `ReferenceMatcher` takes it."""

    def __init__(self, documents: pl.DataFrame) -> None:
        self._matcher = ReferenceMatcher(documents)
        dois = documents["doi"] if "doi" in documents.columns else [None] * documents.height
        self._titles_and_dois = dict(
            zip(documents["doc_id"], zip(documents["title"], dois, strict=True), strict=True)
        )

    @property
    def dois(self) -> set[str]:
        """The DOIs of all documents."""
        return {doi for _, doi in self._titles_and_dois.values() if doi}

    def doi(self, doc_id: str) -> str | None:
        """Return the DOI of a document."""
        doi: str | None = self._titles_and_dois[doc_id][1]
        return doi

    def candidates(self, references: Sequence[ParsedReference]) -> list[tuple[Candidate, ...]]:
        """Return for each reference up to two candidate documents, the most probable first."""
        return [
            tuple(
                self._candidate(doc_id, probability)
                for doc_id, probability in (
                    (match.doc_id, match.probability),
                    (match.runner_up, match.runner_up_probability),
                )
                if doc_id is not None and probability >= _SHOWN
            )
            if match
            else ()
            for match in self._matcher.match(references, least=_SHOWN)
        ]

    def _candidate(self, doc_id: str, probability: float) -> Candidate:
        title, doi = self._titles_and_dois[doc_id]
        return Candidate(doc_id, title, round(probability, 4), doi)


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
        rows, weights = self._postings(grams[rarest], counts[rarest])
        order = np.argsort(rows)
        rows = rows[order]
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        titles = rows[starts]
        scores = np.add.reduceat(weights[order], starts) / self._lengths[titles]
        best = np.argsort(-scores)[:limit]
        return [int(row) for row in titles[best[scores[best] >= _LEAST_SHARE * scores[best[0]]]]]

    def _postings(self, grams: Rows, counts: Rows) -> tuple[Rows, npt.NDArray[np.float32]]:
        """Return the rows of titles with these runs, and the rarity of the run for each row."""
        ends = np.cumsum(counts)
        places = np.arange(ends[-1]) + np.repeat(self._starts[grams] - (ends - counts), counts)
        return self._rows[places].astype(np.int64), np.repeat(self._rarity[grams], counts)


def _hash_runs(texts: Sequence[str]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return the bucket of every run of letters, and the row of its text."""
    hashes = gram_hashes(letters_of(texts), _RUN)
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    owners = np.repeat(np.arange(len(texts), dtype=np.uint64), sizes)
    inside = owners[: len(hashes)] == owners[_RUN - 1 : _RUN - 1 + len(hashes)]
    return hashes[inside] >> _SHIFT, owners[: len(hashes)][inside]
