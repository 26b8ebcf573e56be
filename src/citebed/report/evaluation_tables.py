"""Tables of scores, coverage and comparisons, and output in trec_eval's format."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from citebed.evaluation.measures import MEASURES
from citebed.evaluation.measures.base import Measure, parameters
from citebed.evaluation.measures.trec_names import TREC_MEASURES, line_text, trec_name
from citebed.evaluation.scoring.coverage import Coverage, MeasureCoverage
from citebed.evaluation.scoring.evaluation import Evaluation
from citebed.evaluation.scoring.run_scores import RunScores, Summary
from citebed.report.tables import (
    DAGGER,
    Cell,
    Column,
    Table,
    build_table,
    interval,
    legend,
    number,
    p_text,
    text_table,
)
from citebed.wording import count

if TYPE_CHECKING:  # only comparisons need these at run time
    from citebed.evaluation.options import Design
    from citebed.evaluation.scoring.comparison import Comparison
    from citebed.evaluation.scoring.machine import MachineScore


def scores_table(evaluation: Evaluation, summaries: Sequence[Sequence[Summary]]) -> Table:
    """Make a table of runs by measures, with intervals."""
    columns = [
        Column("run", lambda of: of[0].run, left=True),
        Column("queries", lambda of: of[0].ledger.measured),
        *(
            Column(
                str(measure), partial(lambda at, of: _summary(of[1][at]), at), title=about(measure)
            )
            for at, measure in enumerate(evaluation.measures)
        ),
    ]
    runs = zip(evaluation.runs, summaries, strict=True)
    return build_table(columns, runs, "Means of the runs, with their intervals")


def _summary(summary: Summary) -> Cell:
    how = ".0f" if summary.measure.SUMMARY == "sum" else ".4f"
    return interval(summary.value, summary.low, summary.high, how)


def about(measure: Measure) -> str:
    """Describe a measure in a line, with its summary if that is not the mean."""
    first = (type(measure).__doc__ or "").strip().split("\n")[0]
    return first if measure.SUMMARY == "mean" else f"{first} ({measure.SUMMARY} over queries)"


def queries_table(
    run: str, query_ids: Iterable[str], heads: Iterable[str], scores: Iterable[Iterable[float]]
) -> Table:
    """Make a table of a run's scores, queries by measures (and weightings)."""
    columns = ([f"{value:.4f}" for value in values] for values in scores)
    return text_table([f"{run}, query", *heads], zip(query_ids, *columns, strict=True))


# --- coverage -------------------------------------------------------------------------------

COUNTS = (
    Column("run", "run", left=True),
    Column("judged", "judged", ",", "queries with judgements"),
    Column("in run", "in_run", ",", "queries in the run"),
    Column("measured", "measured", ",", "queries in the means"),
    Column("missing", "missing", ",", "judged queries that the run lacks"),
    Column("not judged", "unjudged", ",", "queries of the run without judgements"),
    Column(
        "none relevant", "without_relevant", ",",
        "measured queries to which no document is relevant",
    ),
    Column("documents", "retrieved", ",", "retrieved for judged queries"),
    Column(
        "ties", "ties", ",", "groups of equal scores whose documents differ in relevance"
    ),
    Column("documents tied", "tied", ","),
)  # fmt: skip


def unjudged_table(ledgers: Sequence[Coverage]) -> Table:
    """Make a table of the unjudged documents within each measure's cut-off."""
    what = "Unjudged documents within each measure's cut-off"
    return _by_measure(ledgers, _unjudged, what, "unjudged documents")


def ties_table(ledgers: Sequence[Coverage]) -> Table:
    """Make a table of each measure's means with ties in the worst and best order."""
    what = "Means if ties were put in the worst and in the best order"
    return _by_measure(
        ledgers,
        lambda of: Cell(f"{of.lowest:.4f} to {of.highest:.4f}", value=of.highest - of.lowest),
        what,
    )


def _by_measure(
    ledgers: Sequence[Coverage],
    cell: Callable[[MeasureCoverage], Cell],
    caption: str,
    short: str | None = None,
) -> Table:
    columns = [
        Column("run", "run", left=True, short=short),
        *(
            Column(each.measure, partial(lambda at, of: cell(of.measures[at]), at))
            for at, each in enumerate(ledgers[0].measures)
        ),
    ]
    return build_table(columns, ledgers, caption)


def _unjudged(of: MeasureCoverage) -> Cell:
    share = of.unjudged / max(of.looked_at, 1)
    line = f"{of.unjudged} of {of.looked_at} ({share:.0%})"
    return Cell(f"{share:.0%}", f"{of.unjudged:,} of {of.looked_at:,}", share, line=line)


# --- corrected scores -----------------------------------------------------------------------

CORRECTED = (
    Column("run", lambda of: of.run + (f" - {of.base}" if of.base else ""), left=True),
    Column("measure", "measure", left=True),
    Column("corrected", lambda of: interval(of.value, of.low, of.high)),
    Column("people alone", lambda of: interval(of.human, of.human_low, of.human_high)),
    Column("machine alone", lambda of: interval(of.machine, of.machine_low, of.machine_high)),
    Column("weight", "weight", ".2f", "weight of the machine's judgements, from 0 to 1"),
    Column("queries", lambda of: Cell(f"{of.drawn:,} of {of.queries:,}", value=of.drawn)),
)


