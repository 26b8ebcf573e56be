"""Bags of words, sums and similarities of many texts, compiled by numba for large collections.

They return what the plain code in ``static_model`` and ``vectors`` returns, which starts without a
compiler and is faster for a few texts. numba vectorises the innermost loops.
"""

from __future__ import annotations

import numpy as np

from citebed.retrieval.numba_cache import compiled


@compiled(nogil=True)
def bags_of_tokens(ids, ends, starts, numbers, known):
    """Return the bags of texts: the distinct numbers of each text's known words in ascending order,
    their frequencies, and where each text begins.

    Text ``i`` ends at ``ends[i]``. Word ``w`` has ``numbers[starts[w]:starts[w + 1]]``, which are
    below ``known``.
    """
    count = 0
    for i in range(ids.size):
        count += starts[ids[i] + 1] - starts[ids[i]]
    found, times = np.empty(count, np.int32), np.empty(count, np.int64)
    firsts, often = np.zeros(ends.size + 1, np.int64), np.zeros(known, np.int64)
    # One bit for each number, and one for each 64 numbers: faster than sorting the numbers.
    words, blocks = np.zeros((known >> 6) + 1, np.uint64), np.zeros((known >> 12) + 1, np.uint64)
    i, n = 0, 0
    for text in range(ends.size):
        while i < ends[text]:
            for k in range(starts[ids[i]], starts[ids[i] + 1]):
                often[numbers[k]] += 1
                words[numbers[k] >> 6] |= _ONE << np.uint64(numbers[k] & 63)
                blocks[numbers[k] >> 12] |= _ONE << np.uint64(numbers[k] >> 6 & 63)
            i += 1
        for first in range(blocks.size):
            while blocks[first]:
                block = first << 6 | _lowest(blocks[first])
                while words[block]:
                    word = block << 6 | _lowest(words[block])
                    found[n], times[n] = word, often[word]
                    often[word] = 0
                    words[block] &= words[block] - _ONE
                    n += 1
                blocks[first] &= blocks[first] - _ONE
        firsts[text + 1] = n
    return found[:n], times[:n], firsts


_ONE, _SEQUENCE = np.uint64(1), 0x03F79D71B4CB0A89
"""A de Bruijn sequence: its 64 windows of six bits are distinct."""
_PLACES = np.zeros(64, np.int64)
_PLACES[[(_SEQUENCE << place & (1 << 64) - 1) >> 58 for place in range(64)]] = np.arange(64)


@compiled(nogil=True, inline="always")
def _lowest(bits):
    """Return the place of the lowest bit that is set."""
    return _PLACES[((bits & (~bits + _ONE)) * np.uint64(_SEQUENCE)) >> np.uint64(58)]


@compiled(nogil=True)
def sums(vectors, ids, weights, starts):
    """Return the weighted sum of each text's word vectors, added one after another.

    Four vectors at a time, so that each sum is read and written a fourth as often.
    """
    found = np.zeros((starts.size - 1, vectors.shape[1]), np.float32)
    for row in range(starts.size - 1):
        total, end = found[row], starts[row + 1]
        fours = end - (end - starts[row]) % 4
        for k in range(starts[row], fours, 4):
            a, b = vectors[ids[k]], vectors[ids[k + 1]]
            c, d = vectors[ids[k + 2]], vectors[ids[k + 3]]
            u, v, w, x = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
            for j in range(total.size):
                so_far = total[j] + u * np.float32(a[j])
                so_far += v * np.float32(b[j])
                so_far += w * np.float32(c[j])
                total[j] = so_far + x * np.float32(d[j])
        for k in range(fours, end):
            vector, weight = vectors[ids[k]], weights[k]
            for j in range(total.size):
                total[j] += weight * np.float32(vector[j])
    return found


@compiled(nogil=True)
def longest(rows, scales):
    most = 0.0
    for i in range(rows.shape[0]):
        total = 0
        for j in range(rows.shape[1]):
            total += np.int32(rows[i, j]) * np.int32(rows[i, j])
        most = max(most, np.sqrt(total) * scales[i])
    return most


@compiled(nogil=True)
def rough_scores(rows, scales, queries, units):
    """Return the similarity of every row to every query in 8 bits a number (queries × rows); each
    query has its unit. The processor multiplies and adds sixteen small integers at once."""
    found = np.empty((queries.shape[0], rows.shape[0]), np.float32)
    for i in range(rows.shape[0]):
        row = rows[i]
        for q in range(queries.shape[0]):
            query, total = queries[q], np.int32(0)
            for j in range(row.size):
                total = np.int32(total + np.int32(np.int32(row[j]) * np.int32(query[j])))
            found[q, i] = np.float32(total) * units[q] * scales[i]
    return found


@compiled(nogil=True, fastmath=True)
def scores(rows, scales, queries):
    """Return the similarity of every row to every query: queries × rows."""
    found = np.empty((queries.shape[0], rows.shape[0]), np.float32)
    row = np.empty(rows.shape[1], np.float32)
    for i in range(rows.shape[0]):
        for j in range(row.size):
            row[j] = rows[i, j]
        for q in range(queries.shape[0]):
            query, total = queries[q], np.float32(0)
            for j in range(row.size):
                total += row[j] * query[j]
            found[q, i] = total * scales[i]
    return found


def compile_all() -> None:
    """Compile these functions for the arrays that occur; arrays of files are read-only."""
    ids, starts = np.zeros(1, np.int32), np.array([0, 1], np.int64)
    bags_of_tokens(ids, starts[1:], starts, ids, 1)
    row, scale, query = np.zeros((1, 1), np.int8), np.zeros(1, np.float32), np.zeros((1, 1), "f4")
    for array in (row, scale, query):
        array.flags.writeable = False
    sums(row, ids, np.zeros(1, np.float32), starts)
    scores(row, scale, query)
    rough_scores(row, scale, row, scale)
    longest(row, scale)
