"""The judging pool: what each team contributed, and worst cases of unjudged documents."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.contrasts.changes import summary_difference
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.rankings import match
from citebed.evaluation.options import Design, PoolBiasOptions
from citebed.evaluation.scoring.comparison import Comparison
from citebed.evaluation.statistics import adjust, paired_test
from citebed.frames import FlatRow
from citebed.runs.query_files import read_groups
from citebed.runs.ranking import Ranked, prepare
from citebed.runs.tables import Qrels

Verdict = Literal["stands", "cannot be told", "may turn round"]
VERDICTS: tuple[Verdict, ...] = ("stands", "cannot be told", "may turn round")
_PAIR = ("query_id", "doc_id")


@dataclass(frozen=True, eq=False)
class UniqueJudgements:
    """The judgements that one team alone contributed, and all others."""

    team: str
    judged: pl.DataFrame
    rest: Qrels

    def relevant(self, rel: int = 1) -> int:
        """Count the relevant documents among the team's own judgements."""
        return self.judged.filter(pl.col("relevance") >= rel).height


def assign_teams(
    names: Sequence[str], teams: Mapping[str, str] | str | Path | None
) -> dict[str, str]:
    """Return the team of each run, by a mapping or a file; without one, each run is a team."""
    if teams is None:
        return {name: name for name in names}
    if not isinstance(teams, Mapping):
        teams = read_groups(Path(teams), "run", "team")
    missing = [name for name in names if name not in teams]
    if missing:
        raise CitebedError(
            f"the run '{missing[0]}' has no team. Every run needs a line 'run team'; "
            f"found teams for {', '.join(sorted(teams)) or 'none'}."
        )
    return {name: teams[name] for name in names}


def top_documents(ranked: Ranked, depth: int) -> pl.DataFrame:
    """Return the first ``depth`` documents of every query: ``query_id, doc_id``."""
    place = np.arange(len(ranked.doc_ids)) - np.repeat(ranked.starts[:-1], ranked.lengths)
    rows = np.flatnonzero(place < depth)
    group = np.repeat(np.arange(len(ranked.query_ids)), ranked.lengths)[rows]
    return pl.DataFrame(
        {"query_id": ranked.query_ids.gather(group), "doc_id": ranked.doc_ids.gather(rows)}
    )


def unique_judgements(
    qrels: Qrels, runs: Mapping[str, Ranked], teams: Mapping[str, str], depth: int
) -> list[UniqueJudgements]:
    """Return, for each team, the judgements of documents that it alone retrieved within ``depth``.

    Judged documents that no run retrieved within ``depth`` belong to no team. Teams are in the
    order of their first run.
    """
    pool = pl.concat(
        [
            top_documents(ranked, depth).with_columns(pl.lit(teams[name]).alias("team"))
            for name, ranked in runs.items()
        ]
    ).unique()
    alone = pool.group_by(_PAIR).agg(pl.col("team").first(), pl.len()).filter(pl.col("len") == 1)
    known = qrels.table.filter(pl.col("relevance") >= 0)
    own = known.join(alone.select(*_PAIR, "team"), on=_PAIR)
    return [
        UniqueJudgements(team, judged, remove_judgements(qrels, judged))
        for team in dict.fromkeys(teams[name] for name in runs)
        for judged in [own.filter(pl.col("team") == team).sort(_PAIR)]
    ]


def count_unpooled(qrels: Qrels, runs: Iterable[Ranked], depth: int) -> int:
    """Count the judgements of documents that no run has within ``depth``."""
    pool = pl.concat([top_documents(ranked, depth) for ranked in runs]).unique()
    known = qrels.table.filter(pl.col("relevance") >= 0)
    return known.join(pool, on=_PAIR, how="anti").height


def remove_judgements(qrels: Qrels, judged: pl.DataFrame) -> Qrels:
    """Remove judgements, but keep every query, so that means are over the same queries.

    A query that loses all judgements keeps one document as pooled but not judged (grade -1).
    """
    rest = qrels.table.join(judged.select(_PAIR), on=_PAIR, how="anti", maintain_order="left")
    bare = judged.join(rest, on="query_id", how="anti").unique("query_id", keep="first")
    pooled = bare.select(*_PAIR, pl.lit(-1).cast(qrels.table["relevance"].dtype).alias("relevance"))
    return Qrels(pl.concat([rest.select(qrels.table.columns), pooled]), qrels.name)


# --- worst cases of unjudged documents ------------------------------------------------------


@dataclass(frozen=True)
class WorstCase(FlatRow):
    """A significant difference between two runs, as judged and in its worst case.

    ``cutoff`` is the measure's, or else the pool depth; ``winner_unjudged`` and ``loser_unjudged``
    count unjudged documents within it. ``difference`` is the winner's lead as judged. ``worst`` is
    its lead if all its unjudged documents were not relevant, and all that only the loser has were
    relevant with the highest grade. ``p`` and ``worst_p`` are corrected. Both runs are scored under
    the same hypothetical judgements, so that a lost lead is one that assessors could have caused.
    """

    measure: str
    winner: str
    loser: str
    cutoff: int
    winner_unjudged: int
    loser_unjudged: int
    difference: float
    p: float
    worst: float
    worst_p: float
    verdict: Verdict

    def sentence(self) -> str:
        """Return the verdict as a sentence."""
        lead = f"{self.winner} beats {self.loser} in {self.measure}"
        if not self.winner_unjudged and not self.loser_unjudged:
            return f"{lead}; every document that counts was judged."
        if self.verdict == "stands":
            return (
                f"{lead}, even if all unjudged documents of {self.loser} were relevant and none "
                f"of {self.winner}'s."
            )
        then = (
            "the difference would not be significant"
            if self.verdict == "cannot be told"
            else f"{self.loser} would be significantly better"
        )
        return (
            f"{lead} as judged; were the unjudged documents that only {self.loser} has relevant, "
            f"{then}."
        )


