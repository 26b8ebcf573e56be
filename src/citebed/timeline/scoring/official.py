"""TREC KBA's official scoring of filters: confusion counts at every cut-off of the confidence.

A document is accepted if its confidence is greater than the cut-off. P = TP/(TP+FP), R =
TP/(TP+FN), F1 their harmonic mean, and scaled utility SU = (max(NU, -0.5) + 0.5)/1.5 with NU =
(2·TP - FP)/(2·(TP+FN)). A quotient with divisor 0 is 0, except for NU of an entity without
positives: it is 0 if nothing was accepted, else -0.5.

Frank et al., Building an entity-centric stream filtering test collection for TREC 2012; Robertson &
Soboroff, The TREC 2002 filtering track report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.measures.rankings import judged_rows
from citebed.runs.assessors import OFFICIAL
from citebed.runs.kba_files import HIGHEST, grade_names
from citebed.runs.ranking import Ranked, SortedQrels, check_repeated_documents, encode_values, rank
from citebed.runs.tables import Floats, Ints, Run
from citebed.timeline.scoring.stream_scores import none_judged
from citebed.timeline.streams.run_sources import opened_runs
from citebed.timeline.streams.timed_qrels import (
    Skipped,
    judged_table,
    restore_timed_ids,
    timeless_qrels,
    times_of,
    topic_run,
)
from citebed.wording import count

LEVELS = {"central": 2, "central+relevant": 1, "vital": 2, "vital+useful": 1}
"""The lowest grade of a positive; the first two names are KBA 2012's, the others later."""

ENTITIES = {"all": False, "with positives": True}
EVERYONE = "all, each with positives"
SCORES = {
    "run": pl.String,
    "positives": pl.String,
    "entities": pl.String,
    "average": pl.String,
    "cutoff": pl.Int64,
    "precision": pl.Float64,
    "recall": pl.Float64,
    "f1_of_means": pl.Float64,
    "mean_f1": pl.Float64,
    "su": pl.Float64,
    "su_of_nothing": pl.Float64,
}
"""The columns of a table of official scores."""
ENTITY_SCORES = {
    "run": pl.String,
    "positives": pl.String,
    "query_id": pl.String,
    "cutoff": pl.Int64,
    **dict.fromkeys(("tp", "fp", "fn"), pl.Int64),
    **dict.fromkeys(("precision", "recall", "f1", "su"), pl.Float64),
}
"""The columns of a table of official scores per entity."""


class Confusion(NamedTuple):
    """True and false positives and false negatives: a row per entity, a column per cut-off."""

    tp: Ints
    fp: Ints
    fn: Ints

    def select(self, entities: Ints) -> Confusion:
        """Return the counts of some entities."""
        return Confusion(self.tp[entities], self.fp[entities], self.fn[entities])

    def total(self) -> Confusion:
        """Return the sums over all entities, as one row."""
        return Confusion(*(counts.sum(axis=0, keepdims=True) for counts in self))

    @property
    def positives(self) -> Ints:
        """The number of positives of each entity."""
        return (self.tp + self.fn)[:, 0]


def precision(counts: Confusion) -> Floats:
    """Return TP / (TP + FP), or 0 if nothing is accepted."""
    return _over(counts.tp, counts.tp + counts.fp)


def recall(counts: Confusion) -> Floats:
    """Return TP / (TP + FN), or 0 without positives."""
    return _over(counts.tp, counts.tp + counts.fn)


def f1(precisions: Floats, recalls: Floats) -> Floats:
    """Return the harmonic mean, or 0 if both are 0."""
    return _over(2 * precisions * recalls, precisions + recalls)


def scaled_utility(counts: Confusion) -> Floats:
    """Return SU: 1 is perfect, an empty run has 1/3, and 0 is the worst."""
    utility, best = 2 * counts.tp - counts.fp, 2 * (counts.tp + counts.fn)
    normed = np.where(best > 0, _over(utility, best), np.where(utility < 0, -0.5, 0.0))
    return (np.maximum(normed, -0.5) + 0.5) / 1.5


