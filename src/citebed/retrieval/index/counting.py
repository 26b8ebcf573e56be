"""Counting words: rows of text become packed postings, in several threads.

A posting is one unsigned 64-bit number: 24 bits of term, 24 of row (later: document), 3 of
field, 13 of frequency. Sorted as numbers, postings are in the order of the index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.files.reading import at_hand
from citebed.files.system_errors import translate_read_errors
from citebed.retrieval.analysis import Analyser
from citebed.retrieval.dense.static_model import Tokens
from citebed.retrieval.index.layout import FIELDS

if TYPE_CHECKING:
    from citebed.retrieval.index.compiled import Words

TERM_SHIFT, ROW_SHIFT, FIELD_SHIFT = 40, 16, 13
MOST_TERMS = MOST_ROWS = 1 << 24
MOST_TIMES = (1 << FIELD_SHIFT) - 1
"""A term counts at most this often in one field of one document."""

Keys = NDArray[np.uint64]


class Rows(NamedTuple):
    """A job: some texts of a table, a column for each field, from its row ``start`` on."""

    table: Path
    start: int
    texts: pl.DataFrame


class Counts(NamedTuple):
    """What was counted: ``keys`` number the rows from ``start``."""

    job: Rows
    keys: Keys
    lengths: dict[str, NDArray[np.uint32]]
    """Tokens of each row, by field."""
    tokens: Tokens | None = None
    """The words of each row's texts, where compiled code has cut them."""


class TermNumbers:
    """One numbering of terms for all threads that count, with the term of every word met."""

    def __init__(self, analyser: Analyser) -> None:
        self.analyser = analyser
        self._terms: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self._lock = Lock()

    def names(self) -> list[str]:
        """The terms in the order of their numbers."""
        return list(self._terms)

    def of_terms(self, terms: Iterable[str]) -> NDArray[np.int64]:
        """The numbers of some terms; new ones get one."""
        with self._lock:
            return np.array([self._number(term) for term in terms], np.int64)

    def of_words(self, words: Sequence[str]) -> NDArray[np.int32]:
        """The number of each word's term, or -1 where it is none."""
        known = self._words
        new = [word for word in words if word not in known]
        with self._lock:
            for word in new:
                if word not in known:
                    term = self.analyser.term(word)
                    known[word] = -1 if term is None else self._number(term)
        return np.fromiter(map(known.__getitem__, words), np.int32, len(words))

    def _number(self, term: str) -> int:
        number = self._terms.setdefault(term, len(self._terms))
        if number >= MOST_TERMS:
            raise CitebedError(
                f"this collection has more than {MOST_TERMS:,} different terms, which is as many "
                "as an index holds. Leave out fields, or split the collection."
            )
        return number


def count(job: Rows, numbers: TermNumbers, *, compiled: bool) -> Counts:
    """Count the terms of some texts; ``compiled`` code pays where there are many."""
    fields, height = job.texts.columns, job.texts.height
    texts = pl.concat([job.texts[field] for field in fields])
    places = np.array([FIELDS.index(field) for field in fields], np.uint64)
    where = np.repeat(places << np.uint64(FIELD_SHIFT), height)
    where |= np.tile(np.arange(height, dtype=np.uint64) << np.uint64(ROW_SHIFT), len(fields))
    tokens = None
    if compiled:
        from citebed.retrieval.index.compiled import counted as counted_quickly
        from citebed.retrieval.index.compiled import words_of_all

        words = words_of_all(texts)
        of_terms = _compiled_tokens(words, numbers)
        keys, lengths = counted_quickly(*of_terms, where, TERM_SHIFT, MOST_TIMES)
        tokens = _all_tokens(words, height)
    else:
        keys, lengths = counted(*_tokens(texts, numbers), where)
    by_field = dict(zip(fields, lengths.reshape(-1, height), strict=True))
    return Counts(job, keys, by_field, tokens)


def _all_tokens(words: Words, height: int) -> Tokens:
    """The words of all fields of each row; an odd stretch is a word."""
    odd = np.arange(len(words.odd), dtype=np.int32) + np.int32(len(words.distinct))
    rows = np.concatenate((words.rows, words.odd_rows)) % height
    return Tokens([*words.distinct, *words.odd], np.concatenate((words.ids, odd)), rows)


