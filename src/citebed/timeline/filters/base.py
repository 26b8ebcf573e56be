"""What a filter is: a value that prints as it is written, and what it starts to run.

``Filter`` is the declaration (``names(common=0.01)``), ``Filtering`` the run of one over a
stream: it is shown the documents in the order of time, and each of them once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.grammar import Call
from citebed.runs.tables import Floats, Ints
from citebed.runs.writing import FilterLine
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


class Read(NamedTuple):
    """What a document says by itself, whatever came before it: its row in a table, the mentions
    of names (as ``NameTable.found`` has them), its terms as numbers, and how often each occurs."""

    row: int
    doc_id: str
    time: int
    mentions: Sequence[int]
    numbers: Ints
    tf: Floats


class Tally:
    """What is counted in a part of a stream: for each name the documents that have it; for each
    term the documents that have it if ``once``, else how often it occurs."""

    def __init__(self, names: int, buckets: int = 0, *, once: bool = False) -> None:
        self.names: Ints = np.zeros(names, np.int64)
        self.terms: Floats = np.zeros(buckets, np.float64)
        self._once = once

    def add(self, read: Read) -> None:
        """Count a document."""
        for name in {mention >> 1 for mention in read.mentions}:
            self.names[name] += 1
        self.terms[read.numbers] += 1 if self._once else read.tf


class Told(NamedTuple):
    """A document of a part that is skipped: what it says, and what was counted in the part, of
    its terms with this document, of its mentions' names before it."""

    read: Read
    terms: Floats
    names: Ints


class Skipped(NamedTuple):
    """A part of a stream that is learned from and not scored.

    ``first`` is how many documents came before it, ``length`` how many it has; ``told`` are those
    that a filter must know, nothing where there is nothing to learn in the whole stream; ``more``
    gives all from one row to before another, and is asked for ever later ones.
    """

    first: int
    length: int
    tally: Tally
    told: Sequence[Told] | None
    more: Callable[[int, int], Iterator[Told]]


def no_terms(_: str) -> Sequence[str]:
    """The terms of a text for those who need none."""
    return ()


@dataclass(frozen=True)
class Tools:
    """What a filter is given beside its topics.

    ``terms`` turns a text into terms. ``labels`` tells, by stream id, for which topics a
    document is judged and whether it is relevant; a filter may ask for a document's labels only
    when the document has passed, and use them ``delay`` seconds after it.
    """

    terms: Callable[[str], Sequence[str]] = no_terms
    labels: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    delay: int = 0


class Filtering(Protocol):
    """A filter at work."""

    def score(self, batch: Documents) -> list[FilterLine]:
        """The lines for a batch, by document and then by topic, in their order."""

    def read(self, table: pl.DataFrame) -> Iterable[Read]:
        """What the documents of a batch say that matters; those that say nothing are left out."""

    def take(self, first: int, reads: Iterable[Read]) -> list[FilterLine]:
        """The lines for documents that were read; ``first`` is how many came before the batch.

        To score is to read and to take. What is dear is to read, which depends on nothing else.
        """

    def tally(self) -> Tally:
        """A tally of what it counts, with nothing in it."""

    def skip(self, part: Skipped) -> None:
        """Come to the state in which taking the documents of a part would leave it."""

    def judged(self, read: Read) -> bool:
        """Whether it learns from a document."""

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

    def start(self, topics: Sequence[Topic], tools: Tools) -> Filtering:
        """Begin with a stream."""
        raise NotImplementedError


def confidence(share: float) -> int:
    """A share between 0 and 1 as a confidence between 1 and 1000."""
    return min(1000, max(1, round(1000 * share)))
