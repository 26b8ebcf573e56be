"""The posting arrays of an index, made from packed postings and from an old index.

Postings stay in memory up to a limit. Further ones are written to disk as they come, then split
into files that each hold a range of terms, and sorted file by file. Memory does not grow with the
collection, and every posting is written and read twice, however many there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.retrieval.index.arrays import (
    ArrayWriter,
    ColumnWriter,
    Nonzero,
    Strings,
    sum_repeated,
    term_ranges,
)
from citebed.retrieval.index.index import Index
from citebed.retrieval.index.layout import FIELDS
from citebed.retrieval.index.term_counts import (
    FIELD_SHIFT,
    MOST_TIMES,
    ROW_SHIFT,
    TERM_SHIFT,
    Keys,
    Numbers,
    key_rows,
    key_terms,
    key_times,
    replace_terms,
)

MOST_POSTINGS = (1 << 32) - 1
"""Positions of postings are numbers of 32 bits."""
MEMORY_POSTINGS = 1 << 26
"""Postings (of 8 bytes) that are kept in memory; sorting them takes no more."""
BATCH = 1 << 23
"""Postings that are read or merged at a time."""
_CACHE_BATCH = 1 << 15
"""Postings that are processed at a time so that temporary arrays stay in the processor's cache."""
_COMPILED_FROM = 1 << 20
"""From this many postings on, compiled code splits them."""
_DOCUMENT_BITS = TERM_SHIFT - ROW_SHIFT


class PostingPile:
    """Unsorted postings, whose terms are numbered in the order of their appearance.

    With a ``folder``, postings beyond ``limit`` go to files in it.
    """

    def __init__(self, folder: Path | None = None, limit: int | None = None) -> None:
        self.folder = folder
        self._limit = MEMORY_POSTINGS if limit is None else limit
        self._parts: list[Keys] = []
        self._in_memory = 0
        self.files: list[Path] = []
        """Files of postings that did not fit into memory."""
        self._counts = np.zeros(0, np.int64)

    def add(self, keys: Keys) -> None:
        self._parts.append(keys)
        self._in_memory += len(keys)
        if self.folder is not None and self._in_memory > self._limit:
            self._spill(self.folder)

    def _spill(self, folder: Path) -> None:
        path = folder / f"postings-{len(self.files)}"
        with path.open("wb") as file:
            for part in self._parts:
                self._count(part)
                file.write(part.data)
        self.files.append(path)
        self._parts, self._in_memory = [], 0

    def _count(self, keys: Keys) -> None:
        counts = np.bincount(key_terms(keys), minlength=len(self._counts))
        counts[: len(self._counts)] += self._counts
        self._counts = counts

    def count_postings(self, terms: int) -> Numbers:
        """Return the number of postings of each of ``terms`` terms."""
        if self.folder is not None and self.files:  # all of them go to disk
            self._spill(self.folder)
        for keys in self._parts:
            self._count(keys)
        return np.pad(self._counts, (0, terms - len(self._counts)))

    def pop_sorted(self, final: Numbers, counts: Numbers) -> Iterator[Keys]:
        """Yield the postings sorted by the ``final`` numbers of their terms, in parts of whole
        terms, and empty the pile. ``counts`` comes from `count_postings`."""
        if self.files:
            for path in self._split(final, counts):
                keys = np.fromfile(path, np.uint64)
                path.unlink()
                keys.sort()
                yield keys
            return
        keys = np.empty(sum(map(len, self._parts)), np.uint64)
        end = len(keys)
        while self._parts:  # free each part as soon as it is copied
            part = self._parts.pop()
            keys[end - len(part) : end] = part
            end -= len(part)
        for start in range(0, len(keys), _CACHE_BATCH):
            part = keys[start : start + _CACHE_BATCH]
            part[:] = replace_terms(part, final)
        keys.sort()
        yield keys

    def _split(self, final: Numbers, counts: Numbers) -> list[Path]:
        """Write the postings under their final numbers into one file for each range of terms."""
        assert self.folder is not None
        used = final >= 0
        by_term = np.zeros(int(used.sum()), np.int64)
        by_term[final[used]] = counts[used]
        range_of_term = (np.cumsum(by_term) - by_term) // self._limit
        bounds = np.flatnonzero(np.diff(range_of_term)) + 1
        paths = [self.folder / f"terms-{number}" for number in range(len(bounds) + 1)]
        files = [path.open("wb") for path in paths]
        try:
            for path in self.files:
                with path.open("rb") as spilled:
                    while len(read := np.fromfile(spilled, np.uint64, BATCH)):
                        keys = replace_terms(read, final)
                        owner = np.searchsorted(bounds, key_terms(keys), side="right")
                        order = np.argsort(owner.astype(np.uint16), kind="stable")  # radix sort
                        ends = np.cumsum(np.bincount(owner, minlength=len(files)))
                        for file, part in zip(files, np.split(keys[order], ends[:-1]), strict=True):
                            file.write(part.data)
                path.unlink()
        finally:
            for file in files:
                file.close()
        return paths


