"""Evaluations as tables, and as trec_eval prints them."""

from __future__ import annotations

from collections.abc import Sequence

from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.trec_names import trec_name
from citebed.evaluation.scoring.evaluating import Evaluation
from citebed.evaluation.scoring.ledger import Ledger
from citebed.evaluation.scoring.run_scores import Resampling, RunScores
from citebed.report.grid import Grid


def scores_grid(found: Evaluation, resampling: Resampling | None) -> Grid:
    """Runs down, measures across, each with its interval."""
    rows = [
        [scores.run, str(scores.ledger.measured), *map(str, summaries)]
        for scores, summaries in zip(found.runs, found.summaries(resampling), strict=True)
    ]
    return Grid(["run", "queries", *map(str, found.measures)], rows)


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


def trec_eval_text(scores: RunScores, per_query: bool) -> str:
    """The lines of the trec_eval program: measure, query, value."""
    lines = []
    if per_query:
        for at, query in enumerate(scores.query_ids.to_list()):
            lines += [
                _trec_line(measure, query, values[at])
                for measure, values in zip(scores.measures, scores.values, strict=True)
                if measure.NAME != "NumQ" and measure.SUMMARY != "geometric mean"
            ]
    lines.append(f"{'runid':<22}\tall\t{scores.tag or scores.run}\n")
    lines += [
        _trec_line(measure, "all", measure.summary(values))
        for measure, values in zip(scores.measures, scores.values, strict=True)
    ]
    return "".join(lines)


def _trec_line(measure: Measure, query: str, value: float) -> str:
    shown = f"{value:.0f}" if measure.SUMMARY == "sum" else f"{value:6.4f}"
    return f"{trec_name(measure):<22}\t{query}\t{shown}\n"
