"""How long the library takes on ACM-CR: finding, a document's page, papers like these, maps.

    python bench/library.py COLLECTION

Prints the median and the 95th percentile in milliseconds, after one question of each kind, and the
median of the processor's time, of all threads, which other work on the machine changes less.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from citebed.collection.filters import Filter
from citebed.retrieval.library.layout import lay_out
from citebed.retrieval.library.library import Library
from citebed.retrieval.recommend.recommender import Recommender
from common import machine

WORDS = (
    *("", "smith 2019", "croft 2001", "information retrieval", "query expansion feedback"),
    *("10.1145/582415.582418", "jarvelin2002cumulated", "salton vector space model", "informat"),
    *("learning to rank for information retrieval", "eye tracking result pages", "weikum"),
)
TEXT = (
    "Pseudo-relevance feedback adds terms from the documents found first. Test collections are "
    "built by pooling. Eye tracking shows where people look on result pages."
)


def timed(name: str, ask: Callable[[Any], object], given: Sequence[Any]) -> None:
    """Ask everything once and say how long it took; the first one only warms up."""
    ask(given[0])
    times, busy = [], []
    for each in given:
        start, used = time.perf_counter(), time.process_time()
        ask(each)
        times.append((time.perf_counter() - start) * 1000)
        busy.append((time.process_time() - used) * 1000)
    worst = sorted(times)[int(0.95 * (len(times) - 1))]
    print(f"{name:44}{statistics.median(times):8.1f}{worst:8.1f}{statistics.median(busy):8.1f}")


def main() -> None:
    """Time all that the library does."""
    library = Library(Recommender(sys.argv[1]))
    start = time.perf_counter()
    library.prepare()
    library.recommender.prepare()
    ready = time.perf_counter() - start
    print(f"{machine()}\n{len(library.catalogue):,} documents; ready after {ready:.1f} s")
    print(f"{'':44}{'median':>8}{'95 %':>8}{'CPU':>8}")
    among = Filter("2010-2019", types=("inproceedings",))
    timed("find", library.find, WORDS * 5)
    timed("find, filtered", lambda words: library.find(words, among=among), WORDS * 5)
    for sort in ("newest", "title", "cited"):
        timed(f"browse, {sort}", lambda _, sort=sort: library.find(sort=sort), range(10))
    names = [row["doc_id"] for row in library.find("retrieval", k=60)]
    timed("about, each document once", library.about, names[:50])
    fives = [names[at : at + 5] for at in range(0, 50, 5)]
    library = Library(library.recommender)
    library.prepare()
    timed("papers like these five, each once", library.similar, fives)
    cited = [row["doc_id"] for row in library.find(sort="cited", k=20)]
    timed("map around a document, 60 nodes", library.map, cited)
    timed("map around a text, 60 nodes", library.map, [TEXT] * 5)
    vectors = library.similarity.vectors
    assert vectors is not None
    rows = vectors.decode(library.index.ids.find_all([*names, *cited]))
    timed(f"layout alone, {len(rows)} nodes", lay_out, [1 - (rows @ rows.T).clip(0, 1)] * 10)


if __name__ == "__main__":
    main()
