"""Where the judged documents of a run stand within their cells.

Only their ranks are needed, so nothing is put in order but numbers: cell and score packed into
64 bits, the score's last bits cut off. A judged document's rank is how many numbers of its cell
are smaller. Where numbers are equal, by a true tie or because of what was cut off, those few
documents are put in citebed's one order, score descending, then document id descending.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Floats, Hashes, Ints
from citebed.timeline.scoring.query_slices import Cells
from citebed.timeline.scoring.repeated_pairs import RepeatedPairs
from citebed.timeline.streams.tally import RunLines

_SIGN_BIT = np.uint64(1 << 63)
_ALL_BITS = np.uint64((1 << 64) - 1)


class _Collected(NamedTuple):
    """The documents in cells, and which rows of them have which judgement."""

    keys: Hashes
    scores: Floats
    ids: list[pl.Series]
    row: Ints
    judgement: Ints


class _Places(NamedTuple):
    """For rows: rank, the rank of the first document of equal score, and how many have it."""

    rank: Ints
    tie_first: Ints
    tie_size: Ints


class Placing(RepeatedPairs):
    """Collects the documents of a run that are in cells, and then ranks the judged ones.

    ``early_or_late`` counts documents in no slice, ``elsewhere`` those in a slice without
    relevant documents for their query. Documents with a score above ``threshold`` count as
    accepted. ``example`` is a document, to show how ids are written.
    """

    def __init__(self, cells: Cells, threshold: float | None = None) -> None:
        super().__init__()
        self.cells = cells
        self.threshold = threshold
        self.early_or_late = 0
        self.elsewhere = 0
        self.example: str | None = None
        self._retrieved = np.zeros(len(cells), np.int64)
        self._accepted = np.zeros(len(cells), np.int64)
        self._shift = np.uint64(len(cells).bit_length())
        self._parts: list[_Collected] = []
        self._ordered: list[Hashes] = []

    def add(self, batch: RunLines) -> None:
        """Take the documents of a batch."""
        super().add(batch)
        cell = self.cells.of(batch.query, batch.time)
        inside = cell >= 0
        score, ids = batch.score, batch.doc_ids
        if self.example is None and len(ids):
            self.example = ids[0]
        judged = inside[batch.row]
        row, judgement = batch.row[judged], batch.judgement[judged]
        if not inside.all():
            late = int((cell == -2).sum())
            self.early_or_late += late
            self.elsewhere += int((~inside).sum()) - late
            row = (np.cumsum(inside) - 1)[row]
            cell, score, ids = cell[inside], score[inside], ids.filter(pl.Series(inside))
        size = len(self.cells)
        self._retrieved += np.bincount(cell, minlength=size)
        if self.threshold is not None:
            self._accepted += np.bincount(cell[score > self.threshold], minlength=size)
        packed = _packed(cell, score, self._shift)
        self._parts.append(_Collected(packed, score, [ids], row, judgement))

    def close(self) -> None:
        """Put the numbers of all documents in order."""
        if self._parts:
            ordered = np.concatenate([part.keys for part in self._parts])
            ordered.sort()
            self._ordered.append(ordered)

    def absorb(self, other: Self) -> None:
        """Take over what another one collected."""
        super().absorb(other)
        self.early_or_late += other.early_or_late
        self.elsewhere += other.elsewhere
        self.example = self.example or other.example
        self._retrieved += other._retrieved
        self._accepted += other._accepted
        self._parts += other._parts
        self._ordered += other._ordered

    def rankings(self) -> tuple[Rankings, Rankings]:
        """What the measures see, a query being a cell: all documents, and the accepted ones.

        What was collected is used up by it.
        """
        parts, self._parts = self._parts, []
        ordered, self._ordered = self._ordered, []
        found = _joined(parts)
        del parts
        cell = (found.keys[found.row] >> (np.uint64(64) - self._shift)).astype(np.int64)
        before = np.cumsum(self._retrieved) - self._retrieved
        places = _places(found, ordered, before[cell])
        order = np.lexsort((places.rank, cell))
        everything = Rankings(
            query_ids=pl.Series("query_id", np.arange(len(self.cells))),
            in_run=self._retrieved > 0,
            retrieved=self._retrieved,
            query=cell[order],
            rank=places.rank[order],
            relevance=self.cells.truth.judged.relevance[found.judgement[order]],
            tie_first=places.tie_first[order],
            tie_size=places.tie_size[order],
            judged_query=self.cells.judged_cell,
            judged_relevance=self.cells.judged_relevance,
        )
        if self.threshold is None:
            return everything, everything
        above = found.scores[found.row][order] > self.threshold
        # The first documents of each ranking, so that ranks stay what they are.
        accepted, some = everything.rows(above), self._accepted
        return everything, replace(accepted, in_run=some > 0, retrieved=some)


def _joined(parts: list[_Collected]) -> _Collected:
    if not parts:
        nothing = np.empty(0, np.int64)
        return _Collected(nothing.astype(np.uint64), np.empty(0), [], nothing, nothing)
    keys = np.concatenate([part.keys for part in parts])
    begin = np.cumsum([0, *(len(part.keys) for part in parts)])
    row = np.concatenate([part.row + at for part, at in zip(parts, begin, strict=False)])
    # Looked up in the order of their keys, rows are found several times as quickly.
    order = np.argsort(keys[row])
    return _Collected(
        keys,
        np.concatenate([part.scores for part in parts]),
        [ids for part in parts for ids in part.ids],
        row[order],
        np.concatenate([part.judgement for part in parts])[order],
    )


def _packed(cell: Ints, score: Floats, shift: np.uint64) -> Hashes:
    """Numbers that are smaller in earlier cells, and within a cell for greater scores.

    The bits of a float that is not negative are in the order of the numbers, those of a negative
    one in the opposite order, and its highest bit is set. Adding 0 makes -0 and 0 the same.
    """
    falling = ~(score + 0.0).view(np.uint64)
    falling ^= np.where(score < 0, _ALL_BITS, _SIGN_BIT) if (score < 0).any() else _SIGN_BIT
    falling >>= shift
    packed = cell.astype(np.uint64)
    packed <<= np.uint64(64) - shift
    packed |= falling
    return packed


def _places(found: _Collected, ordered: list[Hashes], begin: Ints) -> _Places:
    """The places of the judged rows among all in order, which may lie in several pieces.

    ``begin`` is how many are in the cells before theirs.
    """
    key = found.keys[found.row]
    first, after = np.zeros((2, len(key)), np.int64)
    for piece in ordered:
        first += np.searchsorted(piece, key, "left")
        after += np.searchsorted(piece, key, "right")
    size = after - first
    rank = first - begin + 1
    places = _Places(rank, rank.copy(), np.ones(len(rank), np.int64))
    tied = np.flatnonzero(size > 1)
    if len(tied):
        inner = _within_ties(found, found.row[tied])
        places.tie_first[tied] += inner.tie_first
        places.rank[tied] += inner.rank
        places.tie_size[tied] = inner.tie_size
    return places


def _within_ties(found: _Collected, row: Ints) -> _Places:
    """For rows whose key others have too: their places among those, from 0."""
    wanted = pl.Series(np.unique(found.keys[row]))
    members = np.flatnonzero(pl.Series(found.keys).is_in(wanted.implode()).to_numpy())
    table = pl.DataFrame(
        {
            "key": found.keys[members],
            "score": found.scores[members],
            "doc_id": pl.concat(found.ids, rechunk=False).gather(members),
            "row": members,
        }
    ).sort("key", "score", "doc_id", descending=[False, True, True])
    key, score = table["key"].to_numpy(), table["score"].to_numpy()
    place = np.arange(len(key))
    group, same = (
        _run_starts(key[1:] != key[:-1]),
        _run_starts((key[1:] != key[:-1]) | (score[1:] != score[:-1])),
    )
    sizes = np.bincount(same, minlength=len(key))[same]
    sorter = np.argsort(table["row"].to_numpy())
    at = sorter[np.searchsorted(table["row"].to_numpy(), row, sorter=sorter)]
    return _Places((place - group)[at], (same - group)[at], sizes[at])


def _run_starts(changes: np.typing.NDArray[np.bool_]) -> Ints:
    """For each row, where the run of equal rows that it is in starts."""
    at = np.arange(len(changes) + 1)
    return np.maximum.accumulate(np.where(np.concatenate(([True], changes)), at, 0))
