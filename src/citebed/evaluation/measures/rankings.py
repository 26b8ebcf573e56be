"""Rankings for measures: the ranks of the judged documents of every judged query.

Unjudged documents matter only through the ranks that they take, so they are not stored: a run of
ten million lines becomes a few arrays as long as its judged part.
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
"""Up to this many comparisons per tied document are faster than sorting; and how many are made at
once."""
_LAST = np.uint64((1 << _BITS) - 1)


@dataclass(frozen=True, eq=False)
class Rankings:
    """Retrieved, judged documents by query and rank, and all judgements.

    ``query``, ``rank`` (from 1), ``relevance``, ``tie_first`` (the rank of the first document with
    the same score) and ``tie_size`` describe the retrieved, judged documents. ``retrieved`` counts
    all documents of a query, judged or not. ``judged_query`` and ``judged_relevance`` have all
    judgements, each query's highest grade first; ``highest`` is the highest grade of the whole
    judgement set, even if this is a part of it. ``in_run`` marks the judged queries that the run
    has. ``counts`` is the cache of `judged`.
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
        """The number of judged queries."""
        return len(self.in_run)

    def count(self, which: Flags) -> Floats:
        """Count, per query, the retrieved, judged documents that are marked."""
        return self.total(which.astype(np.float64))

    def total(self, amounts: Floats) -> Floats:
        """Sum amounts, one per retrieved, judged document, per query and in rank order."""
        return np.bincount(self.query, amounts, self.queries).astype(np.float64)

    def so_far(self, which: Flags) -> Ints:
        """Count, for each row, the marked rows of its query at the same rank or above."""
        running = np.cumsum(which)
        starts = np.searchsorted(self.query, np.arange(self.queries))
        before = np.concatenate(([0], running))[starts]
        return np.asarray(running - before[self.query], np.int64)

    def first(self, documents: int) -> Rankings:
        """Return the rankings cut to the first documents of each query."""
        best = self.rows(self.rank <= documents)
        return replace(best, retrieved=np.minimum(self.retrieved, documents))

    def judged(self, at_least: int) -> Floats:
        """Count, per query, the documents judged with this grade or a higher one."""
        if at_least not in self.counts:
            which = self.judged_relevance >= at_least
            counts = np.bincount(self.judged_query, which, self.queries)
            self.counts[at_least] = counts.astype(np.float64)
        return self.counts[at_least]

    @cached_property
    def places(self) -> Ints:
        """The position of each row among its query's retrieved, judged documents, from 1."""
        return self.so_far(np.ones(len(self.query), bool))

    @cached_property
    def ideal_place(self) -> Ints:
        """The rank of each judgement in its query's ideal ranking, from 1."""
        starts = np.searchsorted(self.judged_query, np.arange(self.queries))
        return np.arange(1, len(self.judged_query) + 1) - starts[self.judged_query]

    @cached_property
    def condensed(self) -> Rankings:
        """The rankings without unjudged documents (Sakai's condensed lists)."""
        judged = self.relevance >= 0
        rows = self.rows(judged)
        place, at = rows.places, np.flatnonzero(rows.new_tie)
        size = np.diff(np.append(at, len(place)))
        return replace(
            rows,
            rank=place,
            tie_first=np.repeat(place[at], size),
            tie_size=np.repeat(size, size),
            retrieved=np.bincount(rows.query, minlength=self.queries),
        )

    def rows(self, rows: Flags | Ints) -> Rankings:
        """Select or reorder the retrieved documents; ranks do not change."""
        return replace(
            self,
            query=self.query[rows],
            rank=self.rank[rows],
            relevance=self.relevance[rows],
            tie_first=self.tie_first[rows],
            tie_size=self.tie_size[rows],
        )

    @cached_property
    def new_tie(self) -> Flags:
        """Which rows have another query or score than the row before."""
        new = np.ones(len(self.query), bool)
        new[1:] = (self.query[1:] != self.query[:-1]) | (self.tie_first[1:] != self.tie_first[:-1])
        return new

    @cached_property
    def with_ties(self) -> Flags:
        """Which queries have a judged document with the same score as another document."""
        tied = np.zeros(self.queries, bool)
        tied[self.query[self.tie_size > 1]] = True
        return tied

    def retied(self, lucky: bool) -> Rankings:
        """Return the queries with ties, with ties in the best or in the worst order."""
        some = self.rows(self.with_ties[self.query])
        rows = some.rows(np.lexsort((-some.relevance, some.tie_first, some.query)))
        within = np.arange(len(rows.query)) - _starts(rows.new_tie)
        if lucky:
            return replace(rows, rank=rows.tie_first + within)
        worst = replace(rows, rank=rows.tie_first + rows.tie_size - 1 - within)
        return worst.rows(np.lexsort((worst.rank, worst.query)))


