"""The encoder in 8 bits against the same weights in full: speed, cosines, rankings.

Takes a collection with a query set and judgements, and the package of the public weights. All
documents that are relevant to a query are encoded, and others drawn at random, by both; queries
rank them. Run: python bench/encoder.py acm-cr/ xenova-models-1.0.2.tgz [--documents 2048]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import citebed
from citebed.retrieval.encoders import fetch_encoder
from citebed.retrieval.encoders.fetch import GTE_SMALL, WEIGHTS, read_public
from citebed.retrieval.encoders.graph import onnx_weights
from citebed.retrieval.index.document_vectors import document_text
from citebed.retrieval.rerank import Encoder, load_encoder
from citebed.retrieval.vectors.trained_weights import read_adapter

Vectors = NDArray[np.float32]


def main() -> None:
    """Speed first, then how far the vectors and rankings are apart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection", type=Path)
    parser.add_argument("package", type=Path)
    parser.add_argument("--queries", default="paragraphs")
    parser.add_argument("--documents", type=int, default=2048)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        whole = load_encoder(in_full(Path(work) / "full", given.package), max_tokens=256)
        small = load_encoder(fetch_encoder(Path(work) / "small", source=given.package).folder)
        compare(whole, small, given)


def in_full(folder: Path, package: Path) -> Path:
    """Public weights and adapter joined, as a model folder with 32 bits a number."""
    from safetensors.numpy import save_file

    files = read_public(package, GTE_SMALL)
    folder.mkdir()
    weights = read_adapter().apply(onnx_weights(files[WEIGHTS]))
    bare = {name: np.ascontiguousarray(array) for name, array in weights.items()}
    save_file(bare, folder / "model.safetensors")
    for name in ("config.json", "tokenizer.json"):
        (folder / name).write_bytes(files[name])
    steps = [{"type": "Pooling", "path": "1_Pooling"}, {"type": "Normalize", "path": ""}]
    (folder / "modules.json").write_text(json.dumps(steps))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode": "mean"}')
    return folder


def compare(whole: Encoder, small: Encoder, given: argparse.Namespace) -> None:
    """Both encoders on the same documents and queries."""
    collection = citebed.open(given.collection)
    judged = collection.qrels(given.queries).table.filter(pl.col("relevance") > 0)
    documents = collection.documents.select("doc_id", document_text())
    relevant = documents.filter(pl.col("doc_id").is_in(judged["doc_id"].implode()))
    others = documents.join(relevant, on="doc_id", how="anti")
    drawn = others.sample(max(0, min(others.height, given.documents - relevant.height)), seed=3)
    documents = pl.concat([relevant, drawn])
    places = {name: place for place, name in enumerate(documents["doc_id"])}
    wanted: dict[str, list[int]] = {}
    for query, document in judged.select("query_id", "doc_id").iter_rows():
        if document in places:
            wanted.setdefault(query, []).append(places[document])
    asked = collection.queries(given.queries).filter(pl.col("query_id").is_in(list(wanted)))
    texts = documents["text"].to_list()
    rates, ranked, vectors = [], [], []
    for name, encoder in (("32 bits", whole), ("8 bits", small)):
        made, rate = timed(encoder, texts)
        queries = encoder.encode(asked["text"].to_list())
        first = np.argsort(-(queries @ made.T), axis=1)[:, :10]
        hits = [
            len(set(row) & set(wanted[query])) / len(wanted[query])
            for row, query in zip(first.tolist(), asked["query_id"], strict=True)
        ]
        print(f"{name}: {rate:.1f} documents a second of one core, R@10 {np.mean(hits):.4f}")
        rates, ranked, vectors = [*rates, rate], [*ranked, first], [*vectors, made]
    cosines = (vectors[0] * vectors[1]).sum(axis=1)
    same = [len(set(a) & set(b)) / 10 for a, b in zip(*map(np.ndarray.tolist, ranked), strict=True)]
    print(
        f"{asked.height} queries, {len(texts)} documents; 8 bits: {rates[1] / rates[0]:.1f} times"
    )
    print(f"cosines: mean {cosines.mean():.4f}, least {cosines.min():.4f}")
    print(f"of the first ten {np.mean(same):.3f} are the same")


def timed(encoder: Encoder, texts: Sequence[str]) -> tuple[Vectors, float]:
    """The vectors, and texts per second of a processor's core; so other work does not count."""
    encoder.encode(texts[:8])
    started = time.process_time()
    made = encoder.encode(texts)
    return made, len(texts) / (time.process_time() - started)


if __name__ == "__main__":
    main()
