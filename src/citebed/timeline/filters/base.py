"""What a filter is: a value that prints as it is written, and what it starts to run.

``Filter`` is the declaration (``names(common=0.01)``), ``RunningFilter`` the run of one over a
stream: it is shown the documents in the order of time, and each of them once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.grammar import Call
from citebed.runs.tables import Floats, Ints
from citebed.runs.writer import FilterLine, stream_ids
from citebed.timeline.filters.topics import Topic

State = dict[str, NDArray[np.generic]]
"""Everything a filter has learned, as arrays that a checkpoint can hold."""

RELEVANT = 1
"""The rating of every line that a filter writes; how sure it is, the confidence says."""


class Documents(NamedTuple):
    """Documents of a stream, in its order: ``doc_id``, ``time``, ``title``, ``abstract``,
    ``text``. ``first`` is how many documents came before."""

    first: int
    table: pl.DataFrame


class Vectors(NamedTuple):
    """Documents behind one another, each as its terms, which are numbers in ascending order, with a
    value for each: those at a place are from ``ends[place]`` to before ``ends[place + 1]``."""

    ends: Ints
    numbers: Ints
    values: Floats

    def at(self, place: int) -> tuple[Ints, Floats]:
        """The terms of one document and their values, which do not hold the others in memory."""
        its = slice(*self.ends[place : place + 2])
        return self.numbers[its].copy(), self.values[its].copy()

    def part(self, start: int, end: int) -> Vectors:
        """Those from a place to before another."""
        ends = self.ends[start : end + 1]
        its = slice(ends[0], ends[-1])
        return Vectors(ends - ends[0], self.numbers[its], self.values[its])

    def take(self, places: Ints) -> Vectors:
        """Those at some places."""
        sizes = np.diff(self.ends)[places]
        ends = np.concatenate(([0], np.cumsum(sizes)))
        its = np.arange(ends[-1]) + np.repeat(self.ends[places] - ends[:-1], sizes)
        return Vectors(ends, self.numbers[its], self.values[its])

    def places(self) -> Ints:
        """For each term the place of its document."""
        return np.repeat(np.arange(len(self.ends) - 1), np.diff(self.ends))

    def sums(self, values: Floats) -> Floats:
        """What each document has of ``values``, one for each term, added up in their order."""
        sums = np.bincount(self.places(), values, minlength=len(self.ends) - 1)
        return np.asarray(sums, np.float64)


def no_terms(documents: int) -> Vectors:
    """So many documents whose terms were not looked at."""
    return Vectors(np.zeros(documents + 1, np.int64), np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True)
class DocumentFeatures:
    """What documents say by themselves, whatever came before them: their rows in a table, the
    mentions of names (as ``NameTable.found`` has them) at the places of those that have some, and
    how often each term occurs. They are in the order of time."""

    rows: Ints
    doc_ids: pl.Series
    times: Ints
    mentions: Mapping[int, Sequence[int]]
    terms: Vectors

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def names(self) -> pl.Series:
        """The ids of the documents in a run."""
        return stream_ids(self.doc_ids, pl.Series(self.times))

    @cached_property
    def _named(self) -> list[int]:
        return list(self.mentions)

    def part(self, start: int, end: int) -> DocumentFeatures:
        """Those from a place to before another."""
        return DocumentFeatures(
            self.rows[start:end],
            self.doc_ids[start:end],
            self.times[start:end],
            {at - start: self.mentions[at] for at in between(self._named, start, end)},
            self.terms.part(start, end),
        )


def between(places: Sequence[int], start: int, end: int) -> Sequence[int]:
    """Those of some places, in their order, that are from one to before another."""
    return places[bisect_left(places, start) : bisect_left(places, end)]


class TermStatistics:
    """What is counted in a part of a stream: for each name the documents that have it; for each
    term the documents that have it if ``once``, else how often it occurs."""

    def __init__(self, names: int, buckets: int = 0, *, once: bool = False) -> None:
        self.names: Ints = np.zeros(names, np.int64)
        self.terms: Floats = np.zeros(buckets, np.float64)
        self._once = once

    def add(self, reads: DocumentFeatures) -> None:
        """Count documents."""
        self._add_names(reads)
        np.add.at(self.terms, reads.terms.numbers, self._counts(reads))

    def told(self, reads: DocumentFeatures) -> LearningDocuments:
        """Count documents, and tell what was counted when they came."""
        numbers = reads.terms.numbers
        counts: Floats = np.broadcast_to(self._counts(reads), numbers.shape)
        terms = self.terms[numbers] + running_sums(numbers, counts)
        np.add.at(self.terms, numbers, counts)
        return LearningDocuments(reads, terms, self._add_names(reads))

    def _counts(self, reads: DocumentFeatures) -> Floats:
        return np.ones(()) if self._once else reads.terms.values

    def _add_names(self, reads: DocumentFeatures) -> dict[int, Ints]:
        """Count the names of documents; gives how often each was there before."""
        before: dict[int, Ints] = {}
        for place, mentions in reads.mentions.items():
            names = [mention >> 1 for mention in mentions]
            before[place] = self.names[names]
            self.names[list(set(names))] += 1
        return before


def running_sums(numbers: Ints, counts: Floats) -> Floats:
    """For each number the sum of the counts that it has had, the last one that where it stands."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    sums = np.cumsum(counts[order])
    before = np.concatenate(([0.0], sums))[np.searchsorted(ordered, ordered)]
    running = np.empty(order.size)
    running[order] = sums - before
    return running


