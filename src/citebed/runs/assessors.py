"""Merge the judgements of several assessors for one pair, by named rules.

A rule is an expression over the grades of a pair; ``rel`` is the lowest relevant grade.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from citebed.errors import UnknownName

Rule = Callable[[int], pl.Expr]
_GRADE = pl.col("relevance")


def _any_dissent_negative(rel: int) -> pl.Expr:  # noqa: ARG001
    """Relevant only if all assessors agree: the lowest grade (TREC KBA's official rule)."""
    return _GRADE.min()


def _any(rel: int) -> pl.Expr:
    """Relevant if one assessor says so, with the lowest relevant grade."""
    return pl.coalesce(_GRADE.filter(rel <= _GRADE).min(), _GRADE.max())


def _majority(rel: int) -> pl.Expr:  # noqa: ARG001
    """Relevant if more than half of the assessors say so: the lower median."""
    return _GRADE.sort().get((pl.len() - 1) // 2)


def _max(rel: int) -> pl.Expr:  # noqa: ARG001
    """The highest grade given."""
    return _GRADE.max()


RULES: dict[str, Rule] = {
    "any-dissent-negative": _any_dissent_negative,
    "any": _any,
    "majority": _majority,
    "max": _max,
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
