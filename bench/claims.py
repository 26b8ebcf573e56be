"""The claim of the ACM-CR paper, re-ranking beats BM25, with queries or papers as what is drawn.

Re-ranks BM25 on both query sets and tests recall@10 and nDCG@10 against BM25, once taking queries
for independent and once papers. Run: python bench/claims.py [--encoder minilm] [--write].
The option puts the table into docs/compare.md.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from acm_cr import QUERY_SETS, imported, rankings, relevances
from citebed.collection import Collection
from citebed.evaluation import Design, Evaluation, Resampling, compare, evaluate
from citebed.report.evaluation_tables import DAGGER, p_text
from citebed.report.tables import text_table
from citebed.retrieval.index.builder import write_index
from citebed.retrieval.index.index import open_index
from common import write_between

STAGES = ("+rerank(with={})", "+{}", "+rm3")


def main() -> None:
    """Print the table, and put it into the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--write", action="store_true", help="put the table into docs/compare.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        folder = imported(Path(work))
        write_index(folder)
        rows = list(table_rows(Collection(folder), arguments.encoder))
    head = ["queries", "measure", "run", "BM25 → run", "difference", "95 % by query", "p by query",
            "95 % by paper", "p by paper", "design effect"]  # fmt: skip
    table = text_table(head, rows, range(3)).markdown()
    print(table)
    if arguments.write:
        write_between("compare.md", "claims", table)


def table_rows(collection: Collection, encoder: str) -> Iterator[list[str]]:
    """A row a query set, measure and run."""
    for name in QUERY_SETS:
        evaluation = evaluated(collection, name, encoder)
        papers = dict(collection.queries(name).select("query_id", "paper_id").iter_rows())
        design = Design(baseline="bm25")
        by_query = compare(evaluation, design, Resampling())
        by_paper = compare(evaluation, design, Resampling(cluster=papers))
        for query, paper in zip(by_query, by_paper, strict=True):
            yield [
                name, query.measure, query.run, f"{query.base_value:.4f} → {query.value:.4f}",
                f"{query.difference:+.4f}",
                *(cell for of in (query, paper) for cell in (
                    f"[{of.low:+.4f}, {of.high:+.4f}]",
                    p_text(of.p) + (DAGGER if of.significant else ""))),
                f"{paper.design_effect:.2f}",
            ]  # fmt: skip


def evaluated(collection: Collection, name: str, encoder: str) -> Evaluation:
    """BM25 and what is made of it, scored."""
    index = open_index(collection.folder)
    models = ["bm25", *("bm25" + stage.format(encoder) for stage in STAGES)]
    runs = {model: rankings(collection, index, name, model) for model in models}
    return evaluate(relevances(collection, name), runs, ["R@10", "nDCG@10"])


if __name__ == "__main__":
    main()