def machine_table(scores: Iterable[MachineScore]) -> Table:
    """Make a table of corrected scores beside those of people alone and of the machine alone."""
    return build_table(CORRECTED, scores, "Scores from human and machine judgements")


# --- as trec_eval ---------------------------------------------------------------------------


def trec_eval_text(
    scores: RunScores, per_query: bool, switches: Mapping[str, Any] | None = None
) -> str:
    """Write scores as trec_eval does: measure, query, value.

    ``switches`` are trec_eval's switches, on which its names of measures depend.
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

COMPARISON = (
    Column("measure", "measure", left=True),
    Column("base", "base", left=True, kind="name"),
    Column("run", "run", left=True, kind="name"),
    Column("base's", "base_value", ".4f", short="base"),
    Column(
        "run's",
        lambda of: Cell(number(of.value, ".4f"), "", of.value, DAGGER if of.significant else " "),
        short="run",
    ),
    Column(
        "difference",
        lambda of: interval(of.difference, of.low, of.high, "+.4f"),
        title="run less base, with its interval",
    ),
    Column("d", "effect", "+.2f", "standardised difference"),
    Column(
        "w/t/l",
        lambda of: Cell(f"{of.wins}/{of.ties}/{of.losses}", value=of.wins - of.losses),
        title="queries won, tied, lost",
    ),
    Column("p", "p", p_text),
    Column("p adjusted", "p_adjusted", p_text),
    Column(
        "can show", "smallest", ".4f",
        "the smallest difference that this number of queries shows with 80% power",
    ),
)  # fmt: skip


def comparison_table(compared: Sequence[Comparison], design: Design | None = None) -> Table:
    """Make a table of comparisons; † marks significant differences.

    With a ``design``, columns that would be constant are left out: the base, and the corrected
    p-value without a correction.
    """
    same = set()
    against = ""
    if design and design.baseline:
        same.add("base")
        against = f" with {design.baseline}"
    if design and design.correction == "none":
        same.add("p adjusted")
    caption = f"Runs compared{against}, query by query; {DAGGER} marks significant differences"
    return build_table(
        [column for column in COMPARISON if column.head not in same], compared, caption
    )


def comparison_notes(compared: Sequence[Comparison], alpha: float) -> list[str]:
    """Return notes on the tests and the columns of a comparison table."""
    first = compared[0]
    units = {(of.queries, of.clusters) for of in compared}
    over = ", ".join(
        count(queries, "query")
        + (f" in {count(clusters, 'cluster')}" if clusters != queries else "")
        for queries, clusters in sorted(units)
    )
    if len(units) > 1:
        over += " (each pair over the queries that both runs have)"
    if first.correction == "tukey":
        how = "Tukey's test of all pairs, randomised, over the queries that all runs have"
    elif first.correction == "none":
        how = "not corrected for the number of comparisons"
    else:
        how = f"corrected by {first.correction} over the comparisons under one measure"
    lines = [
        f"{DAGGER} p < {alpha:g}; {first.test} test, paired by query, {how}; {over}",
        legend(COMPARISON, "d", "w/t/l", "can show"),
    ]
    effects = [of.design_effect for of in compared if not math.isnan(of.design_effect)]
    if effects:
        lines.append(
            f"design effect: clustering increases variances by factors of {min(effects):.2f} to "
            f"{max(effects):.2f}"
        )
    lines += sorted(
        {f"note: {of.measure}: {of.note}" for of in compared if of.note and "log" in of.note}
    )
    return lines


# --- Help on measures from their docstrings, for the terminal and the docs ------------------------


_CUTOFFS = {"none": "", "rank": "@k", "rank or R": "@k", "recall": "@x", "multiple": "@x"}


def as_written(kind: type[Measure]) -> str:
    """Return a measure's syntax: ``nDCG(dcg='log2',rel=1,judged_only=False)[@k]``."""
    inside = ", ".join(f"{field.name}={field.default!r}" for field in parameters(kind))
    cutoff = _CUTOFFS[kind.CUTOFF]
    return f"{kind.NAME}({inside})" + (cutoff if kind.NEEDS_CUTOFF or not cutoff else f"[{cutoff}]")


def measure_paragraphs(kind: type[Measure]) -> list[str]:
    """Return the paragraphs on a measure: description, formula, edge cases, and citation."""
    text = inspect.getdoc(kind) or ""
    parts = [part.replace("\n", " ").replace("``", "`") for part in text.split("\n\n")]
    return [*parts, *([f"{kind.CITATION}."] if kind.CITATION else [])]


def measure_page() -> str:
    """Return the documentation page of all measures."""
    parts = [
        "# Measures\n\nEvery measure with its formula, its edge cases and its source. "
        "`citebed measures` prints the same; `make docs` writes this page.\n\n"
        "citebed also accepts other common names, in any case, and trec_eval's names: "
        "`MAP` is AP, `MRR@10` is RR@10, `R-prec` is Rprec, `ROC-AUC` is AUC, `F1` is SetF, "
        "`recall@10` is R@10, `P10` is P@10, `hit@10` is Success@10.\n"
    ]
    for kind in MEASURES.values():
        parts.append(f"## {kind.NAME}\n\n`{as_written(kind)}`\n")
        parts += [f"{part}\n" for part in measure_paragraphs(kind)]
    return "\n".join(parts)


def trec_eval_name(kind: type[Measure]) -> str:
    """Return trec_eval's name of a measure without cut-off, or a dash."""
    for known in TREC_MEASURES:
        if known.kind is kind:
            return known.name
    return "–"
