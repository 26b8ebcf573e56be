"""The default ranking in a user's library, compared with BM25: ``python bench/libraries.py``.

The script draws libraries of 200, 1,000 and 5,000 papers without citing sentences: life sciences
(``elife``) and computer science (``citation-contexts``). Papers of the test (of 2022, or of the
fold that nothing was learned from) cite half of each library; the other half is drawn from the
rest. The queries are sentences of the citing papers, as in a draft. The script prints nDCG@10 with
an interval by citing paper and R@10 of BM25, of the default as installed, and of the default
without the features of records. ``--write`` puts the table into docs/learned.md.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import citebed
from citebed.collection import open_collection
from citebed.report.tables import text_table
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
from common import machine, shared_data, write_between
from fields import Asked, cell, citing_fields, rows

SIZES = {200: 8, 1000: 4, 5000: 1}
"""How many documents, and how many libraries of that size."""
QUESTIONS, DEPTH = 600, 10
WAYS = ("BM25", "default", "without records")
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
    asking = [
        one._replace(relevant=one.relevant & chosen) for one in asking if one.relevant & chosen
    ]
    others = [row["id"] for row in documents if row["id"] not in chosen]
    chosen.update(rng.sample(others, min(size - len(chosen), len(others))))
    return [row for row in documents if row["id"] in chosen], asking


def ways(fit: CollectionWeights) -> list[np.ndarray]:
    """The weights of BM25, of the default, and of the default without the features of records."""
    default = apply_weights(shipped_ranker().levels["static"], fit).weights
    names = list(SIGNALS)
    is_of_text = [name not in RECORD_SIGNALS for name in names]
    return [np.array([float(name == "bm25") for name in names]), default, default * is_of_text]


def figures(folder: Path, asked: Sequence[Asked]) -> np.ndarray:
    """nDCG@10 and R@10 in each way (first axis) of each text."""
    collection = open_collection(folder)
    index = open_index(collection)
    runner = Runner(collection, index, parse_pipeline("bm25+learned"), RunOptions())
    fit = read_weights(index)
    assert fit is not None
    queries = [
        replace(runner.query(one.text, paper=one.paper, exclude=[one.paper]), year=one.year)
        for one in asked
    ]
    found = np.zeros((len(WAYS), len(asked), 2))
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    for place, features in enumerate(runner.compute_signals(queries, DEPTH)):
        relevant = {index.ids.find(name) for name in asked[place].relevant}
        right = np.isin(features.docs, list(relevant))
        ideal = discounts[: min(len(relevant), DEPTH)].sum()
        for way, weights in enumerate(ways(fit)):
            order = np.lexsort((-features.docs, -(features.signals @ weights)))[:DEPTH]
            gain = right[order] @ discounts[: len(order)] / ideal
            found[way, place] = gain, right[order].sum() / len(relevant)
    return found


def main() -> None:
    """Make the libraries, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="Write the table into docs/.")
    arguments = parser.parse_args()
    data = shared_data("elife").parent
    print(machine())
    table: list[list[str]] = []
    for field, (source, contexts) in citing_fields(data).items():
        documents, asked = list(rows(source)), contexts(data)
        for size, count in SIZES.items():
            parts, papers = [], list[str]()
            for number in range(count):
                own, asking = library(documents, asked, size, number)
                asking = asking[: QUESTIONS // count]
                with tempfile.TemporaryDirectory() as work:
                    drawn = Path(work) / "library.jsonl"
                    drawn.write_text("".join(json.dumps(row) + "\n" for row in own), "utf-8")
                    citebed.create(Path(work) / "c", drawn).index(quiet=True)
                    parts.append(figures(Path(work) / "c", asking))
                papers += [f"{number} {one.paper}" for one in asking]
            name = f"{field}: {count} × {size:,} papers, {len(papers)} sentences"
            table.append([name, *(cell(way, papers) for way in np.concatenate(parts, axis=1))])
            print("  ".join(table[-1]), flush=True)
    if arguments.write:
        write_between("learned.md", "libraries", text_table(["", *WAYS], table).markdown())


if __name__ == "__main__":
    main()
