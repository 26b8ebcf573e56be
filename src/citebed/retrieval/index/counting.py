"""Counting words: rows of text become packed postings, in several threads.

A posting is one unsigned 64-bit number: 24 bits of term, 24 of row (later: document), 3 of
field, 13 of frequency. Sorted as numbers, postings are in the order of the index.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.files.input_files import reusable_path
from citebed.files.system_errors import translate_read_errors
from citebed.retrieval.analysis import Analyser
from citebed.retrieval.index.arrays import with_capacity
from citebed.retrieval.index.layout import FIELDS
from citebed.retrieval.vectors.static_model import StaticModel, Tokens

TERM_SHIFT, ROW_SHIFT, FIELD_SHIFT = 40, 16, 13
MOST_TERMS = MOST_ROWS = 1 << 24
MOST_TIMES = (1 << FIELD_SHIFT) - 1
"""A term counts at most this often in one field of one document."""

Keys = NDArray[np.uint64]


class Rows(NamedTuple):
    """Some texts of a table, one column per field.

    ``rows`` are their rows in the table. ``numbers`` go into their postings: the document's number,
    or the row's.
    """

    table: Path
    rows: NDArray[np.int64]
    numbers: NDArray[np.int64]
    texts: pl.DataFrame

    def where(self, numbers: NDArray[np.int64]) -> Keys:
        """Return the row and field bits of the postings of each text, row by row."""
        fields = np.array([FIELDS.index(field) for field in self.texts.columns], np.uint64)
        rows = numbers.astype(np.uint64) << np.uint64(ROW_SHIFT)
        return (rows[:, None] | fields << np.uint64(FIELD_SHIFT)).ravel()


class Counts(NamedTuple):
    """The postings of some texts, and the number of tokens of each row, by field."""

    job: Rows
    keys: Keys
    lengths: dict[str, NDArray[np.uint32]]


class TermNumbers:
    """Numbers terms in the order in which they appear, and remembers the term of each word."""

    def __init__(self, analyser: Analyser) -> None:
        self.analyser = analyser
        self._terms: dict[str, int] = {}
        self._words: dict[str, int] = {}

    def names(self) -> list[str]:
        """The terms in the order of their numbers."""
        return list(self._terms)

    def of_words(self, words: Sequence[str]) -> NDArray[np.int32]:
        """The number of each word's term, or -1 where it is none."""
        known, numbers, term_of = self._words, self._terms, self.analyser.term
        for word in words:
            if word not in known:
                term = term_of(word)
                known[word] = -1 if term is None else numbers.setdefault(term, len(numbers))
        if len(numbers) > MOST_TERMS:
            raise CitebedError(
                f"this collection has more than {MOST_TERMS:,} different terms, which is as many "
                "as an index holds. Leave out fields, or split the collection."
            )
        return np.fromiter(map(known.__getitem__, words), np.int32, len(words))


def count(job: Rows, numbers: TermNumbers) -> Counts:
    """Count the terms of some texts."""
    texts = itertools.chain.from_iterable(job.texts.rows())
    words = [numbers.analyser.words(text) for text in texts]
    ids = numbers.of_words([*itertools.chain.from_iterable(words)])
    rows = np.repeat(np.arange(len(words)), [*map(len, words)])
    # Count rows of the same document separately: a posting holds at most MOST_TIMES.
    keys, lengths = counted(ids, rows, job.where(np.arange(job.texts.height)))
    return _counts(job, renumbered(keys, job.numbers), lengths)


def _counts(job: Rows, keys: Keys, lengths: NDArray[np.uint32]) -> Counts:
    by_field = lengths.reshape(job.texts.height, -1).T
    return Counts(job, keys, dict(zip(job.texts.columns, by_field, strict=True)))


class Lists:
    """Growing lists of numbers, stored in two arrays."""

    def __init__(self) -> None:
        self._starts, self._numbers = np.zeros(1 << 10, np.int64), np.zeros(1 << 10, np.int32)
        self._count = 0

    def add(self, lengths: Iterable[int], numbers: NDArray[np.int32]) -> None:
        """Append lists, given their lengths and all their numbers."""
        first = self._starts[self._count]
        ends = np.cumsum([first, *lengths], dtype=np.int64)
        self._starts = with_capacity(self._starts, self._count + len(ends))
        self._numbers = with_capacity(self._numbers, int(ends[-1]))
        self._starts[self._count : self._count + len(ends)] = ends
        self._numbers[first : ends[-1]] = numbers
        self._count += len(ends) - 1

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """``starts`` and ``numbers``: list ``i`` is ``numbers[starts[i]:starts[i + 1]]``.

        Lists that are added later do not change these arrays.
        """
        starts = self._starts[: self._count + 1]
        return starts, self._numbers[: starts[-1]]


class CutTexts(NamedTuple):
    """Texts as numbers of words: the words of text ``i`` end at ``ends[i]``.

    ``new`` are the words that appear for the first time; they are numbered from ``first``.
    """

    job: Rows
    ids: NDArray[np.int32]
    ends: NDArray[np.int64]
    first: int
    new: list[str]


