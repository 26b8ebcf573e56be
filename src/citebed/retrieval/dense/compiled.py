"""Bags of words, sums and similarities of many texts, compiled by numba: for large collections.

They give just what the plain code in ``static_model`` and ``vectors`` gives, which needs no
compiler to start and is quicker for few. numba makes vector code of the innermost loops.
"""

from __future__ import annotations

import numpy as np

from citebed.retrieval.compiling import compiled


@compiled(nogil=True)
def bags_of_tokens(tokens, texts, numbers, starts, count, words):
    """The bags of ``count`` texts: a token in any order is the text that it is in and a word that
    stands for the known words ``numbers[starts[token]:starts[token + 1]]``."""
    ends = np.zeros(count + 1, np.int64)
    for i in range(tokens.size):
        ends[texts[i] + 1] += starts[tokens[i] + 1] - starts[tokens[i]]
    ends = np.cumsum(ends)
    ids, at = np.empty(ends[count], np.int32), ends[:count].copy()
    for i in range(tokens.size):
        for k in range(starts[tokens[i]], starts[tokens[i] + 1]):
            ids[at[texts[i]]] = numbers[k]
            at[texts[i]] += 1
    return _bags(ids, ends, words)


@compiled(nogil=True)
def _bags(ids, starts, words):
    """The numbers of the words of each text, rising and each once; how often each occurs; where
    those of each text begin. The words of a text come in any order."""
    # Sorting the few different words of each text is quicker than sorting all words at once.
    found, times = np.empty_like(ids), np.empty(ids.size, np.int64)
    firsts, times_of = np.zeros_like(starts), np.zeros(words, np.int64)
    n = 0
    for row in range(starts.size - 1):
        first = n
        for i in range(starts[row], starts[row + 1]):
            if not times_of[ids[i]]:
                found[n] = ids[i]
                n += 1
            times_of[ids[i]] += 1
        found[first:n].sort()
        for k in range(first, n):
            times[k] = times_of[found[k]]
            times_of[found[k]] = 0
        firsts[row + 1] = n
    return found[:n], times[:n], firsts


@compiled(nogil=True)
def sums(vectors, ids, weights, starts):
    """The sum of each text's word vectors, each times its weight, one after another.

    Four at a time: each sum is then read and written a fourth as often, and is the same.
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
    """The length of the longest vector."""
    most = 0.0
    for i in range(rows.shape[0]):
        total = 0
        for j in range(rows.shape[1]):
            total += np.int32(rows[i, j]) * np.int32(rows[i, j])
        most = max(most, np.sqrt(total) * scales[i])
    return most


@compiled(nogil=True)
def rough_scores(rows, scales, queries, units):
    """The similarity of every row to every query (queries × rows), of queries of 8 bits a number,
    each with its unit: for whole numbers there are instructions that multiply and add sixteen at
    once."""
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
    """The similarity of every row to every query: queries × rows."""
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
    """Compile all that is here, for arrays as they come; those of files are read-only."""
    ids, starts = np.zeros(1, np.int32), np.array([0, 1], np.int64)
    bags_of_tokens(ids, np.zeros(1, np.int64), ids, starts, 1, 1)
    row, scale, query = np.zeros((1, 1), np.int8), np.zeros(1, np.float32), np.zeros((1, 1), "f4")
    for array in (row, scale, query):
        array.flags.writeable = False
    sums(row, ids, np.zeros(1, np.float32), starts)
    scores(row, scale, query)
    rough_scores(row, scale, row, scale)
    longest(row, scale)
