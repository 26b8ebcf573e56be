"""BEIR datasets: a corpus, queries and judgements, as ``GenericDataLoader`` reads them.

BEIR has one query file to a dataset. A collection with several query sets becomes several
datasets, a folder each; they share one corpus file on disk where the file system allows.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import polars as pl

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import BIBLIOGRAPHIC, Exporter, Output
from citebed.collection.formats.trec import write_documents, write_topics
from citebed.records import Document
from citebed.runs.tables import Qrels
from citebed.runs.writing import write_qrels

_METADATA = [name for name in BIBLIOGRAPHIC if name not in ("title", "abstract")]
_QUERY_METADATA = ("title", "paper_id", "section", "exclude", "before")


def write_beir(collection: Collection, output: Output) -> None:
    """A BEIR dataset for each query set, in a folder of its name unless one was chosen."""
    several = not (output.chosen and len(output.query_sets) == 1)
    text = pl.col("abstract").fill_null("")
    corpus = collection.scan_documents().select(
        "title", _id="doc_id", text=text, metadata=pl.struct(_METADATA)
    )
    documents = corpus.select("_id", "title", "text", "metadata").collect()
    first: Path | None = None
    for name in output.query_sets:
        prefix = f"{name}/" if several else ""
        if first is None:
            first = output.write_jsonl(f"{prefix}corpus.jsonl", documents)
        else:
            _link(first, output.file(f"{prefix}corpus.jsonl", documents.height))
        _write_set(collection, name, prefix, output)
    if first is None:
        output.write_jsonl("corpus.jsonl", documents)


def _link(source: Path, path: Path) -> None:
    try:
        os.link(source, path)
    except OSError:
        shutil.copyfile(source, path)


def _write_set(collection: Collection, name: str, prefix: str, output: Output) -> None:
    metadata = pl.struct(_QUERY_METADATA).alias("metadata")
    queries = collection.queries(name).select(pl.col("query_id").alias("_id"), "text", metadata)
    output.write_jsonl(f"{prefix}queries.jsonl", queries)
    qrels = collection.qrels(name).table
    names = {"query_id": "query-id", "doc_id": "corpus-id", "relevance": "score"}
    with output.open(f"{prefix}qrels/test.tsv", qrels.height) as file:
        qrels.rename(names).write_csv(file, separator="\t")


BEIR = Exporter(
    "beir",
    "BEIR datasets",
    write_beir,
    lacks=("full text", "links", "aliases", "bibtex", "papers", "provenance"),
    called="BEIR",
)


# --- TREC -------------------------------------------------------------------------------------


def write_trec(collection: Collection, output: Output) -> None:
    """``documents.trec``, and ``topics`` and ``qrels`` with a file for each query set."""
    documents = collection.scan_documents().select("doc_id", "title", "abstract").collect()
    with output.file("documents.trec", documents.height).open("w", encoding="utf-8") as handle:
        rows = documents.iter_rows()
        records = (Document(name, title=title, abstract=text) for name, title, text in rows)
        handle.writelines(write_documents(records))
    for name in output.query_sets:
        queries, qrels = collection.queries(name), collection.qrels(name).table
        if queries.height:
            path = output.file(f"topics/{name}.topics", queries.height)
            path.write_text("".join(write_topics(collection.iter_queries(name))), "utf-8")
        if qrels.height:
            write_qrels(output.file(f"qrels/{name}.qrels", qrels.height), Qrels(qrels))


TREC = Exporter(
    "trec",
    "TREC documents, topics and qrels",
    write_trec,
    lacks=("fields", "full text", "links", "papers", "query details"),
    called="TREC's files",
)
