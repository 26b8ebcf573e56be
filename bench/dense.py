"""The cost of the static model's vectors on ACM-CR, compared with BM25 alone.

The script measures the time to build the index (in total, and for its vectors), a query to a
running process and from a cold shell, memory, and bytes on disk. BM25 and the vectors take turns.
A vector query computes the text's vector, its similarity to every document, and the 10 best.
``--cpu`` prints the processor time of queries, for a machine that others use as well.
Run: python bench/dense.py [--rounds N] [--cpu]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from acm_cr import imported
from citebed.collection import Collection
from citebed.retrieval.index.index import open_index
from citebed.retrieval.models import model_of
from citebed.retrieval.search.queries import query_text
from citebed.retrieval.search.searcher import Searcher
from citebed.retrieval.vectors.static_model import SHIPPED, shipped_model
from common import watch

BEST = 10
COLD = """
import sys
from citebed.retrieval.index.index import open_index
from citebed.retrieval.models import model_of
from citebed.retrieval.search.searcher import Searcher
index = open_index(sys.argv[1], verified=True)
searcher = Searcher(index, model_of("bm25"))
searcher.search(searcher.query(sys.argv[2]), 10)
"""
WITH_VECTORS = """
from citebed.retrieval.vectors.static_model import shipped_model
index.vectors_of(shipped_model(), "static").compare(shipped_model().queries([sys.argv[2]]))
"""


def build(folder: Path) -> None:
    """Build the whole index again, and return how much of the time the vectors take."""
    words = [sys.executable, "-m", "citebed", "index", str(folder), "--rebuild", "--json"]
    for _ in range(2):
        done = watch(words)
        if done.code:
            sys.exit(done.err)
        (report,) = json.loads(done.out)
        made, seconds = report["embedded"], report["vector_seconds"]
        print(
            f"index: {done.seconds:.1f} s in all, {done.megabytes:.0f} MB; {made:,} vectors in "
            f"{seconds:.1f} s ({made / seconds:,.0f}/s); on disk {report['bytes'] / 1e6:.1f} MB, "
            f"of these vectors {report['vector_bytes'] / 1e6:.1f} MB"
        )


Clock = Callable[[], float]


def milliseconds(ask: Callable[[str], object], texts: Sequence[str], clock: Clock) -> list[float]:
    """How long each text takes."""
    found = []
    for text in texts:
        started = clock()
        ask(text)
        found.append((clock() - started) * 1000)
    return found


def warm(folder: Path, rounds: int, clock: Clock) -> None:
    """Questions of a running process, one after another."""
    collection, index, model = Collection(folder), open_index(folder), shipped_model()
    searcher, vectors = Searcher(index, model_of("bm25")), index.vectors_of(model, "static")

    def by_terms(text: str) -> object:
        return searcher.search(searcher.query(text), BEST)

    def by_vectors(text: str) -> object:
        return vectors.compare(model.queries([text])).top(0, BEST)

    for prepared in (False, True):
        if prepared:
            searcher.prepare()
            vectors.prepare()
        for name in ("paragraphs", "sentences"):
            texts = [query_text(text) for text in collection.queries(name)["text"]]
            asked = [by_terms, by_vectors]
            turns = [[milliseconds(ask, texts, clock) for ask in asked] for _ in range(rounds)]
            least = [np.min([turn[place] for turn in turns], axis=0) for place in (0, 1)]
            said = [f"{statistics.median(t):.2f} ms, {max(t):.2f} at most" for t in least]
            how = "compiled" if prepared else "as opened"
            print(f"{name}, {how}: BM25 {said[0]}; vectors {said[1]}")


def cold(folder: Path, rounds: int) -> None:
    """A question from a cold shell: BM25 alone, and with the vectors too."""
    text = Collection(folder).queries("paragraphs")["text"][0]
    codes = {"BM25": COLD, "BM25 and vectors": COLD + WITH_VECTORS}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in codes}
    for _ in range(rounds):
        for name, code in codes.items():
            done = watch([sys.executable, "-c", code, str(folder), text])
            if done.code:
                sys.exit(done.err)
            found[name].append((done.seconds, done.megabytes))
    for name, runs in found.items():
        seconds, megabytes = zip(*runs, strict=True)
        middle = statistics.median(seconds)
        print(f"cold, {name}: {min(seconds):.2f} s, median {middle:.2f}, {max(megabytes):.0f} MB")


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", action="store_true")
    arguments = parser.parse_args()
    rounds, clock = arguments.rounds, time.process_time if arguments.cpu else time.perf_counter
    print(f"the model: {SHIPPED.stat().st_size / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory() as name:
        folder = imported(Path(name))
        build(folder)
        warm(folder, rounds, clock)
        cold(folder, rounds)


if __name__ == "__main__":
    main()
