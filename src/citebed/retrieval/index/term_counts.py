"""Counting words: texts become packed postings, in several threads.

A posting is one unsigned 64-bit number: 24 bits of term, 24 of row (later: document), 3 of field,
13 of frequency. Sorted as numbers, postings have the order of the index.
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
"""The highest frequency of a term in one field of one text."""

_ROWS_READ = 100_000
"""Rows of text that are in memory at a time."""
_ROWS_PER_BATCH = 4_000

Keys = NDArray[np.uint64]
"""Packed postings."""
Numbers = NDArray[np.int64]


def key_terms(keys: Keys) -> Numbers:
    return (keys >> np.uint64(TERM_SHIFT)).astype(np.int64)


def key_rows(keys: Keys) -> Numbers:
    return ((keys >> np.uint64(ROW_SHIFT)) & np.uint64(MOST_ROWS - 1)).astype(np.int64)


def key_times(keys: Keys) -> NDArray[np.uint16]:
    return (keys & np.uint64(MOST_TIMES)).astype(np.uint16)


def replace_rows(keys: Keys, rows: Numbers) -> Keys:
    """Return postings with ``rows[n]`` in place of row ``n``."""
    others = np.uint64(~((MOST_ROWS - 1) << ROW_SHIFT) & (1 << 64) - 1)
    replaced: Keys = keys & others | (
        rows[key_rows(keys)].astype(np.uint64) << np.uint64(ROW_SHIFT)
    )
    return replaced


def replace_terms(keys: Keys, terms: Numbers) -> Keys:
    """Return postings with ``terms[n]`` in place of term ``n``."""
    new = terms.astype(np.uint64)[key_terms(keys)] << np.uint64(TERM_SHIFT)
    return new | keys & np.uint64((1 << TERM_SHIFT) - 1)


def read_rows(table: Path, rows: Numbers, columns: Sequence[pl.Expr]) -> pl.DataFrame:
    """Return columns of some rows of a table, which rise; there must be one."""
    first, last = int(rows[0]), int(rows[-1])
    with translate_read_errors(table), reusable_path(table) as file:
        scan = pl.scan_parquet(file, glob=False).slice(first, last - first + 1)
        found = scan.select(columns).collect()
    return found if len(rows) == found.height else found[rows - first]


class TextBatch(NamedTuple):
    """Texts of a table, with one column per field.

    ``rows`` are their rows in the table. ``numbers`` go into their postings: the number of the
    document, or of the row.
    """

    table: Path
    rows: Numbers
    numbers: Numbers
    texts: pl.DataFrame

    def key_bits(self, numbers: Numbers) -> Keys:
        """Return the row and field bits of the postings of each text, row by row."""
        fields = np.array([FIELDS.index(field) for field in self.texts.columns], np.uint64)
        rows = numbers.astype(np.uint64) << np.uint64(ROW_SHIFT)
        return (rows[:, None] | fields << np.uint64(FIELD_SHIFT)).ravel()

    def counts(self, keys: Keys, lengths: NDArray[np.uint32]) -> Counts:
        """Return counts of this batch; ``lengths`` are the tokens of each text, row by row."""
        by_field = lengths.reshape(self.texts.height, -1).T
        return Counts(self, keys, dict(zip(self.texts.columns, by_field, strict=True)))


class Counts(NamedTuple):
    """The postings of a batch, and the number of tokens of each row, by field."""

    batch: TextBatch
    keys: Keys
    lengths: dict[str, NDArray[np.uint32]]


@dataclass(frozen=True)
class SourceTable:
    """A table to count: its columns by field, and the document of each row (-1: skip the row).

    Postings have the number of the document, or with ``by_row`` the number of the row.
    """

    table: Path
    columns: tuple[tuple[str, str], ...]
    document_of_row: Numbers
    by_row: bool = False

    @property
    def rows(self) -> int:
        return int(np.count_nonzero(self.document_of_row >= 0))

    def batches(self) -> Iterator[TextBatch]:
        for start in range(0, len(self.document_of_row), _ROWS_READ):
            documents = self.document_of_row[start : start + _ROWS_READ]
            rows = np.flatnonzero(documents >= 0) + start
            if not len(rows):
                continue
            columns = {field: pl.col(name) for field, name in self.columns}
            if "keywords" in columns:
                columns["keywords"] = columns["keywords"].list.join(" ; ")
            texts = read_rows(
                self.table, rows, [text.fill_null("").alias(n) for n, text in columns.items()]
            )
            numbers = rows if self.by_row else documents[rows - start]
            for at in range(0, len(rows), _ROWS_PER_BATCH):
                some = slice(at, at + _ROWS_PER_BATCH)
                yield TextBatch(self.table, rows[some], numbers[some], texts[some])


class Vocabulary:
    """Numbers terms in the order in which they appear, and remembers the term of each word."""

    def __init__(self, analyser: Analyser) -> None:
        self.analyser = analyser
        self._terms: dict[str, int] = {}
        self._words: dict[str, int] = {}

    def terms(self) -> list[str]:
        """Return the terms in the order of their numbers."""
        return list(self._terms)

    def term_numbers(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the number of each word's term, or -1 for a stop word."""
        known, numbers, term_of = self._words, self._terms, self.analyser.term
        for word in words:
            if word not in known:
                term = term_of(word)
                known[word] = -1 if term is None else numbers.setdefault(term, len(numbers))
        if len(numbers) > MOST_TERMS:
            raise CitebedError(
                f"this collection has more than {MOST_TERMS:,} different terms, the most that an "
                "index can hold. Leave out fields, or split the collection."
            )
        return np.fromiter(map(known.__getitem__, words), np.int32, len(words))


