"""Queries and judgements that came as files: which belong together, and how to read them."""

from __future__ import annotations

from pathlib import PurePosixPath

import polars as pl

from citebed.collection.citing import QRELS, QUERIES, QuerySet
from citebed.collection.rules import Rules
from citebed.records import Problem

_RESERVED = ("paragraphs", "sentences")


def given_sets(
    topics: pl.DataFrame, judgements: pl.DataFrame, rules: Rules
) -> tuple[dict[str, QuerySet], list[tuple[str, Problem]]]:
    """The query sets of the given files.

    A judgement file goes with the query file whose ids it shares most of (of equals, the one
    in the nearest folder); a query file judged by one file lends the set its name, one judged
    by several leaves the names to them. Problems tell of what does not fit.
    """
    queries = {source: _queries(part, rules) for source, part in _by_source(topics).items()}
    qrels: dict[str, pl.DataFrame] = {}
    problems: list[tuple[str, Problem]] = []
    for source, part in _by_source(judgements).items():
        qrels[source], found = _qrels(part, rules)
        problems += [(source, problem) for problem in found]
    partners = {source: _partner(source, part, queries) for source, part in qrels.items()}
    named: dict[str, QuerySet] = {}
    for source, part in qrels.items():
        partner = partners[source]
        shared = partner is None or list(partners.values()).count(partner) > 1
        name = _name(source if shared or partner is None else partner, named)
        own = queries[partner] if partner is not None else pl.DataFrame(schema=QUERIES)
        judged = own.join(part, on="query_id", how="semi", maintain_order="left") if shared else own
        named[name] = QuerySet(judged, part)
    for source, own in queries.items():
        if source not in partners.values():
            named[_name(source, named)] = QuerySet(own, pl.DataFrame(schema=QRELS))
    return named, problems


def _by_source(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {str(key[0]): part for key, part in table.group_by("source", maintain_order=True)}


def _queries(topics: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    if rules.query_ids == "order":
        order = pl.int_range(1, pl.len() + 1).cast(pl.String)
        topics = topics.with_columns(query_id=order)
    unique = topics.unique("query_id", keep="first", maintain_order=True)
    nothing = pl.lit(None, dtype=pl.String)
    return unique.select(
        "query_id",
        "text",
        "title",
        paper_id=nothing,
        section=nothing,
        exclude=pl.lit([], dtype=pl.List(pl.String)),
        before=nothing,
    )


def _qrels(judgements: pl.DataFrame, rules: Rules) -> tuple[pl.DataFrame, list[Problem]]:
    table = judgements.select(list(QRELS))
    problems: list[Problem] = []
    codes = set(table["relevance"].unique().to_list())
    if rules.relevance:
        unknown = sorted(codes - set(rules.relevance))
        if unknown:
            problems.append(
                Problem(1, f"relevance codes without a meaning in the rules: {unknown}")
            )
        table = table.filter(pl.col("relevance").is_in(list(rules.relevance))).with_columns(
            pl.col("relevance").replace_strict(dict(rules.relevance), return_dtype=pl.Int32)
        )
    elif codes == {-1, 1, 2, 3, 4}:
        what = (
            "codes -1 and 1 to 4 look like Cranfield's, where 1 is the best; they are kept as they "
            "are. Import with --profile cranfield to turn them so that higher is better"
        )
        problems.append(Problem(1, what, "mended"))
    best = table.sort("relevance", descending=True, maintain_order=True)
    unique = best.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    if repeated := table.height - unique.height:
        what = f"{repeated} judgements repeat a query and document; the highest relevance is kept"
        problems.append(Problem(1, what, "mended"))
    kept = table.join(unique, on=list(QRELS), how="semi", maintain_order="left")
    return kept.unique(maintain_order=True), problems


def _partner(source: str, qrels: pl.DataFrame, queries: dict[str, pl.DataFrame]) -> str | None:
    ids = qrels["query_id"].unique()
    scored = []
    for other, table in queries.items():
        shared = int(ids.is_in(table["query_id"].to_list()).sum())
        if shared * 2 > len(ids):
            scored.append((shared, _stem(other) == _stem(source), _nearness(other, source), other))
    return max(scored)[-1] if scored else None


def _nearness(left: str, right: str) -> int:
    common = 0
    for mine, theirs in zip(_parts(left), _parts(right), strict=False):
        if mine != theirs:
            break
        common += 1
    return common


def _parts(source: str) -> tuple[str, ...]:
    return PurePosixPath(source.replace("!", "/")).parts


def _stem(source: str) -> str:
    name = _parts(source)[-1]
    return name.split(".")[0] or name


def _name(source: str, taken: dict[str, QuerySet]) -> str:
    stem = _stem(source)
    name = f"{stem}-given" if stem in _RESERVED else stem
    number = 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    return name