def _tokens(
    texts: pl.Series | list[str], numbers: TermNumbers
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The number of each word's term, and the row that the word is in."""
    words: list[str] = []
    ends = np.zeros(len(texts) + 1, np.int64)
    for row, text in enumerate(texts):
        words += numbers.analyser.words(text)
        ends[row + 1] = len(words)
    return numbers.of_words(words), np.repeat(np.arange(len(texts)), np.diff(ends))


def _compiled_tokens(
    words: Words, numbers: TermNumbers
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The same, in another order within a row: plain words by compiled code, then the others."""
    others, places = _tokens(words.odd, numbers)
    rows = words.odd_rows[places]
    at = np.searchsorted(words.rows, rows, side="right")
    ids = numbers.of_words(words.distinct)[words.ids]
    return np.insert(ids, at, others), np.insert(words.rows, at, rows)


def counted(
    ids: NDArray[np.int32], rows: NDArray[np.int64], where: Keys
) -> tuple[Keys, NDArray[np.uint32]]:
    """Postings of tokens (-1: none), and how many each row has.

    ``where`` is the part of a posting that tells the row and its field.
    """
    ids, rows = ids[ids >= 0], rows[ids >= 0]
    keys: Keys = (ids.astype(np.uint64) << np.uint64(TERM_SHIFT)) | where[rows]
    keys.sort()
    first = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]][: len(keys)])
    times = np.diff(np.r_[first, len(keys)])
    keys = keys[first] | np.minimum(times, MOST_TIMES).astype(np.uint64)
    return keys, np.bincount(rows, minlength=len(where)).astype(np.uint32)


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


def renumbered(keys: Keys, rows: NDArray[np.int64]) -> Keys:
    """The postings with their rows renumbered; a row of -1 is left out."""
    row = rows[rows_of(keys)]
    others = np.uint64(~((MOST_ROWS - 1) << ROW_SHIFT) & (1 << 64) - 1)
    new: Keys = keys & others | (row.astype(np.uint64) << np.uint64(ROW_SHIFT))
    return new if (row >= 0).all() else new[row >= 0]


def with_terms(keys: Keys, terms: NDArray[np.int64]) -> Keys:
    """The postings with their terms renumbered."""
    new = terms.astype(np.uint64)[terms_of(keys)] << np.uint64(TERM_SHIFT)
    return new | keys & np.uint64((1 << TERM_SHIFT) - 1)


_ROWS_READ = 100_000
"""Rows of text that are in memory at a time."""
_ROWS_A_JOB = 20_000


@dataclass(frozen=True)
class Planned:
    """A table to count: which columns, and the document of each row (-1: leave it out)."""

    table: Path
    columns: tuple[tuple[str, str], ...]
    document_of_row: NDArray[np.int64]

    def jobs(self) -> Iterator[Rows]:
        """The table in parts; parts of which nothing is wanted are left out."""
        wanted = self.document_of_row >= 0
        for start in range(0, len(wanted), _ROWS_READ):
            keep = wanted[start : start + _ROWS_READ]
            if keep.any():
                texts = self._read(start, keep)
                for at in range(0, len(keep), _ROWS_A_JOB):
                    yield Rows(self.table, start + at, texts.slice(at, _ROWS_A_JOB))

    def _read(self, start: int, keep: NDArray[np.bool_]) -> pl.DataFrame:
        """Some rows' texts by field; those that are not wanted are empty."""
        with translate_read_errors(self.table), at_hand(self.table) as file:
            scan = pl.scan_parquet(file, glob=False).slice(start, len(keep))
            kinds = scan.collect_schema()
            texts = (
                (pl.col(name).list.join(" ; ") if kinds[name] == pl.List else pl.col(name))
                .fill_null("")
                .alias(field)
                for field, name in self.columns
            )
            found = scan.select(texts).collect()
        blank = pl.when(pl.Series(keep)).then(pl.all()).otherwise(pl.lit(""))
        return found if keep.all() else found.select(blank)
