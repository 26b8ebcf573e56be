"""From packed postings to the arrays of an index."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.retrieval.index import counting
from citebed.retrieval.index.arrays import FilledColumn, Growing, Strings, summed
from citebed.retrieval.index.counting import Counts, Keys, TermNumbers
from citebed.retrieval.index.layout import FIELDS
from citebed.retrieval.index.spilling import AT_ONCE, Pile

MOST_POSTINGS = (1 << 32) - 1
"""The places of postings are numbers of 32 bits."""


@dataclass
class Gathered:
    """Postings as they come in, with one numbering of terms for all."""

    documents: int
    numbers: TermNumbers
    pile: Pile = field(default_factory=Pile)
    lengths: dict[str, NDArray[np.uint32]] = field(default_factory=dict)

    def add(self, counts: Counts, document_of_row: NDArray[np.int64]) -> None:
        """Take in what a job counted."""
        start = counts.job.start
        rows = document_of_row[start : start + counts.job.texts.height]
        self.pile.add(counting.renumbered(counts.keys, rows))
        for name, lengths in counts.lengths.items():
            np.add.at(self.length(name), rows[rows >= 0], lengths[rows >= 0])

    def length(self, name: str) -> NDArray[np.uint32]:
        """The field's lengths, to be filled."""
        return self.lengths.setdefault(name, np.zeros(self.documents, np.uint32))


def assemble(gathered: Gathered) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64]]:
    """The arrays of the postings, and the final number of each gathered term (-1: unused)."""
    terms, pile = gathered.numbers.names(), gathered.pile
    often = pile.often(len(terms))
    names, final = _final_numbers(terms, often > 0)
    folder = pile.folder if pile.is_large else None
    columns = _Columns(len(names), tuple(gathered.lengths), folder)
    for keys in pile.in_order(final, often):
        for part in _whole_pairs(keys):
            columns.add(part)
    arrays = columns.arrays()
    arrays["terms"], arrays["terms.offsets"] = Strings.packed(names)
    for name, lengths in gathered.lengths.items():
        arrays[f"length.{name}"] = lengths
    return arrays, final


def _final_numbers(
    terms: list[str], used: NDArray[np.bool_]
) -> tuple[list[str], NDArray[np.int64]]:
    numbers = np.flatnonzero(used).tolist()
    numbers.sort(key=lambda number: terms[number].encode("utf-8", "surrogatepass"))
    final = np.full(len(terms), -1, np.int64)
    final[numbers] = np.arange(len(numbers))
    return [terms[number] for number in numbers], final


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

    def add(self, part: Keys) -> None:
        """Take in sorted postings, all of each term and document."""
        pairs = part >> np.uint64(counting.ROW_SHIFT)
        first = np.r_[True, pairs[1:] != pairs[:-1]]
        single = part[first]
        start = int(counting.terms_of(single[:1])[0])
        df = np.bincount(counting.terms_of(single) - start)
        self._df[start : start + len(df)] += df
        self._docs.add(counting.rows_of(single).astype(np.uint32))
        self._check_room(len(single))
        number = (np.cumsum(first) + (self._postings - 1)).astype(np.uint32)
        of_field, times = counting.fields_of(part), counting.times_of(part)
        for name, filled in self._filled.items():
            chosen = of_field == FIELDS.index(name)
            filled.add(summed(number[chosen], times[chosen]))
        self._postings += len(single)

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
