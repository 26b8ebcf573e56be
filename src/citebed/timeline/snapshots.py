"""Scores of systems in several snapshots of a collection, as in CLEF's LongEval.

Every snapshot has its own documents, queries and judgements; runs of the same name belong to the
same system. The measures of change come from Breuer et al. (2020), How to Measure the
Reproducibility of System-oriented IR Experiments. Keller, Breuer & Schaer (2024), Evaluation of
Temporal Change in IR Test Collections, use them for snapshots. With m a system's mean score and p
the pivot's, in the first snapshot (0) and a later one (t):

    relative drop = (m0 - mt) / m0                  effect ratio = (mt - pt) / (m0 - p0)
    delta relative improvement = (m0 - p0) / p0 - (mt - pt) / pt
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from citebed.errors import CitebedError, UnknownName
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.options import Resampling
from citebed.evaluation.scoring.evaluation import Evaluation, evaluate
from citebed.evaluation.scoring.run_scores import summarise
from citebed.files.parquet import read_parquet
from citebed.frames import TableResult
from citebed.runs.reader import as_qrels, as_runs, distinct_names, run_name
from citebed.runs.tables import Floats
from citebed.timeline.options import SnapshotOptions
from citebed.wording import count, printable

_CHANGES = ("change", "drop", "effect_ratio", "delta_ri")
_RUN_ENDINGS = {".run", ".res", ".results", ".trec", ".parquet"}


class Snapshot(NamedTuple):
    """A snapshot: its judgements, its runs by name, and the ids of its documents, if known."""

    qrels: Any
    runs: Any
    documents: pl.Series | None = None


@dataclass(frozen=True, eq=False, repr=False)
class SnapshotScores(TableResult):
    """Scores of systems in snapshots; citebed compares every snapshot with the first.

    ``table`` has a row per run, measure and snapshot, ``overlap`` a row per snapshot.
    """

    evaluations: Mapping[str, Evaluation]
    documents: Mapping[str, pl.Series]
    options: SnapshotOptions

    @cached_property
    def overlap(self) -> pl.DataFrame:
        """Queries and documents of every snapshot, and how many the first one has, too.

        Documents are all of the collection, or else the judged ones.
        """
        queries = {name: _queries(each) for name, each in self.evaluations.items()}
        first = next(iter(queries))
        documents = {name: set(ids) for name, ids in self.documents.items()}
        return pl.DataFrame(
            {
                "snapshot": name,
                "queries": len(queries[name]),
                "shared_queries": len(queries[name] & queries[first]),
                "documents": len(documents[name]),
                "shared_documents": len(documents[name] & documents[first]),
            }
            for name in queries
        )

    @cached_property
    def table(self) -> pl.DataFrame:
        """Scores and changes with intervals: one row per run, measure and snapshot.

        Fields: ``run, measure, snapshot, queries, value, low, high, shared_queries, change, drop,
        effect_ratio, delta_ri``; the last four have a ``_low`` and a ``_high``, too.
        """
        return pl.DataFrame(self.rows, infer_schema_length=None)

    def main_table(self) -> pl.DataFrame:
        """Return the table to print."""
        return self.table.with_columns(pl.col(pl.Float64).round(4))

    @cached_property
    def runs(self) -> list[str]:
        """The names of all runs, in order of first occurrence."""
        every = (scores.run for each in self.evaluations.values() for scores in each.runs)
        return list(dict.fromkeys(every))

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of ``table``; values that are not known are ``None``."""
        rows: dict[tuple[int, str, int], dict[str, Any]] = {}
        for order, (name, evaluation) in enumerate(self.evaluations.items()):
            for scores in evaluation.runs:
                summaries = summarise(scores, self._resamplings[name])
                for at, summary in enumerate(summaries):
                    rows[self.runs.index(scores.run), str(summary.measure), order] = {
                        "run": scores.run, "measure": str(summary.measure), "snapshot": name,
                        "queries": len(scores.query_ids), "value": summary.value,
                        "low": summary.low, "high": summary.high,
                        **self._changes(scores.run, at, name),
                    }  # fmt: skip
        places = {str(each): at for at, each in enumerate(evaluation.measures)}
        ordered = sorted(rows, key=lambda key: (key[0], places[key[1]], key[2]))
        return [
            {
                name: None if isinstance(value, float) and math.isnan(value) else value
                for name, value in rows[key].items()
            }
            for key in ordered
        ]

    def notes(self) -> list[str]:
        """Return notes on coverage, and on runs that are not in every snapshot."""
        notes = [
            f"{name}: {note}" for name, each in self.evaluations.items() for note in each.notes()
        ]
        for name, each in self.evaluations.items():
            there = {scores.run for scores in each.runs}
            if missing := [run for run in self.runs if run not in there]:
                notes.append(f"{name}: no run of {', '.join(missing)}")
        if self.options.pivot is None and len(self.runs) > 1:
            notes.append("with --pivot RUN, citebed compares the runs within each snapshot, too")
        return notes

    @cached_property
    def _resamplings(self) -> dict[str, Resampling]:
        """The options of intervals, with the clusters of each snapshot's queries."""
        resampling = self.options.resampling
        return {name: resampling.with_clusters(x.source) for name, x in self.evaluations.items()}

    def _sample(self, run: str | None, name: str, at: int) -> _Sample:
        """Return a run's scores of a measure in a snapshot by query; empty if it is not there."""
        found = (scores for scores in self.evaluations[name].runs if scores.run == run)
        return {
            query: float(value)
            for scores in found
            for query, value in zip(scores.query_ids, scores.values[at], strict=True)
        }

    @cached_property
    def _units(self) -> dict[str, str]:
        """The unit of each query: itself, or its cluster."""
        units: dict[str, str] = {}
        for name, evaluation in self.evaluations.items():
            queries = sorted(_queries(evaluation))
            labels = self._resamplings[name].labels(queries)
            units |= zip(queries, labels or queries, strict=True)
        return units

    def _changes(self, run: str, at: int, name: str) -> dict[str, Any]:
        """Return the measures of change from the first snapshot to another, with intervals."""
        first, pivot = next(iter(self.evaluations)), self.options.pivot
        names = (f"{change}{end}" for change in _CHANGES for end in ("", "_low", "_high"))
        result: dict[str, Any] = dict.fromkeys(("shared_queries", *names))
        before, after = self._sample(run, first, at), self._sample(run, name, at)
        if name == first or not before:
            return result
        level = self.options.resampling.level
        of = _Means([after, before], self._units, level)
        result["shared_queries"] = len(before.keys() & after.keys())
        _fill(result, "change", of.combination(np.array([1.0, -1.0])))
        value, low, high = of.ratio(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
        _fill(result, "drop", (1 - value, 1 - high, 1 - low))
        pairs = [
            {query: score for query, score in ours.items() if query in theirs}
            for snapshot, scores in ((name, after), (first, before))
            for other in [self._sample(pivot, snapshot, at)]
            for ours, theirs in ((scores, other), (other, scores))
        ]
        if run != pivot and all(pairs):
            both = _Means(pairs, self._units, level)
            lead = np.array([1.0, -1.0, 0.0, 0.0])
            _fill(result, "effect_ratio", both.ratio(lead, np.roll(lead, 2)))
            _fill(result, "delta_ri", both.delta_ri())
        return result


_Sample = dict[str, float]
_Limits = tuple[float, float, float]


def _fill(row: dict[str, Any], name: str, values: _Limits) -> None:
    """Put a value and its limits into a row."""
    row |= zip((name, f"{name}_low", f"{name}_high"), values, strict=True)


def _queries(evaluation: Evaluation) -> set[str]:
    return {query for scores in evaluation.runs for query in scores.query_ids}


class _Means:
    """Means of several samples and their covariance; samples with the same units are paired.

    The covariance is computed from sums over units, like `variance_of_means`. So it pairs queries
    (or clusters) that two snapshots share, and others count as independent. Student's t has the
    degrees of freedom of the smallest sample.
    """

    def __init__(self, samples: Sequence[_Sample], units: Mapping[str, str], level: float) -> None:
        from scipy.special import stdtrit

        codes = {unit: at for at, unit in enumerate(dict.fromkeys(units.values()))}
        self.means = np.array([np.mean(list(each.values())) for each in samples])
        influence, sizes = np.zeros((len(samples), len(codes))), np.zeros(len(samples))
        for at, each in enumerate(samples):
            places = [codes[units[query]] for query in each]
            off = (np.array(list(each.values())) - self.means[at]) / len(each)
            sizes[at] = len(set(places))
            influence[at] = np.bincount(places, off, len(codes))
        self.quantile = (
            math.nan if sizes.min() < 2 else float(stdtrit(sizes.min() - 1, (1 + level) / 2))
        )
        influence *= np.sqrt(sizes / np.maximum(sizes - 1, 1))[:, None]
        self.covariance = influence @ influence.T

    def combination(self, weights: Floats, value: float | None = None) -> _Limits:
        """Return a weighted sum of the means (or a function of them with this gradient)."""
        value = float(weights @ self.means) if value is None else value
        variance = float(weights @ self.covariance @ weights)
        reach = self.quantile * math.sqrt(variance) if variance > 1e-24 else math.nan
        return value, value - reach, value + reach

    def ratio(self, above: Floats, below: Floats) -> _Limits:
        """Return the ratio of two weighted sums of the means, with the interval of Fieller (1954).

        There are no limits if the denominator may be 0.
        """
        a, b = float(above @ self.means), float(below @ self.means)
        aa, ab, bb = (
            float(x @ self.covariance @ y) * self.quantile**2
            for x, y in ((above, above), (above, below), (below, below))
        )
        value, known = a / b if abs(b) > 1e-12 else math.nan, b * b - bb
        root = (a * b - ab) ** 2 - known * (a * a - aa)
        if not (known > 1e-24 and root > 1e-24):  # also if they are nan
            return value, math.nan, math.nan
        reach = math.sqrt(root)
        return value, (a * b - ab - reach) / known, (a * b - ab + reach) / known

    def delta_ri(self) -> _Limits:
        """Return the third mean divided by the fourth, minus the first by the second."""
        later, later_pivot, run, pivot = map(float, self.means)
        if min(abs(pivot), abs(later_pivot)) < 1e-12:
            return math.nan, math.nan, math.nan
        gradient = [-1 / later_pivot, later / later_pivot**2, 1 / pivot, -run / pivot**2]
        return self.combination(np.array(gradient), run / pivot - later / later_pivot)


def compare_snapshots(
    snapshots: Sequence[str | Path] | Mapping[str, Any],
    options: SnapshotOptions | None = None,
    **changes: Any,
) -> SnapshotScores:
    """Score systems in snapshots, and compare every snapshot with the first.

    ``snapshots`` are folders in order of time, or a dict from names to pairs of judgements and
    runs, as ``evaluate`` takes them. Options are given as `SnapshotOptions`, or by their names.
    """
    options = replace(options or SnapshotOptions(), **changes)
    measures = parse_measures(options.measures)
    for measure in (each for each in measures if each.SUMMARY != "mean"):
        raise CitebedError(f"{measure} has no mean over queries; take another, such as AP.")
    if isinstance(snapshots, Mapping):
        found = {name: Snapshot(*each) for name, each in snapshots.items()}
    else:
        paths = list(map(Path, snapshots))
        found = {name: read_snapshot(path, options)
                 for name, path in zip(distinct_names(paths), paths, strict=True)}  # fmt: skip
    if len(found) < 2:
        raise CitebedError(f"found {count(len(found), 'snapshot')}. Name two or more.")
    judged = {name: as_qrels(each.qrels) for name, each in found.items()}
    if options.shared:
        common = set.intersection(*(set(each.table["query_id"]) for each in judged.values()))
        if not common:
            raise CitebedError("the snapshots have no judged query in common: remove --shared.")
        judged = {name: each.only(each.table["query_id"].is_in(list(common)))
                  for name, each in judged.items()}  # fmt: skip
    evaluations = {
        name: evaluate(judged[name], as_runs(each.runs), measures, options.settings)
        for name, each in found.items()
    }
    documents = {
        name: judged[name].table["doc_id"] if each.documents is None else each.documents
        for name, each in found.items()
    }
    result = SnapshotScores(evaluations, documents, options)
    if options.pivot is not None and options.pivot not in result.runs:
        raise UnknownName("pivot", options.pivot, result.runs)
    return result


# --- folders ----------------------------------------------------------------------------------


def read_snapshot(folder: Path, options: SnapshotOptions) -> Snapshot:
    """Find the judgements and the runs in a folder, which may be a collection.

    Judgements are the files in ``qrels/``, and those with "qrels" in their names. Runs are the
    files in ``runs/``, files with the ending of a run (``bm25.run.gz``), and ``SYSTEM/run.txt``.
    """
    if not folder.is_dir():
        raise CitebedError(
            f"'{printable(folder)}' is not a folder. A snapshot is a folder with judgements and "
            "runs."
        )
    is_collection = (folder / "citebed.toml").is_file()
    here = () if is_collection else ("*",)  # a collection has its own tables there
    sets = {
        run_name(path): path
        for path in _files(folder, *here, "qrels/*")
        if path.parent != folder or "qrels" in path.name.lower()
    }
    if options.judgements is not None and options.judgements not in sets:
        raise UnknownName(f"judgement set of {printable(folder)}", options.judgements, sets)
    chosen = options.judgements or next(iter(sets), "")
    if len(sets) > 1 and options.judgements is None:
        raise CitebedError(
            f"'{printable(folder)}' has several judgement sets: {', '.join(sets)}. Choose one with "
            "--qrels."
        )
    if not sets:
        raise CitebedError(
            f"'{printable(folder)}' has no judgements. Put a file with 'qrels' in its name there."
        )
    runs = {}
    for path in _files(folder, *here, "runs/*", "*/run.*"):
        inside = path.parent.name if path.parent != folder else ""
        kind = Path(path.name.removesuffix(".gz")).suffix.lower()
        if path not in sets.values() and (inside or kind in _RUN_ENDINGS):
            name = run_name(path) if inside in ("", "runs") else printable(inside)
            # `citebed search` writes MODEL.SET.run
            if name.rpartition(".")[2] not in sets.keys() - {chosen}:
                runs[name.removesuffix(f".{chosen}")] = path
    for system in options.systems:
        name, path = _system_run(system, folder)
        if name in runs:
            raise CitebedError(f"two runs of {printable(folder)} are called '{name}'.")
        runs[name] = path
    if not runs:
        raise CitebedError(
            f"'{printable(folder)}' has no runs. Put files like bm25.run there, or name systems "
            "with --system."
        )
    table = folder / "documents.parquet"
    documents = read_parquet(table)["doc_id"] if is_collection and table.is_file() else None
    return Snapshot(sets[chosen], runs, documents)


def _files(folder: Path, *patterns: str) -> list[Path]:
    found = (path for pattern in patterns for path in sorted(folder.glob(pattern)))
    return [path for path in found if path.is_file() and path.suffix not in (".json", ".yml")]


def _system_run(system: Path, snapshot: Path) -> tuple[str, Path]:
    """Return the name of a system, and the file of its run in a snapshot."""
    place = system / snapshot.resolve().name
    runs = _files(place, "*")
    if len(runs) != 1:
        raise CitebedError(f"'{printable(place)}' is not a folder with one run.")
    return printable(system.resolve().name), runs[0]
