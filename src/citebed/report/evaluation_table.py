"""Evaluations as tables, and as trec_eval prints them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.trec_names import trec_name
from citebed.evaluation.scoring.evaluating import RunScores
from citebed.evaluation.scoring.ledger import Ledger
from citebed.evaluation.scoring.summaries import Summary
from citebed.report.grid import Grid


def scores_grid(runs: Sequence[tuple[Ledger, Sequence[Summary]]]) -> Grid:
    """Runs down, measures across, each with its interval."""
    head = ["run", "queries", *(str(s.measure) for s in runs[0][1])]
    rows = [
        [ledger.run, str(ledger.measured), *(summary_cell(summary) for summary in summaries)]
        for ledger, summaries in runs
    ]
    return Grid(head, rows)


def summary_cell(summary: Summary) -> str:
    """``0.2950 [0.2571, 0.3336]``; counts as whole numbers."""
    if summary.measure.SUMMARY == "sum":
        return f"{summary.value:.0f}"
    if math.isnan(summary.low):
        return f"{summary.value:.4f}"
    return f"{summary.value:.4f} [{summary.low:.4f}, {summary.high:.4f}]"


def queries_grid(scores: RunScores) -> Grid:
    """A run's scores: queries down, measures across."""
    head = [f"{scores.run}, query", *map(str, scores.measures)]
    rows = [
        [query, *(f"{value:.4f}" for value in scores.values[:, at])]
        for at, query in enumerate(scores.query_ids.to_list())
    ]
    return Grid(head, rows)


def ledger_grid(ledgers: Sequence[Ledger]) -> Grid:
    """Of the documents each measure looks at, how many nobody judged."""
    head = ["unjudged documents", *(m.measure for m in ledgers[0].measures)]
    rows = [
        [
            ledger.run,
            *(
                f"{m.unjudged} of {m.looked_at} ({m.unjudged / max(m.looked_at, 1):.0%})"
                for m in ledger.measures
            ),
        ]
        for ledger in ledgers
    ]
    return Grid(head, rows)


def trec_eval_text(scores: RunScores, tag: str, per_query: bool) -> str:
    """The lines of the trec_eval program: measure, query, value."""
    lines = []
    if per_query:
        for at, query in enumerate(scores.query_ids.to_list()):
            lines += [
                _trec_line(measure, query, values[at])
                for measure, values in zip(scores.measures, scores.values, strict=True)
                if measure.NAME != "NumQ" and measure.SUMMARY != "geometric mean"
            ]
    lines.append(f"{'runid':<22}\tall\t{tag}\n")
    lines += [
        _trec_line(measure, "all", measure.summary(values))
        for measure, values in zip(scores.measures, scores.values, strict=True)
    ]
    return "".join(lines)


def _trec_line(measure: Measure, query: str, value: float) -> str:
    shown = f"{value:.0f}" if measure.SUMMARY == "sum" else f"{value:6.4f}"
    return f"{trec_name(measure):<22}\t{query}\t{shown}\n"
