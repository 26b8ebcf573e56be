"""The pool: who brought which document to the judges, and judgements without one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.judgements.clusters import read_groups
from citebed.runs.ranking import Ranked
from citebed.runs.tables import Qrels

_PAIR = ("query_id", "doc_id")


@dataclass(frozen=True, eq=False)
class Unique:
    """The judgements that one team alone contributed, and the judgements without them."""

    team: str
    judged: pl.DataFrame
    rest: Qrels

    def relevant(self, rel: int = 1) -> int:
        """How many of its own judgements are of relevant documents."""
        return self.judged.filter(pl.col("relevance") >= rel).height


def teams_of(names: Sequence[str], teams: Mapping[str, str] | None) -> dict[str, str]:
    """The team of each run; without teams every run is its own."""
    if teams is None:
        return {name: name for name in names}
    missing = [name for name in names if name not in teams]
    if missing:
        raise CitebedError(
            f"the run '{missing[0]}' has no team. Every run needs a line 'run team'; "
            f"found teams for {', '.join(sorted(teams)) or 'none'}."
        )
    return {name: teams[name] for name in names}


def read_teams(path: str | Path) -> dict[str, str]:
    """Teams from a file of lines ``run team``; blank lines and ``#`` comments are skipped."""
    return read_groups(Path(path), "run", "team")


def top(ranked: Ranked, depth: int) -> pl.DataFrame:
    """The first ``depth`` documents of every query: ``query_id, doc_id``."""
    place = np.arange(len(ranked.doc_ids)) - np.repeat(ranked.starts[:-1], ranked.lengths)
    rows = np.flatnonzero(place < depth)
    group = np.repeat(np.arange(len(ranked.query_ids)), ranked.lengths)[rows]
    return pl.DataFrame(
        {"query_id": ranked.query_ids.gather(group), "doc_id": ranked.doc_ids.gather(rows)}
    )


def unique_judgements(
    qrels: Qrels, runs: Mapping[str, Ranked], teams: Mapping[str, str], depth: int
) -> list[Unique]:
    """For each team, the judgements of documents that it alone retrieved within ``depth``.

    Judged documents that no run has there (found by hand, by other runs) are nobody's, and
    stay. Teams come in the order of their first run.
    """
    pool = pl.concat(
        [
            top(ranked, depth).with_columns(pl.lit(teams[name]).alias("team"))
            for name, ranked in runs.items()
        ]
    ).unique()
    alone = pool.group_by(_PAIR).agg(pl.col("team").first(), pl.len()).filter(pl.col("len") == 1)
    known = qrels.table.filter(pl.col("relevance") >= 0)
    own = known.join(alone.select(*_PAIR, "team"), on=_PAIR)
    return [
        Unique(team, judged, without(qrels, judged))
        for team in dict.fromkeys(teams[name] for name in runs)
        for judged in [own.filter(pl.col("team") == team).sort(_PAIR)]
    ]


def unclaimed(qrels: Qrels, runs: Iterable[Ranked], depth: int) -> int:
    """How many judgements are of documents that no run has within ``depth``."""
    pool = pl.concat([top(ranked, depth) for ranked in runs]).unique()
    known = qrels.table.filter(pl.col("relevance") >= 0)
    return known.join(pool, on=_PAIR, how="anti").height


def without(qrels: Qrels, judged: pl.DataFrame) -> Qrels:
    """Judgements with some taken out; a query that loses all of them stays, with none relevant.

    To that end one of its documents is kept as pooled but not judged (relevance -1), which is
    how TREC writes it: the means must be over the same queries.
    """
    rest = qrels.table.join(judged.select(_PAIR), on=_PAIR, how="anti", maintain_order="left")
    bare = judged.join(rest, on="query_id", how="anti").unique("query_id", keep="first")
    pooled = bare.select(*_PAIR, pl.lit(-1).cast(qrels.table["relevance"].dtype).alias("relevance"))
    return Qrels(pl.concat([rest.select(qrels.table.columns), pooled]), qrels.name)
