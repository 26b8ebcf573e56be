"""Report on an evaluation as one HTML page: tables, interval plots, queries, and coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from citebed.evaluation.scoring.coverage import Coverage
from citebed.evaluation.scoring.evaluation import Evaluation
from citebed.evaluation.scoring.run_scores import have_same_queries
from citebed.evaluation.scoring.study import Study
from citebed.report.evaluation.figures import by_query, interval_svg, measure_means, numbers
from citebed.report.evaluation.queries import (
    BUDGET,
    DEPTH,
    QueryData,
    Titles,
    no_titles,
    query_data,
)
from citebed.report.evaluation.table import (
    COUNTS,
    comparison_notes,
    comparison_table,
    scores_table,
    ties_table,
    unjudged_table,
)
from citebed.report.figure_style import FileNames
from citebed.report.html.inline_svg import Figure, figure_of
from citebed.report.html.page import render
from citebed.report.tables import Table, build_table
from citebed.wording import count


@dataclass(frozen=True, kw_only=True)
class Front:
    """The title of a page, the ``command`` that made it, and texts to show beside ids.

    ``budget`` limits the characters of data per query. ``back`` is the address and text of a link
    back, for pages that are served.
    """

    title: str
    command: str
    texts: Mapping[str, str] = field(default_factory=dict)
    titles: Titles = no_titles
    budget: int = BUDGET
    back: tuple[str, str] | None = None


def evaluation_page(study: Study, front: Front) -> str:
    """Return the page as self-contained HTML; a single run has no comparisons."""
    sections = {"data": "Data", "scores": "Scores"}
    values: dict[str, Any] = {"query_data": None, **_scores(study)}
    if study.comparisons:
        sections["comparison"] = "Comparison"
        values["comparison"] = comparison_table(study.comparisons, study.plan.design)
        values["comparison_notes"] = comparison_notes(study.comparisons, study.plan.design.alpha)
    if by_query(study.evaluation.measures):
        sections["by-query"] = "Query by query"
        values |= _by_query(query_data(study, front.texts, front.titles, front.budget))
    sections["ledger"] = "What the scores rest on"
    ledgers = [scores.ledger for scores in study.evaluation.runs]
    return render(
        "evaluation.html.j2", sections, ("tables.js", "queries.js"),
        title=front.title, command=front.command, back=front.back,
        libraries=("numpy", "polars", "scipy"), facts=_facts(study),
        notes=_notes(study.evaluation), ledger=_ledger(ledgers), **values,
    )  # fmt: skip


# --- data and scores ------------------------------------------------------------------------


def _facts(study: Study) -> list[str]:
    judged = study.qrels
    grades, counts = np.unique(judged.relevance, return_counts=True)
    each = ", ".join(f"grade {g}: {n:,}" for g, n in zip(grades, counts, strict=True))
    queries, relevant = len(judged.query_ids), int((judged.relevance > 0).sum())
    facts = [
        f"Judgements {judged.name}: {count(queries, 'query')}, "
        f"{count(len(judged.relevance), 'document')} judged, {relevant:,} of them relevant "
        f"({each}), {relevant / max(queries, 1):.1f} a query."
    ]
    for run in study.runs:
        queries = run.table["query_id"].n_unique()
        facts.append(
            f"Run {run.name}: {count(run.table.height, 'document')} for "
            f"{count(queries, 'query')}, "
            f"{run.table.height / max(queries, 1):,.0f} a query."
        )
    return facts


def _scores(study: Study) -> dict[str, Any]:
    resampling = study.plan.resampling
    return {
        "scores": scores_table(study.evaluation, study.summaries),
        "averaged": (
            "Means are over all judged queries; one that a run lacks counts 0."
            if study.plan.settings.complete
            else "Means are over the queries that are judged and in the run."
        ),
        "level": f"{resampling.level:.0%}",
        "seed": resampling.seed,
        "drawn": "queries" if resampling.clusters is None else "whole clusters of queries",
        "plots": _interval_plots(study),
    }


def _interval_plots(study: Study) -> list[Figure]:
    """Plot the runs' means with their intervals, per measure."""
    names = FileNames()
    baseline = study.plan.design.baseline if len(study.runs) > 1 else None
    means = measure_means([run.name for run in study.runs], study.summaries)
    plots = []
    for at, (measure, of_runs) in enumerate(means.items()):
        said = "; ".join(f"{mean.run} {numbers(mean)}" for mean in of_runs)
        says = f"{measure}, means with intervals: {said}"
        drawn = interval_svg(str(measure), of_runs, baseline)
        file = names("intervals", str(measure))
        plots.append(figure_of(drawn, f"plot{at}", says, str(measure), file))
    return plots


# --- query by query -------------------------------------------------------------------------


def _by_query(queries: QueryData) -> dict[str, Any]:
    which = (
        ("The query is here" if queries.total == 1 else f"All {queries.total:,} queries are here")
        if queries.shown == queries.total
        else f"Of {queries.total:,} queries the {queries.shown:,} whose scores differ most between "
        "the runs are here, for the page would grow too large with all (the tables above are "
        "of all)"
    )
    alone = len(queries.data["runs"]) == 1
    return {"which_queries": which, "alone": alone, "depth": DEPTH, "query_data": queries.data}


# --- ledger ---------------------------------------------------------------------------------


def _notes(evaluation: Evaluation) -> list[str]:
    ledgers = [scores.ledger for scores in evaluation.runs]
    notes = [f"{ledger.run}: {note}." for ledger in ledgers for note in ledger.notes()]
    if not have_same_queries(evaluation.runs):
        notes.append(
            "The runs cover different queries; use --complete to average over all judged queries."
        )
    return notes or [
        "Every judged query is in every run, every query of the runs is judged and has a "
        "relevant document, and no tie between scores crosses relevance."
    ]


def _ledger(ledgers: Sequence[Coverage]) -> list[Table]:
    """Return tables of counts and unjudged documents and, if there are ties, of their influence."""
    tables = [build_table(COUNTS, ledgers, "Queries, documents and ties"), unjudged_table(ledgers)]
    return [*tables, ties_table(ledgers)] if any(of.ties for of in ledgers) else tables
