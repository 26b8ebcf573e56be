"""What the measures see: for every judged query, the ranks of its judged documents.

Documents that nobody judged matter only by the places they take, so they are not kept: a run
of ten million lines becomes a few arrays as long as its judged part.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl

from citebed.runs.ranking import (
    Ranked,
    SortedQrels,
    encode_values,
    query_blocks,
    spread,
    tie_groups,
)
from citebed.runs.tables import Flags, Floats, Hashes, Ints, Run

_BITS, _CELLS = 22, 1 << 17
_COMPARED, _AT_ONCE = 4, 1 << 20
"""So many comparisons a member of a tie cost less than to sort them all; and how many are made at
once."""
_LAST = np.uint64((1 << _BITS) - 1)


@dataclass(frozen=True, eq=False)
class Rankings:
    """Judged documents that were retrieved, by query and rank; and all judgements.

    ``query``, ``rank`` (from 1), ``relevance``, ``tie_first`` (the rank of the first document
    with the same score) and ``tie_size`` are of the retrieved, judged documents.
    ``retrieved`` counts all documents of a query, judged or not. ``judged_query`` and
    ``judged_relevance`` are all judgements, a query's best first, and ``highest`` is the highest
    grade there is, also where these are some of the queries. ``in_run`` says which of the judged
    queries the run has. ``counts`` keeps what `judged` has counted.
    """

    query_ids: pl.Series
    in_run: Flags
    retrieved: Ints
    query: Ints
    rank: Ints
    relevance: Ints
    tie_first: Ints
    tie_size: Ints
    judged_query: Ints
    judged_relevance: Ints
    highest: int
    counts: dict[int, Floats] = field(default_factory=dict)

    @property
    def queries(self) -> int:
        """How many queries are judged."""
        return len(self.in_run)

    def count(self, which: Flags) -> Floats:
        """For each query, how many of the retrieved, judged documents are of that kind."""
        return self.total(which.astype(np.float64))

    def total(self, amounts: Floats) -> Floats:
        """For each query, the sum over its retrieved, judged documents, added in rank order."""
        return np.bincount(self.query, amounts, self.queries).astype(np.float64)

    def so_far(self, which: Flags) -> Ints:
        """For each row, how many of that kind stand at its rank or above, within its query."""
        running = np.cumsum(which)
        starts = np.searchsorted(self.query, np.arange(self.queries))
        before = np.concatenate(([0], running))[starts]
        return np.asarray(running - before[self.query], np.int64)

    def first(self, documents: int) -> Rankings:
        """The same with only so many documents of each query, the best."""
        best = self.rows(self.rank <= documents)
        return replace(best, retrieved=np.minimum(self.retrieved, documents))

    def judged(self, at_least: int) -> Floats:
        """For each query, how many documents were judged at that level or above."""
        if at_least not in self.counts:
            which = self.judged_relevance >= at_least
            counts = np.bincount(self.judged_query, which, self.queries)
            self.counts[at_least] = counts.astype(np.float64)
        return self.counts[at_least]

    @cached_property
    def places(self) -> Ints:
        """For each row, its place among its query's retrieved, judged documents, from 1."""
        return self.so_far(np.ones(len(self.query), bool))

    @cached_property
    def ideal_place(self) -> Ints:
        """For every judgement, its place among its query's, best first, from 1."""
        starts = np.searchsorted(self.judged_query, np.arange(self.queries))
        return np.arange(1, len(self.judged_query) + 1) - starts[self.judged_query]

    @cached_property
    def condensed(self) -> Rankings:
        """The same without the documents that nobody judged (Sakai's condensed lists)."""
        judged = self.relevance >= 0
        rows = self.rows(judged)
        place = rows.places
        group = np.stack((rows.query, rows.tie_first))
        new = np.concatenate(([True], (group[:, 1:] != group[:, :-1]).any(axis=0)))[: len(place)]
        at = np.flatnonzero(new)
        size = np.diff(np.append(at, len(place)))
        return replace(
            rows,
            rank=place,
            tie_first=np.repeat(place[at], size),
            tie_size=np.repeat(size, size),
            retrieved=np.bincount(rows.query, minlength=self.queries),
        )

    def rows(self, rows: Flags | Ints) -> Rankings:
        """Some of the retrieved documents, or all in another order; ranks stay what they are."""
        return replace(
            self,
            query=self.query[rows],
            rank=self.rank[rows],
            relevance=self.relevance[rows],
            tie_first=self.tie_first[rows],
            tie_size=self.tie_size[rows],
        )

    @cached_property
    def with_ties(self) -> Flags:
        """Which queries have a judged document that shares its score with another document."""
        tied = np.zeros(self.queries, bool)
        tied[self.query[self.tie_size > 1]] = True
        return tied

    @property
    def has_ties(self) -> bool:
        """Whether any query has."""
        return bool(self.with_ties.any())

    @cached_property
    def luckiest(self) -> Rankings:
        """Ties put in the order that serves the run best: the more relevant first.

        Only queries with ties are kept in it, so that it is quick.
        """
        return self._retied(lucky=True)

    @cached_property
    def unluckiest(self) -> Rankings:
        """Ties put in the worst order: unjudged, then not relevant, the best document last."""
        return self._retied(lucky=False)

    def _retied(self, lucky: bool) -> Rankings:
        some = self.rows(self.with_ties[self.query])
        rows = some.rows(np.lexsort((-some.relevance, some.tie_first, some.query)))
        place = np.arange(len(rows.query))
        new = np.ones(len(place), bool)
        new[1:] = (rows.query[1:] != rows.query[:-1]) | (rows.tie_first[1:] != rows.tie_first[:-1])
        within = place - np.maximum.accumulate(np.where(new, place, 0))
        if lucky:
            return replace(rows, rank=rows.tie_first + within)
        worst = replace(rows, rank=rows.tie_first + rows.tie_size - 1 - within)
        return worst.rows(np.lexsort((worst.rank, worst.query)))