def _over(above: Floats | Ints, below: Floats | Ints) -> Floats:
    return np.divide(above, below, out=np.zeros(np.shape(above)), where=np.asarray(below) > 0)


# --- counting -------------------------------------------------------------------------------


def _levels(qrels: SortedQrels) -> tuple[str, str]:
    """Return the two of `LEVELS` that fit the judgements."""
    top, next_one = grade_names(qrels.query_ids)
    return top, f"{top}+{next_one}"


def _confusions(
    qrels: SortedQrels, ranked: Ranked, cutoffs: Ints, unjudged_negative: bool
) -> tuple[dict[str, Confusion], int]:
    """Return the confusion counts at every cut-off by level of positives.

    Also return the number of judged documents.
    """
    entities = len(qrels.query_ids)
    below = np.searchsorted(cutoffs, ranked.scores, "left")

    def accepted(query: Ints, below: Ints) -> Ints:
        """Count the documents above each cut-off: more cut-offs are below their confidence."""
        columns = len(cutoffs) + 1
        reached = np.bincount(query * columns + below, minlength=entities * columns)
        reversed_sums = np.cumsum(np.flip(reached.reshape(entities, columns), axis=1), axis=1)
        return np.flip(reversed_sums, axis=1)[:, 1:]

    entity = encode_values(ranked.query_ids, qrels.query_ids)
    row, judgement = judged_rows(qrels, ranked, entity)
    is_judged = qrels.relevance[judgement] >= 0  # grades below 0 mean unjudged
    row, judgement = row[is_judged], judgement[is_judged]
    query, grade, of_judged = qrels.query[judgement], qrels.relevance[judgement], below[row]
    if unjudged_negative:
        returned = accepted(np.repeat(entity, ranked.lengths), below)
    else:
        returned = accepted(query, of_judged)
    confusions = {}
    for level in _levels(qrels):
        positive = grade >= LEVELS[level]
        tp = accepted(query[positive], of_judged[positive])
        positives = np.bincount(qrels.query, qrels.relevance >= LEVELS[level], entities)
        confusions[level] = Confusion(tp, returned - tp, positives.astype(np.int64)[:, None] - tp)
    return confusions, len(row)


# --- averages -------------------------------------------------------------------------------


def _average(counts: Confusion, weights: Floats) -> dict[str, Floats]:
    """Return the weighted means over entities, by column name."""
    share = weights / max(weights.sum(), 1e-300)
    precisions, recalls = precision(counts), recall(counts)
    means = share @ precisions, share @ recalls
    return {
        "precision": means[0],
        "recall": means[1],
        "f1_of_means": f1(*means),
        "mean_f1": share @ f1(precisions, recalls),
        "su": share @ scaled_utility(counts),
    }


AVERAGES: dict[str, Callable[[Confusion], dict[str, Floats]]] = {
    "micro": lambda counts: _average(counts.total(), np.ones(1)),
    "macro": lambda counts: _average(counts, np.ones(len(counts.tp))),
    "weighted": lambda counts: _average(counts, counts.positives.astype(np.float64)),
}
"""Micro adds up the counts first; macro weighs entities alike; weighted, by their positives."""
_KINDS: dict[str, Iterable[str]] = {"positives": LEVELS, "entities": ENTITIES, "average": AVERAGES}


