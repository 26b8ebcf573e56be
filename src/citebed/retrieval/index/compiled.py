"""Words of many texts at once, and how often each has them, compiled by numba: for large
collections.

The slow and obvious twins that tests compare them with are ``analysis.words`` and
``counting.counted``, whose postings are sorted. What is around a character that is not ASCII is
left to the former.
"""

from __future__ import annotations

import itertools
from string import ascii_letters, digits
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.retrieval.analysis.words import MAX_UNITS
from citebed.retrieval.compiling import compiled

_LETTER, _DIGIT, _UNDERSCORE, _MID_LETTERS, _MID_DIGITS, _MID_BOTH = range(1, 7)
_IN_WORDS = ascii_letters + digits + "_"
_SMALLEST_TABLE = 1 << 17


def _kinds() -> NDArray[np.uint8]:
    kinds = np.zeros(256, np.uint8)
    # In the order of the kinds, from ``_LETTER`` on.
    for kind, chars in enumerate((ascii_letters, digits, "_", ":", ",;", ".'"), 1):
        kinds[[*chars.encode()]] = kind
    return kinds


def _lower() -> NDArray[np.uint8]:
    """The lower case of each byte that any word may have; 0 for the others."""
    lower = np.zeros(256, np.uint8)
    lower[[*_IN_WORDS.encode()]] = [*_IN_WORDS.lower().encode()]
    return lower


class Words(NamedTuple):
    """Distinct words; every token by the number of its word and the row of its text.

    ``odd`` are stretches between blanks that are not ASCII, or so long that they may have a word
    to be cut; their words are not among the others. ``odd_rows`` are the rows of their texts.
    """

    distinct: list[str]
    ids: NDArray[np.int32]
    rows: NDArray[np.int64]
    odd: list[str]
    odd_rows: NDArray[np.int64]


def words_of_all(texts: pl.Series) -> Words:
    """The words of many texts, but for those of odd stretches."""
    joined = texts.str.join("\n").cast(pl.Binary)[0] + b"\n"
    data = np.frombuffer(joined, np.uint8)
    ends = np.cumsum(texts.str.len_bytes().to_numpy().astype(np.int64) + 1)
    odd = np.empty((3, np.count_nonzero(data > 127) + len(data) // MAX_UNITS + 1), np.int64)
    size = _SMALLEST_TABLE
    while (read := _words(data, ends, _kinds(), _lower(), size, odd))[0] < 0:
        size *= 4
    distinct, ids, rows, pool, starts, odd_count = read
    spelled = pool[: starts[distinct]].tobytes().decode("ascii")
    words = [spelled[a:b] for a, b in itertools.pairwise(starts[: distinct + 1].tolist())]
    first, last, odd_rows = odd[:, :odd_count]
    stretches = [joined[a:b].decode() for a, b in zip(first.tolist(), last.tolist(), strict=True)]
    return Words(words, ids, rows, stretches, odd_rows)


@compiled(nogil=True)
def _place(table, hashes, starts, pool, span, value):  # type: ignore[no-untyped-def]
    """Where the word at a span of the pool is in the table, or where it goes."""
    start, end = span
    at = np.int64((value ^ (value >> np.uint64(29))) & np.uint64(table.size - 1))
    while table[at] >= 0:
        number = table[at]
        if hashes[number] == value and starts[number + 1] - starts[number] == end - start:
            first, same = starts[number], True
            for j in range(end - start):
                if pool[first + j] != pool[start + j]:
                    same = False
                    break
            if same:
                return at
        at = (at + 1) & (table.size - 1)
    return at


@compiled(nogil=True)
def _joins(kind, before, after):  # type: ignore[no-untyped-def]
    """Whether a sign between two characters of these kinds joins them to one word."""
    letters = kind != _MID_DIGITS and before == _LETTER and after == _LETTER
    return letters or (kind != _MID_LETTERS and before == _DIGIT and after == _DIGIT)


@compiled(nogil=True)
def _words(data, ends, kinds, lower, table_size, odd):  # type: ignore[no-untyped-def]
    """Distinct words, and tokens by word and row; -1 distinct words if the table is too small.

    Where each odd stretch begins and ends, and its row, go to ``odd``; what was read of one is
    taken back.
    """
    table = np.full(table_size, -1, np.int32)
    hashes = np.empty(table_size // 2 + 1, np.uint64)
    starts = np.zeros(table_size // 2 + 2, np.int64)
    pool = np.empty(data.size, np.uint8)
    ids = np.empty(data.size // 2 + 1, np.int32)
    rows = np.empty(data.size // 2 + 1, np.int64)
    distinct, tokens, row, i = 0, 0, 0, 0
    stretch, tokens_before, is_odd, odd_count = 0, 0, False, 0
    while i < data.size:
        if not lower[data[i]]:
            if data[i] > 127:
                is_odd = True
            elif data[i] == 32 or i + 1 == ends[row]:
                if is_odd or i - stretch > MAX_UNITS:
                    odd[0, odd_count], odd[1, odd_count], odd[2, odd_count] = stretch, i, row
                    odd_count += 1
                    tokens = tokens_before
                stretch, tokens_before, is_odd = i + 1, tokens, False
                row += i + 1 == ends[row]
            i += 1
            continue
        # The word is put where it will stay if it is a new one; all texts end in a line break.
        start, letters, value = starts[distinct], False, np.uint64(14695981039346656037)
        end = start
        while True:
            code = lower[data[i]]
            if not code:
                code, kind = data[i], kinds[data[i]]
                inside = kind > _UNDERSCORE and i + 1 < data.size
                if not inside or not _joins(kind, kinds[data[i - 1]], kinds[data[i + 1]]):
                    break
            letters |= code != 95
            pool[end] = code
            value = (value ^ np.uint64(code)) * np.uint64(1099511628211)
            end += 1
            i += 1
        if not letters or is_odd:
            continue
        at = _place(table, hashes, starts, pool, (start, end), value)
        number = table[at]
        if number < 0:
            if distinct >= table_size // 2:
                return -1, ids, rows, pool, starts, odd_count
            number = distinct
            table[at], hashes[number], starts[number + 1] = number, value, end
            distinct += 1
        ids[tokens] = number
        rows[tokens] = row
        tokens += 1
    return distinct, ids[:tokens], rows[:tokens], pool, starts, odd_count


@compiled(nogil=True)
def counted(ids, rows, where, shift, most):  # type: ignore[no-untyped-def]
    """Postings in the order of their rows, which rise, and how many tokens each row has."""
    terms = ids.max() + 1 if ids.size else 0
    keys, lengths = np.empty(ids.size, np.uint64), np.zeros(where.size, np.uint32)
    row_of, place_of = np.full(terms, -1, np.int64), np.empty(terms, np.int64)
    n = 0
    for i in range(ids.size):
        term, row = ids[i], rows[i]
        if term < 0:
            continue
        lengths[row] += 1
        if row_of[term] != row:
            row_of[term], place_of[term] = row, n
            keys[n] = np.uint64(term) << np.uint64(shift) | where[row] | np.uint64(1)
            n += 1
        elif keys[place_of[term]] & np.uint64(most) < np.uint64(most):
            keys[place_of[term]] += np.uint64(1)
    return keys[:n], lengths