class LearningDocuments(NamedTuple):
    """Documents of a part that is skipped, by their rows in it: what they say, and what was counted
    in the part when they came, of each one's terms with it, of the names of its mentions before."""

    reads: DocumentFeatures
    terms: Floats
    names: Mapping[int, Ints]

    def take(self, places: Ints) -> LearningDocuments:
        """Those at some places."""
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
    """A part of a stream that is learned from and not scored.

    ``first`` is how many documents came before it, ``length`` how many it has; ``told`` are those
    that a filter must know, nothing where there is nothing to learn in the whole stream; ``more``
    gives all from one row to before another, some at a time, and is asked for ever later ones.
    """

    first: int
    length: int
    tally: TermStatistics
    told: LearningDocuments | None
    more: Callable[[int, int], Iterator[LearningDocuments]]


def no_words(_: str) -> Sequence[str]:
    """The words of a text for those who need none."""
    return ()


@dataclass(frozen=True)
class FilterContext:
    """What a filter is given beside its topics.

    ``words`` gives the words of a text, and ``term`` the term that a word is, if it is one: as an
    analyser has them (`citebed.retrieval.analysis`). ``labels`` tells, by stream id, for which
    topics a document is judged and whether it is relevant; a filter may ask for a document's labels
    only when the document has passed, and use them ``delay`` seconds after it.
    """

    words: Callable[[str], Sequence[str]] = no_words
    labels: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    delay: int = 0
    term: Callable[[str], str | None] = str


class RunningFilter(Protocol):
    """A filter at work."""

    def score(self, batch: Documents) -> list[FilterLine]:
        """The lines for a batch, by document and then by topic, in their order."""

    def read(self, table: pl.DataFrame) -> DocumentFeatures:
        """What the documents of a batch say that matters; those that say nothing are left out."""

    def take(self, first: int, reads: DocumentFeatures) -> list[FilterLine]:
        """The lines for documents that were read; ``first`` is how many came before the batch.

        To score is to read and to take. What is dear is to read, which depends on nothing else.
        """

    def tally(self) -> TermStatistics:
        """A tally of what it counts, with nothing in it."""

    def skip(self, part: Skipped) -> None:
        """Come to the state in which taking the documents of a part would leave it."""

    def judged(self, reads: DocumentFeatures) -> Collection[int]:
        """The places of those documents that it learns from."""

    def unmet(self) -> list[str]:
        """The documents it could have learned from that did not come so far."""

    def state(self) -> State:
        """All that the next batch depends on."""

    def restore(self, state: State) -> None:
        """Go on from a state that ``state`` gave."""


@dataclass(frozen=True)
class Filter:
    """A model with its parameters, all of them numbers."""

    name: ClassVar[str]
    needs_terms: ClassVar[bool] = False
    takes_judgements: ClassVar[bool] = False
    looks_back: ClassVar[bool] = False
    """Whether it learns from the documents before a lesson too."""
    block: ClassVar[int] = 1 << 18
    """How many bytes of a stream it is given at once; what is quick takes more."""

    def __str__(self) -> str:
        return str(Call(self.name, tuple((f.name, getattr(self, f.name)) for f in fields(self))))

    def check_below_one(self, *names: str) -> None:
        """Refuse a parameter of 1 or more where only a share makes sense."""
        for name in names:
            if not 0 <= getattr(self, name) < 1:
                raise CitebedError(f"{name}={getattr(self, name):g} is not in [0, 1)")

    def start(self, topics: Sequence[Topic], tools: FilterContext) -> RunningFilter:
        """Begin with a stream."""
        raise NotImplementedError


def confidence(share: float) -> int:
    """A share between 0 and 1 as a confidence between 1 and 1000."""
    return min(1000, max(1, round(1000 * share)))