def cut_texts(jobs: Iterable[Rows]) -> Iterator[CutTexts]:
    """Split texts into words with compiled code. The numbering restarts when it gets too long."""
    from citebed.retrieval.index.compiled import WordTable

    words = WordTable()
    for job in jobs:
        if words.is_full:
            words = WordTable()
        names, first = job.texts.columns, len(words)
        lines = pl.concat_str(*names, pl.lit(""), separator="\n").str.join("").cast(pl.Binary)
        data = np.frombuffer(job.texts.select(lines)[0, 0], np.uint8)
        lengths = job.texts.select(pl.col(names).str.len_bytes()).to_numpy()
        ids, ends = words.read(data, np.cumsum(lengths.ravel() + 1, dtype=np.int64))
        yield CutTexts(job, ids, ends, first, words.spelled(first))


class Reader:
    """Looks up each word once: its terms, and its vectors in a model."""

    def __init__(self, numbers: TermNumbers, model: StaticModel | None = None) -> None:
        self._numbers, self._model = numbers, model
        self._terms, self._vectors = Lists(), Lists()

    def read(self, cut: CutTexts) -> ReadRows:
        """Return the texts with the terms and vectors of their words, to count in any thread."""
        if not cut.first:
            self._terms, self._vectors = Lists(), Lists()
        analysed = self._numbers.analyser.words
        words = [analysed(word) if word[0] == " " else (word,) for word in cut.new]
        terms = self._numbers.of_words([*itertools.chain.from_iterable(words)])
        self._terms.add(map(len, words), terms)
        if self._model is not None:
            lists = [*map(self._model.numbers_in, cut.new)]
            numbers = np.fromiter(itertools.chain.from_iterable(lists), np.int32)
            self._vectors.add(map(len, lists), numbers)
        fields = cut.job.texts.width
        tokens = Tokens(cut.ids, cut.ends[fields - 1 :: fields], *self._vectors.arrays)
        return ReadRows(cut.job, cut.ends, tokens, self._terms.arrays)


class ReadRows(NamedTuple):
    """Texts as numbers of words, with the terms and vectors of these words.

    The words of text ``i`` end at ``ends[i]``; ``tokens`` has the words of each row.
    """

    job: Rows
    ends: NDArray[np.int64]
    tokens: Tokens
    terms: tuple[NDArray[np.int64], NDArray[np.int32]]

    def counts(self) -> Counts:
        """Count the terms of the texts."""
        from citebed.retrieval.index.compiled import counted

        words, where = (self.tokens.ids, self.ends), self.job.where(self.job.numbers)
        return _counts(self.job, *counted(words, self.terms, where, TERM_SHIFT, MOST_TIMES))


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
    """Return the postings with their rows renumbered."""
    others = np.uint64(~((MOST_ROWS - 1) << ROW_SHIFT) & (1 << 64) - 1)
    new: Keys = keys & others | (rows[rows_of(keys)].astype(np.uint64) << np.uint64(ROW_SHIFT))
    return new


def with_terms(keys: Keys, terms: NDArray[np.int64]) -> Keys:
    """The postings with their terms renumbered."""
    new = terms.astype(np.uint64)[terms_of(keys)] << np.uint64(TERM_SHIFT)
    return new | keys & np.uint64((1 << TERM_SHIFT) - 1)


_ROWS_READ = 100_000
"""Rows of text that are in memory at a time."""
_ROWS_A_JOB = 4_000


@dataclass(frozen=True)
class Planned:
    """A table to count: its columns, and the document of each row (-1: skip the row).

    Postings have the number of the document, or with ``by_row`` that of the row.
    """

    table: Path
    columns: tuple[tuple[str, str], ...]
    document_of_row: NDArray[np.int64]
    by_row: bool = False

    @property
    def rows(self) -> int:
        """The number of rows to count."""
        return int(np.count_nonzero(self.document_of_row >= 0))

    def jobs(self) -> Iterator[Rows]:
        """The table in parts; parts of which nothing is wanted are left out."""
        for start in range(0, len(self.document_of_row), _ROWS_READ):
            span = self.document_of_row[start : start + _ROWS_READ]
            rows = np.flatnonzero(span >= 0) + start
            if len(rows):
                texts, numbers = self._read(rows), rows if self.by_row else span[rows - start]
                for at in range(0, len(rows), _ROWS_A_JOB):
                    some = slice(at, at + _ROWS_A_JOB)
                    yield Rows(self.table, rows[some], numbers[some], texts[some])

    def _read(self, rows: NDArray[np.int64]) -> pl.DataFrame:
        """The texts of some rows, which rise, by field."""
        first = int(rows[0])
        with translate_read_errors(self.table), reusable_path(self.table) as file:
            scan = pl.scan_parquet(file, glob=False).slice(first, int(rows[-1]) - first + 1)
            kinds = scan.collect_schema()
            texts = (
                (pl.col(name).list.join(" ; ") if kinds[name] == pl.List else pl.col(name))
                .fill_null("")
                .alias(field)
                for field, name in self.columns
            )
            found = scan.select(texts).collect()
        return found if len(rows) == found.height else found[rows - first]
