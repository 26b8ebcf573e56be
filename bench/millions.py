"""`import`, `index` and `search` of up to ten million documents on one machine.

Records are made from ACM-CR: titles of words from all titles, abstracts of sentences from all
abstracts, authors of given and family names, under new DOIs. One record in three has a word that no
other has, as real texts keep bringing new ones. In a hundred records, two have the DOI and title of
an earlier one, and two its title, authors, year and venue but no DOI. They are JSON Lines, in files
of 100,000 records.

Each step is a command of its own. Memory is the peak of its processes together: in total, and
without mapped index files (which the system reclaims when it needs room).
Run: python bench/millions.py [SIZE …] [--folder F] [--keep] [--steps import index …]
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from common import family_of, machine, shared_data

A_FILE = 100_000
DUPLICATES = 0.02
"""The share of records of each of the two kinds of duplicates."""
NEW_WORDS = 1 / 3
WITHOUT_DOI = 0.1
QUERIES = 100
_REMEMBERED = 50_000
STEPS = ("import", "index", "bm25", "learned", "recommend")


# --- making records -------------------------------------------------------------------------------


class Pools(NamedTuple):
    """The parts of generated records; texts are escaped as in JSON, without their quotes."""

    words: list[str]
    lengths: list[int]
    sentences: list[str]
    given: list[str]
    family: list[str]
    keywords: list[str]
    venues: list[str]


def pools(folder: Path) -> Pools:
    """The parts of the records of a collection."""
    columns = ("title", "abstract", "authors", "keywords", "venue")
    table = pl.read_parquet(folder / "documents.parquet", columns=list(columns))
    titles = table["title"].drop_nulls().str.split(" ")
    sentences = table["abstract"].drop_nulls().str.replace_all(r"([.?!]) ", "$1\n").str.split("\n")
    names = table["authors"].explode().drop_nulls().str.split_exact(", ", 1)
    return Pools(
        _escaped(titles.explode()),
        titles.list.len().to_list(),
        _escaped(sentences.explode()),
        _escaped(names.struct[1].drop_nulls()),
        _escaped(names.struct[0]),
        _escaped(table["keywords"].explode().drop_nulls()),
        _escaped(table["venue"].drop_nulls()),
    )


def _escaped(texts: pl.Series) -> list[str]:
    return [json.dumps(text, ensure_ascii=False)[1:-1] for text in texts if text]


class Known(NamedTuple):
    """The fields that a duplicate shares with a record."""

    doi: str
    title: str
    authors: str
    year: int
    venue: str
    page: int


def records(from_: Pools, count: int, seed: int = 7) -> Iterator[str]:
    """So many records, a line each."""
    rng = random.Random(seed)
    known: list[Known] = []
    for number in range(count):
        kind = rng.random()
        if known and kind < 2 * DUPLICATES:
            same = known[int(rng.random() * len(known))]
            if kind < DUPLICATES:
                same = same._replace(authors=_authors(from_, rng))
            else:
                same = same._replace(doi="")
        else:
            same = _fresh(from_, rng, number)
            if same.doi and len(known) < _REMEMBERED:
                known.append(same)
            elif same.doi and rng.random() < _REMEMBERED / number:
                known[int(rng.random() * _REMEMBERED)] = same
        yield _line(from_, rng, number, same)


def _pick(rng: random.Random, pool: list[str], count: int) -> Iterator[str]:
    size, draw = len(pool), rng.random
    return (pool[int(draw() * size)] for _ in range(count))


def _authors(from_: Pools, rng: random.Random) -> str:
    names = zip(_pick(rng, from_.family, 3), _pick(rng, from_.given, 3), strict=True)
    return ",".join(f'"{family}, {given}"' for family, given in names)


def _fresh(from_: Pools, rng: random.Random, number: int) -> Known:
    length = from_.lengths[int(rng.random() * len(from_.lengths))]
    title = " ".join(_pick(rng, from_.words, max(4, length)))
    doi = "" if rng.random() < WITHOUT_DOI else f"10.5555/{rng.getrandbits(40):011x}.{number}"
    venue = from_.venues[int(rng.random() * len(from_.venues))]
    year, page = 1970 + int(rng.random() * 54), 1 + int(rng.random() * 900)
    return Known(doi, title, _authors(from_, rng), year, venue, page)


def _line(from_: Pools, rng: random.Random, number: int, same: Known) -> str:
    abstract = " ".join(_pick(rng, from_.sentences, 7))
    if rng.random() < NEW_WORDS:
        abstract += f" We call it {_word(number)}."
    keywords = '","'.join(_pick(rng, from_.keywords, 3))
    doi = f'"doi":"{same.doi}",' if same.doi else ""
    return (
        f'{{"doc_id":"m{number}","type":"article","title":"{same.title}",'
        f'"authors":[{same.authors}],"year":{same.year},{doi}"venue":"{same.venue}",'
        f'"pages":"{same.page}–{same.page + 12}","abstract":"{abstract}",'
        f'"keywords":["{keywords}"]}}\n'
    )


def _word(number: int) -> str:
    letters = "bcdfghjklmnpqrtv"
    return "z" + "".join(letters[(number >> shift) & 15] for shift in range(0, 28, 4)) + "o"


def write(folder: Path, from_: Pools, count: int) -> int:
    """So many records under ``folder``, unless they are there; gives their bytes."""
    if not folder.exists():
        draft, lines = folder.with_name("making"), records(from_, count)
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        for number in range(math.ceil(count / A_FILE)):
            with (draft / f"{number:05d}.jsonl").open("w", encoding="utf-8") as file:
                file.writelines(itertools.islice(lines, A_FILE))
        draft.rename(folder)
    return sum(path.stat().st_size for path in folder.iterdir())


def write_queries(path: Path, from_: Pools) -> None:
    """Paragraphs of three sentences, as a draft has them."""
    rng = random.Random(1)
    texts = (" ".join(_pick(rng, from_.sentences, 3)) for _ in range(QUERIES))
    rows = [{"query_id": f"q{n}", "text": json.loads(f'"{text}"')} for n, text in enumerate(texts)]
    pl.DataFrame(rows).write_ndjson(path)


# --- measuring ------------------------------------------------------------------------------------


class Cost(NamedTuple):
    """Costs of a command: seconds of the clock and of all processors, peak GB of memory (total,
    and without mapped files), GB of the folder at its peak and at the end.
    """

    wall: float
    work: float
    memory: float
    own: float
    disk: float
    left: float


class Watcher(threading.Thread):
    """Looks at a process and its children, and at a folder, from time to time."""

    def __init__(self, pid: int, folder: Path) -> None:
        super().__init__(daemon=True)
        self.pid, self.folder = pid, folder
        self.memory = self.own = self.disk = 0.0
        self.done = threading.Event()

    def run(self) -> None:
        for turn in itertools.count():
            found = [_held(pid) for pid in family_of(self.pid)]
            self.memory = max(self.memory, sum(all_ for all_, _ in found))
            self.own = max(self.own, sum(own for _, own in found))
            if turn % 20 == 0:
                self.disk = max(self.disk, size_of(self.folder))
            if self.done.wait(0.1):
                return


def _held(pid: int) -> tuple[float, float]:
    """Return the GB that a process holds, in total and without mapped files."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0, 0.0
    sizes = {line.split()[0]: int(line.split()[1]) for line in lines if " kB" in line}
    return sizes.get("VmRSS:", 0) / 1e6, sizes.get("RssAnon:", 0) / 1e6


