"""Report on an evaluation as one HTML page: tables, interval plots, queries, and coverage."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from citebed.evaluation.scoring.run_scores import have_same_queries
from citebed.evaluation.scoring.study import Study
from citebed.report.evaluation_figures import by_query, interval_svg, measure_means, numbers
from citebed.report.evaluation_tables import (
    COUNTS,
    comparison_notes,
    comparison_table,
    scores_table,
    ties_table,
    unjudged_table,
)
from citebed.report.figure_style import FileNames
from citebed.report.page import PageFigure, make_page_figure, render
from citebed.report.tables import build_table
from citebed.runs.query_files import queries_beside, query_texts
from citebed.runs.ranking import Ranked, SortedQrels, encode_values, rank
from citebed.runs.tables import Ints
from citebed.wording import count

DEPTH = 20
"""The number of documents per ranking."""

BUDGET = 2_400_000
"""Bytes of data: with them a page stays under 3 MB."""

UNJUDGED = -1
_RELEVANT = 50
_BLOCK = 250
_LONGEST = 4_000

Titles = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns the known titles of documents."""


def no_titles(documents: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG001
    """Return no titles."""
    return {}


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
    plan, evaluation, resampling = study.plan, study.evaluation, study.plan.resampling
    values: dict[str, Any] = {
        "facts": _facts(study),
        "scores": scores_table(evaluation, study.summaries),
        "averaged": (
            "Means are over all judged queries; a query that a run lacks counts 0."
            if plan.settings.complete
            else "Means are over the queries that are judged and in the run."
        ),
        "level": f"{resampling.level:.0%}",
        "seed": resampling.seed,
        "drawn": "queries" if resampling.cluster is None else "whole clusters of queries",
        "plots": _interval_plots(study),
        "query_data": None,
    }
    if study.comparisons:
        sections["comparison"] = "Comparison"
        values["comparison"] = comparison_table(study.comparisons, plan.design)
        values["comparison_notes"] = comparison_notes(study.comparisons, plan.design.alpha)
    if by_query(evaluation.measures):
        sections["by-query"] = "Query by query"
        queries = query_data(study, front.texts, front.titles, front.budget)
        if queries.shown < queries.total:
            which = (
                f"The page has the {queries.shown:,} of {queries.total:,} queries whose scores "
                "differ most between the runs, because it would become too large with all (the "
                "tables above cover all)"
            )
        elif queries.total == 1:
            which = "The query is here"
        else:
            which = f"All {queries.total:,} queries are here"
        values["which_queries"], values["depth"] = which, DEPTH
        values["alone"] = len(queries.data["runs"]) == 1
        values["query_data"] = queries.data
    sections["ledger"] = "Coverage: judged queries, unjudged documents, ties"
    coverage = [scores.ledger for scores in evaluation.runs]
    notes = [f"{ledger.run}: {note}." for ledger in coverage for note in ledger.notes()]
    if not have_same_queries(evaluation.runs):
        notes.append(
            "The runs cover different queries; use --complete to average over all judged queries."
        )
    values["notes"] = notes or [
        "Every judged query is in every run, every query of the runs is judged and has a "
        "relevant document, and no tie between scores crosses relevance."
    ]
    values["ledger"] = [
        build_table(COUNTS, coverage, "Queries, documents and ties"),
        unjudged_table(coverage),
        *([ties_table(coverage)] if any(of.ties for of in coverage) else []),
    ]
    return render(
        "evaluation.html.j2", sections, ("tables.js", "queries.js"), title=front.title,
        command=front.command, back=front.back, libraries=("numpy", "polars", "scipy"), **values,
    )  # fmt: skip


def _facts(study: Study) -> list[str]:
    judged = study.qrels
    grades, counts = np.unique(judged.relevance, return_counts=True)
    each = ", ".join(f"grade {g}: {n:,}" for g, n in zip(grades, counts, strict=True))
    queries, relevant = len(judged.query_ids), int((judged.relevance > 0).sum())
    facts = [
        f"Judgements {judged.name}: {count(queries, 'query')}, "
        f"{count(len(judged.relevance), 'document')} judged, {relevant:,} of them relevant "
        f"({each}), {relevant / max(queries, 1):.1f} per query."
    ]
    for run in study.runs:
        queries = run.table["query_id"].n_unique()
        facts.append(
            f"Run {run.name}: {count(run.table.height, 'document')} for "
            f"{count(queries, 'query')}, "
            f"{run.table.height / max(queries, 1):,.0f} per query."
        )
    return facts


def _interval_plots(study: Study) -> list[PageFigure]:
    """Plot the runs' means with their intervals, per measure."""
    names = FileNames()
    baseline = study.plan.design.baseline if len(study.runs) > 1 else None
    means = measure_means([run.name for run in study.runs], study.summaries)
    plots = []
    for at, (measure, of_runs) in enumerate(means.items()):
        values = "; ".join(f"{mean.run} {numbers(mean)}" for mean in of_runs)
        alt_text = f"{measure}, means with intervals: {values}"
        svg = interval_svg(str(measure), of_runs, baseline)
        file = names("intervals", str(measure))
        plots.append(make_page_figure(svg, f"plot{at}", alt_text, str(measure), file))
    return plots


# --- data of single queries: rankings with grades, and texts --------------------------------


def titles_around(qrels: Path, collection: Path | None = None) -> Titles:
    """Return a function that finds titles in the collection, by default the judgements' own."""
    around = Path(os.path.realpath(qrels)).parent.parent
    folder = collection or (around if (around / "citebed.toml").is_file() else None)
    if folder is None:
        return no_titles
    from citebed.collection import open_collection

    opened = open_collection(folder)

    def titles(documents: Sequence[str]) -> Mapping[str, str]:
        wanted = pl.col("doc_id").is_in(list(documents))
        titled = opened.scan_documents().filter(wanted).select("doc_id", "title").collect()
        return {name: title for name, title in titled.iter_rows() if title}

    return titles


def texts_beside(qrels: Path, queries: Path | None = None) -> dict[str, str]:
    """Return the texts of queries from a file, by default in the judgements' collection."""
    source = queries or queries_beside(qrels)
    return query_texts(source) if source else {}


@dataclass(frozen=True, eq=False)
class QueryData:
    """The data for the page's script, with the numbers of included and of all queries."""

    data: dict[str, Any]
    shown: int
    total: int


def query_data(
    study: Study, texts: Mapping[str, str], titles: Titles, budget: int = BUDGET
) -> QueryData:
    """Collect the rankings of queries, those with the largest differences first.

    Documents are named once and then numbered. Queries are added until the data has ``budget``
    bytes. A query has its ``id`` and ``text``, ``v`` its scores, ``d`` documents, ``g`` grades,
    ``k`` ranks by run (0 where a run lacks the document), ``s`` the scores of each run's first
    documents in rank order, and ``r`` the number of its relevant documents.
    """
    judged, measures = study.qrels.query_ids, study.evaluation.measures
    # Scores by run, measure and judged query; nan for queries that were not scored.
    values = np.full((len(study.runs), len(measures), len(judged)), np.nan)
    for at, scores in enumerate(study.evaluation.runs):
        values[at][:, encode_values(scores.query_ids, judged)] = scores.values
    values = values[:, by_query(measures)]
    largest = np.fmax.reduce(np.fmax.reduce(values, axis=0) - np.fmin.reduce(values, axis=0))
    order = np.argsort(-largest, kind="stable")
    order = order[~np.isnan(largest[order])]
    ranked = [rank(run, study.plan.settings.score_type) for run in study.runs]
    queries: list[dict[str, Any]] = []
    numbers_of: dict[str, int] = {}
    known_titles: list[str] = []
    size = 0
    for start in range(0, len(order), _BLOCK):
        chosen = order[start : start + _BLOCK]
        shown = _shown_documents(study.qrels, ranked, chosen)
        found = titles(shown["doc_id"].unique(maintain_order=True).to_list())
        parts = shown.partition_by("query", as_dict=True, maintain_order=True)
        for query in chosen.tolist():
            if size > budget:
                break
            columns = parts.get((query,), shown.clear()).to_dict(as_series=False)
            for doc_id in columns["doc_id"]:
                if doc_id not in numbers_of:
                    numbers_of[doc_id] = len(numbers_of)
                    known_titles.append(_shorten(found.get(doc_id, "")))
                    size += _size(doc_id) + _size(known_titles[-1]) + 6
            name, scores_by_run = judged[query], values[:, :, query].tolist()
            first_scores = []
            for at in range(len(ranked)):
                pairs = zip(columns[f"rank{at}"], columns[f"score{at}"], strict=True)
                first = sorted(pair for pair in pairs if 0 < pair[0] <= DEPTH)
                first_scores.append([float(f"{score:.6g}") for _, score in first])
            entry = {
                "id": name,
                "text": _shorten(texts.get(name, "")),
                "r": next(iter(columns["relevant"]), 0),
                "v": [[None if isnan(x) else round(x, 4) for x in run] for run in scores_by_run],
                "d": [numbers_of[doc_id] for doc_id in columns["doc_id"]],
                "g": columns["grade"],
                "k": [columns[f"rank{at}"] for at in range(len(ranked))],
                "s": first_scores,
            }
            size += _size(json.dumps(entry, ensure_ascii=False, separators=(",", ":")))
            queries.append(entry)
        if size > budget:
            break
    data = {
        "runs": [run.name for run in study.runs],
        "base": study.base,
        "measures": [str(measures[at]) for at in by_query(measures)],
        "depth": DEPTH,
        "documents": list(numbers_of),
        "titles": known_titles if any(known_titles) else [],
        "queries": queries,
    }
    return QueryData(data, len(queries), len(order))


def _shown_documents(judged: SortedQrels, ranked: Sequence[Ranked], chosen: Ints) -> pl.DataFrame:
    """Return one row per query and document to show: grade, and rank and score in each run.

    These are the first documents of every run, and the documents with the highest grades.
    """
    rows = np.flatnonzero(np.isin(judged.query, chosen))
    judgements = pl.DataFrame(
        {
            "query": judged.query[rows],
            "doc_id": judged.doc_ids.gather(rows),
            "grade": judged.relevance[rows],
            "place": (np.arange(len(judged.relevance)) - judged.starts[judged.query])[rows],
        }
    )
    lists = [_ranking(one, judged.query_ids, chosen) for one in ranked]
    pairs = [rows.filter(pl.col("rank") <= DEPTH).select("query", "doc_id") for rows in lists]
    relevant = judgements.filter((pl.col("grade") > 0) & (pl.col("place") < _RELEVANT))
    shown = pl.concat([*pairs, relevant.select("query", "doc_id")]).unique(maintain_order=True)
    for at, ranking in enumerate(lists):
        renamed = ranking.rename({"rank": f"rank{at}", "score": f"score{at}"})
        shown = shown.join(renamed, on=["query", "doc_id"], how="left", maintain_order="left")
    counts = judgements.group_by("query").agg((pl.col("grade") > 0).sum().alias("relevant"))
    return (
        shown.join(
            judgements.drop("place"), on=["query", "doc_id"], how="left", maintain_order="left"
        )
        .join(counts, on="query", how="left", maintain_order="left")
        .with_columns(
            pl.col("grade").fill_null(UNJUDGED).clip(UNJUDGED), pl.col("^rank\\d+$").fill_null(0)
        )
    )


def _ranking(ranked: Ranked, query_ids: pl.Series, chosen: Ints) -> pl.DataFrame:
    """Return a run's ranking of the chosen queries: query, doc_id, rank, score."""
    codes = encode_values(ranked.query_ids, query_ids)
    groups = np.flatnonzero(np.isin(codes, chosen))
    lengths = ranked.lengths[groups]
    places = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = np.repeat(ranked.starts[groups], lengths) + places
    return pl.DataFrame(
        {
            "query": np.repeat(codes[groups], lengths),
            "doc_id": ranked.ids_at(rows),
            "rank": places + 1,
            "score": ranked.scores[rows],
        }
    )


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
