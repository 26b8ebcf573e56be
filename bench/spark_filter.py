"""The cost and the gain of filtering on an engine.

The plain command and the same command with `--on` filter the stream of bench/filter.py at growing
lengths. The script prints seconds, peak memory of all processes and of the driver, and the bytes of
temporary files. There is no shuffle: workers read their own part of the stream and write their
results beside the output. The runs must be identical. The exit code is 1 if the engine takes more
than 1.5 times as long at the greatest length.
Run: python bench/spark_filter.py [MILLIONS…] [--on ADDRESS] [--model NAME] [--folder WHERE]
"""

from __future__ import annotations

import argparse
import filecmp
import json
import random
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from common import machine, watch
from filter import SHAPES, START, lines, names, shapes
from spark import growth

UNIT = 1_000_000
MOST = 1.5
"""So many times the plain command's seconds the engine may take at the greatest length."""
JUDGED = 50
"""One document with a name in this many is judged."""
_COMMAND = """
import resource, sys
from citebed.cli.app import main
code = main(sys.argv[1:])
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


class Measured(NamedTuple):
    """A length of the stream: seconds and MB of both, MB of who drives, MB between the steps."""

    documents: int
    plain: float
    plain_mb: float
    engine: float
    engine_mb: float
    driver_mb: float
    between_mb: float


def measure(units: Iterable[float], on: str, model: str, folder: Path) -> Iterator[Measured]:
    """Filter streams of so many million documents, plainly and on an engine."""
    for unit in units:
        documents = round(unit * UNIT)
        write(folder, documents)
        yield _measured(folder, documents, on, model)


def write(folder: Path, documents: int) -> None:
    """The stream, the topics, and judgements: who has a full name in it is relevant."""
    choose = random.Random(7)
    known = names(choose)
    ends = shapes(choose, known)
    with (folder / "stream.jsonl").open("w") as handle:
        handle.writelines(lines(documents, ends))
    ids = [full.replace(" ", "_") for full, _ in known]
    with (folder / "topics.jsonl").open("w") as handle:
        for query_id, (full, nick) in zip(ids, known, strict=True):
            topic = {"query_id": query_id, "name": full, "aliases": [nick], "text": full}
            handle.write(json.dumps(topic) + "\n")
    with (folder / "judged.qrels").open("w") as handle:
        handle.writelines(_judged(documents, ends, known, ids))


def _judged(
    documents: int, ends: list[str], known: Sequence[tuple[str, str]], ids: Sequence[str]
) -> Iterator[str]:
    named = [
        (shape, query_id, full in end)
        for shape, end in enumerate(ends)
        for query_id, (full, nick) in zip(ids, known, strict=True)
        if full in end or nick in end
    ][::JUDGED]
    for first in range(0, documents, SHAPES):
        for shape, query_id, relevant in named:
            n = first + shape
            if n < documents:
                yield f"{query_id} 0 {START + n // 4}-{n:08x} {int(relevant)}\n"


def _measured(folder: Path, documents: int, on: str, model: str) -> Measured:
    here, there = folder / "here.run", folder / "there.run"
    plain, plain_mb, _ = _filtered(folder, here, model)
    with _size_of(Path(f"{there}.parts")) as between:
        seconds, megabytes, driver = _filtered(folder, there, model, "--on", on)
    if not filecmp.cmp(here, there, shallow=False):
        sys.exit("the runs differ")
    return Measured(documents, plain, plain_mb, seconds, megabytes, driver, between[0] / 1e6)


def _filtered(folder: Path, output: Path, model: str, *more: str) -> tuple[float, float, float]:
    """Seconds, MB of all processes, and MB of the first."""
    files = [str(folder / "stream.jsonl"), "--topics", str(folder / "topics.jsonl")]
    if model.startswith("incremental"):
        files += ["--judgements", str(folder / "judged.qrels"), "--feedback-delay", "1h"]
    options = ["--model", model, "-o", str(output), "--overwrite", "--restart", "--quiet"]
    done = watch([sys.executable, "-c", _COMMAND, "filter", *files, *options, *more])
    if done.code:
        sys.exit(done.err)
    peak = next(line for line in done.err.splitlines()[::-1] if line.startswith("peak "))
    return done.seconds, done.megabytes, int(peak.split()[1]) / 1024


@contextmanager
def _size_of(folder: Path) -> Iterator[list[int]]:
    """The most bytes that a folder has meanwhile."""
    most, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(0.5):
            sizes = (_bytes(path) for path in folder.rglob("*"))
            most[0] = max(most[0], sum(sizes))

    watching = threading.Thread(target=look, daemon=True)
    watching.start()
    try:
        yield most
    finally:
        over.set()
        watching.join()


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # it has been put in its place
        return 0


def main() -> None:
    """Print a table, and what follows from it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("millions", type=float, nargs="*", default=[1, 3, 10, 30])
    parser.add_argument("--on", default="local[2]")
    parser.add_argument("--model", default="names")
    parser.add_argument("--folder", type=Path, help="where there is room for the stream")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=given.folder, prefix="spark-filter-"))
    print(f"{given.model} on {given.on}; {machine()}\n")
    head = ("documents", "plain s", "MB", "engine s", "MB", "driver MB", "between MB", "ratio")
    print(("{:>12}" * len(head)).format(*head))
    rows: list[Measured] = []
    try:
        for row in measure(given.millions, given.on, given.model, folder):
            rows.append(row)
            figures = "".join(f"{figure:>12,.1f}" for figure in row[1:])
            ratio = row.engine / row.plain
            print(f"{row.documents:>12,}{figures}{ratio:>12.2f}", flush=True)
    finally:
        shutil.rmtree(folder)
    sys.exit(told(rows))


def told(rows: Sequence[Measured]) -> int:
    """Say whether it is good enough; gives the exit code."""
    ratio = rows[-1].engine / rows[-1].plain
    flat = rows[-1].driver_mb / rows[0].driver_mb
    print(f"\n{ratio:.2f} times the plain command at the greatest length (at most {MOST})")
    sizes = [row.documents for row in rows]
    print(f"plain: {growth(sizes, [row.plain for row in rows])}")
    print(f"engine: {growth(sizes, [row.engine for row in rows])}; driver's memory x{flat:.2f}")
    return int(ratio > MOST)


if __name__ == "__main__":
    main()
