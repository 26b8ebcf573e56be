"""A folder that ``ir_datasets`` can load, with a small Python file that registers it.

``import citebed_acm_cr`` (the file in the folder) makes the collection known, and then
``ir_datasets.load("citebed/acm-cr/paragraphs")`` is a dataset like any other.
"""

from __future__ import annotations

import json
import re
from typing import Any

import polars as pl

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import BIBLIOGRAPHIC, DERIVED_SETS, Exporter, Output
from citebed.collection.exporting.ir_datasets_plugin import DOCS, METADATA, QRELS, QUERIES
from citebed.collection.storing.table_files import write_qrels

_MODULE = '''"""Tells ir_datasets of the collection {name}: ir_datasets.load("{example}")."""

from pathlib import Path

from citebed.collection.exporting.ir_datasets_plugin import register

DATASETS = register(Path(__file__).parent)
'''


def write_ir_datasets(collection: Collection, output: Output) -> None:
    """``docs.jsonl``, a folder with queries and qrels for each set, and the registering file."""
    documents = collection.scan_documents().select("doc_id", *BIBLIOGRAPHIC).collect()
    output.write_jsonl(DOCS, documents)
    sets = {}
    for name in output.query_sets:
        queries, qrels = collection.queries(name), collection.qrels(name).table
        output.write_jsonl(f"{name}/{QUERIES}", queries)
        write_qrels(output.file(f"{name}/{QRELS}", qrels.height), qrels)
        sets[name] = _metadata(name, queries, qrels)
    short = re.sub(r"[^A-Za-z0-9_.-]+", "-", collection.name).strip("-.") or "collection"
    about = {"name": short, "docs": {"count": documents.height}, "query_sets": sets}
    text = json.dumps(about, ensure_ascii=False, indent=1)
    output.file(METADATA, 1 + len(sets)).write_text(f"{text}\n", "utf-8")
    # The name of a set may be anything, and this becomes a program.
    plain = [name for name in output.query_sets if re.fullmatch(r"[\w.-]+", name)]
    example = "/".join(["citebed", short, *plain[:1]])
    module = f"citebed_{re.sub(r'[^A-Za-z0-9_]', '_', short)}.py"
    output.file(module, 1).write_text(_MODULE.format(name=short, example=example), "utf-8")


def _metadata(name: str, queries: pl.DataFrame, qrels: pl.DataFrame) -> dict[str, Any]:
    """Counts as ir_datasets keeps them, and what each grade of relevance means."""
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
