"""Day-by-day AP, nDCG@R and Rprec of a stream of 1 and 10 million lines, against trec_eval's tools.

The stream has 30 entities, 90 days, and confidences from 1 to 1000 in the order of time. Every tool
starts cold and reads both files. The other tools have no slices, so they score each pair of entity
and day as a query: pytrec_eval's script renames queries while it reads; for trec_eval, awk rewrites
both files. They have no nDCG@R, so they compute nDCG. The script takes trec_eval from $TREC_EVAL or
the PATH, and pytrec_eval from $PEER_PYTHON (or this Python). If one is missing, the script measures
only its preparation: awk's rewriting, or reading in Python.
The tools take turns; figures are medians of the rounds. ``--many N`` scores N runs with one
command, to show that memory does not grow.
Run: python bench/timeline.py [--lines 1000000 10000000] [--rounds 5] [--many 5]
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from common import in_turns, machine, watch

ENTITIES, DAYS, DAY = 30, 90, 86_400
START = 1_317_945_600  # 2011-10-07T00:00:00Z
JUDGED = 0.02
MEASURES = ("AP", "nDCG@R", "Rprec")
TREC = ("map", "ndcg", "Rprec")

READING = """
import sys, collections
def sliced(path, doc, value, kind):
    found = collections.defaultdict(dict)
    with open(path) as lines:
        for line in lines:
            fields = line.split()
            day = int(fields[doc][:10]) // 86400
            found[f"{fields[0]}|{day}"][fields[doc]] = kind(fields[value])
    return found
qrels, run = sliced(sys.argv[1], 2, 3, int), sliced(sys.argv[2], 2, 4, float)
"""
PYTREC_EVAL = f"""import pytrec_eval
{READING}
found = pytrec_eval.RelevanceEvaluator(qrels, set(sys.argv[3].split())).evaluate(run)
for name in sorted(next(iter(found.values()))):
    print(name, sum(x[name] for x in found.values()) / len(found))
"""
AWK = """'{ $1 = $1 "|" int(substr($3, 1, 10) / 86400); print }'"""


def make(folder: Path, lines: int, share: float | None = None) -> tuple[Path, Path]:
    """Judgements of every fiftieth document (or a share), a third of them relevant, and a run."""
    draw = np.random.default_rng(lines)
    times = np.sort(draw.integers(START, START + DAYS * DAY, lines))
    entity = draw.integers(0, ENTITIES, lines)
    names = pl.Series([f"Target_Entity_Number_{number:02}" for number in range(ENTITIES)])
    ids = pl.select(
        pl.format(
            "{}-{}{}",
            pl.lit(pl.Series(times)),
            pl.lit(pl.Series(draw.integers(10**15, 10**16, lines))),
            pl.lit(pl.Series(draw.integers(10**15, 10**16, lines))),
        )
    ).to_series()
    qrels, run = folder / f"{lines}.qrels", folder / f"{lines}.run"
    table = pl.DataFrame({"query": names.gather(entity), "doc": ids})
    scores = pl.Series("score", draw.integers(1, 1001, lines))
    _write(run, table.with_columns(scores), "Q0", pl.lit(0), pl.col("score"), pl.lit("bench"))
    judged = np.flatnonzero(draw.random(lines) < (share or JUDGED))
    grades = pl.Series("grade", draw.integers(0, 3, len(judged)) // 2)
    _write(qrels, table[judged].with_columns(grades), "0", pl.col("grade"))
    return qrels, run


def _write(path: Path, table: pl.DataFrame, second: str, *rest: pl.Expr) -> None:
    columns = [pl.col("query"), pl.lit(second).alias("second"), pl.col("doc")]
    others = [expression.alias(f"rest{at}") for at, expression in enumerate(rest)]
    table.select(*columns, *others).write_csv(path, separator=" ", include_header=False)


def commands(qrels: Path, run: Path) -> dict[str, list[str]]:
    """Return the tools that are installed."""
    files = [str(qrels), str(run)]
    ours = [str(Path(sys.executable).with_name("citebed")), "timeline", *files, "--slice", "1d"]
    ours += [part for name in MEASURES for part in ("-m", name)]
    found = {"citebed --json": [*ours, "--json"], "citebed": ours}
    trec_eval = os.environ.get("TREC_EVAL") or shutil.which("trec_eval")
    chosen = " ".join(f"-m {name}" for name in TREC)
    q, r = (shlex.quote(f"{name}.days") for name in files)
    steps = [f"awk {AWK} {shlex.quote(name)} > {shlex.quote(name)}.days" for name in files]
    if trec_eval:
        steps.append(f"{trec_eval} {chosen} {q} {r}")
    found["awk, trec_eval" if trec_eval else "awk alone"] = ["sh", "-c", "; ".join(steps)]
    python = os.environ.get("PEER_PYTHON", sys.executable)
    known = subprocess.run([python, "-c", "import pytrec_eval"], capture_output=True, check=False)
    if known.returncode == 0:
        found["pytrec_eval"] = [python, "-c", PYTREC_EVAL, *files, " ".join(TREC)]
    else:
        found["its reading alone"] = [python, "-c", READING, *files]
    return found


def compare(folder: Path, lines: int, rounds: int, many: int) -> None:
    """Print a line a tool, with the ratio to citebed."""
    qrels, run = make(folder, lines)
    measured = commands(qrels, run)
    missing = sorted({"awk, trec_eval", "pytrec_eval"} - set(measured))
    print(f"{lines:,} lines", f"(not here: {'; '.join(missing)})" * bool(missing))
    first = None
    for name, result in in_turns(measured, rounds).items():
        if result.code:
            sys.exit(f"{name} failed: {result.err[-500:]}")
        first = first or result.seconds
        print(
            f"  {name:17} {result.seconds:7.2f} s  {result.processor:7.2f} s processor  "
            f"{result.megabytes:6.0f} MB  {result.seconds / first:5.1f} times as long",
            flush=True,
        )
    if many > 1:
        command = measured["citebed --json"]
        copies = [str(folder / f"copy{number}.run") for number in range(many)]
        for copy in copies:
            os.link(run, copy)
        result = watch([*command[:3], *copies, *command[4:]])
        print(f"  {many} runs at once {result.seconds:.2f} s, {result.megabytes:.0f} MB")


def main() -> None:
    """Measure all sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--many", type=int, default=5)
    arguments = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as work:
        for lines in arguments.lines:
            compare(Path(work), lines, arguments.rounds, arguments.many)


if __name__ == "__main__":
    main()
