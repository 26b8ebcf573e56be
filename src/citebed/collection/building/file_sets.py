"""Imported files of queries and judgements: which of them belong together, and how to read them."""

from __future__ import annotations

import os
import re
from bisect import bisect
from collections import Counter
from pathlib import PurePosixPath

import polars as pl

from citebed.collection.building.citing import QuerySet
from citebed.collection.rules import Rules
from citebed.collection.tables import QRELS, QUERIES
from citebed.records import Problem
from citebed.text.identifiers import FreeIds
from citebed.wording import count

_RESERVED = ("paragraphs", "sentences")
_NAME_LENGTH = 40  # characters of up to four bytes; with an ending this fits a file name


def file_sets(
    topics: pl.DataFrame, judgements: pl.DataFrame, rules: Rules
) -> tuple[dict[str, QuerySet], list[tuple[str, Problem]]]:
    """Return the query sets of the imported files, and problems.

    A judgement file belongs to the query file that shares most of its ids; among equals, to the one
    in the nearest folder. If a query file has one judgement file, the set has the name of the query
    file. If it has several, each set has the name of its judgement file.
    """
    queries = {source: _queries(part, rules) for source, part in _by_source(topics).items()}
    qrels: dict[str, pl.DataFrame] = {}
    problems: list[tuple[str, Problem]] = []
    for source, part in _by_source(judgements).items():
        qrels[source], doubts = _qrels(part, rules)
        problems += [(source, problem) for problem in doubts]
    partners = _partners(qrels, queries)
    lent = Counter(partners.values())
    named: dict[str, QuerySet] = {}
    names = FreeIds()
    for source, part in qrels.items():
        partner = partners[source]
        shared = partner is None or lent[partner] > 1
        name = _name(source if shared or partner is None else partner, names)
        own = queries[partner] if partner is not None else pl.DataFrame(schema=QUERIES)
        judged = own.join(part, on="query_id", how="semi", maintain_order="left") if shared else own
        named[name] = QuerySet(judged, part)
    for source, own in queries.items():
        if source not in lent:
            named[_name(source, names)] = QuerySet(own, pl.DataFrame(schema=QRELS))
    return named, problems


def judgement_problems(judgements: pl.DataFrame, rules: Rules) -> list[tuple[str, Problem]]:
    """Return the problems that ``file_sets`` finds in judgements."""
    parts = _by_source(judgements).items()
    return [(source, problem) for source, part in parts for problem in _qrels(part, rules)[1]]


def _by_source(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {str(key[0]): part for key, part in table.group_by("source", maintain_order=True)}


def _queries(topics: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    name = pl.col("query_id").str.replace_all(r"\s+", "_")
    if rules.query_ids == "order":
        name = pl.int_range(1, pl.len() + 1).cast(pl.String)
    unique = topics.with_columns(query_id=name).unique(
        "query_id", keep="first", maintain_order=True
    )
    known = unique.select("query_id", "text", "title", exclude=pl.lit([], QUERIES["exclude"]))
    return pl.concat([pl.DataFrame(schema=QUERIES), known], how="diagonal")


def _qrels(judgements: pl.DataFrame, rules: Rules) -> tuple[pl.DataFrame, list[Problem]]:
    table = judgements.select(list(QRELS)).with_columns(
        pl.col("query_id", "doc_id").str.replace_all(r"\s+", "_")
    )
    problems: list[Problem] = []
    codes = set(table["relevance"].unique().to_list())
    if rules.relevance:
        if unknown := sorted(codes - set(rules.relevance)):
            what = f"relevance codes without a meaning in the rules: {unknown}"
            problems.append(Problem(1, what))
        table = table.filter(pl.col("relevance").is_in(list(rules.relevance))).with_columns(
            pl.col("relevance").replace_strict(dict(rules.relevance), return_dtype=pl.Int32)
        )
    elif codes == {-1, 1, 2, 3, 4}:
        what = (
            "codes -1 and 1 to 4 look like Cranfield's, where 1 is the best; they are kept as they "
            "are. Import with --profile cranfield, which turns them so that higher is better and "
            "counts queries as Cranfield's judgements do, not as its file of queries numbers them"
        )
        problems.append(Problem(1, what, "mended"))
    best = table.sort("relevance", descending=True, maintain_order=True)
    unique = best.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    if repeated := table.height - unique.height:
        repeat = "repeats" if repeated == 1 else "repeat"
        given = f"{count(repeated, 'judgement')} {repeat} a query and document"
        what = f"{given}; the highest relevance is kept"
        problems.append(Problem(1, what, "mended"))
    rows = table.join(unique, on=list(QRELS), how="semi", maintain_order="left")
    return rows.unique(maintain_order=True), problems


def _partners(
    qrels: dict[str, pl.DataFrame], queries: dict[str, pl.DataFrame]
) -> dict[str, str | None]:
    """Return the query file that each judgement file belongs to."""
    holders: dict[str, list[str]] = {}
    for source, table in queries.items():
        for query_id in table["query_id"]:
            holders.setdefault(query_id, []).append(source)
    by_ids: dict[frozenset[str], _Candidates] = {}
    partners = {}
    for source, table in qrels.items():
        ids = frozenset(table["query_id"])
        if ids not in by_ids:
            by_ids[ids] = _Candidates(ids, holders)
        partners[source] = by_ids[ids].nearest(source)
    return partners


_Parts = tuple[str, ...]


class _Candidates:
    """The query files that share the most of some query ids, and more than half of them.

    They are sorted by path, so that `nearest` can search by bisection.
    """

    def __init__(self, ids: frozenset[str], holders: dict[str, list[str]]) -> None:
        shared = Counter(source for name in ids for source in holders.get(name, ()))
        most = max(shared.values(), default=0)
        self._names: dict[_Parts, str] = {}
        self._by_stem: dict[str | None, list[_Parts]] = {}
        for source, number in shared.items():
            if number == most and number * 2 > len(ids):
                self._names[_parts(source)] = source
                self._by_stem.setdefault(_stem(source), []).append(_parts(source))
        self._by_stem[None] = list(self._names)
        for places in self._by_stem.values():
            places.sort()

    def nearest(self, source: str) -> str | None:
        """Return the file nearest to ``source``, among those with the same name if there are
        any."""
        if not self._names:
            return None
        places = self._by_stem.get(_stem(source)) or self._by_stem[None]
        here = _parts(source)
        at = bisect(places, here)
        beside = places[max(at - 1, 0) : at + 1]
        # Given tuples, commonprefix compares path parts instead of letters.
        common = max(len(os.path.commonprefix([here, place])) for place in beside)  # noqa: RUF071
        last = bisect(places, (*here[:common], "\U0010ffff"))
        return self._names[places[last - 1]]


def _parts(source: str) -> _Parts:
    return PurePosixPath(source.replace("!", "/")).parts or ("set",)  # a damaged table names none


def _stem(source: str) -> str:
    name = _parts(source)[-1]
    return name.split(".")[0] or name


def _name(source: str, names: FreeIds) -> str:
    """Return a free name for the queries or judgements of a file."""
    stem = re.sub(r"[\\\x00-\x1f\x7f]+", "-", _stem(source)).lstrip(".")[:_NAME_LENGTH] or "set"
    return names.take(f"{stem}-given" if stem in _RESERVED else stem, stem=stem)