def running(query: Ints, place: Ints, amounts: Floats, queries: int) -> Floats:
    """Return running sums within each query; ``place`` counts its rows from 1.

    All queries advance one place at a time, so that every sum has exactly the digits of a loop over
    its query.
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
    """Match a ranked run with the judgements."""
    codes = encode_values(ranked.query_ids, qrels.query_ids)
    retrieved = np.zeros(len(qrels.query_ids), np.int64)
    known = codes >= 0
    retrieved[codes[known]] = ranked.lengths[known]
    row, judgement = judged_rows(qrels, ranked, codes)
    group = np.searchsorted(ranked.starts, row, "right") - 1
    query = codes[group]
    order = np.lexsort((row, query))
    row, judgement, group = row[order], judgement[order], group[order]
    # The first row with the same score as each row, and the number of such rows.
    ties, length = tie_groups(ranked.tied)
    first, size = row.copy(), np.ones(len(row), np.int64)
    at = np.searchsorted(ties, row, "right") - 1
    some = np.flatnonzero(at >= 0)
    some = some[row[some] < (ties + length)[at[some]]]
    first[some], size[some] = ties[at[some]], length[at[some]]
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
    """Return the rows of the run and of the judgements with the same query and document.

    They are found by hash, and then their ids are compared.
    """
    # A table of the hashes' last bits excludes most documents, since few are judged.
    there = _judgements_of(qrels, codes[codes >= 0])
    seen = np.zeros(1 << _BITS, bool)
    seen[qrels.keys[there] & _LAST] = True
    rows, keys = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
    lengths, parts = ranked.lengths, spread(codes)
    for first, last in query_blocks(lengths, _CELLS):
        begin, end = ranked.starts[first], ranked.starts[last]
        block = np.repeat(parts[first:last], lengths[first:last])
        block ^= ranked.hashes[begin:end]
        # View as signed integers, which numpy accepts as indices without a copy.
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
    """Return the rows of the judgements of these queries."""
    wanted = np.zeros(len(qrels.query_ids), bool)
    wanted[queries] = True
    return np.flatnonzero(np.repeat(wanted, np.diff(qrels.starts)))


# --- matching without sorting the run ---------------------------------------------------------


def match_unordered(judged: SortedQrels, run: Run, query: Ints) -> Rankings:
    """Match a run with the judgements without ranking the whole run.

    ``query`` is the number of each row's query, or -1 without judgements. Query and score are
    packed into 64 bits, without the score's last bits, and only these numbers are sorted. A judged
    document's rank follows from the count of smaller numbers. If numbers are equal, because of a
    tie or the missing bits, these few documents are ranked exactly.
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
    """Return the matching rows of the run and of the judgements, by hash and then by id."""
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
    """Pack query and score so that numbers ascend by query and descend by score.

    The bit patterns of non-negative floats have the order of the numbers. Those of negative floats
    have the opposite order, with the highest bit set. Adding 0 turns -0 into 0.
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
    """Return each row's rank among all rows, the rank of the first tied row, and the tie's size."""
    ordered, key = np.sort(packed), packed[row]
    sorter = np.argsort(key)  # sorted keys can be looked up several times as fast
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
"""For each row, the members of its group that rank above it, that have a higher score, and that
have the same score."""


def _among_few(
    packed: Hashes, scores: Floats, doc_ids: pl.Series, members: Ints, row: Ints, many: Ints
) -> Among:
    """Compare each row with all members of its group; ``many`` are the sizes of the groups."""
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
    """Return eight bytes of each id as a number with the order of the bytes."""
    is_long = bool((ids.str.len_bytes() >= start + 8).all())
    padded = ids if is_long else ids.str.pad_end(start + 8, "\0")
    word = padded.cast(pl.Binary).bin.slice(start, 8)
    return word.bin.reinterpret(dtype=pl.UInt64, endianness="big").to_numpy()


def _is_greater(ids: pl.Series, words: list[Hashes], one: Ints, other: Ints) -> Flags:
    """Return which ids are greater than others, by their bytes.

    The first bytes are compared as numbers. The ids themselves, which are scattered in memory, are
    compared only if these are equal.
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
    """Sort all members of the groups."""
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
    """Return, for each row, the start of its stretch of equal rows."""
    return np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))
