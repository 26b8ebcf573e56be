"""Topics of a filter, from a file of JSON Lines, and the documents that filters get.

A line is ``{"query_id": "Aharon_Barak", "name": "Aharon Barak", "aliases": ["Justice Barak"],
"text": "President of the Supreme Court …", "training": ["1320223380-9367…"]}``; only ``query_id``
is required. A name may be an object with a weight, the share of its uses in which it means this
topic: ``{"name": "Barak", "weight": 0.1}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.errors import FormatError
from citebed.files.input_files import read_lines
from citebed.runs.tables import Floats, Ints
from citebed.runs.writer import stream_ids

_FIELDS = ("query_id", "name", "names", "aliases", "text", "title", "training")
_WIDTH = 200  # longest part of a JSON error that a message quotes
_EXPLANATION = re.compile(r"[\s_]*\([^()]*\)\s*$")


class Name(NamedTuple):
    """A name of a topic, with the share of its uses that mean the topic."""

    name: str
    weight: float = 1.0


class Topic(NamedTuple):
    """A topic or entity to filter for; ``training`` has ids of relevant documents."""

    query_id: str
    names: tuple[Name, ...]
    text: str = ""
    training: tuple[str, ...] = ()


def read_topics(path: str | Path) -> list[Topic]:
    """Read topics from a file of JSON Lines."""
    path = Path(path)
    topics: dict[str, Topic] = {}
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            topic = _topic(line)
        except (ValueError, TypeError, RecursionError) as error:
            raise FormatError(path, number, f"no topic: {str(error)[:_WIDTH]}") from None
        if topic.query_id in topics:
            raise FormatError(path, number, f"the query_id '{topic.query_id}' occurs twice")
        topics[topic.query_id] = topic
    if not topics:
        raise FormatError(path, None, "no topic in it; expected JSON Lines with 'query_id'")
    return list(topics.values())


def _topic(line: str) -> Topic:
    fields = json.loads(line)
    try:  # its text must be text that can be written again
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise ValueError(f"{half} is half a character; leave it out") from None
    if not isinstance(fields, dict):
        raise TypeError("expected a JSON object with 'query_id'")
    unknown = sorted(set(fields) - set(_FIELDS))
    if unknown:
        raise ValueError(f"unknown field '{unknown[0]}'; expected {', '.join(_FIELDS)}")
    query_id = fields.get("query_id")
    if not isinstance(query_id, str) or query_id.replace("\0", " ").split() != [query_id]:
        raise ValueError(f"the query_id {query_id!r} is not one word, which a filter run needs")
    called = [*_listed(fields, "name"), *_listed(fields, "names"), *_listed(fields, "aliases")]
    text = " ".join(str(fields[field]) for field in ("title", "text") if fields.get(field))
    training = tuple(str(doc_id) for doc_id in _listed(fields, "training"))
    names = tuple(map(_name, called)) or (Name(spelt_out(query_id)),)
    return Topic(query_id, names, text, training)


def _listed(fields: dict[str, Any], name: str) -> list[Any]:
    value = fields.get(name)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _name(value: Any) -> Name:
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        weight = value.get("weight", 1.0)
        if not isinstance(weight, int | float) or not 0 < weight <= 1:
            raise ValueError(f"the weight {weight!r} of '{value['name']}' is not in (0, 1]")
        return Name(value["name"], float(weight))
    if not isinstance(value, str):
        raise TypeError(f"the name {value!r} is neither a text nor an object with 'name'")
    return Name(value)


def spelt_out(query_id: str) -> str:
    """Return the name in an id: ``Basic_Element_(music_group)`` is ``Basic Element``."""
    return _EXPLANATION.sub("", query_id).replace("_", " ").strip() or query_id


State = dict[str, NDArray[np.generic]]
"""The state of a filter as arrays, to be stored in a checkpoint."""


class Vectors(NamedTuple):
    """Sparse vectors of several documents, in compressed row format.

    Document ``i`` has the numbers (of terms, names or topics) and their values from ``ends[i]`` up
    to, but not including, ``ends[i + 1]``. ``counted`` says how often each number occurred in the
    stream so far; it is empty before `TermStatistics.told` counts.
    """

    ends: Ints
    numbers: Ints
    values: Floats
    counted: Floats = np.empty(0)

    def at(self, place: int) -> tuple[Ints, Floats]:
        """Return copies of one document's numbers and values."""
        its = slice(*self.ends[place : place + 2])
        return self.numbers[its].copy(), self.values[its].copy()

    def take(self, places: Ints) -> Vectors:
        """Return the documents at these positions."""
        sizes = np.diff(self.ends)[places]
        ends = np.concatenate(([0], np.cumsum(sizes)))
        its = np.arange(ends[-1]) + np.repeat(self.ends[places] - ends[:-1], sizes)
        counted = self.counted[its] if self.counted.size else self.counted
        return Vectors(ends, self.numbers[its], self.values[its], counted)

    def places(self) -> Ints:
        """Return the document position of each number."""
        return np.repeat(np.arange(len(self.ends) - 1), np.diff(self.ends))

    def sums(self, values: Floats) -> Floats:
        """Sum ``values``, one per number, within each document, in their order."""
        sums = np.bincount(self.places(), values, minlength=len(self.ends) - 1)
        return np.asarray(sums, np.float64)


