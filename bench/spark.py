"""Scoring runs on an engine against the same command without one: what does Spark cost?

``evaluate`` (1,000 documents a query, 50 judged) and ``timeline`` (30 entities, 90 days, by day) of
runs of 1 to 100 million lines as text: the plain command, on Sail (``--on local``) and on Spark
``local[2]``. Every one starts cold; all must print the same. Told are seconds, lines per second,
peak memory of all processes and of the driver (the command's own), bytes that Spark shuffled, the
ratio to the plain command, how long it takes to start, and by which power of the lines time grows.
Judgements grow with the lines, or there are as many as ``--judged`` says, whatever the lines.
Spark takes Java 17 and the whole of pyspark (``make test-spark`` puts it in .venv-spark), Sail the
client of Spark Connect (.venv): what is not in the Python that runs this is left out and named.
Run: python bench/spark.py [--lines 1000000 3000000] [--work evaluate timeline] [--judged 50000]
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import nnls

import timeline
from common import Watched, machine, watch

DEPTH, JUDGED = 1000, 50
AT_ONCE = 5_000_000
WORDS = {
    "evaluate": ["-m", "nDCG@10", "-m", "AP", "-m", "R@10"],
    "timeline": ["--slice", "1d", "-m", "AP", "-m", "nDCG@R"],
}
DRIVER = """
import sys
from citebed.cli.app import main
code = main(sys.argv[1:])
sys.stdout.flush()
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print("driver", int(status["VmHWM"].split()[0]) // 1024, file=sys.stderr)
sys.exit(code)
"""


class Measured(NamedTuple):
    """A command that was run."""

    seconds: float
    megabytes: float
    driver: int
    shuffled: int | None
    out: str


def make_queries(folder: Path, lines: int, judgements: int | None) -> tuple[Path, Path]:
    """A run of 1,000 documents a query with ties, and judgements of three grades: of all queries,
    or so many."""
    qrels, run = folder / f"evaluate-{lines}.qrels", folder / f"evaluate-{lines}.run"
    queries = lines if judgements is None else judgements // JUDGED
    with run.open("wb") as found, qrels.open("wb") as judged:
        for start in range(0, lines, AT_ONCE):
            _write_queries(found, judged, np.arange(start, min(lines, start + AT_ONCE)), queries)
    return qrels, run


def make_stream(folder: Path, lines: int, judgements: int | None) -> tuple[Path, Path]:
    """A run over a stream, and judgements of a share of it, or so many."""
    return timeline.make(folder, lines, judgements and judgements / lines)


def _write_queries(found: object, judged: object, numbers: np.ndarray, queries: int) -> None:
    draw = np.random.default_rng(int(numbers[0]))
    query, rank = numbers // DEPTH, numbers % DEPTH
    table = pl.DataFrame(
        {
            "query": pl.Series(query).cast(pl.String),
            "doc": pl.Series((query * 7919 + rank * 37) % 2_000_003).cast(pl.String),
            "score": draw.integers(1, 5000, len(numbers)) / 100,
        }
    )
    query_id, doc_id = pl.format("q{}", "query"), pl.format("doc{}", "doc")
    rows = table.select(
        query_id, pl.lit("Q0").alias("a"), doc_id.alias("d"), pl.lit(1).alias("b"), "score",
        pl.lit("bench").alias("c"),
    )  # fmt: skip
    rows.write_csv(found, include_header=False, separator=" ")  # type: ignore[call-overload]
    wanted = (rank < JUDGED) & (query < queries)
    some = table.filter(pl.Series(wanted)).with_columns(
        grade=pl.Series(draw.integers(0, 3, int(wanted.sum())))
    )
    chosen = some.select(query_id, pl.lit(0).alias("a"), doc_id.alias("d"), "grade")
    chosen.write_csv(judged, include_header=False, separator=" ")  # type: ignore[call-overload]


MAKE = {"evaluate": make_queries, "timeline": make_stream}


def engines(events: Path) -> dict[str, list[str]]:
    """The words that choose each engine that is here."""
    found: dict[str, list[str]] = {"plain": []}
    whole = find_spec("pyspark.core") and find_spec("py4j")
    if find_spec("pysail") and not whole:  # Sail is behind the newest Spark, which the whole is
        found["Sail"] = ["--on", "local"]
    if whole and shutil.which("java"):
        log = ("enabled=true", "compress=false", f"dir=file://{events}")
        conf = [word for each in log for word in ("--spark-conf", f"spark.eventLog.{each}")]
        found["local[2]"] = ["--on", "local[2]", *conf]
    return found


def measured(words: list[str], events: Path) -> Measured:
    """Run a command; one that fails ends all."""
    for old in events.iterdir():
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    ended: Watched = watch([sys.executable, "-c", DRIVER, *words])
    if ended.code:
        sys.exit(f"{' '.join(words)}\n{ended.err}")
    driver = int(ended.err.rpartition("driver")[2])
    return Measured(ended.seconds, ended.megabytes, driver, shuffled(events), ended.out)


def shuffled(events: Path) -> int | None:
    """The bytes that tasks wrote for others to read, by Spark's own log."""
    logs = [file for file in events.rglob("events_*") if file.is_file()]
    total = 0
    for line in (line for log in logs for line in log.read_text().splitlines()):
        metrics = json.loads(line).get("Task Metrics") or {}
        total += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    return total if logs else None


def growth(sizes: list[int], seconds: list[float]) -> str:
    """Return the share of start-up in the time, and the power with which the rest grows with size:
    the best fit by relative error.
    """
    if len(sizes) < 3:
        return "The growth of the time needs three sizes or more."
    n, t = np.array(sizes, float) / sizes[0], np.array(seconds)
    fits = []
    for power in np.arange(0.5, 1.6, 0.01):
        columns = np.stack([np.ones_like(n), n**power], axis=1) / t[:, None]
        (start, _), rest = nnls(columns, np.ones_like(t))
        fits.append((rest, power, start))
    _, power, start = min(fits)
    return f"{start:.1f} s to start, then time grows with the power {power:.2f} of the size"


def report(work: str, sizes: list[int], judged: int | None, folder: Path) -> None:
    """Print a line an engine and size, and how each grows."""
    times: dict[str, list[float]] = {}
    events = folder / "events"
    events.mkdir(exist_ok=True)
    for lines in sizes:
        files = MAKE[work](folder, lines, judged)
        print(f"{work}, {lines:,} lines, {files[1].stat().st_size / 1e6:,.0f} MB", flush=True)
        words = [work, *map(str, files), *WORDS[work], "--json"]
        plain: Measured | None = None
        for name, chosen in engines(events).items():
            result = measured([*words, *chosen], events)
            plain = plain or result
            times.setdefault(name, []).append(result.seconds)
            print(_line(name, result, plain, lines), flush=True)
        for file in files:
            file.unlink()
    for name, seconds in times.items():
        print(f"  {name:10} {growth(sizes, seconds)}")


def _line(name: str, result: Measured, plain: Measured, lines: int) -> str:
    same = "the same" if result.out == plain.out else "ANOTHER ANSWER"
    sent = "" if result.shuffled is None else f"  {result.shuffled / 1e6:7,.0f} MB shuffled"
    return (
        f"  {name:10} {result.seconds:7.1f} s  {lines / result.seconds:10,.0f} lines/s  "
        f"{result.megabytes:6,.0f} MB in all  {result.driver:6,} MB driver{sent}  "
        f"{result.seconds / plain.seconds:5.2f} times plain  {same}"
    )


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000])
    parser.add_argument("--work", nargs="+", choices=list(MAKE), default=list(MAKE))
    parser.add_argument("--judged", type=int, help="So many judgements, whatever the lines.")
    parser.add_argument("--folder", type=Path, help="The folder for the runs.")
    given = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        missing = {"Sail", "local[2]"} - engines(Path(folder)).keys()
        if missing:
            print(f"not here: {', '.join(sorted(missing))}")
        for work in given.work:
            report(work, given.lines, given.judged, Path(folder))


if __name__ == "__main__":
    main()
