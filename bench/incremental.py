"""Compare a collection that grew step by step, and its index, with ones made at once.

The script takes random sequences of imports, changed sources and forgotten sources, and indexes in
between. At the end it compares all tables and index arrays with those of a collection that was
imported and indexed at once, and the whole index, with its fitted weights, with a rebuilt copy.
Only citation keys may differ there, because documents keep theirs. After every step it compares all
tables, with their keys, with those of a collection that took the same steps and read all records.

Run: python -m bench.incremental [SEQUENCES [FIRST SEED]]
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from unittest import mock

import numpy as np
import polars as pl

from citebed.collection.importing import forget_sources, import_sources
from citebed.collection.storing.table_files import read_table
from citebed.collection.tables import TABLES
from citebed.retrieval import build_index
from citebed.retrieval.index.builder import IndexOptions
from citebed.retrieval.index.index import open_index

_WORDS = (
    "retrieval", "citation", "context", "ranking", "sparse", "dense", "neural", "corpus", "judge",
    "query", "pool", "paper", "graph", "survey", "naïve", "Bayes", "übersetzung", "検索", "model",
    "evaluation", "metrics", "recall", "author", "venue", "theory",
)  # fmt: skip
_NAMES = ("Ada Müller", "Bo Chen", "Cy O'Neil", "Di van Dijk", "Eva Ng", "Fay {\\'E}tienne")
_KEPT = ("analyser", "documents", "terms", "postings", "vectors")
"""Facts in ``index.json`` that do not depend on when the index was made."""
_FITTED = ("fit",)
"""Fitted facts, which an index keeps until a tenth of the documents has changed."""


def differences(seed: int, folder: Path) -> list[str]:
    """Return the differences after one sequence; an empty list if there are none."""
    chance = random.Random(seed)
    names = ("grown", "slow", "fresh", "rebuilt")
    grown, slow, fresh, rebuilt = (folder / name for name in names)
    sources: dict[str, Path] = {}
    found: list[str] = []
    with mock.patch("os.fsync"):
        for _ in range(chance.randint(3, 6)):
            step = _step(chance, folder, sources)
            step(grown)
            with mock.patch("citebed.collection.importing.read_known_records", return_value=None):
                step(slow)
            found += [f"all records looked at: {each}" for each in _of_tables(grown, slow)]
            if chance.random() < 0.7:
                build_index(grown, IndexOptions(workers=1))
        build_index(grown, IndexOptions(workers=1))
        import_sources(fresh, sorted(sources.values()))
        build_index(fresh, IndexOptions(workers=1))
        found += [*_of_tables(grown, fresh, "cite_key", "key"), *_of_indexes(grown, fresh, _KEPT)]
        shutil.copytree(grown, rebuilt)
        build_index(rebuilt, IndexOptions(workers=1, rebuild=True))
    return found + _of_indexes(grown, rebuilt, (*_KEPT, *_FITTED))


def _step(
    chance: random.Random, folder: Path, sources: dict[str, Path]
) -> Callable[[Path], object]:
    """Forget a source, change one, or import new ones: what is to be done with a collection."""
    what = chance.random()
    if what < 0.25 and len(sources) > 1:
        gone = sources.pop(chance.choice(sorted(sources)))
        return lambda collection: forget_sources(collection, [gone])
    if what < 0.5 and sources:
        changed = sources[chance.choice(sorted(sources))]
        _write(changed, chance)
        return lambda collection: import_sources(collection, [changed])
    for _ in range(chance.randint(1, 2)):
        name = f"{chance.choice('abcdefgh')}{chance.randint(0, 9)}.bib"
        sources[name] = folder / name
        _write(sources[name], chance)
    every = list(sources.values())
    return lambda collection: import_sources(collection, every)


def _write(path: Path, chance: random.Random) -> None:
    """A bibliography with some papers of other ones, in other words or with other keys."""
    entries = []
    for _ in range(chance.randint(1, 12)):
        paper = random.Random(chance.randint(0, 60))
        title = " ".join(paper.sample(_WORDS, 4)).capitalize()
        title = title if paper.random() < 0.9 else paper.choice(("Editorial", "Part I", "Part II"))
        fields = {
            "title": title if chance.random() < 0.8 else title.upper(),
            "author": " and ".join(paper.sample(_NAMES, paper.randint(1, 3))),
            "year": str(paper.randint(1995, 2024)),
        }
        for name in ("author", "year"):
            if chance.random() < 0.1:
                del fields[name]
        if paper.random() < 0.2:
            fields |= {"eprint": f"2001.{paper.randint(10000, 10020)}", "eprinttype": "arxiv"}
        if paper.random() < 0.6 and chance.random() < 0.8:
            fields["doi"] = f"10.1000/{paper.randint(0, 60)}"
        if chance.random() < 0.8:
            fields["abstract"] = _text(paper if chance.random() < 0.7 else chance)
        if chance.random() < 0.3:
            fields["keywords"] = ", ".join(chance.sample(_WORDS, 3))
        if chance.random() < 0.3:
            fields["pages"] = f"{paper.randint(1, 90)}--{paper.randint(91, 120)}"
        key = f"{chance.choice('xyz')}{paper.randint(0, 40)}"
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
        entries.append(f"@article{{{key},\n{lines}}}\n")
    path.write_text("\n".join(entries), encoding="utf-8")


def _text(chance: random.Random) -> str:
    sentences = (" ".join(chance.choices(_WORDS, k=chance.randint(9, 14))) for _ in range(4))
    return " ".join(f"{each.capitalize()}." for each in sentences)


def _of_tables(grown: Path, fresh: Path, *but: str) -> list[str]:
    found = []
    for name, schema in TABLES.items():
        left, right = (
            read_table(folder, name, schema).drop(*but, strict=False) for folder in (grown, fresh)
        )
        if not left.equals(right):
            found.append(f"table {name}: {_first(left, right)}")
    return found


def _first(left: pl.DataFrame, right: pl.DataFrame) -> str:
    """Return the first difference between two tables."""
    rows = zip(left.iter_rows(), right.iter_rows(), strict=False)
    unlike = next((f"{one} and {other}" for one, other in rows if one != other), "")
    return unlike or f"{left.height} and {right.height} rows"


def _of_indexes(grown: Path, other: Path, described: tuple[str, ...]) -> list[str]:
    left, right = open_index(grown), open_index(other)
    names = left.arrays.keys() | right.arrays.keys()
    pairs = ((name, left.arrays.get(name), right.arrays.get(name)) for name in sorted(names))
    found = [f"array {name}" for name, one, other in pairs if not _is_same(one, other)]
    ours, theirs = asdict(left.description), asdict(right.description)
    unlike = (name for name in described if ours[name] != theirs[name])
    return found + [f"{name}: {ours[name]} and {theirs[name]}" for name in unlike]


def _is_same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None or one.dtype != other.dtype or one.shape != other.shape:
        return False
    return one.tobytes() == other.tobytes()


def main() -> None:
    """Say how many sequences gave the same, and what differed where they did not."""
    given = [int(each) for each in sys.argv[1:]]
    count, first = [*given, *(500, 0)[len(given) :]]
    started, unlike = time.process_time(), 0
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as work:
            found = differences(seed, Path(work))
        unlike += bool(found)
        for each in found:
            print(f"sequence {seed}: {each}", flush=True)
    seconds = time.process_time() - started
    print(
        f"{count - unlike} of {count} sequences equal a rebuild, {seconds:.0f} s of processor time"
    )


if __name__ == "__main__":
    main()