def running(query: Ints, place: Ints, amounts: Floats, queries: int) -> Floats:
    """The sums so far within each query; ``place`` counts its rows from 1.

    Added one place after the other, so that a sum has the very digits that a loop over one query
    gives, whatever stands before it.
    """
    total, sums = np.zeros(queries), np.empty(len(amounts))
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place))
    for begin, end in pairwise(ends):
        rows = order[begin:end]
        total[query[rows]] += amounts[rows]
        sums[rows] = total[query[rows]]
    return sums


def match(qrels: SortedQrels, ranked: Ranked) -> Rankings:
    """Lay a run beside the judgements."""
    codes = encode_values(ranked.query_ids, qrels.query_ids)
    retrieved = np.zeros(len(qrels.query_ids), np.int64)
    known = codes >= 0
    retrieved[codes[known]] = ranked.lengths[known]
    row, judgement = judged_rows(qrels, ranked, codes)
    group = np.searchsorted(ranked.starts, row, "right") - 1
    query = codes[group]
    order = np.lexsort((row, query))
    row, judgement, group = row[order], judgement[order], group[order]
    first, size = _ties(ranked, row)
    begin = ranked.starts[group]
    return Rankings(
        query_ids=qrels.query_ids,
        in_run=np.isin(np.arange(len(retrieved)), codes),
        retrieved=retrieved,
        query=query[order],
        rank=row - begin + 1,
        relevance=qrels.relevance[judgement],
        tie_first=first - begin + 1,
        tie_size=size,
        judged_query=qrels.query,
        judged_relevance=qrels.relevance,
        highest=qrels.highest,
    )


def judged_rows(qrels: SortedQrels, ranked: Ranked, codes: Ints) -> tuple[Ints, Ints]:
    """Rows of the run and of the judgements that are the same query and document.

    They are found by hash, and then compared letter by letter.
    """
    # Most documents are not judged: few of them have the last bits of one that is.
    there = _judgements_of(qrels, codes[codes >= 0])
    seen = np.zeros(1 << _BITS, bool)
    seen[qrels.keys[there] & _LAST] = True
    rows, keys = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
    lengths, parts = ranked.lengths, spread(codes)
    for first, last in query_blocks(lengths, _CELLS):
        begin, end = ranked.starts[first], ranked.starts[last]
        block = np.repeat(parts[first:last], lengths[first:last])
        block ^= ranked.hashes[begin:end]
        # As signed numbers, which numpy takes as places without a copy.
        some = np.flatnonzero(seen.take((block & _LAST).view(np.int64)))
        rows.append(begin + some)
        keys.append(block[some])
    matches = pl.DataFrame({"key": np.concatenate(keys), "row": np.concatenate(rows)}).join(
        pl.DataFrame({"key": qrels.keys[there], "judgement": there}), on="key"
    )
    row = matches["row"].to_numpy()
    judgement = matches["judgement"].to_numpy()
    group = np.searchsorted(ranked.starts, row, "right") - 1
    same = ranked.ids_at(row) == qrels.doc_ids.gather(judgement)
    real = same.to_numpy() & (qrels.query[judgement] == codes[group])
    return row[real], judgement[real]


