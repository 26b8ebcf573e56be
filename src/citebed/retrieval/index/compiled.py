"""Compiled code that splits many texts into words and counts them, for large collections.

Tests compare it with its slow twins: ``analysis.words``, which also splits whatever surrounds a
character that is not ASCII, and ``term_counts.count_terms``, whose postings are sorted.
"""

from __future__ import annotations

import itertools
from functools import cache
from string import ascii_letters, digits

import numpy as np
from numpy.typing import NDArray

from citebed.retrieval.analysis.words import MAX_UNITS
from citebed.retrieval.index.arrays import with_capacity
from citebed.retrieval.numba_cache import compiled

_LETTER, _DIGIT, _UNDERSCORE, _MID_LETTERS, _MID_DIGITS, _MID_BOTH = range(1, 7)
_MOST_WORDS, _MOST_BYTES = 1 << 20, 1 << 26
"""A table with more words or bytes is replaced by an empty one, so that memory stays bounded."""
_PACKED = 8
"""Words of up to this many letters are their own key."""
_LONG = np.uint64(1 << 63)
"""Set in the keys of longer words, which are hashes."""
_PRIME, _SPREAD = np.uint64(1099511628211), np.uint64(0x9E3779B97F4A7C15)
_BLANK = 32


@cache
def _character_tables() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the kind of each byte, and its lower case (0 for bytes that no word contains)."""
    kinds, lower = np.zeros(256, np.uint8), np.zeros(256, np.uint8)
    # In the order of the kinds, from ``_LETTER`` on.
    for kind, chars in enumerate((ascii_letters, digits, "_", ":", ",;", ".'"), 1):
        kinds[[*chars.encode()]] = kind
    in_words = ascii_letters + digits + "_"
    lower[[*in_words.encode()]] = [*in_words.lower().encode()]
    return kinds, lower


class WordTable:
    """A hash table of the words read so far, numbered in the order of their appearance.

    A stretch between blanks that is not ASCII, or long enough to contain an overlong word, counts
    as one word that begins with a blank. Callers split it themselves.
    """

    def __init__(self) -> None:
        self._table, self._keys = np.full(1, -1, np.int32), np.zeros(0, np.uint64)
        self._starts, self._pool = np.zeros(1, np.int64), np.zeros(0, np.uint8)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def is_full(self) -> bool:
        """Return True if a new table should replace this one."""
        return len(self) > _MOST_WORDS or int(self._starts[len(self)]) > _MOST_BYTES

    def read(
        self, data: NDArray[np.uint8], ends: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the numbers of the words of texts, and where the words of each text end.

        Text ``i`` ends with a line break before ``ends[i]``.
        """
        ids, token_ends = np.empty(len(data) // 2 + 1, np.int32), np.empty(len(ends), np.int64)
        text, tokens = 0, 0
        while True:
            arrays = self._table, self._keys, self._starts, self._pool
            text, tokens, self._count = _read(
                (data, ends, *_character_tables()),
                arrays,
                (ids, token_ends),
                text,
                tokens,
                len(self),
            )
            if text == len(ends):
                return ids[:tokens], token_ends
            self._make_room(int(ends[text] - (ends[text - 1] if text else 0)))

    def spelled(self, first: int) -> list[str]:
        """Return the words from number ``first`` on."""
        starts = self._starts[first : len(self) + 1]
        data = self._pool[starts[0] : starts[-1]].tobytes()
        ends = (starts - starts[0]).tolist()
        return [data[a:b].decode() for a, b in itertools.pairwise(ends)]

    def _make_room(self, length: int) -> None:
        """Make room for the words of a text of ``length`` bytes."""
        self._keys = with_capacity(self._keys, len(self) + length)
        self._starts = with_capacity(self._starts, len(self._keys) + 1)
        self._pool = with_capacity(self._pool, int(self._starts[len(self)]) + 2 * length)
        size = 1 << (2 * len(self._keys)).bit_length()
        if size > len(self._table):
            self._table = np.full(size, -1, np.int32)
            _fill(self._table, self._keys[: len(self)])


@compiled(nogil=True, inline="always")
def _slot(key, size):  # type: ignore[no-untyped-def]
    """Return the first place to look for a key."""
    return np.int64(((key * _SPREAD) >> np.uint64(32)) & np.uint64(size - 1))


@compiled(nogil=True)
def _fill(table, keys):  # type: ignore[no-untyped-def]
    """Fill an empty table with distinct words."""
    for number in range(keys.size):
        at = _slot(keys[number], table.size)
        while table[at] >= 0:
            at = (at + 1) & (table.size - 1)
        table[at] = number


@compiled(nogil=True, inline="always")
def _number(key, end, arrays, count):  # type: ignore[no-untyped-def]
    """Return the number of the last word in the pool, which ends at ``end``. A new word becomes
    number ``count``."""
    table, keys, starts, pool = arrays
    start = starts[count]
    at = _slot(key, table.size)
    while table[at] >= 0:
        number = table[at]
        if keys[number] == key:
            if key < _LONG:
                return number
            first = starts[number]
            same = starts[number + 1] - first == end - start
            for j in range(end - start if same else 0):
                if pool[first + j] != pool[start + j]:
                    same = False
                    break
            if same:
                return number
        at = (at + 1) & (table.size - 1)
    table[at], keys[count], starts[count + 1] = count, key, end
    return np.int32(count)


@compiled(nogil=True, inline="always")
def _joins(kind, before, after):  # type: ignore[no-untyped-def]
    """Return True if a sign between two characters of these kinds joins them to one word."""
    letters = kind != _MID_DIGITS and before == _LETTER and after == _LETTER
    return letters or (kind != _MID_LETTERS and before == _DIGIT and after == _DIGIT)


@compiled(nogil=True)
def _read(given, arrays, found, text, tokens, count):  # type: ignore[no-untyped-def]
    """Read texts from number ``text`` on, and append to ``found``. Stop before a text that may have
    more words than fit. Return that text's number and the numbers of tokens and words so far."""
    data, ends, kinds, lower = given
    _, keys, starts, pool = arrays
    ids, token_ends = found
    i = ends[text - 1] if text else 0
    while text < ends.size:
        length = ends[text] - i
        if count + length > keys.size or starts[count] + 2 * length > pool.size:
            break
        stretch, tokens_before, is_odd = i, tokens, False
        while i < ends[text]:
            start = starts[count]
            if not lower[data[i]]:
                if data[i] > 127:
                    is_odd = True
                elif data[i] == _BLANK or i + 1 == ends[text]:
                    if is_odd or i - stretch > MAX_UNITS:
                        # Replace the words that were read of this stretch.
                        pool[start], end, key = _BLANK, start + 1, np.uint64(0)
                        for j in range(stretch, i):
                            pool[end], end = data[j], end + 1
                            key = (key ^ np.uint64(data[j])) * _PRIME
                        number = _number(key | _LONG, end, arrays, count)
                        count += number == count
                        ids[tokens_before], tokens = number, tokens_before + 1
                    stretch, tokens_before, is_odd = i + 1, tokens, False
                i += 1
                continue
            # Write the word to the end of the pool, where it stays if it is new.
            end, letters, key = start, False, np.uint64(0)
            while True:
                code = lower[data[i]]
                if not code:
                    code, kind = data[i], kinds[data[i]]
                    if kind <= _UNDERSCORE or not _joins(
                        kind, kinds[data[i - 1]], kinds[data[i + 1]]
                    ):
                        break
                letters |= code != 95
                if end - start < _PACKED:
                    key = key << np.uint64(8) | np.uint64(code)
                else:
                    key = (key ^ np.uint64(code)) * _PRIME | _LONG
                pool[end] = code
                end += 1
                i += 1
            if not letters or is_odd:
                continue
            number = _number(key, end, arrays, count)
            count += number == count
            ids[tokens] = number
            tokens += 1
        token_ends[text] = tokens
        text += 1
    return text, tokens, count


@compiled(nogil=True)
def count_tokens(tokens, lists, where, shift, most):  # type: ignore[no-untyped-def]
    """Return postings in the order of the texts, and the number of tokens of each text.

    The terms of word ``w`` are ``terms[starts[w]:starts[w + 1]]``. ``where`` has the row and field
    bits of each text's postings.
    """
    (ids, ends), (starts, terms) = tokens, lists
    count, size = 0, terms.max() + 1 if terms.size else 0
    for i in range(ids.size):
        count += starts[ids[i] + 1] - starts[ids[i]]
    keys, lengths = np.empty(count, np.uint64), np.zeros(where.size, np.uint32)
    text_of, place_of = np.full(size, -1, np.int64), np.empty(size, np.int64)
    i, n = 0, 0
    for text in range(where.size):
        while i < ends[text]:
            for k in range(starts[ids[i]], starts[ids[i] + 1]):
                term = terms[k]
                if term < 0:
                    continue
                lengths[text] += 1
                if text_of[term] != text:
                    text_of[term], place_of[term] = text, n
                    keys[n] = np.uint64(term) << np.uint64(shift) | where[text] | np.uint64(1)
                    n += 1
                elif keys[place_of[term]] & np.uint64(most) < np.uint64(most):
                    keys[place_of[term]] += np.uint64(1)
            i += 1
    return keys[:n].copy(), lengths


@compiled(nogil=True)
def split_postings(keys, shifts, most, fields):  # type: ignore[no-untyped-def]
    """Split sorted postings into distinct pairs of term and document, and fields.

    Field ``f`` has the pairs ``at[starts[f]:ends[f]]``, each as often as ``times`` says.
    """
    row_shift, field_shift = np.uint64(shifts[0]), np.uint64(shifts[1])
    pairs = np.empty(keys.size, np.uint64)
    at, times = np.empty(keys.size, np.uint32), np.empty(keys.size, np.uint32)
    starts = np.zeros(fields, np.int64)
    for i in range(keys.size):
        field = np.int64((keys[i] >> field_shift) & np.uint64(7))
        if field + 1 < fields:
            starts[field + 1] += 1
    starts = np.cumsum(starts)
    ends, n = starts.copy(), 0
    for i in range(keys.size):
        pair, often = keys[i] >> row_shift, np.uint32(keys[i] & np.uint64(most))
        if n == 0 or pairs[n - 1] != pair:
            pairs[n] = pair
            n += 1
        field = np.int64((keys[i] >> field_shift) & np.uint64(7))
        end = ends[field]
        if end > starts[field] and at[end - 1] == n - 1:
            times[end - 1] += often
        else:
            at[end], times[end] = n - 1, often
            ends[field] += 1
    return pairs[:n], at, times, starts, ends


def compile_all() -> None:
    """Compile all functions of this module for the types in use (texts are read-only)."""
    words, data = WordTable(), np.frombuffer(b"a\n", np.uint8)
    ids, ends = words.read(data, np.array([2]))
    words._make_room(0)
    count_tokens((ids, ends), (np.arange(2), ids), np.zeros(1, np.uint64), 0, 1)
    split_postings(np.zeros(1, np.uint64), (0, 0), 1, 1)
