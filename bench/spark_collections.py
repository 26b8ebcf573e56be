"""Import, index and search on an engine, compared with the same commands on one machine.

Records are those of bench/millions.py, recombined from ACM-CR's texts; a unit is 100,000. Searches
are 100 paragraphs with BM25 to depth 1,000. The plain commands make one table and one index, the
others shards: the runs must be identical. ``again`` imports once more after half of a file's
records are gone. The columns are those of bench/spark.py.
Run: python bench/spark_collections.py [--units 1 3 10] [--steps import again] [--shards 8]
"""

from __future__ import annotations

import argparse
import filecmp
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import millions
from common import machine, shared_data
from spark import Measured, engines, growth, measured

UNIT = 100_000
STEPS = ("import", "again", "index", "search")
USUAL = ("import", "index", "search")
MODEL = "bm25"


def words(step: str, place: Path, source: Path, size: int) -> list[str]:
    """Return the command of a step for a collection; ``size`` is that of its shards, or 0 for a
    collection in one piece.
    """
    collection, queries = str(place / "c"), str(source.with_name("queries.jsonl"))
    sharded = ["--shard-size", str(size)] if size else []
    taken = ["import", collection, str(source), "-q", *sharded]
    return {
        "import": taken,
        "again": taken,
        "index": ["index", collection, "-q", "--no-fit"] if not size else ["index", collection],
        "search": [
            *("search", collection, "--queries", queries, "--model", MODEL, "--depth", "1000"),
            *("-o", str(place / "found.run")),
        ],
    }[step]


def report(units: list[int], steps: list[str], shards: int, folder: Path) -> None:
    """Print a line for each size, step and engine, and how each grows."""
    events = folder / "events"
    events.mkdir(exist_ok=True)
    pools = _pools(folder)
    times: dict[tuple[str, str], list[float]] = {}
    for unit in units:
        source = folder / "records"
        size = millions.write(source, pools, unit * UNIT)
        millions.write_queries(folder / "queries.jsonl", pools)
        print(f"{unit * UNIT:,} documents, {size / 1e6:,.0f} MB", flush=True)
        plain: dict[str, Measured] = {}
        for name, chosen in engines(events).items():
            place = folder / _folder_of(name)
            place.mkdir()
            for step in steps:
                cut = -(-unit * UNIT // shards) if chosen else 0
                with _changed(source) if step == "again" else nullcontext():
                    result = measured([*words(step, place, source, cut), *chosen], events)
                times.setdefault((step, name), []).append(result.seconds)
                print(_line(step, name, result, plain.setdefault(step, result)), flush=True)
            if "search" in steps:
                same = filecmp.cmp(folder / "plain/found.run", place / "found.run", shallow=False)
                print(f"  {name:10} {'the same run' if same else 'ANOTHER RUN'}", flush=True)
        for name in ("records", *map(_folder_of, engines(events))):
            shutil.rmtree(folder / name)
    for (step, name), seconds in times.items():
        print(f"  {step:7} {name:10} {growth(units, seconds)}")


@contextmanager
def _changed(source: Path) -> Iterator[None]:
    """While this lasts, half of the records of the last file are gone."""
    file = max(source.iterdir())
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    file.write_bytes(b"".join(lines[: len(lines) // 2]))
    try:
        yield
    finally:
        file.write_bytes(whole)


def _folder_of(engine: str) -> str:
    """Engines take brackets for signs of their own."""
    return engine.replace("[2]", "")


def _pools(folder: Path) -> millions.Pools:
    """ACM-CR's texts."""
    place = folder / "acm-cr"
    source = shared_data("acm-cr") / "acm-dl.tar.xz"
    measured(["import", str(place), str(source), "--profile", "acm-cr", "-q"], folder / "events")
    return millions.pools(place)


def _line(step: str, name: str, result: Measured, plain: Measured) -> str:
    sent = "" if result.shuffled is None else f"  {result.shuffled / 1e6:7,.0f} MB shuffled"
    return (
        f"  {step:7} {name:10} {result.seconds:7.1f} s  {result.megabytes:6,.0f} MB in all  "
        f"{result.driver:6,} MB driver{sent}  {result.seconds / plain.seconds:5.2f} times plain"
    )


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, nargs="+", default=[1, 3, 10])
    parser.add_argument("--steps", nargs="+", default=list(USUAL), choices=STEPS)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--folder", type=Path, help="The folder for all files.")
    given = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        report(given.units, given.steps, given.shards, Path(folder))


if __name__ == "__main__":
    main()