def worst_cases(
    qrels: Qrels,
    runs: Mapping[str, Ranked],
    options: PoolBiasOptions,
    measures: Sequence[Measure],
    compared: Sequence[Comparison],
) -> list[WorstCase]:
    """Return the worst case of each significant comparison."""
    if options.design.correction == "tukey":
        raise CitebedError(
            "Tukey's test has no p-value for a single pair, which worst cases need. Correct "
            "with holm."
        )
    named = {str(measure): measure for measure in measures}
    rows = []
    for name, group in groupby(compared, key=lambda comparison: comparison.measure):
        family = list(group)
        rows += [
            _bound(qrels, runs, options, named[name], (family, at))
            for at, comparison in enumerate(family)
            if comparison.significant
        ]
    return rows


def _bound(
    qrels: Qrels,
    runs: Mapping[str, Ranked],
    options: PoolBiasOptions,
    measure: Measure,
    pair: tuple[Sequence[Comparison], int],
) -> WorstCase:
    family, at = pair
    comparison = family[at]
    winner, loser = comparison.run, comparison.base
    if comparison.difference <= 0:
        winner, loser = loser, winner
    both = runs[winner], runs[loser]
    cutoff = measure.cutoff if isinstance(measure.cutoff, int) else options.depth
    unjudged = [_unjudged(qrels, ranked, cutoff) for ranked in both]
    worst, p = _tested(options, measure, worst_case_qrels(qrels, *unjudged), both)
    worst_p = _adjusted(family, at, p, options.design)
    return WorstCase(
        measure=str(measure),
        winner=winner,
        loser=loser,
        cutoff=cutoff,
        winner_unjudged=unjudged[0].height,
        loser_unjudged=unjudged[1].height,
        difference=abs(summary_difference(comparison)),
        p=comparison.p_adjusted,
        worst=worst,
        worst_p=worst_p,
        verdict=(
            ("stands" if worst > 0 else "may turn round")
            if worst_p < options.design.alpha
            else "cannot be told"
        ),
    )


def _unjudged(qrels: Qrels, ranked: Ranked, cutoff: int) -> pl.DataFrame:
    """Return the unjudged documents of judged queries within the cut-off."""
    known = qrels.table.filter(pl.col("relevance") >= 0)
    seen = top_documents(ranked, cutoff).join(
        qrels.table.select("query_id").unique(), on="query_id"
    )
    return seen.join(known, on=_PAIR, how="anti")


def worst_case_qrels(qrels: Qrels, winners: pl.DataFrame, losers: pl.DataFrame) -> Qrels:
    """Add hypothetical judgements, as bad as possible for the winner.

    The winner's unjudged documents become not relevant. Those that only the loser has become
    relevant, with the highest grade of the judgements (at least 1).
    """
    grade = max(1, int(qrels.table.select(pl.col("relevance").max()).item() or 0))
    kind = qrels.table["relevance"].dtype
    added = [
        winners.with_columns(pl.lit(0).cast(kind).alias("relevance")),
        losers.join(winners, on=_PAIR, how="anti").with_columns(
            pl.lit(grade).cast(kind).alias("relevance")
        ),
    ]
    columns = qrels.table.columns
    extended = pl.concat([part.select(columns) for part in added])
    # These replace entries for documents that were pooled but not judged (-1).
    rest = qrels.table.join(extended, on=_PAIR, how="anti", maintain_order="left")
    return Qrels(pl.concat([rest, extended]), qrels.name)


def _tested(
    options: PoolBiasOptions, measure: Measure, qrels: Qrels, both: tuple[Ranked, Ranked]
) -> tuple[float, float]:
    """Return the winner's lead under these judgements and its uncorrected p-value."""
    judged = prepare(qrels)
    seen = [match(judged, ranked) for ranked in both]
    counted = seen[0].in_run & seen[1].in_run
    if options.settings.complete:
        counted = np.ones_like(counted)
    values = [measure.values(rankings)[counted] for rankings in seen]
    differences = measure.scaled(values[0]) - measure.scaled(values[1])
    ids = judged.query_ids.filter(pl.Series(counted)).to_list()
    tested = paired_test(
        options.design.test,
        differences,
        clusters=options.resampling.labels(ids),
        samples=options.resampling.samples or 10_000,
        seed=options.resampling.seed,
    )
    return measure.summary(values[0]) - measure.summary(values[1]), tested.p_value


def _adjusted(family: Sequence[Comparison], at: int, p: float, design: Design) -> float:
    """Correct the p-value together with the unchanged p-values of the other pairs."""
    if math.isnan(p):
        return p
    others = [x.p for place, x in enumerate(family) if place != at and not math.isnan(x.p)]
    return float(adjust([p, *others], design.correction)[0])
