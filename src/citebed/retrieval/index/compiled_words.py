"""Words of many ASCII texts at once, compiled by numba: for large collections.

It gives just the words of ``analysis.words``, which is the slow and obvious twin that tests
compare it with. Texts with any other character are left to that one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.analysis.words import MAX_UNITS
from citebed.retrieval.compiling import compiled

_LETTER, _DIGIT, _UNDERSCORE, _MID_LETTERS, _MID_DIGITS, _MID_BOTH = range(1, 7)
_SMALLEST_TABLE = 1 << 17


def _kinds() -> NDArray[np.uint8]:
    kinds = np.zeros(256, np.uint8)
    for code in range(128):
        char = chr(code)
        if char.isalpha():
            kinds[code] = _LETTER
        elif char.isdigit():
            kinds[code] = _DIGIT
    for char, kind in (("_", _UNDERSCORE), (":", _MID_LETTERS), (",", _MID_DIGITS)):
        kinds[ord(char)] = kind
    kinds[ord(";")] = _MID_DIGITS
    kinds[ord(".")] = kinds[ord("'")] = _MID_BOTH
    return kinds


def words_of_all(
    texts: Sequence[bytes],
) -> tuple[list[str], NDArray[np.int32], NDArray[np.int64]]:
    """The distinct words of some ASCII texts, the number of each word met, and its text.

    A word that is too long for an index is an error of the caller: see ``has_long_word``.
    """
    data = np.frombuffer(b"\n".join(texts) + b"\n", np.uint8)
    ends = np.cumsum([len(text) + 1 for text in texts], dtype=np.int64)
    size = _SMALLEST_TABLE
    while True:
        found = _words(data, ends, _kinds(), size)
        if found[0] >= 0:
            break
        size *= 4
    distinct, tokens, ids, rows, pool, starts = found
    spelled = pool[: starts[distinct]].tobytes().decode("ascii")
    bounds = starts[: distinct + 1].tolist()
    words = [spelled[a:b] for a, b in itertools.pairwise(bounds)]
    return words, ids[:tokens], rows[:tokens]


def has_long_word(text: bytes) -> bool:
    """Whether a text may have a word that must be cut."""
    return len(text) > MAX_UNITS and max(map(len, text.split())) > MAX_UNITS


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
        while row < ends.size and i + 1 >= ends[row]:
            row += 1
    return distinct, tokens, ids, rows, pool, starts
