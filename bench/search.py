"""Speed of index and search on ACM-CR, compared with bm25s (numba) and tantivy.

Both engines get the same terms and one thread. They answer in turns in this process, warm, for
the exact top 20 and top 1,000. ``--times 10`` does the same on ten times the documents: it combines
the title of one document with the abstract of a similar one, so that no two texts are equal.
``--build`` times building the index against tantivy, in separate processes, with peak memory.
``--recommend`` times `citebed recommend` from a cold shell.
Run: python bench/search.py [--times N] [--build] [--recommend] [--rounds N]
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from acm_cr import imported
from citebed.collection import Collection
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.index.builder import IndexOptions, write_index
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.models import model_of
from citebed.retrieval.search.queries import query_text
from citebed.retrieval.search.searcher import Searcher
from common import REPOSITORY, machine, watch

SETS = ("paragraphs", "sentences")
DEPTHS = (20, 1000)


def multiplied(folder: Path, times: int, work: Path) -> Path:
    """A collection of ``times`` as many documents, each put together from two real ones."""
    kept = os.environ.get("CITEBED_BENCH")
    target = (Path(kept) if kept else work) / f"times-{times}"
    if target.exists():
        return target
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("index", "runs", "*.parquet"))
    for name in ("contexts", "papers", "references"):
        shutil.copy(folder / f"{name}.parquet", target)
    base = pl.read_parquet(folder / "documents.parquet").sort("doc_id")
    parts = [base]
    for copy in range(1, times):
        shifted = base.select(pl.col("abstract", "keywords").shift(copy, fill_value=None))
        names = {"doc_id": pl.col("doc_id") + f"-{copy}", "doi": pl.lit(None, pl.String)}
        parts.append(base.with_columns(*shifted.get_columns()).with_columns(**names))
    pl.concat(parts).write_parquet(target / "documents.parquet", row_group_size=20_000)
    return target


def peer(index: Index, model: Any) -> Any:
    """bm25s over the very same postings."""
    import bm25s
    import scipy.sparse

    terms = np.repeat(np.arange(len(index.terms)), np.diff(index.offsets))
    tf = sum(index.tf[name][slice(0, len(index.docs))].astype(np.int64) for name in model)
    there = tf > 0
    docs, terms, tf = index.docs[there].astype(np.int64), terms[there], tf[there]
    lengths = sum(index.lengths[name].astype(np.int64) for name in model)
    df = np.bincount(terms, minlength=len(index.terms))
    idf = np.log(1 + (len(lengths) - df + 0.5) / (df + 0.5))
    norm = 0.9 * (1 - 0.4 + 0.4 * lengths / lengths.mean())
    scores = (idf[terms] * tf / (tf + norm[docs])).astype(np.float32)
    matrix = scipy.sparse.csc_matrix((scores, (docs, terms)), (len(lengths), len(index.terms)))
    engine = bm25s.BM25(k1=0.9, b=0.4, method="lucene", backend="numba")
    engine.scores = {
        "data": matrix.data,
        "indices": matrix.indices.astype(np.int32),
        "indptr": matrix.indptr.astype(np.int32 if matrix.nnz < 2**31 else np.int64),
        "num_docs": len(lengths),
    }
    engine.vocab_dict = {str(number): number for number in range(len(index.terms))}
    engine.nonoccurrence_array = None
    engine.unique_token_ids_set = set(engine.vocab_dict.values())
    return engine


def queries_of(collection: Collection, searcher: Searcher, name: str) -> list[TermWeights]:
    """The queries of a set, analysed."""
    return [searcher.query(query_text(text)) for text in collection.queries(name)["text"]]


def best(work: Callable[[], object], other: Callable[[], object], rounds: int) -> list[float]:
    """The least seconds of each of two jobs that take turns, after a first turn that warms up."""
    times: list[list[float]] = [[], []]
    for turn in range(rounds + 1):
        for place, job in enumerate((work, other)):
            gc.collect()
            started = time.perf_counter()
            job()
            if turn:
                times[place].append(time.perf_counter() - started)
    return [min(each) for each in times]


def compare(folder: Path, rounds: int) -> None:
    """Ours against bm25s, both query sets, both depths."""
    from bm25s.tokenization import Tokenized

    collection, index = Collection(folder), open_index(folder)
    searcher = Searcher(index, model_of("bm25(k1=0.9,b=0.4)"))
    started = time.perf_counter()
    searcher.prepare()
    print(f"{len(index.ids):,} documents; prepared in {time.perf_counter() - started:.1f} s")
    engine = peer(index, searcher.fields.weights)
    for name in SETS:
        queries = queries_of(collection, searcher, name)
        tokens = [np.repeat(q.ids, q.weights.astype(int)).tolist() for q in queries]
        asked = Tokenized(ids=tokens, vocab=engine.vocab_dict)
        for k in DEPTHS:
            results: dict[str, Any] = {}

            def ours(k: int = k, queries: Sequence[TermWeights] = queries) -> None:
                results["ours"] = searcher.search_all(queries, k, threads=1)  # noqa: B023

            def theirs(k: int = k, asked: Any = asked) -> None:
                results["theirs"] = engine.retrieve(  # noqa: B023
                    asked, k=k, n_threads=1, show_progress=False
                )

            mine, peers = best(ours, theirs, rounds)
            check(results["ours"], results["theirs"], k)
            print(
                f"{name:<10} k={k:<5} bm25s {len(queries) / peers:8.0f}/s   "
                f"citebed {len(queries) / mine:8.0f}/s   {peers / mine:5.2f} times as fast"
            )


def check(ours: Sequence[Any], theirs: Any, k: int) -> None:
    """Both found the same scores (bm25s adds in single precision)."""
    for hits, scores in zip(ours, theirs.scores, strict=True):
        n = min(len(hits.scores), k)
        if not np.allclose(hits.scores[:n], scores[:n], rtol=1e-4, atol=1e-4):
            sys.exit("citebed and bm25s disagree")


def build(folder: Path, work: Path) -> None:
    """Index building against tantivy: seconds, peak memory, size on disk."""
    script = REPOSITORY / "bench" / "tantivy_build.py"
    for turn in range(2):
        target = work / f"tantivy-{turn}"
        target.mkdir()
        theirs = watch([sys.executable, str(script), str(folder), str(target)])
        if theirs.code:
            sys.exit(theirs.err)
        ours = watch([sys.executable, "-m", "citebed", "index", str(folder), "--rebuild"])
        if ours.code:
            sys.exit(ours.err)
        size = sum(path.stat().st_size for path in (folder / "index").iterdir()) / 1e6
        print(
            f"build: tantivy {theirs.out.strip()} s, {theirs.megabytes:.0f} MB; citebed "
            f"{ours.seconds:.1f} s in all, {ours.megabytes:.0f} MB, {size:.1f} MB on disk; "
            f"{float(theirs.out) / ours.seconds:.2f} times as fast"
        )


def recommend(folder: Path) -> None:
    """`citebed recommend` from a cold shell with a paragraph, and in a running process with each
    set of queries: seconds by the clock and of the processor, the first ones not counted."""
    from citebed.retrieval.recommend.recommender import Recommender

    collection = Collection(folder)
    texts = collection.queries("paragraphs")["text"].to_list()
    seconds = []
    for text in texts[:7]:
        started = time.perf_counter()
        words = [sys.executable, "-m", "citebed", "recommend", str(folder), text]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - started)
    middle = statistics.median(seconds)
    print(f"recommend, cold shell: median {middle:.2f} s, {max(seconds):.2f} at most")
    recommender = Recommender(collection, open_index(folder), warm=True)
    for name in SETS:
        texts = collection.queries(name)["text"].to_list()
        times, of_processor = [], []
        for text in [*texts[:5], *texts]:
            started = time.perf_counter(), time.process_time()
            recommender.recommend(text)
            times.append((time.perf_counter() - started[0]) * 1000)
            of_processor.append((time.process_time() - started[1]) * 1000)
        middle, worst = statistics.median(times[5:]), max(times[5:])
        spent = statistics.median(of_processor[5:])
        print(
            f"recommend, running, {name}: median {middle:.1f} ms, {worst:.1f} at most; "
            f"{spent:.1f} ms of the processor"
        )


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--recommend", action="store_true")
    arguments = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        folder = imported(work)
        if arguments.times > 1:
            folder = multiplied(folder, arguments.times, work)
        if arguments.build:
            build(folder, work)
        write_index(folder, IndexOptions())
        compare(folder, arguments.rounds)
        if arguments.recommend:
            recommend(folder)


if __name__ == "__main__":
    main()
