"""From packed postings to the arrays of an index."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.retrieval.index import counting
from citebed.retrieval.index.arrays import Filled, FilledColumn, Growing, Strings, summed
from citebed.retrieval.index.counting import Counts, Keys, TermNumbers
from citebed.retrieval.index.index import Index
from citebed.retrieval.index.layout import FIELDS
from citebed.retrieval.index.spilling import AT_ONCE, CACHED, ROOM, Pile

MOST_POSTINGS = (1 << 32) - 1
"""The places of postings are numbers of 32 bits."""
_MANY = 1 << 20
"""Split so many postings or more with compiled code."""
_DOCUMENT_BITS = counting.TERM_SHIFT - counting.ROW_SHIFT


@dataclass
class Gathered:
    """Postings as they come in, with one numbering of terms for all."""

    documents: int
    numbers: TermNumbers
    pile: Pile = field(default_factory=Pile)
    lengths: dict[str, NDArray[np.uint32]] = field(default_factory=dict)

    def add(self, counts: Counts, document_of_row: NDArray[np.int64]) -> None:
        """Take in what a job counted."""
        self.pile.add(counts.keys)
        for name, lengths in counts.lengths.items():
            np.add.at(self.length(name), document_of_row[counts.job.rows], lengths)

    def length(self, name: str) -> NDArray[np.uint32]:
        """The field's lengths, to be filled."""
        return self.lengths.setdefault(name, np.zeros(self.documents, np.uint32))


class Kept(NamedTuple):
    """What a new index takes over from an old one: the postings of some of its ``fields``, of the
    documents that have a number in ``to_new`` (-1: none). The order of documents stays."""

    old: Index
    to_new: NDArray[np.int64]
    fields: tuple[str, ...]

    def spans(self) -> Iterator[tuple[int, int]]:
        """Ranges of terms with about as many postings as are handled at a time."""
        first, offsets = 0, np.asarray(self.old.offsets)
        while first < len(self.old.terms):
            end = int(np.searchsorted(offsets, offsets[first] + AT_ONCE, side="right")) - 1
            yield first, (first := max(end, first + 1))

    def staying(self, first: int, end: int) -> NDArray[np.bool_]:
        """Which postings of a range of terms stay."""
        span = self._span(first, end)
        stays = self.to_new[self.old.docs[span]] >= 0
        others = [
            self.old.tf[name].filled(span)[0] for name in set(self.old.fields) - {*self.fields}
        ]
        if others:
            places = np.unique(np.concatenate(others))
            columns = (self.old.tf[name][places + span.start] > 0 for name in self.fields)
            stays[places[~np.logical_or.reduce([*columns, np.zeros(len(places), bool)])]] = False
        return stays

    def often(self) -> NDArray[np.int64]:
        """How many postings of each term stay."""
        counts = np.zeros(len(self.old.terms), np.int64)
        for first, end in self.spans():
            ends = np.r_[0, np.cumsum(self.staying(first, end))]
            counts[first:end] = np.diff(ends[self._offsets(first, end)])
        return counts

    def postings(self, first: int, end: int, final: NDArray[np.int64]) -> Postings:
        """The postings of a range of terms, under the ``final`` numbers of terms."""
        span, stays = self._span(first, end), self.staying(first, end)
        terms = np.repeat(final[first:end].astype(np.uint64), np.diff(self._offsets(first, end)))
        docs = self.to_new[self.old.docs[span]].astype(np.uint64)
        pairs = (terms << np.uint64(_DOCUMENT_BITS) | docs)[stays]
        places = np.cumsum(stays, dtype=np.uint32) - np.uint32(1)
        filled: dict[str, Filled] = {}
        for name in self.fields:
            at, values = self.old.tf[name].filled(span)
            mine = stays[at]
            filled[name] = places[at[mine]], values[mine].astype(np.uint32)
        return Postings(pairs, filled)

    def _span(self, first: int, end: int) -> slice:
        return slice(*self.old.offsets[[first, end]].tolist())

    def _offsets(self, first: int, end: int) -> NDArray[np.int64]:
        return np.asarray(self.old.offsets[first : end + 1] - self.old.offsets[first])


