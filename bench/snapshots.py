"""Scores in snapshots of a collection: the intervals on made-up queries, and eLife by years.

    python bench/snapshots.py                 # coverage of the intervals
    python bench/snapshots.py FOLDER          # three snapshots of eLife, scored

The first simulates queries whose true means are known. The second makes a collection of all eLife
papers up to a year, with the sentences of that year's papers that cite eLife as queries, for each
of three years, searches them with four models, and runs ``citebed timeline --snapshots``.
"""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl

import citebed
from citebed.collection import open_collection
from citebed.evaluation.measures.names import measures as parse_measures
from citebed.evaluation.options import Resampling
from citebed.evaluation.scoring.evaluation import Evaluation
from citebed.evaluation.scoring.run_scores import RunScores
from citebed.retrieval.execution.runner import RunOptions, run_queries
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.runs.tables import Qrels
from citebed.runs.writer import write_qrels, write_run
from citebed.timeline.options import SnapshotOptions
from citebed.timeline.snapshots import SnapshotScores
from common import shared_data

TRIALS, QUERIES, POPULATION = 1000, 50, 100_000
CHANGES = ("change", "drop", "effect_ratio", "delta_ri")
YEARS = ("2016", "2018", "2020")
PAPERS = 100
MODELS = ("bm25", "kl(mu=1000)", "bm25+rm3", "cosine")


def population(rng: np.random.Generator) -> np.ndarray:
    """Scores from 0 to 1, many of them 0: four rows, the run and the pivot in two snapshots."""
    ease = rng.normal(size=POPULATION)
    shifts = (0.35, 0.0, 0.05, -0.1)
    noise = rng.normal(scale=0.7, size=(4, POPULATION))
    return np.asarray(np.clip(0.3 + 0.3 * (ease + noise + np.array(shifts)[:, None]), 0, 1))


def coverage() -> None:
    """Print how often intervals contain the true value."""
    rng = np.random.default_rng(0)
    scores = population(rng)
    run, pivot, later, later_pivot = scores.mean(axis=1)
    truth = {
        "change": later - run,
        "drop": 1 - later / run,
        "effect_ratio": (later - later_pivot) / (run - pivot),
        "delta_ri": run / pivot - later / later_pivot,
    }
    print(f"{TRIALS} trials, {QUERIES} queries per snapshot; true values:")
    print(", ".join(f"{name} {value:.3f}" for name, value in truth.items()))
    for shared in (0, QUERIES // 2, QUERIES):
        hits = dict.fromkeys(CHANGES, 0)
        known = dict.fromkeys(CHANGES, 0)
        for _ in range(TRIALS):
            drawn = rng.integers(0, POPULATION, 2 * QUERIES - shared)
            row = scored(scores[:, drawn], QUERIES - shared)
            for name in CHANGES:
                if row[f"{name}_low"] is not None:
                    known[name] += 1
                    hits[name] += row[f"{name}_low"] <= truth[name] <= row[f"{name}_high"]
        shares = (
            f"{name} {hits[name] / max(known[name], 1):.1%} of {known[name]}" for name in known
        )
        print(f"{shared} shared queries: {', '.join(shares)}", flush=True)


def scored(scores: np.ndarray, begin: int) -> dict[str, Any]:
    """Return the row of the run in the second snapshot, whose queries start at ``begin``."""
    evaluations, measures = {}, tuple(parse_measures("P@10"))
    for name, queries, rows in (
        ("a", slice(0, QUERIES), (0, 1)),
        ("b", slice(begin, begin + QUERIES), (2, 3)),
    ):
        ids = pl.Series([str(at) for at in range(queries.start, queries.stop)])
        runs = tuple(
            RunScores(run, measures, ids, scores[[row], queries], SimpleNamespace())  # type: ignore[arg-type]
            for run, row in zip(("run", "pivot"), rows, strict=True)
        )
        evaluations[name] = Evaluation(name, measures, runs)
    options = SnapshotOptions(pivot="pivot", resampling=Resampling(samples=100))
    found = SnapshotScores(evaluations, {}, options).rows
    return next(row for row in found if row["run"] == "run" and row["snapshot"] == "b")


def elife(work: Path) -> None:
    """Make the three snapshots, and score them."""
    data = shared_data("elife")
    work.mkdir(parents=True, exist_ok=True)
    documents, contexts = (
        [json.loads(line) for line in lzma.decompress((data / name).read_bytes()).splitlines()]
        for name in ("documents.jsonl.xz", "contexts.jsonl.xz")
    )
    for year in YEARS:
        folder = work / year
        if not (folder / "citebed.toml").exists():
            source = work / f"elife-{year}.jsonl"
            known = [each for each in documents if str(each["year"]) <= year]
            source.write_text("".join(f"{json.dumps(each)}\n" for each in known), "utf-8")
            citebed.import_sources(folder, [source])
            citebed.build_index(folder)
        held = set(open_collection(folder).documents["doc_id"])
        there = [row for row in contexts if str(row["year"]) == year]
        some = set(sorted({row["citing"] for row in there})[:PAPERS])
        asked = [row for row in there if row["citing"] in some and set(row["cited"]) & held]
        texts = [(row["id"], row["text"].replace("[CIT]", "")) for row in asked]
        cited = [(row["id"], doc, 1) for row in asked for doc in sorted(set(row["cited"]) & held)]
        (folder / "qrels").mkdir(exist_ok=True)
        (folder / "runs").mkdir(exist_ok=True)
        judged = pl.DataFrame(cited, ["query_id", "doc_id", "relevance"], orient="row")
        write_qrels(folder / "qrels" / "sentences.qrels", Qrels(judged))
        queries = pl.DataFrame(texts, ["query_id", "text"], orient="row")
        papers = "".join(f"{row['id']} {row['citing']}\n" for row in asked)
        with (work / "papers.txt").open("a" if year != YEARS[0] else "w") as file:
            file.write(papers)
        collection, index = open_collection(folder), open_index(folder)
        for model in MODELS:
            options = RunOptions(depth=100, threads=1)
            run = run_queries(collection, index, queries, parse_pipeline(model), options)
            write_run(folder / "runs" / f"{model}.run", run, model)
    command = [
        "citebed", "timeline", "--snapshots", *YEARS, "--pivot", "bm25", "--cluster", "papers.txt",
    ]  # fmt: skip
    print(f"$ {' '.join(command)}", flush=True)
    subprocess.run([sys.executable, "-m", *command], cwd=work, check=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        elife(Path(sys.argv[1]))
    else:
        coverage()
