"""Compare the same runs under two judgement sets.

Made for the study of Ritchie, Robertson & Teufel (2007), Creating a test collection: relevance
judgements of cited & non-cited papers. Authors first judge the papers that they cite (J1), then
papers from other sources (J1+2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from citebed.errors import CitebedError
from citebed.evaluation.contrasts.changes import (
    agreements,
    is_by_query,
    query_changes,
    relevant_counts,
    score_changes,
    scores_by_query,
    significance_changes,
    summarise_contrast,
    to_table,
)
from citebed.evaluation.measures.base import Measure
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.options import CONTRASTED, ContrastOptions, Resampling
from citebed.evaluation.scoring.evaluation import Evaluation, evaluate_under
from citebed.frames import MultiTableResult
from citebed.runs.ranking import prepare
from citebed.runs.reader import as_qrels, check_names, read_sets
from citebed.runs.tables import Qrels
from citebed.wording import count


@dataclass(frozen=True, eq=False, repr=False)
class Contrast(MultiTableResult):
    """The results of runs under two judgement sets.

    ``parts`` has one table for each of the ``PARTS``; ``citebed.evaluation.contrasts.changes``
    explains their columns.
    """

    PARTS = ("judgements", "summary", "changes", "correlations", "conclusions", "movers", "queries")
    MAIN = "changes"

    sets: Sets
    before: Evaluation
    after: Evaluation
    parts: Mapping[str, pl.DataFrame]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures, in the order given."""
        return self.before.measures

    @property
    def by_query(self) -> tuple[Measure, ...]:
        """The measures that have their own scores per query."""
        return tuple(measure for measure in self.measures if is_by_query(measure))

    def change(self, run: str, measure: Measure | str) -> dict[str, Any]:
        """Return the change of one run under one measure."""
        for row in self.parts["changes"].filter(run=run, measure=str(measure)).to_dicts():
            return row
        raise CitebedError(f"{measure} of '{run}' was not contrasted.")

    def rows(self, part: str) -> list[dict[str, Any]]:
        """Return one of the ``PARTS`` as flat rows."""
        return self.parts[part].to_dicts()

    def notes(self) -> list[str]:
        """Return notes on queries and measures that are treated specially."""
        notes = list(self.sets.notes)
        notes += [
            f"{measure} has no scores of its own per query (they are AP's), so it has no query "
            "correlations, movers or scatter plot; its differences are tested on logarithms"
            f"{self._otherwise_on_logarithms(measure)}"
            for measure in self.measures
            if not is_by_query(measure)
        ]
        missing = {x.run: x.ledger.missing for x in self.before.runs if x.ledger.missing}
        notes += [
            f"{run}: {number:,} of {count(len(self.sets.query_ids), 'query')} "
            f"{'is' if number == 1 else 'are'} not in the run"
            for run, number in missing.items()
        ]
        return notes

    def _otherwise_on_logarithms(self, measure: Measure) -> str:
        """Count the shifts of a geometric mean that have the other sign on logarithms, if any."""
        turned = 0
        for of in (of for of in self.rows("conclusions") if of["measure"] == str(measure)):
            run, base = (self.change(of[name], measure) for name in ("run", "base"))
            before, after = (math.log(run[side] / base[side]) for side in ("before", "after"))
            turned += of["shift"] * (after - before) < 0
        ratios = f"{count(turned, 'shift')} {'goes' if turned == 1 else 'go'} the other way"
        return f", as ratios, in which {ratios}" if turned else ""


def contrast(
    before: Any,
    after: Any,
    runs: Any,
    measures: Iterable[str | Measure] = CONTRASTED,
    options: ContrastOptions | None = None,
    *,
    cluster: Mapping[str, str] | str | Path | None = None,
) -> Contrast:
    """Score runs under two judgement sets and compare the scores.

    Judgements and runs are files, tables or dicts (`citebed.runs.reader`). Only queries judged in
    both sets count; `align` leaves out some of these, too. ``before`` is the earlier or smaller set
    (J1), ``after`` the later or larger one (J1+2); only signs and names depend on this. With a
    ``cluster`` (as in ``Evaluation.summary``) the tests use whole clusters of queries.
    """
    options = options or ContrastOptions()
    chosen = tuple(parse_measures(measures))
    counts = [str(measure) for measure in chosen if measure.SUMMARY == "sum"]
    if counts:
        raise CitebedError(
            f"{', '.join(counts)}: counts cannot be contrasted, because they grow with the "
            "judgements. Use measures such as AP or P@5."
        )
    rel = max(1, min(measure.rel for measure in chosen))
    if isinstance(before, str | Path) and isinstance(after, str | Path):
        both = read_sets([Path(before), Path(after)])  # under distinct names
    else:
        both = [as_qrels(before, "before"), as_qrels(after, "after")]
    resampling = options.resampling if cluster is None else Resampling(cluster=cluster)
    options = replace(options, resampling=resampling.with_clusters(both[1].source))
    sets = align(both[0], both[1], rel, options.keep_empty)
    first, second = evaluate_under(
        [prepare(sets.before), prepare(sets.after)], runs, chosen, options.settings
    )
    check_names([scores.run for scores in first.runs])
    queries = scores_by_query(first, second)
    tables = {
        "judgements": to_table(sets.facts),
        "changes": score_changes(first, second),
        "correlations": agreements(first, second),
        "conclusions": significance_changes(first, second, options.design, options.resampling),
        "movers": query_changes(queries, chosen, (sets.before, sets.after), options.largest),
        "queries": queries,
    }
    tables["summary"] = summarise_contrast(
        *(tables[part] for part in ("changes", "correlations", "conclusions", "movers"))
    )
    return Contrast(sets, first, second, {part: tables[part] for part in Contrast.PARTS})


