"""The ledger of a timeline: what its scores rest on, and what was left out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from citebed.timeline.cells import Cells
from citebed.timeline.placing import Placing
from citebed.timeline.streams import Skipped


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
    untimed: int

    def notes(self) -> list[str]:
        """What a reader has to know, in sentences."""
        found = [
            f"{self.empty_slices} of {self.slices} slices have no relevant document and are in "
            "no average"
            if self.empty_slices
            else "",
            f"{self.empty_cells} of {self.cells + self.empty_cells} pairs of query and slice "
            "have no relevant document and are in no average"
            if self.empty_cells
            else "",
            f"{self.empty_queries} of {self.queries} judged queries have no relevant document "
            "in any slice and are left out"
            if self.empty_queries
            else "",
            f"{self.outside} of {self.pairs} judged pairs are outside all slices"
            if self.outside
            else "",
            f"{self.untimed} judged pairs have no time and are left out" if self.untimed else "",
            f"{self.several} of {self.pairs} judged pairs have several assessors, who disagree "
            f"on {self.disagree}"
            if self.several
            else "",
        ]
        return [note for note in found if note]


def judged_ledger(cells: Cells) -> JudgedLedger:
    """Count what the judgements give."""
    truth, queries = cells.truth, len(cells.truth.judged.query_ids)
    with_relevant = len(cells.queries)
    return JudgedLedger(
        queries=queries,
        empty_queries=queries - with_relevant,
        slices=len(cells.slices),
        empty_slices=len(cells.slices) - len(np.unique(cells.slice)),
        cells=len(cells),
        empty_cells=with_relevant * len(cells.slices) - len(cells),
        pairs=truth.ledger.pairs,
        outside=int((cells.slices.of(truth.times) < 0).sum()),
        several=truth.ledger.several,
        disagree=truth.ledger.disagree,
        untimed=truth.ledger.untimed,
    )


class RunLedger(NamedTuple):
    """What a run gave: its lines, and the documents that are in no measured cell.

    ``outside`` documents are in no slice, ``elsewhere`` in one without relevant documents for
    their query, ``unjudged`` of queries that nobody judged, ``untimed`` without a time.
    ``silent`` cells of all ``cells`` got no document and score 0.
    """

    run: str
    lines: int
    measured: int
    elsewhere: int
    outside: int
    unjudged: int
    unjudged_queries: int
    untimed: int
    cells: int
    silent: int
    examples: tuple[str, ...]

    def row(self) -> dict[str, Any]:
        """As a flat row."""
        return {name: value for name, value in self._asdict().items() if name != "examples"}

    def notes(self) -> list[str]:
        """What a reader has to know, in sentences."""
        if not self.lines:
            return ["the run returned nothing and scores 0"]
        notes = []
        if self.unjudged:
            more = " …" if self.unjudged_queries > len(self.examples) else ""
            notes.append(
                f"{self.unjudged:,} of {self.lines:,} documents are of {self.unjudged_queries} "
                f"queries that nobody judged and are left out: {', '.join(self.examples)}{more}"
            )
        if self.untimed:
            notes.append(f"{self.untimed:,} documents have no time and are left out")
        if self.outside:
            notes.append(f"{self.outside:,} documents are outside all slices and are left out")
        if self.silent:
            notes.append(
                f"it returned nothing in {self.silent} of {self.cells} pairs of query and slice, "
                "which score 0"
            )
        return notes


def run_ledger(run: str, placing: Placing, silent: int, skipped: Skipped) -> RunLedger:
    """Count what a run gave."""
    left_out = skipped.unjudged + skipped.untimed + placing.early_or_late + placing.elsewhere
    return RunLedger(
        run=run,
        lines=skipped.lines,
        measured=skipped.lines - left_out,
        elsewhere=placing.elsewhere,
        outside=placing.early_or_late,
        unjudged=skipped.unjudged,
        unjudged_queries=len(skipped.queries),
        untimed=skipped.untimed,
        cells=len(placing.cells),
        silent=silent,
        examples=tuple(sorted(skipped.queries)[:3]),
    )
