"""Statistics of a judgement set: queries, grades, means per query, and documents by source.

They include the figures of Tables 2 and 3 of Ritchie, Robertson & Teufel (2007), Creating a test
collection: relevance judgements of cited & non-cited papers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.judgements.sets import LABEL, as_checked_qrels


class JudgementCounts(NamedTuple):
    """Numbers of judged and of relevant documents over all queries."""

    judged: int
    relevant: int

    def per_query(self, queries: int) -> dict[str, float]:
        """Return the means per query: judged, relevant, not relevant."""
        return {
            "judged": self.judged / queries,
            "relevant": self.relevant / queries,
            "not relevant": (self.judged - self.relevant) / queries,
        }


@dataclass(frozen=True)
class JudgementStatistics:
    """Statistics of a judgement set; ``grades`` counts the judgements of each grade.

    ``documents`` counts documents in the set, ``collection`` documents in the collection, if known.
    ``sources`` has the counts of each source in the second field of the file, if it names any.
    """

    name: str
    queries: int
    documents: int
    judgements: int
    grades: dict[int, int]
    judged_per_query: tuple[int, float, int]
    relevant_per_query: tuple[int, float, int]
    without_relevant: int
    total: JudgementCounts
    collection: int | None = None
    sources: Mapping[str, JudgementCounts] = field(default_factory=dict)

    @property
    def means(self) -> dict[str, float]:
        """The mean numbers per query of judged, relevant and not relevant documents."""
        return self.total.per_query(self.queries)

    @property
    def per_thousand(self) -> float | None:
        """Mean relevant documents of a query per 1,000 documents of the collection."""
        return 1000 * self.means["relevant"] / self.collection if self.collection else None

    def rows(self) -> list[dict[str, Any]]:
        """Return flat rows ``qrels, figure, value``."""
        by_source = {
            f"{source}: {what} per query, mean": value
            for source, tally in self.sources.items()
            for what, value in tally.per_query(self.queries).items()
        }
        spreads = {"judged": self.judged_per_query, "relevant": self.relevant_per_query}
        figures = {
            **self.table_2(),
            "documents": self.documents,
            "judgements": self.judgements,
            **{f"grade {grade}": number for grade, number in self.grades.items()},
            **{
                f"{what} per query, {name}": value
                for what, spread in spreads.items()
                for name, value in zip(("smallest", "median", "largest"), spread, strict=True)
            },
            "queries without relevant": self.without_relevant,
            **by_source,
        }
        return [{"qrels": self.name, "figure": k, "value": v} for k, v in figures.items()]

    def table_2(self) -> dict[str, float]:
        """Return the figures of the paper's Table 2, in its order."""
        means = {f"{what} per query, mean": value for what, value in self.means.items()}
        judged = means.pop("judged per query, mean")
        figures = {"queries": self.queries, **means, "judged per query, mean": judged}
        if self.collection and self.per_thousand is not None:
            figures["documents of the collection"] = self.collection
            figures["relevant per 1,000 documents"] = self.per_thousand
        return figures


def describe(qrels: Any, rel: int = 1, documents: int | None = None) -> JudgementStatistics:
    """Count queries, judgements, grades and sources; ``rel`` is the lowest relevant grade.

    ``documents`` is the size of the collection. Grades below 0 mean unjudged, and are counted only
    in ``grades``.
    """
    if documents is not None and documents < 1:
        raise CitebedError(f"a collection of {documents} documents: expected 1 or more.")
    judgements = as_checked_qrels(qrels)
    table = judgements.table
    if not table.height:
        raise CitebedError(f"{judgements.name} has no judgements.")
    grades = table["relevance"].value_counts().sort("relevance", descending=True)
    judged, relevant = pl.col("relevance") >= 0, pl.col("relevance") >= rel
    counts = {"judged": judged.sum(), "relevant": relevant.sum()}
    queries = table.group_by("query_id").agg(**counts)
    return JudgementStatistics(
        name=judgements.name,
        queries=queries.height,
        documents=table["doc_id"].n_unique(),
        judgements=table.height,
        grades=dict(grades.rows()),
        judged_per_query=_spread(queries["judged"].to_numpy()),
        relevant_per_query=_spread(queries["relevant"].to_numpy()),
        without_relevant=int((queries["relevant"] == 0).sum()),
        total=JudgementCounts(int(queries["judged"].sum()), int(queries["relevant"].sum())),
        collection=documents,
        sources=_by_source(table.filter(judged), counts),
    )


def _by_source(table: pl.DataFrame, counts: dict[str, pl.Expr]) -> dict[str, JudgementCounts]:
    """Count judgements by source, in order of first occurrence."""
    if LABEL not in table.columns:
        return {}
    tallies = table.group_by(LABEL, maintain_order=True).agg(**counts)
    return {source: JudgementCounts(*tally) for source, *tally in tallies.iter_rows()}


def _spread(counts: Any) -> tuple[int, float, int]:
    return int(counts.min()), float(np.median(counts)), int(counts.max())