def _judgements_of(qrels: SortedQrels, queries: Ints) -> Ints:
    """The rows of the judgements of some queries: a part of a run has few of many."""
    wanted = np.zeros(len(qrels.query_ids), bool)
    wanted[queries] = True
    return np.flatnonzero(np.repeat(wanted, np.diff(qrels.starts)))


def _ties(ranked: Ranked, row: Ints) -> tuple[Ints, Ints]:
    """For these rows: the first row with the same score, and how many have it."""
    begin, length = tie_groups(ranked.tied)
    first, size = row.copy(), np.ones(len(row), np.int64)
    at = np.searchsorted(begin, row, "right") - 1
    some = np.flatnonzero(at >= 0)
    some = some[row[some] < (begin + length)[at[some]]]
    first[some], size[some] = begin[at[some]], length[at[some]]
    return first, size


# --- of a run that is in no order -------------------------------------------------------------


def match_unordered(judged: SortedQrels, run: Run, query: Ints) -> Rankings:
    """Lay a run beside the judgements without putting it in order.

    ``query`` is the number of each row's query, -1 where nobody judged it. Nothing is sorted but
    numbers: query and score packed into 64 bits, the score's last bits cut off. A judged
    document's rank is how many numbers of its query are smaller; where numbers are equal, by a
    true tie or because of what was cut off, those few documents are put in the one order.
    """
    queries = len(judged.query_ids)
    row, judgement = _judged_unordered(judged, run, query)
    scores = run.rows["score"].to_numpy()
    shift = np.uint64((queries + 1).bit_length())
    packed = _packed(np.where(query < 0, queries, query), scores, shift)
    retrieved = np.bincount(query + 1, minlength=queries + 1)[1:]
    rank, first, size = _places(packed, scores, run.rows["doc_id"], row)
    begin = (np.cumsum(retrieved) - retrieved)[query[row]]
    order = np.lexsort((rank, query[row]))
    return Rankings(
        query_ids=judged.query_ids,
        in_run=retrieved > 0,
        retrieved=retrieved,
        query=query[row][order],
        rank=(rank - begin)[order],
        relevance=judged.relevance[judgement[order]],
        tie_first=(first - begin)[order],
        tie_size=size[order],
        judged_query=judged.query,
        judged_relevance=judged.relevance,
        highest=judged.highest,
    )


def _judged_unordered(judged: SortedQrels, run: Run, query: Ints) -> tuple[Ints, Ints]:
    """Rows of the run and of the judgements that are the same: by hash, then letter by letter."""
    keys = run.doc_hashes ^ np.append(spread(np.arange(len(judged.query_ids))), np.uint64(0))[query]
    there = _judgements_of(judged, query[query >= 0])
    seen = np.zeros(1 << _BITS, bool)
    seen[judged.keys[there] & _LAST] = True
    some = np.flatnonzero(seen.take((keys & _LAST).view(np.int64)))
    known = pl.DataFrame({"key": judged.keys[there], "judgement": there})
    matches = pl.DataFrame({"key": keys[some], "row": some}).join(known, on="key")
    row, judgement = matches["row"].to_numpy(), matches["judgement"].to_numpy()
    same = run.rows["doc_id"].gather(row) == judged.doc_ids.gather(judgement)
    real = same.to_numpy() & (judged.query[judgement] == query[row])
    return row[real], judgement[real]


def _packed(query: Ints, score: Floats, shift: np.uint64) -> Hashes:
    """Numbers that are smaller in earlier queries, and within a query for greater scores.

    The bits of a float that is not negative are in the order of the numbers, those of a negative
    one in the opposite order, and its highest bit is set. Adding 0 makes -0 and 0 the same.
    """
    sign, all_bits = np.uint64(1 << 63), np.uint64((1 << 64) - 1)
    falling = ~(score + 0.0).view(np.uint64)
    falling ^= np.where(score < 0, all_bits, sign) if (score < 0).any() else sign
    falling >>= shift
    packed = query.astype(np.uint64)
    packed <<= np.uint64(64) - shift
    packed |= falling
    return packed


