"""BM25 on ACM-CR: recall@10 and nDCG@10, as citebed searches and as Lucene does.

Run: python bench/bm25.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from acm_cr import QUERY_SETS, imported, rankings, relevances, scores
from citebed.collection import Collection
from citebed.retrieval.index.builder import write_index
from citebed.retrieval.index.index import open_index

WAYS = (("bm25", False), ("bm25", True), ("bm25(lengths=lucene)", True))


def main() -> None:
    """The table of docs/search.md."""
    print("| | paragraphs recall@10 | nDCG@10 | sentences recall@10 | nDCG@10 |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as work:
        folder = imported(Path(work))
        write_index(folder)
        collection, index = Collection(folder), open_index(folder)
        for model, as_is in WAYS:
            cells = []
            for name in QUERY_SETS:
                ranked = rankings(collection, index, name, model, as_is=as_is)
                cells += [f"{value:.4f}" for value in scores(ranked, relevances(collection, name))]
            how = f"`{model}`" + (" `--as-is`" if as_is else "")
            print(f"| {how} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