def no_vectors(documents: int) -> Vectors:
    """Return empty vectors for this number of documents."""
    return Vectors(np.zeros(documents + 1, np.int64), np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True)
class DocumentFeatures:
    """Features that depend on the documents alone, in order of time.

    ``rows`` are row numbers in the batch. ``mentions`` has the name numbers of each document in
    text order, with the value 1 in the title and 0 elsewhere. ``terms`` has term counts.
    """

    rows: Ints
    doc_ids: pl.Series
    times: Ints
    mentions: Vectors
    terms: Vectors

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def names(self) -> pl.Series:
        """The documents' ids as a filter run writes them."""
        return stream_ids(self.doc_ids, pl.Series(self.times))

    def take(self, places: Ints) -> DocumentFeatures:
        """Return the documents at these positions."""
        return DocumentFeatures(
            self.rows[places],
            self.doc_ids[places],
            self.times[places],
            self.mentions.take(places),
            self.terms.take(places),
        )


class TermStatistics:
    """Counts over a stream, or a part of one.

    ``names`` counts the documents that mention each name. ``terms`` counts the documents with each
    term if ``once``, otherwise all occurrences. Without ``buckets``, terms are not counted.
    """

    def __init__(self, names: int, buckets: int = 0, *, once: bool = True) -> None:
        self.names: Floats = np.zeros(names, np.float64)
        self.terms: Floats = np.zeros(buckets, np.float64)
        self._once = once

    def add(self, reads: DocumentFeatures) -> None:
        """Count documents."""
        np.add.at(self.names, self._named(reads)[0], 1.0)
        if self.terms.size:
            np.add.at(self.terms, reads.terms.numbers, self._counts(reads))

    def told(self, reads: DocumentFeatures) -> DocumentFeatures:
        """Count documents; return them with the counts at the time of each.

        Names are counted in the documents before, terms up to and including their own document.
        """
        names, place = self._named(reads)
        before = running_sums(names, np.ones(names.size)) - 1.0
        mentions, terms = reads.mentions._replace(counted=before[place]), reads.terms
        if self.terms.size:
            terms = terms._replace(counted=running_sums(terms.numbers, self._counts(reads)))
        told = self.after(replace(reads, mentions=mentions, terms=terms))
        self.add(reads)
        return told

    def after(self, told: DocumentFeatures) -> DocumentFeatures:
        """Return documents with these counts added to their own, which began after these."""
        mentions, terms = told.mentions, told.terms
        mentions = mentions._replace(counted=mentions.counted + self.names[mentions.numbers])
        if self.terms.size:
            terms = terms._replace(counted=terms.counted + self.terms[terms.numbers])
        return replace(told, mentions=mentions, terms=terms)

    def merge(self, tally: TermStatistics) -> None:
        """Add the counts of a part."""
        self.names += tally.names
        if self.terms.size:
            self.terms += tally.terms

    def _counts(self, reads: DocumentFeatures) -> Floats:
        values = reads.terms.values
        return np.ones(values.size) if self._once else values

    def _named(self, reads: DocumentFeatures) -> tuple[Ints, Ints]:
        """Return each name of a document once, by document, and the position of each mention."""
        keys = reads.mentions.places() * self.names.size + reads.mentions.numbers
        different, place = np.unique(keys, return_inverse=True)
        return different % max(1, self.names.size), place


def running_sums(numbers: Ints, counts: Floats) -> Floats:
    """For each element, sum the counts of equal numbers up to and including it."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    sums = np.cumsum(counts[order])
    before = np.concatenate(([0.0], sums))[np.searchsorted(ordered, ordered)]
    running = np.empty(order.size)
    running[order] = sums - before
    return running


class Skipped(NamedTuple):
    """A part of a stream that a filter learns from without scoring it.

    ``first`` is the number of documents before the part, ``length`` its own. ``told`` has the
    documents that the filter must know, counted within the part, or ``None`` if nothing is learned
    in the whole stream. ``more(start, end)`` yields all documents of a range of rows in batches,
    counted alike; ranges must ascend.
    """

    first: int
    length: int
    tally: TermStatistics
    told: DocumentFeatures | None
    more: Callable[[int, int], Iterator[DocumentFeatures]]


def no_words(_: str) -> Sequence[str]:
    """Return no words, for filters that need none."""
    return ()


@dataclass(frozen=True)
class FilterContext:
    """Everything that a filter gets besides its topics.

    ``words`` splits a text into words and ``term`` maps a word to its index term or ``None``, as
    an analyser does (`citebed.retrieval.analysis`). ``labels`` maps a stream id to the topics that
    the document is judged for, and whether it is relevant. A filter may read a document's labels
    only after it scored the document, and may use them ``delay`` seconds later.
    """

    words: Callable[[str], Sequence[str]] = no_words
    labels: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    delay: int = 0
    term: Callable[[str], str | None] = str
