"""Export test collections for BEIR, TREC tools and ``ir_datasets``.

A BEIR dataset (as ``GenericDataLoader`` reads it) has one query set, so each query set becomes a
dataset in its own folder; their corpus files are hard links if the disk allows.

An export for ``ir_datasets`` contains a small Python file that registers it: after ``import
citebed_acm_cr``, ``ir_datasets.load("citebed/acm-cr/paragraphs")`` works.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import BIBLIOGRAPHIC, DERIVED_SETS, Exporter, Output
from citebed.collection.exporting.ir_datasets_plugin import DOCS, METADATA, QRELS, QUERIES
from citebed.collection.formats.trec import write_documents, write_topics
from citebed.records import Document
from citebed.runs.tables import Qrels
from citebed.runs.writer import write_qrels

_DETAILS = [name for name in BIBLIOGRAPHIC if name not in ("title", "abstract")]
_QUERY_DETAILS = ("title", "paper_id", "section", "exclude", "before")


def write_beir(collection: Collection, output: Output) -> None:
    """Write a BEIR dataset for each query set, in a folder of its name unless one was chosen."""
    several = not (output.chosen and len(output.query_sets) == 1)
    text = pl.col("abstract").fill_null("")
    corpus = collection.scan_documents().select(
        "title", _id="doc_id", text=text, metadata=pl.struct(_DETAILS)
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
    metadata = pl.struct(_QUERY_DETAILS).alias("metadata")
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
    """Write ``documents.trec``, and ``topics`` and ``qrels`` with a file for each query set."""
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


# --- ir_datasets ------------------------------------------------------------------------------


_MODULE = '''"""Tells ir_datasets of the collection {name}: ir_datasets.load("{example}")."""

from pathlib import Path

from citebed.collection.exporting.ir_datasets_plugin import register

DATASETS = register(Path(__file__).parent)
'''


def write_ir_datasets(collection: Collection, output: Output) -> None:
    """Write ``docs.jsonl``, a folder for each query set, and the file that registers them."""
    documents = collection.scan_documents().select("doc_id", *BIBLIOGRAPHIC).collect()
    output.write_jsonl(DOCS, documents)
    sets = {}
    for name in output.query_sets:
        queries, qrels = collection.queries(name), collection.qrels(name).table
        output.write_jsonl(f"{name}/{QUERIES}", queries)
        write_qrels(output.file(f"{name}/{QRELS}", qrels.height), Qrels(qrels))
        sets[name] = _metadata(name, queries, qrels)
    short = re.sub(r"[^A-Za-z0-9_.-]+", "-", collection.name).strip("-.") or "collection"
    about = {"name": short, "docs": {"count": documents.height}, "query_sets": sets}
    text = json.dumps(about, ensure_ascii=False, indent=1)
    output.file(METADATA, 1 + len(sets)).write_text(f"{text}\n", "utf-8")
    # This becomes a program, and the name of a set may contain anything.
    plain = [name for name in output.query_sets if re.fullmatch(r"[\w.-]+", name)]
    example = "/".join(["citebed", short, *plain[:1]])
    module = f"citebed_{re.sub(r'[^A-Za-z0-9_]', '_', short)}.py"
    output.file(module, 1).write_text(_MODULE.format(name=short, example=example), "utf-8")


def _metadata(name: str, queries: pl.DataFrame, qrels: pl.DataFrame) -> dict[str, Any]:
    """Return counts in the form of ir_datasets, and the meaning of each grade."""
    counts = sorted(qrels["relevance"].value_counts().iter_rows())
    grades = {str(grade): number for grade, number in counts}
    cited = name in DERIVED_SETS
    return {
        "queries": {"count": queries.height},
        "qrels": {"count": qrels.height, "fields": {"relevance": {"counts_by_value": grades}}},
        "definitions": {grade: "cited" if cited else f"relevance {grade}" for grade in grades},
    }


IR_DATASETS = Exporter(
    "ir_datasets",
    "a folder for ir_datasets",
    write_ir_datasets,
    lacks=("full text", "links", "aliases", "bibtex", "papers", "provenance"),
    called="an ir_datasets folder",
)