class Postings(NamedTuple):
    """Postings in their order: term and document in one number, each pair once; and of each field
    the places that have the term, with its frequency."""

    pairs: Keys
    filled: dict[str, Filled]

    @classmethod
    def of_keys(cls, keys: Keys, fields: Iterable[str]) -> Postings:
        """Sorted packed postings, all of each term and document."""
        if len(keys) >= _MANY:
            return cls._of_many_keys(keys, fields)
        pairs = keys >> np.uint64(counting.ROW_SHIFT)
        first = np.r_[True, pairs[1:] != pairs[:-1]][: len(pairs)]
        number = (np.cumsum(first) - 1).astype(np.uint32)
        of_field, times = counting.fields_of(keys), counting.times_of(keys)
        chosen = {name: of_field == FIELDS.index(name) for name in fields}
        return cls(pairs[first], {k: summed(number[it], times[it]) for k, it in chosen.items()})

    @classmethod
    def _of_many_keys(cls, keys: Keys, fields: Iterable[str]) -> Postings:
        from citebed.retrieval.index.compiled import split_postings

        shifts = counting.ROW_SHIFT, counting.FIELD_SHIFT
        pairs, at, times, starts, ends = split_postings(
            keys, shifts, counting.MOST_TIMES, len(FIELDS)
        )
        of_field = {name: FIELDS.index(name) for name in fields}
        spans = {name: slice(starts[n], ends[n]) for name, n in of_field.items()}
        return cls(pairs, {name: (at[span], times[span]) for name, span in spans.items()})

    def joined(self, other: Postings) -> Postings:
        """These with other ones, which fill other places."""
        if not len(other.pairs):
            return self
        at = np.searchsorted(self.pairs, other.pairs)
        known = at < len(self.pairs)
        known[known] = self.pairs[at[known]] == other.pairs[known]
        new = at[~known]
        before = np.cumsum(np.bincount(new, minlength=len(self.pairs) + 1))
        ours = (np.arange(len(self.pairs)) + before[: len(self.pairs)]).astype(np.uint32)
        theirs = np.empty(len(at), np.uint32)
        theirs[~known] = new + np.arange(len(new))
        theirs[known] = ours[at[known]]
        nothing = np.zeros(0, np.uint32)
        filled: dict[str, Filled] = {}
        for name in other.filled:
            places, values = self.filled.get(name, (nothing, nothing))
            more, more_values = other.filled[name]
            places, more = ours[places], theirs[more]
            here = np.searchsorted(places, more)
            filled[name] = np.insert(places, here, more), np.insert(values, here, more_values)
        return Postings(np.insert(self.pairs, new, other.pairs[~known]), filled)


def assemble(
    gathered: Gathered, kept: Kept | None = None
) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    """The arrays of the postings that were gathered, and ``kept`` of an old index; and the final
    number of each gathered term (-1: unused)."""
    pile = gathered.pile
    terms = pl.Series(gathered.numbers.names(), dtype=pl.String)
    often = pile.often(len(terms))
    before = terms.clear() if kept is None else kept.old.terms.series()
    stay = np.zeros(0, np.int64) if kept is None else kept.often()
    names = pl.concat([terms.filter(often > 0), before.filter(stay > 0)]).unique().sort()
    final, final_before = (_places_among(names, each) for each in (terms, before))
    final[often == 0] = -1
    final_before[stay == 0] = -1
    is_large = pile.is_large or int(stay.sum()) > ROOM
    folder = pile.folder if is_large else None
    columns = _Columns(len(names), tuple(gathered.lengths), folder)
    sorted_keys = _Sorted(pile.in_order(final, often))
    if kept is not None:
        for first, end in kept.spans():
            later = final_before[end:]
            until = int(later[later >= 0][0]) if (later >= 0).any() else len(names)
            fresh = Postings.of_keys(sorted_keys.below(until), gathered.lengths)
            columns.add(kept.postings(first, end, final_before).joined(fresh))
    for keys in sorted_keys.rest():
        for part in _whole_pairs(keys):
            columns.add(Postings.of_keys(part, gathered.lengths))
    arrays = columns.arrays()
    arrays["terms"], arrays["terms.offsets"] = Strings.packed(names)
    for name, lengths in gathered.lengths.items():
        arrays[f"length.{name}"] = lengths
    return arrays, final


def _places_among(names: pl.Series, some: pl.Series) -> NDArray[np.int64]:
    """Return the place of each name among distinct names, or -1."""
    places = some.cast(pl.Enum(names), strict=False).to_physical().cast(pl.Int64)
    return places.fill_null(-1).to_numpy().copy()


class _Sorted:
    """Sorted postings that come in parts of whole terms, taken in ranges of terms."""

    def __init__(self, parts: Iterator[Keys]) -> None:
        self._parts = parts
        self._part = np.zeros(0, np.uint64)

    def below(self, term: int) -> Keys:
        """Those of terms with lower numbers that were not taken yet."""
        taken = [np.zeros(0, np.uint64)]
        while True:
            end = int(np.searchsorted(self._part, np.uint64(term << counting.TERM_SHIFT)))
            taken.append(self._part[:end])
            self._part = self._part[end:]
            if len(self._part):
                return np.concatenate(taken)
            more = next(self._parts, None)
            if more is None:
                return np.concatenate(taken)
            self._part = more

    def rest(self) -> Iterator[Keys]:
        """All others."""
        yield self._part
        yield from self._parts


