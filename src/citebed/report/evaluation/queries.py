"""Compact data for a page's view of single queries: rankings with grades, and texts.

Documents are named once and then numbered. If the data become too large for a page, the queries
whose scores differ most between the runs are kept.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from citebed.evaluation.scoring.study import Study
from citebed.report.evaluation.figures import by_query
from citebed.runs.query_files import queries_beside, query_texts
from citebed.runs.ranking import Ranked, SortedQrels, encode_values, rank
from citebed.runs.tables import Floats, Ints

DEPTH = 20
"""The number of documents per ranking."""

BUDGET = 2_400_000
"""Bytes of data: with them a page stays under 3 MB."""

_RELEVANT = 50
_BLOCK = 250
_LONGEST = 4_000
UNJUDGED = -1

Titles = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns the known titles of documents."""


def no_titles(documents: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG001
    """Return no titles."""
    return {}


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
    """Return the texts of queries from a file, by default that of the judgements' collection."""
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
    """Collect the rankings of queries, those with the largest differences first."""
    places = by_query(study.evaluation.measures)
    values = _values(study)[:, places]
    order = _by_spread(values)
    ranked = [rank(run, study.plan.settings.score_type) for run in study.runs]
    packed = _Packed(study.qrels.query_ids, texts, len(ranked))
    for first in range(0, len(order), _BLOCK):
        chosen = order[first : first + _BLOCK]
        shown = _shown(study.qrels, ranked, chosen)
        packed.titles.update(titles(shown["doc_id"].unique(maintain_order=True).to_list()))
        parts = shown.partition_by("query", as_dict=True, maintain_order=True)
        for query in chosen.tolist():
            if packed.size <= budget:
                packed.add(query, values[:, :, query], parts.get((query,), shown.clear()))
        if packed.size > budget:
            break
    data = {
        "runs": [run.name for run in study.runs],
        "base": study.base,
        "measures": [str(study.evaluation.measures[at]) for at in places],
        "depth": DEPTH,
        "documents": list(packed.documents),
        "titles": packed.title_list(),
        "queries": packed.queries,
    }
    return QueryData(data, len(packed.queries), len(order))


def _values(study: Study) -> Floats:
    """Return scores by run, measure and judged query; nan for queries that were not scored."""
    judged = study.qrels.query_ids
    whole = np.full((len(study.runs), len(study.evaluation.measures), len(judged)), np.nan)
    for at, scores in enumerate(study.evaluation.runs):
        whole[at][:, encode_values(scores.query_ids, judged)] = scores.values
    return whole


def _by_spread(values: Floats) -> Ints:
    """Sort the scored queries by the largest difference between two runs, descending."""
    apart = np.fmax.reduce(values, axis=0) - np.fmin.reduce(values, axis=0)
    largest = np.fmax.reduce(apart, axis=0)
    order = np.argsort(-largest, kind="stable")
    return np.asarray(order[~np.isnan(largest[order])], np.int64)


def _shown(judged: SortedQrels, ranked: Sequence[Ranked], chosen: Ints) -> pl.DataFrame:
    """Return one row per query and document to show: grade, and rank and score in each run.

    These are the first documents of every run, and the documents with the highest grades.
    """
    lists = [_ranking(one, judged.query_ids, chosen) for one in ranked]
    judgements = _judgements(judged, chosen)
    pairs = [rows.filter(pl.col("rank") <= DEPTH).select("query", "doc_id") for rows in lists]
    relevant = judgements.filter((pl.col("grade") > 0) & (pl.col("place") < _RELEVANT))
    shown = pl.concat([*pairs, relevant.select("query", "doc_id")]).unique(maintain_order=True)
    for at, rows in enumerate(lists):
        renamed = rows.rename({"rank": f"rank{at}", "score": f"score{at}"})
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


def _judgements(judged: SortedQrels, chosen: Ints) -> pl.DataFrame:
    """Return the chosen queries' judgements, each with its position by grade."""
    place = np.arange(len(judged.relevance)) - judged.starts[judged.query]
    rows = np.flatnonzero(np.isin(judged.query, chosen))
    return pl.DataFrame(
        {
            "query": judged.query[rows],
            "doc_id": judged.doc_ids.gather(rows),
            "grade": judged.relevance[rows],
            "place": place[rows],
        }
    )


class _Packed:
    """Queries in the script's format, and their numbered documents."""

    def __init__(self, query_ids: pl.Series, texts: Mapping[str, str], runs: int) -> None:
        self.queries: list[dict[str, Any]] = []
        self.documents: dict[str, int] = {}
        self.titles: dict[str, str] = {}
        self.size = 0
        self._ids, self._texts, self._runs = query_ids, texts, runs

    def add(self, query: int, values: Floats, rows: pl.DataFrame) -> None:
        """Add a query: ``v`` its scores, ``d`` documents, ``g`` grades, ``k`` ranks, ``s`` scores.

        ``k`` is 0 where a run lacks the document; ``s`` are the scores of a run's first
        documents, in rank order. ``r`` counts the relevant documents.
        """
        name, columns = self._ids[query], rows.to_dict(as_series=False)
        entry = {
            "id": name,
            "text": _shortened(self._texts.get(name, "")),
            "r": next(iter(columns["relevant"]), 0),
            "v": [[None if isnan(x) else round(x, 4) for x in run] for run in values.tolist()],
            "d": [self._number(document) for document in columns["doc_id"]],
            "g": columns["grade"],
            "k": [columns[f"rank{at}"] for at in range(self._runs)],
            "s": [
                _first_scores(columns[f"rank{at}"], columns[f"score{at}"])
                for at in range(self._runs)
            ],
        }
        self.size += _bytes(json.dumps(entry, ensure_ascii=False, separators=(",", ":")))
        self.queries.append(entry)

    def _number(self, document: str) -> int:
        if document not in self.documents:
            self.documents[document] = len(self.documents)
            self.size += _bytes(document) + _bytes(self._title(document)) + 6
        return self.documents[document]

    def _title(self, document: str) -> str:
        return _shortened(self.titles.get(document, ""))

    def title_list(self) -> list[str]:
        """Return the titles of the documents in order, or nothing if none is known."""
        return [self._title(name) for name in self.documents] if self.titles else []


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _first_scores(ranks: Sequence[int], scores: Sequence[float]) -> list[float]:
    """Return the scores of the first documents, in rank order."""
    first = sorted(pair for pair in zip(ranks, scores, strict=True) if 0 < pair[0] <= DEPTH)
    return [float(f"{score:.6g}") for _, score in first]


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