def _places(
    packed: Hashes, scores: Floats, doc_ids: pl.Series, row: Ints
) -> tuple[Ints, Ints, Ints]:
    """Of rows: the place among all in order, from 1, that of the first tied, and how many are."""
    ordered, key = np.sort(packed), packed[row]
    sorter = np.argsort(key)  # looked up in order they are found several times as quickly
    first, after = np.empty((2, len(row)), np.int64)
    first[sorter] = np.searchsorted(ordered, key[sorter], "left")
    after[sorter] = np.searchsorted(ordered, key[sorter], "right")
    rank, tie, size = first + 1, first + 1, np.ones(len(row), np.int64)
    tied = np.flatnonzero(after - first > 1)
    if not len(tied):
        return rank, tie, size
    wanted = pl.Series(np.unique(key[tied])).implode()
    members = np.flatnonzero(pl.Series(packed).is_in(wanted).to_numpy())
    many = (after - first)[tied]
    if many.sum() <= _COMPARED * len(members):
        found = _among_few(packed, scores, doc_ids, members, row[tied], many)
    else:
        found = _among_many(packed, scores, doc_ids, members, row[tied])
    above, better, size[tied] = found
    rank[tied] += above
    tie[tied] += better
    return rank, tie, size


Among = tuple[Ints, Ints, Ints]
"""Of rows, among the members of their group: how many stand above them, how many of these by their
score, and how many have the same score."""


def _among_few(
    packed: Hashes, scores: Floats, doc_ids: pl.Series, members: Ints, row: Ints, many: Ints
) -> Among:
    """Each row is compared with all members of its group, of which there are so ``many``; some
    rows at a time."""
    keys, scores, ids = packed[members], scores[members], doc_ids.gather(members)
    order = pl.Series(keys).arg_sort().to_numpy()
    begin, this = np.searchsorted(keys[order], packed[row]), np.searchsorted(members, row)
    words = [_words(ids, start) for start in (0, 8)]
    found = np.empty((3, len(row)), np.int64)
    cuts = np.searchsorted(np.cumsum(many), np.arange(_AT_ONCE, many.sum(), _AT_ONCE))
    for first, last in pairwise(np.unique([0, *cuts, len(row)]).tolist()):
        some = slice(first, last)
        ours = np.repeat(np.arange(last - first), many[some])
        places = (begin[some] - np.cumsum(many[some]) + many[some])[ours]
        other, mine = order[np.arange(len(ours)) + places], this[some][ours]
        same, better = scores[other] == scores[mine], scores[other] > scores[mine]
        above = better | (same & _is_greater(ids, words, other, mine))
        for of, flags in zip(found, (above, better, same), strict=True):
            of[some] = np.bincount(ours, flags, last - first)
    return tuple(found)  # type: ignore[return-value]


def _words(ids: pl.Series, start: int) -> Hashes:
    """Eight bytes of each id as a number, so that numbers are in the order of the bytes."""
    is_long = bool((ids.str.len_bytes() >= start + 8).all())
    padded = ids if is_long else ids.str.pad_end(start + 8, "\0")
    word = padded.cast(pl.Binary).bin.slice(start, 8)
    return word.bin.reinterpret(dtype=pl.UInt64, endianness="big").to_numpy()


def _is_greater(ids: pl.Series, words: list[Hashes], one: Ints, other: Ints) -> Flags:
    """Which ids are greater than others, by their bytes.

    The first of them are compared as numbers; ids themselves, which lie anywhere in memory, only
    where all of these are alike.
    """
    greater, undecided = np.zeros(len(one), bool), np.flatnonzero(one != other)
    for word in words:
        ours, theirs = word[one[undecided]], word[other[undecided]]
        greater[undecided] = ours > theirs
        undecided = undecided[ours == theirs]
    one_id, other_id = (ids.gather(each[undecided]) for each in (one, other))
    greater[undecided] = (one_id > other_id).to_numpy()
    return greater


def _among_many(
    packed: Hashes, scores: Floats, doc_ids: pl.Series, members: Ints, row: Ints
) -> Among:
    """All members are put in order."""
    table = pl.DataFrame(
        {"key": packed[members], "score": scores[members], "doc_id": doc_ids.gather(members)}
    ).with_columns(row=members)
    table = table.sort("key", "score", "doc_id", descending=[False, True, True])
    keys, values, rows = (table[name].to_numpy() for name in ("key", "score", "row"))
    new_key = np.append(True, keys[1:] != keys[:-1])
    group, same = _starts(new_key), _starts(new_key | np.append(True, values[1:] != values[:-1]))
    sorter = np.argsort(rows)
    at = sorter[np.searchsorted(rows, row, sorter=sorter)]
    return (np.arange(len(rows)) - group)[at], (same - group)[at], np.bincount(same)[same[at]]


def _starts(new: Flags) -> Ints:
    """For each row, where the stretch of equal rows that it is in starts."""
    return np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))
