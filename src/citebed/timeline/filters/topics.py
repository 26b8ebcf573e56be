"""Topics of a filter, from a file of JSON Lines, and the interface that filters implement.

A line is ``{"query_id": "Aharon_Barak", "name": "Aharon Barak", "aliases": ["Justice Barak"],
"text": "President of the Supreme Court …", "training": ["1320223380-9367…"]}``; only ``query_id``
is required. A name may be an object with a weight, the share of its uses in which it means this
topic: ``{"name": "Barak", "weight": 0.1}``.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.errors import CitebedError, FormatError
from citebed.files.input_files import read_lines
from citebed.grammar import Call
from citebed.runs.tables import Floats, Ints
from citebed.runs.writer import FilterLine, stream_ids

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

RELEVANT = 1
"""The rating of every line that a filter writes; only the confidence varies."""


class Vectors(NamedTuple):
    """Sparse term vectors of several documents, in compressed row format.

    Document ``i`` has the term numbers and values from ``ends[i]`` up to, but not including,
    ``ends[i + 1]``. Term numbers ascend within a document.
    """

    ends: Ints
    numbers: Ints
    values: Floats

    def at(self, place: int) -> tuple[Ints, Floats]:
        """Return copies of one document's term numbers and values."""
        its = slice(*self.ends[place : place + 2])
        return self.numbers[its].copy(), self.values[its].copy()

    def part(self, start: int, end: int) -> Vectors:
        """Return documents ``start`` to ``end - 1``."""
        ends = self.ends[start : end + 1]
        its = slice(ends[0], ends[-1])
        return Vectors(ends - ends[0], self.numbers[its], self.values[its])

    def take(self, places: Ints) -> Vectors:
        """Return the documents at these positions."""
        sizes = np.diff(self.ends)[places]
        ends = np.concatenate(([0], np.cumsum(sizes)))
        its = np.arange(ends[-1]) + np.repeat(self.ends[places] - ends[:-1], sizes)
        return Vectors(ends, self.numbers[its], self.values[its])

    def places(self) -> Ints:
        """Return the document position of each term."""
        return np.repeat(np.arange(len(self.ends) - 1), np.diff(self.ends))

    def sums(self, values: Floats) -> Floats:
        """Sum ``values``, one per term, within each document, in term order."""
        sums = np.bincount(self.places(), values, minlength=len(self.ends) - 1)
        return np.asarray(sums, np.float64)


def no_terms(documents: int) -> Vectors:
    """Return empty vectors for this number of documents."""
    return Vectors(np.zeros(documents + 1, np.int64), np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True)
class DocumentFeatures:
    """Features that depend on the documents alone, in order of time.

    ``rows`` are row numbers in the batch. ``mentions`` has the name mentions (see
    ``NameTable.found``) of the documents that have any, by position. ``terms`` has term counts.
    """

    rows: Ints
    doc_ids: pl.Series
    times: Ints
    mentions: Mapping[int, Sequence[int]]
    terms: Vectors

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def names(self) -> pl.Series:
        """The documents' ids as a filter run writes them."""
        return stream_ids(self.doc_ids, pl.Series(self.times))

    @cached_property
    def _named(self) -> list[int]:
        return list(self.mentions)

    def part(self, start: int, end: int) -> DocumentFeatures:
        """Return documents ``start`` to ``end - 1``."""
        return DocumentFeatures(
            self.rows[start:end],
            self.doc_ids[start:end],
            self.times[start:end],
            {at - start: self.mentions[at] for at in between(self._named, start, end)},
            self.terms.part(start, end),
        )


def between(places: Sequence[int], start: int, end: int) -> Sequence[int]:
    """Return the positions from ``start`` to ``end - 1``; ``places`` must ascend."""
    return places[bisect_left(places, start) : bisect_left(places, end)]


class TermStatistics:
    """Counts over a part of a stream.

    ``names`` counts the documents that mention each name. ``terms`` counts the documents with each
    term if ``once``, otherwise all occurrences.
    """

    def __init__(self, names: int, buckets: int = 0, *, once: bool = False) -> None:
        self.names: Ints = np.zeros(names, np.int64)
        self.terms: Floats = np.zeros(buckets, np.float64)
        self._once = once

    def add(self, reads: DocumentFeatures) -> None:
        """Count documents."""
        self._add_names(reads)
        np.add.at(self.terms, reads.terms.numbers, self._counts(reads))

    def told(self, reads: DocumentFeatures) -> LearningDocuments:
        """Count documents; return them with the counts at the time of each."""
        numbers = reads.terms.numbers
        counts: Floats = np.broadcast_to(self._counts(reads), numbers.shape)
        terms = self.terms[numbers] + running_sums(numbers, counts)
        np.add.at(self.terms, numbers, counts)
        return LearningDocuments(reads, terms, self._add_names(reads))

    def _counts(self, reads: DocumentFeatures) -> Floats:
        return np.ones(()) if self._once else reads.terms.values

    def _add_names(self, reads: DocumentFeatures) -> dict[int, Ints]:
        """Count the names of documents; return the count of each before its document."""
        before: dict[int, Ints] = {}
        for place, mentions in reads.mentions.items():
            names = [mention >> 1 for mention in mentions]
            before[place] = self.names[names]
            self.names[list(set(names))] += 1
        return before


