"""The default ranking in a user's library, compared with BM25: ``python bench/libraries.py``.

The script draws libraries of 200, 1,000 and 5,000 papers without citing sentences: life sciences
(``elife``) and computer science (``citation-contexts``). Papers of the test (of 2022, or of the
fold that nothing was learned from) cite half of each library; the other half is drawn from the
rest. The queries are sentences of the citing papers, as in a draft. The script prints nDCG@10 and
R@10, with intervals by citing paper, of BM25, of the default as installed, of the default without
each signal from records, and with each weight of word vectors.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import citebed
from citebed.collection import open_collection
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.ranking.collection_weights import (
    CollectionWeights,
    apply_weights,
    read_weights,
)
from citebed.retrieval.ranking.features import SIGNALS
from citebed.retrieval.ranking.ranker import shipped_ranker
from citebed.retrieval.ranking.weight_fit import WEIGHTS
from common import machine, shared_data
from fields import Asked, computer_science, interval, life_sciences, rows

SIZES = {200: 8, 1000: 4, 5000: 1}
"""How many documents, and how many libraries of that size."""
QUESTIONS, DEPTH = 600, 10
RECORD_SIGNALS = ("peers", "age", "length", "title_only")


def library(
    documents: Sequence[dict[str, Any]], asked: Sequence[Asked], size: int, seed: int
) -> tuple[list[dict[str, Any]], list[Asked]]:
    """The documents of a library, and the sentences that ask: of papers that half of it is cited
    by."""
    rng = random.Random(seed)
    known = {row["id"] for row in documents}
    by_paper: dict[str, list[Asked]] = {}
    for one in asked:
        by_paper.setdefault(one.paper, []).append(one)
    papers = sorted(by_paper)
    rng.shuffle(papers)
    chosen, asking = set[str](), list[Asked]()
    for paper in papers:
        cited = {name for one in by_paper[paper] for name in one.relevant} & known
        if len(chosen | cited) <= size // 2:
            chosen |= cited
            asking += by_paper[paper]
    asking = [replace_relevant(one, chosen) for one in asking if one.relevant & chosen]
    others = [row["id"] for row in documents if row["id"] not in chosen]
    chosen.update(rng.sample(others, min(size - len(chosen), len(others))))
    return [row for row in documents if row["id"] in chosen], asking


def replace_relevant(one: Asked, among: set[str]) -> Asked:
    return one._replace(relevant=one.relevant & among)


def ways(fit: CollectionWeights) -> dict[str, np.ndarray]:
    """The weights of each way to rank, by its name."""
    level = shipped_ranker().levels["static"]
    names = list(SIGNALS)
    default = apply_weights(level, fit).weights
    found = {"BM25": np.array([float(name == "bm25") for name in names]), "default": default}
    for left_out in (*RECORD_SIGNALS, "all of records"):
        out = RECORD_SIGNALS if left_out not in names else (left_out,)
        found[f"without {left_out}"] = default * [name not in out for name in names]
    for share in WEIGHTS:
        tried = CollectionWeights(1, 1, share, "")
        found[f"vectors {share:g}"] = apply_weights(level, tried).weights
    return found


def figures(folder: Path, asked: Sequence[Asked]) -> dict[str, np.ndarray]:
    """nDCG@10 and R@10 of each text, by each way."""
    collection = open_collection(folder)
    index = open_index(collection)
    runner = Runner(collection, index, parse_pipeline("bm25+learned"), RunOptions())
    fit = read_weights(index)
    assert fit is not None
    named = ways(fit)
    queries = [
        replace(runner.query(one.text, paper=one.paper, exclude=[one.paper]), year=one.year)
        for one in asked
    ]
    found = np.zeros((len(named), len(asked), 2))
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    for place, features in enumerate(runner.compute_signals(queries, DEPTH)):
        relevant = {index.ids.find(name) for name in asked[place].relevant}
        right = np.isin(features.docs, list(relevant))
        ideal = discounts[: min(len(relevant), DEPTH)].sum()
        for way, weights in enumerate(named.values()):
            order = np.lexsort((-features.docs, -(features.signals @ weights)))[:DEPTH]
            gain = right[order] @ discounts[: len(order)] / ideal
            found[way, place] = gain, right[order].sum() / len(relevant)
    return dict(zip(named, found, strict=True)) | {"fit": np.array([fit.static])}


def fields(data: Path) -> Iterator[tuple[str, list[dict[str, Any]], list[Asked]]]:
    yield "life sciences", list(rows(data / "elife" / "documents.jsonl.xz")), life_sciences(data)
    cited = list(rows(data / "citation-contexts" / "cited-documents.jsonl.xz"))
    yield "computer science", cited, computer_science(data)


def report(name: str, parts: Sequence[dict[str, np.ndarray]], papers: Sequence[str]) -> None:
    """Print a line a way, over all libraries of a size."""
    fits = [float(part["fit"][0]) for part in parts]
    print(f"{name}: {len(papers):,} sentences, weights of vectors {fits}")
    for way in parts[0]:
        if way == "fit":
            continue
        values = np.concatenate([part[way] for part in parts])
        (gain, recall), (low, high) = values.mean(axis=0), interval(values[:, 0], papers)
        what = f"nDCG@10 {gain:.3f} [{low:.3f}, {high:.3f}]  R@10 {recall:.3f}"
        print(f"  {way:24} {what}", flush=True)


def main() -> None:
    """Make the libraries, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    arguments = parser.parse_args()
    data = shared_data("elife").parent
    print(machine())
    for field, documents, asked in fields(data):
        for size in arguments.sizes:
            parts, papers = [], list[str]()
            for number in range(SIZES.get(size, 1)):
                own, asking = library(documents, asked, size, number)
                asking = asking[: QUESTIONS // SIZES.get(size, 1)]
                with tempfile.TemporaryDirectory() as work:
                    source = Path(work) / "library.jsonl"
                    source.write_text("".join(json.dumps(row) + "\n" for row in own), "utf-8")
                    citebed.create(Path(work) / "c", source).index(quiet=True)
                    parts.append(figures(Path(work) / "c", asking))
                papers += [f"{number} {one.paper}" for one in asking]
            report(f"{field}, {size:,} documents", parts, papers)


if __name__ == "__main__":
    main()
