"""Counting words: rows of text become packed postings. This is what worker processes do.

A posting is one unsigned 64-bit number: 24 bits of term, 24 of row (later: document), 3 of
field, 13 of frequency. Sorted as numbers, postings are in the order of the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.files.reading import at_hand
from citebed.retrieval.analysis import Analyser, analyser_of
from citebed.retrieval.index.layout import FIELDS

TERM_SHIFT, ROW_SHIFT, FIELD_SHIFT = 40, 16, 13
MOST_TERMS = MOST_ROWS = 1 << 24
MOST_TIMES = (1 << FIELD_SHIFT) - 1
"""A term counts at most this often in one field of one document."""

Keys = NDArray[np.uint64]


class Rows(NamedTuple):
    """A job: some rows of a table, and which column is which field."""

    table: Path
    start: int
    height: int
    columns: tuple[tuple[str, str], ...]
    """Pairs of field and column."""
    keep: NDArray[np.bool_] | None
    """Which of the rows to count; ``None`` for all."""
    analyser: str
    compiled: bool = False
    """Whether there is so much text that compiled code pays."""


class Counts(NamedTuple):
    """What was counted: ``keys`` number the terms by ``terms`` and the rows from ``start``."""

    job: Rows
    terms: list[str]
    keys: Keys
    lengths: dict[str, NDArray[np.uint32]]
    """Tokens of each row, by field."""


def count(job: Rows) -> Counts:
    """Count the terms of some rows."""
    numbers = TermNumbers(analyser_of(job.analyser))
    table = _read(job)
    parts: list[Keys] = []
    lengths = {}
    tokens_of = _compiled_tokens if job.compiled else _tokens
    for field, column in job.columns:
        texts = table[column].to_list()
        if job.keep is not None:
            texts = [text if kept else "" for text, kept in zip(texts, job.keep, strict=True)]
        ids, rows = tokens_of(texts, numbers)
        ids, rows = ids[ids >= 0], rows[ids >= 0]
        lengths[field] = np.bincount(rows, minlength=len(texts)).astype(np.uint32)
        parts.append(_count(ids, rows, FIELDS.index(field)))
    return Counts(job, numbers.names(), np.concatenate(parts), lengths)


@cache
def _terms_seen(_: str) -> dict[str, str | None]:
    """The terms of words met before: a worker sees most words in every job."""
    return {}


class TermNumbers(dict[str, int]):
    """Numbers for raw words: that of the word's term, or -1 where it is none."""

    def __init__(self, analyser: Analyser) -> None:
        super().__init__()
        self.analyser = analyser
        self._numbers: dict[str, int] = {}
        self._seen = _terms_seen(str(analyser))

    def __missing__(self, word: str) -> int:
        if word in self._seen:
            term = self._seen[word]
        else:
            term = self._seen[word] = self.analyser.term(word)
        number = -1 if term is None else self._numbers.setdefault(term, len(self._numbers))
        self[word] = number
        return number

    def names(self) -> list[str]:
        """The terms in the order of their numbers."""
        return list(self._numbers)


def _read(job: Rows) -> pl.DataFrame:
    with at_hand(job.table) as file:
        scan = pl.scan_parquet(file, glob=False).slice(job.start, job.height)
        kinds = scan.collect_schema()
        columns = (column for _, column in job.columns)
        texts = (
            pl.col(name).list.join(" ; ") if kinds[name] == pl.List else pl.col(name)
            for name in columns
        )
        return scan.select(text.fill_null("") for text in texts).collect()


def _tokens(
    texts: Sequence[str], numbers: TermNumbers
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The number of each word's term, and the row that the word is in."""
    words, number = numbers.analyser.words, numbers.__getitem__
    tokens: list[int] = []
    ends = np.zeros(len(texts) + 1, np.int64)
    for row, text in enumerate(texts):
        if text:
            tokens.extend(map(number, words(text)))
        ends[row + 1] = len(tokens)
    return np.array(tokens, np.int32), np.repeat(np.arange(len(texts)), np.diff(ends))


def _compiled_tokens(
    texts: Sequence[str], numbers: TermNumbers
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The same, in another order: plain texts by compiled code, the others one by one."""
    from citebed.retrieval.index.compiled_words import has_long_word, words_of_all

    plain = [text.encode() if text.isascii() else b"" for text in texts]
    odd = [row for row, text in enumerate(texts) if not text.isascii()]
    odd += [row for row, data in enumerate(plain) if has_long_word(data)]
    for row in odd:
        plain[row] = b""
    words, ids, rows = words_of_all(plain)
    terms = np.array([numbers[word] for word in words], np.int32)
    others, places = _tokens([texts[row] for row in odd], numbers)
    at = np.array(odd, np.int64)[places] if odd else places
    return np.concatenate([terms[ids], others]), np.concatenate([rows, at])


def _count(ids: NDArray[np.int32], rows: NDArray[np.int64], field: int) -> Keys:
    keys: Keys = (
        (ids.astype(np.uint64) << np.uint64(TERM_SHIFT))
        | (rows.astype(np.uint64) << np.uint64(ROW_SHIFT))
        | np.uint64(field << FIELD_SHIFT)
    )
    keys.sort()
    first = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]][: len(keys)])
    times = np.diff(np.r_[first, len(keys)])
    counted: Keys = keys[first] | np.minimum(times, MOST_TIMES).astype(np.uint64)
    return counted


def terms_of(keys: Keys) -> NDArray[np.int64]:
    """The terms of some postings."""
    return (keys >> np.uint64(TERM_SHIFT)).astype(np.int64)


def rows_of(keys: Keys) -> NDArray[np.int64]:
    """The rows (or documents) of some postings."""
    return ((keys >> np.uint64(ROW_SHIFT)) & np.uint64(MOST_ROWS - 1)).astype(np.int64)


def fields_of(keys: Keys) -> NDArray[np.uint8]:
    """The fields of some postings, as places in ``FIELDS``."""
    return ((keys >> np.uint64(FIELD_SHIFT)) & np.uint64(7)).astype(np.uint8)


def times_of(keys: Keys) -> NDArray[np.uint16]:
    """The frequencies of some postings."""
    return (keys & np.uint64(MOST_TIMES)).astype(np.uint16)


def renumbered(keys: Keys, terms: NDArray[np.int64], rows: NDArray[np.int64]) -> Keys:
    """The postings with their terms and rows given other numbers; a row of -1 is left out."""
    row = rows[rows_of(keys)]
    term = terms[terms_of(keys)]
    low = keys & np.uint64((1 << ROW_SHIFT) - 1)
    new: Keys = (
        (term.astype(np.uint64) << np.uint64(TERM_SHIFT))
        | (row.astype(np.uint64) << np.uint64(ROW_SHIFT))
        | low
    )
    return new if (row >= 0).all() else new[row >= 0]
