"""How texts are to be answered: what a person asks for beside the text, and said of documents."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from citebed.collection.filters import Filter
from citebed.drafts.records import Passage
from citebed.retrieval.execution.runner import Runner
from citebed.retrieval.index.index import Index
from citebed.retrieval.recommend.cited import Known
from citebed.retrieval.search.feedback import NOT_JUDGED, Judged
from citebed.retrieval.search.queries import checked_date


@dataclass(frozen=True)
class How:
    """How many documents, which never, of which time, how likely at least, among which; and what a
    person said of documents for the text: what is wrong is ``never`` an answer, for no passage."""

    k: int | None
    exclude: frozenset[str]
    before: str | None
    min_probability: float | None
    among: Filter | None = None
    judged: Judged = NOT_JUDGED
    never: tuple[str, ...] = ()

    def but(self, *, exclude: frozenset[str], judged: Judged) -> How:
        """The same for a passage, for which other documents are no answer."""
        return replace(self, exclude=self.exclude.union(exclude, self.never), judged=judged)

    def said(self, index: Index, judged: Judged) -> How:
        """The same where a person said something of documents."""
        never = tuple(index.ids[each] for each in judged.nonrelevant.tolist())
        return replace(self, judged=judged, never=never)


def how_of(
    k: int | None,
    exclude: Iterable[str],
    before: str | None,
    min_probability: float | None,
    least: float | None,
    among: Filter | None,
) -> How:
    """How to answer, checked; ``least`` is what ``min_probability`` was called."""
    if least is not None:
        warnings.warn("'least' is now 'min_probability'", DeprecationWarning, stacklevel=3)
    date = None if before is None else checked_date(before)
    probability = least if min_probability is None else min_probability
    return How(k, frozenset(exclude), date, probability, among)


def judged_of(
    runner: Runner, known: Known, relevant: Iterable[str], nonrelevant: Iterable[str]
) -> tuple[Judged, tuple[str, ...]]:
    """What a person said of documents, which may go by any of their names; and a note where one
    goes by none, or is gone. What was said to be both is not right."""
    right, wrong = ({name: _number(runner, known, name) for name in names}
                    for names in (relevant, nonrelevant))  # fmt: skip
    unknown = [name for name, number in (*right.items(), *wrong.items()) if number < 0]
    numbers = {number for number in wrong.values() if number >= 0}
    others = {number for number in right.values() if number >= 0} - numbers
    judged = Judged(np.array(sorted(others), np.int64), np.array(sorted(numbers), np.int64))
    what = f"there is no document {', '.join(map(repr, unknown))}: what was said of it is passed by"
    return judged, (what,) if unknown else ()


def _number(runner: Runner, known: Known, name: str) -> int:
    ids, there = runner.index.ids, runner.there
    number = ids.find(name)
    if number < 0 and (meant := known.find(name)) is not None:
        number = ids.find(meant)
    return number if number < 0 or there is None or there[number] else -1


def divided(runner: Runner, passages: Sequence[Passage], judged: Judged) -> list[Judged]:
    """What a person said, for each of several passages: a document is judged for the passage that
    it is most like by words, and where it is wrong it is no answer for any."""
    if len(passages) == 1 or not judged:
        return [judged] * len(passages)
    both = np.concatenate([judged.relevant, judged.nonrelevant])
    queries = [runner.query(passage.text) for passage in passages]
    likest = np.argmax([runner.likeness(query, both) for query in queries], axis=0)
    at_right, at_wrong = np.split(likest, [len(judged.relevant)])
    return [
        Judged(judged.relevant[at_right == at], judged.nonrelevant[at_wrong == at])
        for at in range(len(passages))
    ]
