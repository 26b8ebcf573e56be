"""The two-stage path on ACM-CR: BM25, re-ranked by an encoder, and both summed.

Prints recall@10 and nDCG@10 of both query sets and how many documents the encoder takes a second
on this machine. Run: python bench/rerank.py [--encoder minilm] [--documents 500]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from acm_cr import QUERY_SETS, imported, rankings, relevances, scores
from citebed.collection import Collection
from citebed.retrieval.index.builder import write_index
from citebed.retrieval.index.index import open_index
from citebed.retrieval.rerank import document_texts, load_encoder


def main() -> None:
    """Speed first, then the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--documents", type=int, default=500)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        folder = imported(Path(work))
        write_index(folder)
        collection, index = Collection(folder), open_index(folder)
        speed(collection, arguments.encoder, arguments.documents)
        print("| queries | model | recall@10 | nDCG@10 |\n|---|---|---|---|")
        for name in QUERY_SETS:
            relevant = relevances(collection, name)
            for stage in ("", "+rerank(with={})", "+{}", "+rrf(with={})"):
                model = "bm25" + stage.format(arguments.encoder)
                found = scores(rankings(collection, index, name, model), relevant)
                print(f"| {name} | `{model}` | {found[0]:.4f} | {found[1]:.4f} |", flush=True)


def speed(collection: Collection, name: str, number: int) -> None:
    """Documents encoded in a second."""
    encoder = load_encoder(name)
    ids = collection.documents["doc_id"].gather_every(collection.documents.height // number)
    texts = [text for _, text in document_texts(collection, ids.to_list())]
    encoder.encode(texts[:32])
    started = time.perf_counter()
    encoder.encode(texts)
    seconds = time.perf_counter() - started
    print(f"{encoder.name} in {encoder.runtime}: {len(texts) / seconds:.0f} documents/s")


if __name__ == "__main__":
    main()