class Postings(NamedTuple):
    """Sorted postings: distinct ``pairs`` of term and document, each in one number.

    ``fields`` has the positions of the pairs that have the term in a field, and the frequencies.
    """

    pairs: Keys
    fields: dict[str, Nonzero]


def unpack_postings(keys: Keys, fields: Iterable[str]) -> Postings:
    """Return sorted packed postings as pairs and fields. All keys of a pair must be there."""
    pairs = keys >> np.uint64(ROW_SHIFT)
    first = np.r_[True, pairs[1:] != pairs[:-1]][: len(pairs)]
    number = (np.cumsum(first) - 1).astype(np.uint32)
    field, times = (keys >> np.uint64(FIELD_SHIFT)) & np.uint64(7), key_times(keys)
    chosen = {name: field == FIELDS.index(name) for name in fields}
    return Postings(
        pairs[first], {name: sum_repeated(number[own], times[own]) for name, own in chosen.items()}
    )


def unpack_many_postings(keys: Keys, fields: Iterable[str]) -> Postings:
    """Do the same with compiled code."""
    from citebed.retrieval.index.compiled import split_postings

    shifts = ROW_SHIFT, FIELD_SHIFT
    pairs, at, times, starts, ends = split_postings(keys, shifts, MOST_TIMES, len(FIELDS))
    numbers = {name: FIELDS.index(name) for name in fields}
    spans = {name: slice(starts[n], ends[n]) for name, n in numbers.items()}
    return Postings(pairs, {name: (at[span], times[span]) for name, span in spans.items()})


def merge_postings(old: Postings, new: Postings) -> Postings:
    """Merge postings of an old index with new ones, which fill other fields or documents."""
    if not len(new.pairs):
        return old
    at = np.searchsorted(old.pairs, new.pairs)
    known = at < len(old.pairs)
    known[known] = old.pairs[at[known]] == new.pairs[known]
    added = at[~known]
    before = np.cumsum(np.bincount(added, minlength=len(old.pairs) + 1))
    place_of_old = (np.arange(len(old.pairs)) + before[: len(old.pairs)]).astype(np.uint32)
    place_of_new = np.empty(len(at), np.uint32)
    place_of_new[~known] = added + np.arange(len(added))
    place_of_new[known] = place_of_old[at[known]]
    nothing = np.zeros(0, np.uint32)
    fields: dict[str, Nonzero] = {}
    for name in new.fields:
        places, values = old.fields.get(name, (nothing, nothing))
        more, more_values = new.fields[name]
        places, more = place_of_old[places], place_of_new[more]
        here = np.searchsorted(places, more)
        fields[name] = np.insert(places, here, more), np.insert(values, here, more_values)
    return Postings(np.insert(old.pairs, added, new.pairs[~known]), fields)