# --- the two sets, aligned ------------------------------------------------------------------

_PAIR = ("query_id", "doc_id")


@dataclass(frozen=True, eq=False)
class Sets:
    """Both sets, restricted to the queries that are compared.

    ``facts`` counts the queries and judgements of each set: ``empty`` queries have no relevant
    document, ``single`` queries exactly one. ``notes`` tell which queries are left out, and how the
    sets differ.
    """

    before: Qrels
    after: Qrels
    query_ids: tuple[str, ...]
    facts: tuple[dict[str, Any], dict[str, Any]]
    notes: tuple[str, ...]


def _examples(ids: Iterable[str], shown: int = 5) -> str:
    """Join the first few ids."""
    ordered = sorted(ids)
    return ", ".join(ordered[:shown]) + (" …" if len(ordered) > shown else "")


def align(before: Qrels, after: Qrels, rel: int = 1, keep_empty: bool = False) -> Sets:
    """Restrict two judgement sets to the queries that both judge.

    Queries without a relevant document (of grade ``rel``) in one of the sets are left out, as in
    the study, because every measure is 0 for them whatever the run. ``keep_empty`` keeps them.
    """
    for qrels in (before, after):
        prepare(qrels)  # raises an error if a document is judged twice
    ours, theirs = (set(qrels.table["query_id"].unique()) for qrels in (before, after))
    shared = ours & theirs
    if not shared:
        raise CitebedError(
            f"the judgements '{before.name}' and '{after.name}' have no query in common: "
            f"{_examples(ours, 3)} and {_examples(theirs, 3)}. "
            "Do they belong together?"
        )
    emptied = shared - (relevant_counts(before, rel).keys() & relevant_counts(after, rel).keys())
    queries = shared if keep_empty else shared - emptied
    if not queries:
        raise CitebedError(
            f"no query has a relevant document in both '{before.name}' and '{after.name}': "
            "there is nothing to contrast."
        )
    first, second = _cut(before, queries), _cut(after, queries)
    known = [q.table.filter(pl.col("relevance") >= 0) for q in (first, second)]
    shared_pairs = known[0].join(known[1], on=_PAIR, suffix="_after")
    other = (pl.col("relevance") >= rel) != (pl.col("relevance_after") >= rel)
    lost, changed = known[0].height - shared_pairs.height, shared_pairs.filter(other).height
    one, two = before.name, after.name
    done = "kept, scoring 0 there" if keep_empty else "left out"
    reasons = (
        (ours - theirs, f"judged in {one} alone and left out"),
        (theirs - ours, f"judged in {two} alone and left out"),
        (emptied, f"without a relevant document in {one} or in {two}, and {done}"),
        (_alike(first, second), f"judged alike in {one} and {two}, so their scores do not change"),
    )
    notes = [
        f"{count(len(ids), 'query')} {'is' if len(ids) == 1 else 'are'} {why}: {_examples(ids)}"
        for ids, why in reasons
        if ids
    ]
    if lost or changed:
        notes.append(
            f"{two} does not extend {one}: it lacks {lost:,} of its judgements and "
            f"differs on the relevance of {changed:,}"
        )
    facts = _facts(first, rel), _facts(second, rel)
    return Sets(first, second, tuple(sorted(queries)), facts, tuple(notes))


def _cut(qrels: Qrels, queries: set[str]) -> Qrels:
    table = qrels.table.filter(pl.col("query_id").is_in(list(queries)))
    return Qrels(table, qrels.name, qrels.source)


def _facts(qrels: Qrels, rel: int) -> dict[str, Any]:
    counts = relevant_counts(qrels, rel)
    queries = qrels.table["query_id"].n_unique()
    judged = qrels.table.filter(pl.col("relevance") >= 0).height
    relevant = sum(counts.values())
    return {
        "judgements": qrels.name, "queries": queries, "judged": judged,
        "relevant": relevant, "not_relevant": judged - relevant,
        "empty": queries - len(counts),
        "single": sum(number == 1 for number in counts.values()),
    }  # fmt: skip


def _alike(before: Qrels, after: Qrels) -> set[str]:
    """Return the queries whose judgements are the same in both sets."""
    judged = [*_PAIR, "relevance"]
    one, two = before.table.select(judged), after.table.select(judged)
    moved = [x.join(y, on=judged, how="anti")["query_id"] for x, y in ((one, two), (two, one))]
    return set(one["query_id"]) - set(pl.concat(moved))
