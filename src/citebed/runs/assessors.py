"""Merge the judgements of several assessors for one pair, by named rules.

A rule is an expression over the grades of a pair; ``rel`` is the lowest relevant grade.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from citebed.errors import UnknownName

_GRADE = pl.col("relevance")
RULES: dict[str, Callable[[int], pl.Expr]] = {
    # Relevant only if all assessors agree: the lowest grade (TREC KBA's official rule).
    "any-dissent-negative": lambda _: _GRADE.min(),
    # Relevant if one assessor says so, with the lowest relevant grade.
    "any": lambda rel: pl.coalesce(_GRADE.filter(rel <= _GRADE).min(), _GRADE.max()),
    # Relevant if more than half of the assessors say so: the lower median.
    "majority": lambda _: _GRADE.sort().get((pl.len() - 1) // 2),
    "max": lambda _: _GRADE.max(),
}
OFFICIAL = "any-dissent-negative"


def merge_assessors(table: pl.DataFrame, rule: str = OFFICIAL, rel: int = 1) -> pl.DataFrame:
    """Return one row per pair of query and document, in order of first occurrence.

    ``table`` has ``query_id``, ``doc_id``, ``relevance`` and optionally ``time``.
    """
    if rule not in RULES:
        raise UnknownName("rule for several assessors", rule, RULES)
    pair = ["query_id", "doc_id"]
    alike = table.select(pair).hash_rows().is_duplicated()
    if not table.filter(alike).select(pair).is_duplicated().any():
        return table
    others = [pl.col(name).first() for name in table.columns if name not in (*pair, "relevance")]
    merged = table.group_by(pair, maintain_order=True).agg(
        *others, RULES[rule](rel).alias("relevance")
    )
    return merged.select(table.columns)


class Disagreement(NamedTuple):
    """Counts of pairs with several assessors, and of disagreements on relevance or grade only."""

    several: int = 0
    on_relevance: int = 0
    on_grade: int = 0


def disagreements(table: pl.DataFrame, rel: int = 1) -> Disagreement:
    """Count the pairs on which assessors disagree; ``rel`` is the lowest relevant grade."""
    votes = (
        table.group_by("query_id", "doc_id")
        .agg(pl.len(), side=(rel <= _GRADE).n_unique(), grades=_GRADE.n_unique())
        .filter(pl.col("len") > 1)
    )
    split = votes["side"] > 1
    return Disagreement(votes.height, int(split.sum()), int((~split & (votes["grades"] > 1)).sum()))
