"""Scoring runs of 1 and 10 million lines, against trec_eval, pytrec_eval, ir_measures and ranx.

Every tool starts cold, reads both files and scores AP, P@5, Rprec, nDCG@10, R@10 and Bpref (ranx
has no Bpref like trec_eval's and does without). The tools take turns; figures are medians of the
rounds. trec_eval is taken from $TREC_EVAL or the PATH, the others from $PEER_PYTHON (or this
Python) where they can be imported; what is not there is named.
Run: python bench/evaluate.py [--queries 1000 10000] [--rounds 5] [--shuffled]
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from common import in_turns, machine

DEPTH = 1000
POOL, FOUND = 100, 60
MEASURES = ("AP", "P@5", "Rprec", "nDCG@10", "R@10", "Bpref")
TREC = ("map", "P.5", "Rprec", "ndcg_cut.10", "recall.10", "bpref")

PYTREC_EVAL = """
import sys, pytrec_eval
with open(sys.argv[1]) as q, open(sys.argv[2]) as r:
    qrels, run = pytrec_eval.parse_qrel(q), pytrec_eval.parse_run(r)
found = pytrec_eval.RelevanceEvaluator(qrels, set(sys.argv[3].split())).evaluate(run)
for name in sorted(next(iter(found.values()))):
    print(name, sum(x[name] for x in found.values()) / len(found))
"""
IR_MEASURES = """
import sys, ir_measures
qrels, run = ir_measures.read_trec_qrels(sys.argv[1]), ir_measures.read_trec_run(sys.argv[2])
print(ir_measures.calc_aggregate(map(ir_measures.parse_measure, sys.argv[3].split()), qrels, run))
"""
RANX = """
import sys
from ranx import Qrels, Run, evaluate
qrels = Qrels.from_file(sys.argv[1], kind="trec")
run = Run.from_file(sys.argv[2], kind="trec")
print(evaluate(qrels, run, ["map", "precision@5", "r-precision", "ndcg@10", "recall@10"]))
"""
PEERS = {
    "pytrec_eval": (PYTREC_EVAL, " ".join(TREC)),
    "ir_measures": (IR_MEASURES, " ".join(MEASURES)),
    "ranx": (RANX, ""),
}


def make(folder: Path, queries: int) -> tuple[Path, Path]:
    """Judgements (100 a query, 60 of them retrieved) and a run of 1,000 documents a query."""
    draw = np.random.default_rng(1)
    qrels, run = folder / f"{queries}.qrels", folder / f"{queries}.run"
    with qrels.open("w") as judged, run.open("w") as found:
        for query in range(queries):
            ids = draw.choice(2_000_000, DEPTH + POOL - FOUND, replace=False)
            scores = np.sort(draw.gamma(2, 3, DEPTH))[::-1]
            found.writelines(
                f"q{query} Q0 doc{doc:07d} {rank} {score:.6f} bench\n"
                for rank, (doc, score) in enumerate(zip(ids[:DEPTH], scores, strict=True), 1)
            )
            pool = np.concatenate([draw.choice(ids[:DEPTH], FOUND, replace=False), ids[DEPTH:]])
            grades = (draw.random(POOL) < 0.3) * draw.integers(1, 4, POOL)
            judged.writelines(
                f"q{query} 0 doc{doc:07d} {grade}\n"
                for doc, grade in zip(pool.tolist(), grades.tolist(), strict=True)
            )
    return qrels, run


def shuffle(run: Path) -> None:
    """Shuffle the lines of a run, so that lines of one query are not adjacent."""
    lines = run.read_bytes().splitlines(keepends=True)
    random.Random(1).shuffle(lines)
    run.write_bytes(b"".join(lines))


def commands(qrels: Path, run: Path) -> dict[str, list[str]]:
    """Return the tools that are installed."""
    files = [str(qrels), str(run)]
    ours = [sys.executable, "-m", "citebed", "evaluate", *files]
    found = {"citebed": [*ours, *(part for name in MEASURES for part in ("-m", name))]}
    trec_eval = os.environ.get("TREC_EVAL") or shutil.which("trec_eval")
    if trec_eval:
        chosen = [part for name in TREC for part in ("-m", name)]
        found["trec_eval"] = [*trec_eval.split(), *chosen, *files]
    python = os.environ.get("PEER_PYTHON", sys.executable)
    for name, (script, measures) in PEERS.items():
        needed = "import pytrec_eval, ir_measures" if name == "ir_measures" else f"import {name}"
        known = subprocess.run([python, "-c", needed], capture_output=True, check=False)
        if known.returncode == 0:
            found[name] = [python, "-c", script, *files, measures]
    return found


def main() -> None:
    """Print a line a tool and size, with the ratio to citebed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, nargs="+", default=[50, 1_000, 10_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--shuffled", action="store_true", help="Lines in no order.")
    arguments = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as work:
        for queries in arguments.queries:
            qrels, run = make(Path(work), queries)
            if arguments.shuffled:
                shuffle(run)
            measured = commands(qrels, run)
            missing = sorted({"trec_eval", *PEERS} - set(measured))
            print(f"{queries * DEPTH:,} lines", f"(not here: {', '.join(missing)})" * bool(missing))
            ours = None
            for name, result in in_turns(measured, arguments.rounds).items():
                if result.code:
                    why = result.err.strip().splitlines()[-1:]
                    print(f"  {name:12} failed: {' '.join(why)}")
                    continue
                ours = ours or result.seconds
                print(
                    f"  {name:12} {result.seconds:7.2f} s  {result.processor:7.2f} s processor  "
                    f"{result.megabytes:6.0f} MB  {result.seconds / ours:5.1f} times citebed's",
                    flush=True,
                )


if __name__ == "__main__":
    main()