def size_of(folder: Path) -> float:
    """GB of the files under a folder."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
            except OSError:
                continue
    return total / 1e9


def measured(words: list[str], folder: Path) -> Cost:
    """Run a command of citebed's, and see what it takes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "citebed", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    watcher = Watcher(process.pid, folder)
    watcher.start()
    _, err = process.communicate()
    wall = time.perf_counter() - start
    watcher.done.set()
    watcher.join()
    if process.returncode:
        sys.exit(f"citebed {' '.join(words)}: {process.returncode}\n{err[-4000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    left = size_of(folder)
    return Cost(wall, work, watcher.memory, watcher.own, max(watcher.disk, left), left)


def command(step: str, folder: Path) -> list[str]:
    """The command of a step, for the collection under ``folder``."""
    mine, queries = str(folder / "c"), str(folder.parent / "queries.jsonl")
    asked = ["search", mine, "--queries", queries, "--overwrite", "-q"]
    text = "We rank documents by the probability that their language model generates the query."
    return {
        "import": ["import", mine, str(folder / "files"), "-q"],
        "index": ["index", mine, "-q"],
        "bm25": [*asked, "-m", "bm25", "-o", str(folder / "bm25.run")],
        "learned": [*asked, "-m", "bm25+learned", "-o", str(folder / "learned.run")],
        "recommend": ["recommend", mine, text],
    }[step]


def exponent(sizes: list[int], values: list[float]) -> str:
    """By which power of the size a value grows, between the smallest and the largest."""
    if len(sizes) < 2 or min(values) <= 0:
        return "    "
    return f"{math.log(values[-1] / values[0]) / math.log(sizes[-1] / sizes[0]):.2f}"


HEAD = f"{'records':>10} {'step':10} {'wall s':>8} {'CPU s':>8} {'GB':>6} {'own GB':>7} {'disk':>6}"


def run(size: int, folder: Path, from_: Pools, steps: list[str], *, keep: bool) -> dict[str, Cost]:
    """All steps at one size, a line each."""
    if "import" in steps:
        shutil.rmtree(folder / "c", ignore_errors=True)
        started = time.perf_counter()
        gigabytes = write(folder / "files", from_, size) / 1e9
        print(f"{size:10,} records are {gigabytes:.2f} GB of JSON Lines", end=" ")
        print(f"({time.perf_counter() - started:.0f} s to make)", flush=True)
    costs = {}
    for step in steps:
        cost = costs[step] = measured(command(step, folder), folder / "c")
        print(
            f"{size:10,} {step:10} {cost.wall:8.1f} {cost.work:8.1f} {cost.memory:6.2f} "
            f"{cost.own:7.2f} {cost.disk:6.2f}",
            flush=True,
        )
        if step == "import" and not keep:
            shutil.rmtree(folder / "files")
    if not keep:
        shutil.rmtree(folder)
    return costs


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("sizes", nargs="*", type=int, default=[100_000, 300_000, 1_000_000])
    options.add_argument("--folder", help="work here (tens of GB at ten million)")
    options.add_argument("--keep", action="store_true", help="leave files and collections")
    options.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    given = options.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        place = Path(given.folder or name)
        place.mkdir(parents=True, exist_ok=True)
        source = place / "acm-cr"
        if not source.exists():
            archive = str(shared_data("acm-cr") / "acm-dl.tar.xz")
            measured(["import", str(source), archive, "-q"], source)
        from_ = pools(source)
        write_queries(place / "queries.jsonl", from_)
        print(HEAD)
        found = {
            size: run(size, place / str(size), from_, given.steps, keep=given.keep)
            for size in given.sizes
        }
    print("growth, as a power of the size: CPU seconds, memory, own memory, disk")
    for step in given.steps:
        costs = [found[size][step] for size in given.sizes]
        names = ("work", "memory", "own", "disk")
        powers = (exponent(given.sizes, [getattr(cost, n) for cost in costs]) for n in names)
        print(f"{'':10} {step:10} {'  '.join(powers)}")


if __name__ == "__main__":
    main()
