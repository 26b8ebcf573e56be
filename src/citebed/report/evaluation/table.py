"""Evaluations and comparisons of runs as tables, and as trec_eval prints them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from citebed.evaluation.measures.trec_names import line_text, trec_name
from citebed.evaluation.scoring.evaluating import Evaluation
from citebed.evaluation.scoring.ledger import Ledger
from citebed.evaluation.scoring.run_scores import Resampling, RunScores
from citebed.report.grid import Grid, number, p_text
from citebed.wording import count

if TYPE_CHECKING:  # who prints no comparison does without them
    from citebed.evaluation.scoring.comparing import Comparison

DAGGER = "†"


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


def trec_eval_text(
    scores: RunScores, per_query: bool, switches: Mapping[str, Any] | None = None
) -> str:
    """The lines of the trec_eval program: measure, query, value.

    ``switches`` are those of the whole program, under which its names are its names.
    """
    labels = [trec_name(measure, switches) for measure in scores.measures]
    rows = list(zip(labels, scores.measures, scores.values, strict=True))
    lines = []
    if per_query:
        for at, query in enumerate(scores.query_ids.to_list()):
            lines += [
                line_text(label, query, measure, values[at])
                for label, measure, values in rows
                if measure.NAME != "NumQ" and measure.SUMMARY != "geometric mean"
            ]
    lines.append(f"{'runid':<22}\tall\t{scores.tag or scores.run}\n")
    lines += [
        line_text(label, "all", measure, measure.summary(values)) for label, measure, values in rows
    ]
    return "".join(lines)


# --- comparisons ----------------------------------------------------------------------------


def comparison_grid(found: Sequence[Comparison]) -> Grid:
    """A row a comparison; † where the difference is significant."""
    head = [
        "measure", "base", "run", "base", "run", "difference", "d", "w/t/l", "p", "p adjusted",
        "can show",
    ]  # fmt: skip
    return Grid(head, [_comparison_row(of) for of in found], frozenset({0, 1, 2}))


def _comparison_row(of: Comparison) -> list[str]:
    mark = DAGGER if of.significant else " "
    limits = "" if math.isnan(of.low) else f" [{of.low:+.4f}, {of.high:+.4f}]"
    return [
        of.measure,
        of.base,
        of.run,
        f"{of.base_value:.4f}",
        f"{of.value:.4f}{mark}",
        f"{of.difference:+.4f}{limits}",
        number(of.effect, "+.2f"),
        f"{of.wins}/{of.ties}/{of.losses}",
        p_text(of.p),
        p_text(of.p_adjusted),
        number(of.smallest, ".4f"),
    ]


def comparison_notes(found: Sequence[Comparison], alpha: float) -> list[str]:
    """How the table was made, and what its columns say."""
    first = found[0]
    units = {(of.queries, of.clusters) for of in found}
    over = ", ".join(
        count(queries, "query")
        + (f" in {count(clusters, 'cluster')}" if clusters != queries else "")
        for queries, clusters in sorted(units)
    )
    if first.correction == "tukey":
        how = "Tukey's test of all pairs, randomised"
    elif first.correction == "none":
        how = "not corrected for the number of comparisons"
    else:
        how = f"corrected by {first.correction} over the comparisons under one measure"
    lines = [
        f"{DAGGER} p < {alpha:g}; {first.test} test, paired by query, {how}; {over}",
        "d: standardised difference; w/t/l: queries won, tied, lost; can show: the smallest "
        "difference that so many queries show with 80% power",
    ]
    effects = [of.design_effect for of in found if not math.isnan(of.design_effect)]
    if effects:
        lines.append(
            f"queries of one cluster are alike: variances are {min(effects):.2f} to "
            f"{max(effects):.2f} times those of independent queries"
        )
    lines += sorted(
        {f"note: {of.measure}: {of.note}" for of in found if of.note and "log" in of.note}
    )
    return lines
