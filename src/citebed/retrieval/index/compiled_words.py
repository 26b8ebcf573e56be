"""Words of many texts at once, compiled by numba: for large collections.

It gives just the words of ``analysis.words``, which is the slow and obvious twin that tests
compare it with. What is around any other character is left to that one.
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
_SMALLEST_TABLE = 1 << 17


def _kinds() -> NDArray[np.uint8]:
    kinds = np.zeros(256, np.uint8)
    # In the order of the kinds, from ``_LETTER`` on.
    for kind, chars in enumerate((ascii_letters, digits, "_", ":", ",;", ".'"), 1):
        kinds[[*chars.encode()]] = kind
    return kinds


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
    data = np.array(np.frombuffer(joined, np.uint8))
    ends = np.cumsum(texts.str.len_bytes().to_numpy().astype(np.int64) + 1)
    places = np.empty((3, np.count_nonzero(data > 127) + len(data) // MAX_UNITS + 1), np.int64)
    odd = places[:, : _take_odd(data, ends, places)]
    size = _SMALLEST_TABLE
    while (found := _words(data, ends, _kinds(), size))[0] < 0:
        size *= 4
    distinct, tokens, ids, rows, pool, starts = found
    spelled = pool[: starts[distinct]].tobytes().decode("ascii")
    words = [spelled[a:b] for a, b in itertools.pairwise(starts[: distinct + 1].tolist())]
    stretches = [joined[a:b].decode() for a, b in zip(*odd[:2].tolist(), strict=True)]
    return Words(words, ids[:tokens], rows[:tokens], stretches, odd[2])


@compiled(nogil=True)
def _take_odd(data, ends, places):  # type: ignore[no-untyped-def]
    """Blank out the odd stretches; where each begins and ends, and its row, go to ``places``."""
    row, first, odd, n = 0, 0, False, 0
    for i in range(data.size):
        last = i + 1 == ends[row]
        if data[i] == 32 or last:
            if odd or i - first > MAX_UNITS:
                places[0, n], places[1, n], places[2, n] = first, i, row
                data[first:i] = 32
                n += 1
            first, odd = i + 1, False
            row += last
        elif data[i] > 127:
            odd = True
    return n


@compiled(nogil=True)
def _words(data, ends, kinds, table_size):  # type: ignore[no-untyped-def]
    """Distinct words, tokens, and their arrays; -1 distinct words if the table is too small."""
    table = np.full(table_size, -1, np.int32)
    hashes = np.empty(table_size // 2 + 1, np.uint64)
    starts = np.zeros(table_size // 2 + 2, np.int64)
    pool = np.empty(data.size, np.uint8)
    ids = np.empty(data.size // 2 + 1, np.int32)
    rows = np.empty(data.size // 2 + 1, np.int64)
    word = np.empty(data.size + 1, np.uint8)
    distinct, tokens, row, length, letters = 0, 0, 0, 0, 0
    value = np.uint64(14695981039346656037)
    before = np.uint8(0)
    for i in range(data.size):
        code = data[i]
        kind = kinds[code]
        part = 1 <= kind <= _UNDERSCORE
        if kind > _UNDERSCORE and i + 1 < data.size:
            after = kinds[data[i + 1]]
            part = (kind != _MID_DIGITS and before == _LETTER and after == _LETTER) or (
                kind != _MID_LETTERS and before == _DIGIT and after == _DIGIT
            )
        before = kind
        if part:
            if kind == _LETTER:
                code |= 32
            word[length] = code
            length += 1
            letters += kind != _UNDERSCORE
            value = (value ^ np.uint64(code)) * np.uint64(1099511628211)
        elif length:
            if letters:
                at = np.int64((value ^ (value >> np.uint64(29))) & np.uint64(table_size - 1))
                while True:
                    number = table[at]
                    if number < 0:
                        if distinct >= table_size // 2:
                            return -1, tokens, ids, rows, pool, starts
                        number = distinct
                        table[at] = number
                        hashes[number] = value
                        first = starts[number]
                        for j in range(length):
                            pool[first + j] = word[j]
                        starts[number + 1] = first + length
                        distinct += 1
                        break
                    if hashes[number] == value and starts[number + 1] - starts[number] == length:
                        first, same = starts[number], True
                        for j in range(length):
                            if pool[first + j] != word[j]:
                                same = False
                                break
                        if same:
                            break
                    at = (at + 1) & (table_size - 1)
                ids[tokens] = number
                rows[tokens] = row
                tokens += 1
            length, letters = 0, 0
            value = np.uint64(14695981039346656037)
        if i + 1 == ends[row]:
            row += 1
    return distinct, tokens, ids, rows, pool, starts
