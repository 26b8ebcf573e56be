"""From packed postings to the arrays of an index."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.index import counting
from citebed.retrieval.index.arrays import Strings, packed_column, summed
from citebed.retrieval.index.counting import Counts, Keys, TermNumbers
from citebed.retrieval.index.layout import FIELDS

_AT_ONCE = 1 << 23


@dataclass
class Gathered:
    """Postings as they come in, with one numbering of terms for all."""

    documents: int
    numbers: TermNumbers
    parts: list[Keys] = field(default_factory=list)
    lengths: dict[str, NDArray[np.uint32]] = field(default_factory=dict)

    def add(self, counts: Counts, document_of_row: NDArray[np.int64]) -> None:
        """Take in what a job counted."""
        start = counts.job.start
        rows = document_of_row[start : start + counts.job.texts.height]
        self.parts.append(counting.renumbered(counts.keys, rows))
        for name, lengths in counts.lengths.items():
            np.add.at(self.length(name), rows[rows >= 0], lengths[rows >= 0])

    def length(self, name: str) -> NDArray[np.uint32]:
        """The field's lengths, to be filled."""
        return self.lengths.setdefault(name, np.zeros(self.documents, np.uint32))


def assemble(gathered: Gathered) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    """The arrays of the postings, and the final number of each gathered term (-1: unused)."""
    keys = _joined(gathered.parts)
    names, final = _final_numbers(gathered.numbers.names(), keys)
    for part in _slices(keys):
        part[:] = counting.with_terms(part, final)
    keys.sort()
    arrays = _columns(keys, len(names), tuple(gathered.lengths))
    arrays["terms"], arrays["terms.offsets"] = Strings.packed(names)
    for name, lengths in gathered.lengths.items():
        arrays[f"length.{name}"] = lengths
    return arrays, final


def _final_numbers(terms: list[str], keys: Keys) -> tuple[list[str], NDArray[np.int64]]:
    used = np.zeros(len(terms), bool)
    for part in _slices(keys):
        used[counting.terms_of(part)] = True
    numbers = np.flatnonzero(used).tolist()
    numbers.sort(key=lambda number: terms[number].encode("utf-8", "surrogatepass"))
    final = np.full(len(terms), -1, np.int64)
    final[numbers] = np.arange(len(numbers))
    return [terms[number] for number in numbers], final


def _joined(parts: list[Keys]) -> Keys:
    """All parts as one array; each part is given up as soon as it is copied."""
    keys = np.empty(sum(map(len, parts)), np.uint64)
    end = len(keys)
    while parts:
        part = parts.pop()
        keys[end - len(part) : end] = part
        end -= len(part)
    return keys


def _slices(keys: Keys) -> Iterator[Keys]:
    for start in range(0, len(keys), _AT_ONCE):
        yield keys[start : start + _AT_ONCE]


def _whole_pairs(keys: Keys) -> Iterator[Keys]:
    """Sorted postings in parts that do not tear a term and a document apart."""
    start = 0
    while start < len(keys):
        end = min(start + _AT_ONCE, len(keys))
        if end < len(keys):
            pair = keys[end - 1] >> np.uint64(counting.ROW_SHIFT)
            after = (pair + np.uint64(1)) << np.uint64(counting.ROW_SHIFT)
            end += int(np.searchsorted(keys[end : end + 4096], after))
        yield keys[start:end]
        start = end


def _columns(keys: Keys, terms: int, fields: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    df = np.zeros(terms, np.int64)
    docs: list[NDArray[np.uint32]] = []
    filled: dict[str, list[tuple[NDArray[np.uint32], NDArray[np.uint32]]]] = {n: [] for n in fields}
    before = 0
    for part in _whole_pairs(keys):
        pairs = part >> np.uint64(counting.ROW_SHIFT)
        first = np.r_[True, pairs[1:] != pairs[:-1]]
        single = part[first]
        df += np.bincount(counting.terms_of(single), minlength=terms)
        docs.append(counting.rows_of(single).astype(np.uint32))
        number = (np.cumsum(first) + (before - 1)).astype(np.uint32)
        of_field, times = counting.fields_of(part), counting.times_of(part)
        for name in fields:
            chosen = of_field == FIELDS.index(name)
            filled[name].append(summed(number[chosen], times[chosen]))
        before += len(single)
    arrays: dict[str, NDArray[Any]] = {
        "offsets": np.r_[0, np.cumsum(df)].astype(np.int64),
        "docs": np.concatenate([np.zeros(0, np.uint32), *docs]),
    }
    for name in fields:
        arrays |= packed_column(f"tf.{name}", filled.pop(name), before)
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