class KeptPostings(NamedTuple):
    """Postings that a new index takes over from an old one, without reading texts again.

    They are those in ``fields`` of documents with a number in ``to_new`` (-1: none). Documents keep
    their order.
    """

    old: Index
    to_new: Numbers
    fields: tuple[str, ...]

    def are_kept(self, terms: slice) -> NDArray[np.bool_]:
        """Return a mask of the postings of a range of terms that are taken over."""
        span = slice(*self.old.offsets[[terms.start, terms.stop]].tolist())
        kept = self.to_new[self.old.docs[span]] >= 0
        dropped = set(self.old.fields) - {*self.fields}
        if dropped:
            places = np.unique(
                np.concatenate([self.old.tf[name].nonzero(span)[0] for name in dropped])
            )
            columns = (self.old.tf[name][places + span.start] > 0 for name in self.fields)
            in_field = np.logical_or.reduce([*columns, np.zeros(len(places), bool)])
            kept[places[~in_field]] = False
        return kept

    def count_postings(self) -> Numbers:
        """Return the number of postings of each old term that are taken over."""
        counts = np.zeros(len(self.old.terms), np.int64)
        for terms in term_ranges(np.asarray(self.old.offsets), BATCH):
            sums = np.r_[0, np.cumsum(self.are_kept(terms))]
            offsets = self.old.offsets[terms.start : terms.stop + 1]
            counts[terms] = np.diff(sums[offsets - offsets[0]])
        return counts

    def postings(self, terms: slice, final: Numbers) -> Postings:
        """Return the postings of a range of terms, under the ``final`` numbers of terms."""
        offsets, kept = self.old.offsets[terms.start : terms.stop + 1], self.are_kept(terms)
        span = slice(int(offsets[0]), int(offsets[-1]))
        numbers = np.repeat(final[terms].astype(np.uint64), np.diff(offsets))
        docs = self.to_new[self.old.docs[span]].astype(np.uint64)
        pairs = (numbers << np.uint64(_DOCUMENT_BITS) | docs)[kept]
        places = np.cumsum(kept, dtype=np.uint32) - np.uint32(1)
        fields: dict[str, Nonzero] = {}
        for name in self.fields:
            at, values = self.old.tf[name].nonzero(span)
            own = kept[at]
            fields[name] = places[at[own]], values[own].astype(np.uint32)
        return Postings(pairs, fields)