def running_sums(numbers: Ints, counts: Floats) -> Floats:
    """For each element, sum the counts of equal numbers up to and including it."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    sums = np.cumsum(counts[order])
    before = np.concatenate(([0.0], sums))[np.searchsorted(ordered, ordered)]
    running = np.empty(order.size)
    running[order] = sums - before
    return running


class LearningDocuments(NamedTuple):
    """Documents of a skipped part that a filter has to know, with the counts at their time.

    ``terms`` counts each term within the part, up to and including its document. ``names`` counts
    the names of each mention in the documents before.
    """

    reads: DocumentFeatures
    terms: Floats
    names: Mapping[int, Ints]

    def take(self, places: Ints) -> LearningDocuments:
        """Return the documents at these positions."""
        reads, terms = self.reads, self.reads.terms
        named = [(to, at) for to, at in enumerate(places.tolist()) if at in reads.mentions]
        taken = DocumentFeatures(
            reads.rows[places],
            reads.doc_ids[places],
            reads.times[places],
            {to: reads.mentions[at] for to, at in named},
            terms.take(places),
        )
        counted = terms._replace(values=self.terms).take(places).values
        return LearningDocuments(taken, counted, {to: self.names[at] for to, at in named})


class Skipped(NamedTuple):
    """A part of a stream that a filter learns from without scoring it.

    ``first`` is the number of documents before the part, ``length`` its own. ``told`` has the
    documents that the filter must know, or ``None`` if nothing is learned in the whole stream.
    ``more(start, end)`` yields all documents of a range of rows in batches; ranges must ascend.
    """

    first: int
    length: int
    tally: TermStatistics
    told: LearningDocuments | None
    more: Callable[[int, int], Iterator[LearningDocuments]]


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


class RunningFilter(Protocol):
    """A filter at work on a stream."""

    def read(self, table: pl.DataFrame) -> DocumentFeatures:
        """Extract the features of a batch of documents in stream order.

        The columns are ``doc_id``, ``time``, ``title``, ``abstract``, ``text``. Documents without
        any feature are left out. This takes most of the time and needs no state, so that it can run
        in parallel.
        """

    def take(self, first: int, reads: DocumentFeatures) -> list[FilterLine]:
        """Return the lines for documents that were read, by document and then by topic.

        ``first`` is the number of documents before the batch.
        """

    def tally(self) -> TermStatistics:
        """Return empty counts of the kind that this filter keeps."""

    def skip(self, part: Skipped) -> None:
        """Change the state as ``take`` would for all documents of the part."""

    def judged(self, reads: DocumentFeatures) -> Collection[int]:
        """Return the positions of the documents that the filter learns from."""

    def unmet(self) -> list[str]:
        """Return the labelled documents that have not occurred in the stream yet."""

    def state(self) -> State:
        """Return everything that the next batch depends on."""

    def restore(self, state: State) -> None:
        """Continue from an earlier ``state()``."""


@dataclass(frozen=True)
class Filter:
    """A filter model with its parameters, all of them numbers."""

    name: ClassVar[str]
    needs_terms: ClassVar[bool] = False
    takes_judgements: ClassVar[bool] = False
    looks_back: ClassVar[bool] = False
    """Whether learning also uses the documents before the judged one."""
    block: ClassVar[int] = 1 << 18
    """Bytes of the stream per batch; fast models use larger batches."""

    def __str__(self) -> str:
        return str(Call(self.name, tuple((f.name, getattr(self, f.name)) for f in fields(self))))

    def check_below_one(self, *names: str) -> None:
        """Raise an error unless these parameters are in [0, 1)."""
        for name in names:
            if not 0 <= getattr(self, name) < 1:
                raise CitebedError(f"{name}={getattr(self, name):g} is not in [0, 1)")

    def start(self, topics: Sequence[Topic], tools: FilterContext) -> RunningFilter:
        """Start filtering a stream."""
        raise NotImplementedError


def confidence(share: float) -> int:
    """Convert a share between 0 and 1 into a confidence between 1 and 1000."""
    return min(1000, max(1, round(1000 * share)))