# --- the plain way ------------------------------------------------------------------------------


def count_terms(batch: TextBatch, vocabulary: Vocabulary) -> Counts:
    """Count the terms of a batch without compiled code."""
    texts = itertools.chain.from_iterable(batch.texts.rows())
    words = [vocabulary.analyser.words(text) for text in texts]
    ids = vocabulary.term_numbers([*itertools.chain.from_iterable(words)])
    rows = np.repeat(np.arange(len(words)), [*map(len, words)])
    ids, rows = ids[ids >= 0], rows[ids >= 0]
    # Count rows of the same document separately: a posting holds at most MOST_TIMES.
    bits = batch.key_bits(np.arange(batch.texts.height))
    keys: Keys = (ids.astype(np.uint64) << np.uint64(TERM_SHIFT)) | bits[rows]
    keys.sort()
    first = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]][: len(keys)])
    times = np.diff(np.r_[first, len(keys)])
    keys = keys[first] | np.minimum(times, MOST_TIMES).astype(np.uint64)
    lengths = np.bincount(rows, minlength=len(bits)).astype(np.uint32)
    return batch.counts(replace_rows(keys, batch.numbers), lengths)


# --- the compiled way ---------------------------------------------------------------------------


class SplitBatch(NamedTuple):
    """A batch as numbers of words: the words of text ``i`` end at ``ends[i]``.

    ``new`` are the words that appear for the first time; they are numbered from ``first``.
    """

    batch: TextBatch
    ids: NDArray[np.int32]
    ends: Numbers
    first: int
    new: list[str]


def split_words(batches: Iterable[TextBatch]) -> Iterator[SplitBatch]:
    """Split texts into words with compiled code. The numbering restarts when it gets too long."""
    from citebed.retrieval.index.compiled import WordTable

    words = WordTable()
    for batch in batches:
        if words.is_full:
            words = WordTable()
        names, first = batch.texts.columns, len(words)
        lines = pl.concat_str(*names, pl.lit(""), separator="\n").str.join("").cast(pl.Binary)
        data = np.frombuffer(batch.texts.select(lines)[0, 0], np.uint8)
        lengths = batch.texts.select(pl.col(names).str.len_bytes()).to_numpy()
        ids, ends = words.read(data, np.cumsum(lengths.ravel() + 1, dtype=np.int64))
        yield SplitBatch(batch, ids, ends, first, words.spelled(first))


class TokenBatch(NamedTuple):
    """A batch as numbers of words, with the terms and vectors of these words.

    The words of text ``i`` end at ``ends[i]``; ``tokens`` has the words of each row.
    """

    batch: TextBatch
    ends: Numbers
    tokens: Tokens
    terms: tuple[Numbers, NDArray[np.int32]]

    def counts(self) -> Counts:
        from citebed.retrieval.index.compiled import count_tokens

        words, bits = (self.tokens.ids, self.ends), self.batch.key_bits(self.batch.numbers)
        return self.batch.counts(*count_tokens(words, self.terms, bits, TERM_SHIFT, MOST_TIMES))


class _NumberLists:
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
    def arrays(self) -> tuple[Numbers, NDArray[np.int32]]:
        """``starts`` and ``numbers``: list ``i`` is ``numbers[starts[i]:starts[i + 1]]``.

        Lists that are added later do not change these arrays.
        """
        starts = self._starts[: self._count + 1]
        return starts, self._numbers[: starts[-1]]


class WordReader:
    """Looks up each word once: its terms, and its vectors in a model."""

    def __init__(self, vocabulary: Vocabulary, model: StaticModel | None = None) -> None:
        self._vocabulary, self._model = vocabulary, model
        self._terms, self._vectors = _NumberLists(), _NumberLists()

    def read(self, split: SplitBatch) -> TokenBatch:
        """Return the texts with the terms and vectors of their words, to count in any thread."""
        if not split.first:
            self._terms, self._vectors = _NumberLists(), _NumberLists()
        analysed = self._vocabulary.analyser.words
        words = [analysed(word) if word[0] == " " else (word,) for word in split.new]
        terms = self._vocabulary.term_numbers([*itertools.chain.from_iterable(words)])
        self._terms.add(map(len, words), terms)
        if self._model is not None:
            lists = [*map(self._model.numbers_in, split.new)]
            numbers = np.fromiter(itertools.chain.from_iterable(lists), np.int32)
            self._vectors.add(map(len, lists), numbers)
        fields = split.batch.texts.width
        tokens = Tokens(split.ids, split.ends[fields - 1 :: fields], *self._vectors.arrays)
        return TokenBatch(split.batch, split.ends, tokens, self._terms.arrays)