class _PostingWriter:
    """Writes postings that come in order, in memory or to files of a folder."""

    def __init__(self, terms: int, fields: Iterable[str], folder: Path | None) -> None:
        self._df = np.zeros(terms, np.int64)
        self._docs = ArrayWriter("docs", np.uint32, folder)
        self._columns = {name: ColumnWriter(f"tf.{name}", folder) for name in fields}
        self._postings = 0

    def add(self, part: Postings) -> None:
        pairs = part.pairs
        for start in range(0, len(pairs), _CACHE_BATCH):
            some = pairs[start : start + _CACHE_BATCH]
            terms = (some >> np.uint64(_DOCUMENT_BITS)).astype(np.int64)
            df = np.bincount(terms - terms[0])
            self._df[terms[0] : terms[0] + len(df)] += df
            self._docs.add((some & np.uint64((1 << _DOCUMENT_BITS) - 1)).astype(np.uint32))
        if self._postings + len(pairs) > MOST_POSTINGS:
            raise CitebedError(
                f"this collection has more than {MOST_POSTINGS:,} postings (terms of documents), "
                "the most that an index can hold. Leave out full texts, or split the collection."
            )
        for name, (at, values) in part.fields.items():
            self._columns[name].add(at + np.uint32(self._postings), values)
        self._postings += len(pairs)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays. No more postings can be appended."""
        arrays: dict[str, NDArray[Any]] = {
            "offsets": np.r_[0, np.cumsum(self._df)].astype(np.int64),
            "docs": self._docs.array(),
        }
        for name in tuple(self._columns):  # free each column when its array is made
            arrays |= self._columns.pop(name).arrays(self._postings)
        return arrays


def assemble_postings(
    pile: PostingPile,
    terms: Iterable[str],
    lengths: Mapping[str, NDArray[np.uint32]],
    kept: KeptPostings | None = None,
) -> tuple[dict[str, NDArray[Any]], Numbers]:
    """Return the arrays of terms and postings, and the final number of each new term (-1: unused).

    ``terms`` are the pile's terms by number; ``lengths`` the lengths of documents by field.
    """
    new = pl.Series(terms, dtype=pl.String)
    counts = pile.count_postings(len(new))
    old = new.clear() if kept is None else kept.old.terms.series()
    old_counts = np.zeros(0, np.int64) if kept is None else kept.count_postings()
    names = pl.concat([new.filter(counts > 0), old.filter(old_counts > 0)]).unique().sort()
    kind = pl.Enum(names)
    final, final_old = (
        each.cast(kind, strict=False).to_physical().cast(pl.Int64).fill_null(-1).to_numpy().copy()
        for each in (new, old)
    )
    final[counts == 0] = -1
    final_old[old_counts == 0] = -1
    is_large = bool(pile.files) or int(old_counts.sum()) > MEMORY_POSTINGS
    writer = _PostingWriter(len(names), lengths, pile.folder if is_large else None)

    def unpack(keys: Keys) -> Postings:
        compiled = len(keys) >= _COMPILED_FROM
        return (unpack_many_postings if compiled else unpack_postings)(keys, lengths)

    parts, part = pile.pop_sorted(final, counts), np.zeros(0, np.uint64)
    for some in () if kept is None else term_ranges(np.asarray(kept.old.offsets), BATCH):
        later = final_old[some.stop :]
        until = int(later[later >= 0][0]) if (later >= 0).any() else len(names)
        below = [np.zeros(0, np.uint64)]  # new postings of terms before ``until``
        while True:
            split = int(np.searchsorted(part, np.uint64(until << TERM_SHIFT)))
            below.append(part[:split])
            part = part[split:]
            if len(part) or (more := next(parts, None)) is None:
                break
            part = more
        assert kept is not None
        new_postings = unpack(np.concatenate(below))
        writer.add(merge_postings(kept.postings(some, final_old), new_postings))
    for keys in itertools.chain([part], parts):
        start = 0
        while start < len(keys):  # in batches that do not separate the keys of a pair
            stop = min(start + BATCH, len(keys))
            if stop < len(keys):
                shift = np.uint64(ROW_SHIFT)
                after = ((keys[stop - 1] >> shift) + np.uint64(1)) << shift
                stop += int(np.searchsorted(keys[stop : stop + 4096], after))
            writer.add(unpack(keys[start:stop]))
            start = stop
    arrays = writer.arrays()
    arrays["terms"], arrays["terms.offsets"] = Strings.arrays(names)
    for name, values in lengths.items():
        arrays[f"length.{name}"] = values
    return arrays, final


def assemble_citing_shares(
    keys: Keys,
    lengths: NDArray[np.uint32],
    final: Numbers,
    document_of_row: Numbers,
    paper_of_row: Numbers,
    arrays: Mapping[str, NDArray[Any]],
) -> dict[str, NDArray[Any]]:
    """Return what each citing paper added to the ``citing`` field, so that it can be subtracted.

    ``keys`` and ``lengths`` are the postings and lengths of the field by row. Shares are sorted by
    paper, then by posting.
    """
    terms, rows = final[key_terms(keys)], key_rows(keys)
    documents, papers = document_of_row[rows], paper_of_row[rows]
    place = np.empty(len(terms), np.int64)
    by_term = np.argsort(terms, kind="stable")
    bounds = np.flatnonzero(np.diff(terms[by_term], prepend=-1, append=-1))
    for start, end in itertools.pairwise(bounds.tolist()):
        own = by_term[start:end]
        span = slice(*arrays["offsets"][terms[own[0]] : terms[own[0]] + 2].tolist())
        place[own] = span.start + np.searchsorted(arrays["docs"][span], documents[own])

    def paper_offsets(of: Numbers) -> Numbers:
        count = int(paper_of_row.max(initial=-1)) + 1
        return np.concatenate([[0], np.cumsum(np.bincount(of, minlength=count))]).astype(np.int64)

    order = np.lexsort((place, papers))
    by_paper = np.argsort(paper_of_row, kind="stable")
    return {
        "share.offsets": paper_offsets(papers),
        "share.postings": place[order].astype(np.uint32),
        "share.times": key_times(keys)[order],
        "share.lengths.offsets": paper_offsets(paper_of_row),
        "share.lengths.docs": document_of_row[by_paper].astype(np.uint32),
        "share.lengths": lengths[by_paper],
    }