def _whole_pairs(keys: Keys) -> Iterator[Keys]:
    """Sorted postings in parts that do not tear a term and a document apart."""
    start = 0
    while start < len(keys):
        end = min(start + AT_ONCE, len(keys))
        if end < len(keys):
            pair = keys[end - 1] >> np.uint64(counting.ROW_SHIFT)
            after = (pair + np.uint64(1)) << np.uint64(counting.ROW_SHIFT)
            end += int(np.searchsorted(keys[end : end + 4096], after))
        yield keys[start:end]
        start = end


class _Columns:
    """The columns of postings that come in their order, in memory or in files of a folder."""

    def __init__(self, terms: int, fields: tuple[str, ...], folder: Path | None) -> None:
        self._df = np.zeros(terms, np.int64)
        self._docs = Growing("docs", np.uint32, folder)
        self._filled = {name: FilledColumn(f"tf.{name}", folder) for name in fields}
        self._postings = 0

    def add(self, part: Postings) -> None:
        """Take in the postings that follow."""
        pairs = part.pairs
        if not len(pairs):
            return
        for start in range(0, len(pairs), CACHED):
            some = pairs[start : start + CACHED]
            terms = (some >> np.uint64(_DOCUMENT_BITS)).astype(np.int64)
            df = np.bincount(terms - terms[0])
            self._df[terms[0] : terms[0] + len(df)] += df
            self._docs.add((some & np.uint64((1 << _DOCUMENT_BITS) - 1)).astype(np.uint32))
        self._check_room(len(pairs))
        for name, (at, values) in part.filled.items():
            self._filled[name].add((at + np.uint32(self._postings), values))
        self._postings += len(pairs)

    def _check_room(self, more: int) -> None:
        if self._postings + more > MOST_POSTINGS:
            raise CitebedError(
                f"this collection has more than {MOST_POSTINGS:,} postings (terms of documents), "
                "which is as many as an index holds. Leave out full texts, or split the collection."
            )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of them; nothing more is added."""
        arrays: dict[str, NDArray[Any]] = {
            "offsets": np.r_[0, np.cumsum(self._df)].astype(np.int64),
            "docs": self._docs.array(),
        }
        for name in tuple(self._filled):
            arrays |= self._filled.pop(name).packed(self._postings)
        return arrays


def citing_shares(
    rows: Keys,
    final: NDArray[np.int64],
    document_of_row: NDArray[np.int64],
    paper_of_row: NDArray[np.int64],
    arrays: dict[str, NDArray[Any]],
) -> dict[str, NDArray[Any]]:
    """What each citing paper added to the ``citing`` field, so that it can be taken out again.

    ``rows`` are the field's postings by row. The shares are sorted by paper, then posting.
    """
    terms = final[counting.terms_of(rows)]
    row = counting.rows_of(rows)
    documents, papers = document_of_row[row], paper_of_row[row]
    place = _places(terms, documents, arrays["offsets"], arrays["docs"])
    order = np.lexsort((place, papers))
    bounds = np.zeros(int(paper_of_row.max(initial=-1)) + 2, np.int64)
    np.cumsum(np.bincount(papers, minlength=len(bounds) - 1), out=bounds[1:])
    return {
        "share.offsets": bounds,
        "share.postings": place[order].astype(np.uint32),
        "share.times": counting.times_of(rows)[order],
    }


def _places(
    terms: NDArray[np.int64],
    documents: NDArray[np.int64],
    offsets: NDArray[np.int64],
    docs: NDArray[np.uint32],
) -> NDArray[np.int64]:
    """Where the postings of some terms and documents are."""
    place = np.empty(len(terms), np.int64)
    order = np.argsort(terms, kind="stable")
    cuts = np.flatnonzero(np.diff(terms[order], prepend=-1, append=-1))
    for start, end in itertools.pairwise(cuts.tolist()):
        mine = order[start:end]
        span = slice(*offsets[terms[mine[0]] : terms[mine[0]] + 2].tolist())
        place[mine] = span.start + np.searchsorted(docs[span], documents[mine])
    return place


def citing_lengths(
    lengths: NDArray[np.uint32],
    document_of_row: NDArray[np.int64],
    paper_of_row: NDArray[np.int64],
) -> dict[str, NDArray[Any]]:
    """How many tokens each citing paper added to which document, by paper."""
    order = np.argsort(paper_of_row, kind="stable")
    bounds = np.zeros(int(paper_of_row.max(initial=-1)) + 2, np.int64)
    np.cumsum(np.bincount(paper_of_row, minlength=len(bounds) - 1), out=bounds[1:])
    return {
        "share.lengths.offsets": bounds,
        "share.lengths.docs": document_of_row[order].astype(np.uint32),
        "share.lengths": lengths[order],
    }
