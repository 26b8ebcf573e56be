"""The effect of the citing-text field on ACM-CR; its weight is chosen on half of the papers.

A document's citing-text field holds the sentences in which 6,398 other papers cite it. The script
chooses the weight of the field by nDCG@10 on every other citing paper, and reports it on the rest.
Run: python bench/citing.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from acm_cr import QUERY_SETS, imported, rankings, relevances, scores
from citebed.collection import Collection
from citebed.retrieval.index.builder import IndexOptions, write_index
from citebed.retrieval.index.index import open_index
from citebed.retrieval.search.fields import fields_of
from common import shared_data

WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
CONTEXTS = "contexts-train.jsonl.xz"


def main() -> None:
    """Index with the contexts, try the weights on one half, report on the other."""
    with tempfile.TemporaryDirectory() as work:
        folder = imported(Path(work))
        path = shared_data("citation-contexts") / CONTEXTS
        report = write_index(folder, IndexOptions(citing=(path,)))
        print(
            f"{report.contexts:,} contexts indexed, {report.contexts_elsewhere:,} cite others; "
            f"{report.bytes / 1e6:.1f} MB"
        )
        for name in QUERY_SETS:
            report_set(Collection(folder), name)
        write_index(folder)


def report_set(collection: Collection, name: str) -> None:
    """Choose on one half of the papers, show both halves."""
    queries = collection.queries(name)
    index = open_index(collection.folder)
    papers = sorted(set(queries["paper_id"]))
    relevant = relevances(collection, name)
    halves = []
    for half in (papers[::2], papers[1::2]):
        ids = set(queries.filter(queries["paper_id"].is_in(half))["query_id"])
        halves.append({query: rel for query, rel in relevant.items() if query in ids})
    found = {}
    for weight in WEIGHTS:
        fields = fields_of(f"title,abstract,keywords,citing={weight}")
        ranked = rankings(collection, index, name, "bm25", fields)
        found[weight] = [scores(ranked, half) for half in halves]
        line = "   ".join(f"R@10 {r:.4f} nDCG@10 {n:.4f}" for r, n in found[weight])
        print(f"{name:<10} citing={weight:<5} chosen on: {line.replace('   R', '   reported: R')}")
    best = max(WEIGHTS, key=lambda weight: found[weight][0][1])
    (plain_r, plain_n), (with_r, with_n) = found[0.0][1], found[best][1]
    print(
        f"{name}: weight {best}; on the other half R@10 {plain_r:.4f} -> {with_r:.4f}, "
        f"nDCG@10 {plain_n:.4f} -> {with_n:.4f}"
    )


if __name__ == "__main__":
    main()
