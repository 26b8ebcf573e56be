"""The ledger of a timeline: what its scores rest on, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from citebed.evaluation.measures import RescaledAUC
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.rankings import Rankings
from citebed.runs.tables import Ints, Run
from citebed.timeline.scoring.measuring import uses_grades
from citebed.timeline.scoring.topic_slices import TopicSlices
from citebed.timeline.streams.timed_qrels import TimedQrels
from citebed.timeline.streams.topic_runs import Skipped
from citebed.wording import count


class JudgedLedger(NamedTuple):
    """What the judgements give: ``cells`` are pairs of query and slice with relevant documents.

    ``empty_slices`` have no relevant document at all, ``empty_cells`` none for their query;
    both are in no average. ``empty_queries`` have no relevant document in any slice.
    """

    queries: int
    empty_queries: int
    slices: int
    empty_slices: int
    cells: int
    empty_cells: int
    pairs: int
    outside: int
    several: int
    disagree: int
    differ: int
    untimed: int

    def notes(self) -> list[str]:
        """What a reader has to know, in sentences."""
        cells = count(self.cells + self.empty_cells, "pair")
        pairs = count(self.pairs, "judged pair")
        found = {
            f"{self.empty_slices:,} of {count(self.slices, 'slice')} without a relevant document, "
            "in no average": self.empty_slices,
            f"{self.empty_cells:,} of {cells} of query and slice without a relevant document, in "
            "no average": self.empty_cells,
            f"{self.empty_queries:,} of {count(self.queries, 'judged query')} without a relevant "
            "document in any slice, left out": self.empty_queries,
            f"{self.outside:,} of {pairs} outside all slices": self.outside,
            f"{count(self.untimed, 'judged pair')} without a time, left out": self.untimed,
            f"{self.several:,} of {pairs} with several assessors, who disagree on relevance in "
            f"{self.disagree:,} and on the grade alone in {self.differ:,}": self.several,
        }
        return [note for note, number in found.items() if number]


def judged_ledger(pairs: TopicSlices) -> JudgedLedger:
    """Count what the judgements give."""
    qrels, slices = pairs.qrels, pairs.slices
    with_relevant = len(pairs.queries)
    return JudgedLedger(
        queries=len(qrels.query_ids),
        empty_queries=len(qrels.query_ids) - with_relevant,
        slices=len(slices),
        empty_slices=len(slices) - len(np.unique(pairs.slice)),
        cells=len(pairs),
        empty_cells=with_relevant * len(slices) - len(pairs),
        pairs=qrels.ledger.pairs,
        outside=int((slices.of(qrels.times) < 0).sum()),
        several=qrels.ledger.several,
        disagree=qrels.ledger.disagree,
        differ=qrels.ledger.differ,
        untimed=qrels.ledger.untimed,
    )


def relevance_notes(
    qrels: TimedQrels, measures: Sequence[Measure], graded: bool | None
) -> list[str]:
    """Whether grades count, in a sentence; nothing is to say where all relevant have the same."""
    relevant = qrels.relevance[qrels.relevance > 0]
    if not len(relevant) or relevant.min() == relevant.max():
        return []
    grades = f"grades {relevant.min()} to {relevant.max()}"
    counting = [str(each) for each in measures if uses_grades(each, graded)]
    if len(counting) == len(measures):
        return [f"relevance is graded: {grades} count as such"]
    but = f", but for {', '.join(counting)}" if counting else ""
    return [f"relevance is binary: {grades} count alike{but} (--graded lets them count)"]


class RunLedger(NamedTuple):
    """What a run gave: its lines, and the documents that are in no measured cell.

    ``outside`` documents are in no slice, ``elsewhere`` in one without relevant documents for
    their query, ``unjudged`` of queries that nobody judged, ``untimed`` without a time.
    ``silent`` cells of all ``cells`` got no document and score 0. ``judged`` of the measured
    documents are judged; where none is, ``alike`` shows an id of the run and one of a judgement.
    """

    run: str
    lines: int
    measured: int
    judged: int
    elsewhere: int
    outside: int
    unjudged: int
    unjudged_queries: int
    untimed: int
    cells: int
    silent: int
    examples: tuple[str, ...]
    alike: tuple[str, str]

    def notes(self) -> list[str]:
        """What a reader has to know, in sentences."""
        if not self.lines:
            return ["the run returned nothing and scores 0"]
        notes = []
        if self.unjudged:
            more = " …" if self.unjudged_queries > len(self.examples) else ""
            notes.append(
                f"{self.unjudged:,} of {count(self.lines, 'document')} left out, of "
                f"{count(self.unjudged_queries, 'query')} that nobody judged: "
                f"{', '.join(self.examples)}{more}"
            )
        if self.untimed:
            notes.append(f"{count(self.untimed, 'document')} without a time, left out")
        if self.outside:
            notes.append(f"{count(self.outside, 'document')} outside all slices, left out")
        if self.silent:
            notes.append(
                f"it returned nothing in {self.silent:,} of {count(self.cells, 'pair')} of query "
                "and slice, which score 0"
            )
        return notes


def none_judged_notes(ledgers: Iterable[RunLedger]) -> list[str]:
    """One question for all runs of which no document is judged."""
    strange = [ledger for ledger in ledgers if ledger.measured and not ledger.judged]
    if not strange:
        return []
    ours, theirs = strange[0].alike
    ids = f"{strange[0].run} has '{ours}', the judgements '{theirs}'"
    documents = sum(ledger.measured for ledger in strange)
    return [none_judged([ledger.run for ledger in strange], documents, ids)]


def empty_notes(ledgers: Iterable[RunLedger], measures: Sequence[Measure]) -> list[str]:
    """What silence scores under measures on which 0 is not the least."""
    if not any(ledger.silent for ledger in ledgers):
        return []
    return [
        f"{each} is {each.empty:g} where a run returned nothing".replace("-", "−")
        for each in measures
        if isinstance(each, RescaledAUC)
    ]


def none_judged(runs: Sequence[str], documents: int, hint: str) -> str:
    """The question why none of the documents of some runs is judged."""
    whose = "its" if len(runs) == 1 else "their"
    more = f" and {len(runs) - 3} more" if len(runs) > 3 else ""
    return (
        f"{', '.join(runs[:3])}{more}: none of {whose} {count(documents, 'document')} is judged. "
        f"Are ids written alike? {hint}"
    )


def run_ledger(
    run: Run, skipped: Skipped, pair: Ints, rankings: Rankings, pairs: TopicSlices
) -> RunLedger:
    """Count what a run gave: ``pair`` is that of each of its documents that could be used."""
    outside, elsewhere = (int((pair == code).sum()) for code in (-2, -1))
    return RunLedger(
        run=run.name,
        lines=skipped.lines,
        measured=len(pair) - outside - elsewhere,
        judged=len(rankings.rank),
        elsewhere=elsewhere,
        outside=outside,
        unjudged=skipped.unjudged,
        unjudged_queries=len(skipped.queries),
        untimed=skipped.untimed,
        cells=len(pairs),
        silent=int((rankings.retrieved == 0).sum()),
        examples=skipped.queries[:3],
        alike=("".join(run.rows["doc_id"].head(1)), str(pairs.qrels.doc_ids[0])),
    )