# --- scoring --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OfficialScores:
    """A run's official scores: a table with one row per cut-off, average, and choice of entities.

    ``f1_of_means`` is the F1 of the mean precision and the mean recall, ``mean_f1`` the mean of the
    entities' F1 (identical for micro). ``su_of_nothing`` is the SU of an empty run. ``judged``
    counts the run's judged documents. ``counts`` has the names and confusion counts of entities,
    by level of positives. ``team`` is the run's team, if it names one.
    """

    run: str
    table: pl.DataFrame
    skipped: Skipped
    judged: int
    counts: dict[str, tuple[list[str], Confusion]]
    team: str = ""

    def best(self, by: str = "f1_of_means") -> pl.DataFrame:
        """Return the row with the highest score of each kind, at the lowest such cut-off."""
        return (
            self.table.sort(by, "cutoff", descending=[True, False], maintain_order=True)
            .group_by("run", *_KINDS, maintain_order=True)
            .first()
            .sort(*(pl.col(name).cast(pl.Enum([*known])) for name, known in _KINDS.items()))
        )

    @cached_property
    def entities(self) -> pl.DataFrame:
        """One row per entity and cut-off with counts, P, R, F1 and SU."""
        cutoffs, tables = self.table["cutoff"].unique().sort().to_numpy(), []
        for level, (names, counts) in self.counts.items():
            precisions, recalls = precision(counts), recall(counts)
            harmonic = f1(precisions, recalls)
            numbers = (*counts, precisions, recalls, harmonic, scaled_utility(counts))
            entities = pl.Series(names, dtype=pl.String)
            entities = entities.gather(np.repeat(np.arange(len(names)), len(cutoffs)))
            about = (self.run, level, entities, np.tile(cutoffs, len(names)))
            columns = zip(ENTITY_SCORES, (*about, *(each.ravel() for each in numbers)), strict=True)
            tables.append(pl.DataFrame(dict(columns), schema=ENTITY_SCORES))
        return pl.concat(tables)

    def best_entities(self, by: str = "f1_of_means") -> pl.DataFrame:
        """Return the rows of `entities` at the cut-off with the best macro average."""
        macro = self.best(by).filter(pl.col("average") == "macro")
        chosen = macro.unique("positives", keep="first", maintain_order=True)
        return self.entities.join(chosen, on=["positives", "cutoff"], how="semi")


def score_official(
    run: Run,
    qrels: SortedQrels,
    *,
    step: int = 1,
    unjudged_negative: bool = False,
    require_positives: bool | None = None,
) -> OfficialScores:
    """Score a run at all cut-offs, without regard to time.

    Only judged pairs count; with ``unjudged_negative``, unjudged pairs are negatives.
    ``require_positives`` leaves out entities without positives (True) or keeps them (False). Since
    published figures differ in this, the default reports both.
    """
    if not 1 <= step <= HIGHEST - 1:
        raise CitebedError(f"the step of the cut-offs is {step}; expected from 1 to 999.")
    cutoffs = np.arange(0, HIGHEST, step)
    topics = topic_run(run, qrels)
    ranked = rank(topics.run)
    check_repeated_documents(ranked)
    lowest, highest = ranked.scores.min(initial=np.inf), ranked.scores.max(initial=-np.inf)
    if lowest <= 0 or highest > HIGHEST:
        raise CitebedError(
            f"{run.name}: scores go from {lowest:g} to {highest:g}; the official "
            f"scoring needs confidences above 0 and up to {HIGHEST}. Rescale them."
        )
    confusions, judged = _confusions(qrels, ranked, cutoffs, unjudged_negative)
    rows, by_entity = [], {}
    names = qrels.query_ids.to_numpy()
    for level, counts in confusions.items():
        chosen_entities = np.flatnonzero((counts.positives > 0) | (not require_positives))
        by_entity[level] = names[chosen_entities].tolist(), counts.select(chosen_entities)
        for entities, needs in ENTITIES.items():
            chosen = np.flatnonzero((counts.positives > 0) | (not needs))
            if require_positives in (None, needs) and len(chosen):
                rows += _rows((run.name, level, entities), counts.select(chosen), cutoffs)
    return OfficialScores(
        run.name, pl.concat(rows), topics.skipped, judged, by_entity, run.team or ""
    )


def _rows(kind: tuple[str, str, str], counts: Confusion, cutoffs: Ints) -> list[pl.DataFrame]:
    nothing = scaled_utility(
        Confusion(*(np.zeros_like(counts.tp[:, :1]),) * 2, (counts.tp + counts.fn)[:, :1])
    )
    tables = []
    for name, average in AVERAGES.items():
        if name == "weighted" and not counts.positives.any():
            continue  # all weights would be 0
        columns = {
            **dict(zip(SCORES, (*kind, name), strict=False)), "cutoff": cutoffs,
            **average(counts), "su_of_nothing": float(nothing.mean()),
        }  # fmt: skip
        tables.append(pl.DataFrame(columns, schema=SCORES))
    return tables


# --- several runs ----------------------------------------------------------------------------

BEST = {"F1 of means": "f1_of_means", "SU": "su"}
"""The criteria for the best cut-off."""


@dataclass(frozen=True, eq=False)
class OfficialTimeline:
    """Runs with their official scores at every cut-off."""

    runs: tuple[OfficialScores, ...]

    @property
    def table(self) -> pl.DataFrame:
        """One row per run, cut-off, average, level of positives and choice of entities."""
        return pl.concat([scores.table for scores in self.runs])

    @property
    def best(self) -> dict[str, pl.DataFrame]:
        """The rows of the best cut-offs, by criterion."""
        return {
            name: pl.concat([scores.best(by) for scores in self.runs]) for name, by in BEST.items()
        }

    def entities(self, by: str = "") -> pl.DataFrame:
        """Return one row per run, entity and cut-off; with ``by``, only the best cut-off's."""
        return pl.concat([s.best_entities(BEST[by]) if by else s.entities for s in self.runs])

    def merge_entity_rows(self, table: pl.DataFrame) -> pl.DataFrame:
        """Merge the rows of all entities and of those with positives, if these are the same."""
        same = [level for level, (_, of) in self.runs[0].counts.items() if of.positives.all()]
        alike = pl.col("positives").is_in(same) & pl.lit("all" in table["entities"])
        rows = table.filter(~alike | (pl.col("entities") == "all"))
        return rows.with_columns(
            entities=pl.when(alike).then(pl.lit(EVERYONE)).otherwise("entities")
        )

    def notes(self) -> list[str]:
        """Return notes about documents without judgements."""
        skipped = {scores.run: scores.skipped for scores in self.runs}
        strange = [s.run for s in self.runs if s.skipped.lines and not s.judged]
        notes = []
        if strange:
            documents = sum(skipped[run].lines for run in strange)
            notes = [none_judged(strange, documents, "(--times recognises ids with a time first.)")]
        return notes + [
            f"{run}: {count(of.unjudged, 'document')} left out, for "
            f"{count(len(of.queries), 'entity')} without judgements"
            for run, of in skipped.items()
            if of.unjudged
        ]


def official_timeline(  # noqa: PLR0913 (a notebook completes and checks them by name)
    judgements: Any,
    runs: Any,
    *,
    times: Any = None,
    utc: bool = False,
    assessors: str = OFFICIAL,
    step: int = 1,
    unjudged_negative: bool = False,
    require_positives: bool | None = None,
) -> OfficialTimeline:
    """Score runs as TREC KBA did, at confidence cut-offs (`score_official`).

    ``times`` serves only to recognise ids with a time in front.
    """
    known = times_of(times, utc=utc)
    # For all grades at once, the rule "any" means the highest grade.
    rule = "max" if assessors == "any" else assessors
    qrels = timeless_qrels(*judged_table(judgements), rule, known)
    how: dict[str, Any] = {
        "step": step, "unjudged_negative": unjudged_negative,
        "require_positives": require_positives,
    }  # fmt: skip
    with opened_runs(runs) as opened:
        read = (
            run.read() if known is None else restore_timed_ids(run.read(), known) for run in opened
        )
        return OfficialTimeline(tuple(score_official(run, qrels, **how) for run in read))
