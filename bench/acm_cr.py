"""The collection ACM-CR, rankings and their scores, for the scripts that use it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from citebed.collection import Collection
from citebed.evaluation import Settings, evaluate
from citebed.retrieval.execution.runner import RunOptions, run_queries
from citebed.retrieval.index.index import Index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.search.fields import DEFAULT_FIELDS, Fields
from common import shared_data

QUERY_SETS = ("paragraphs", "sentences")
Relevant = Mapping[str, Mapping[str, int]]


def imported(work: Path) -> Path:
    """ACM-CR as a collection; kept in $CITEBED_BENCH if that is set."""
    kept = os.environ.get("CITEBED_BENCH")
    folder = (Path(kept) if kept else work) / "acm-cr"
    if not (folder / "citebed.toml").is_file():
        data = shared_data("acm-cr")
        words = [sys.executable, "-m", "citebed", "import", str(folder), "--quiet"]
        words += [str(data / "acm-dl.tar.xz"), str(data / "papers"), "--profile", "acm-cr"]
        subprocess.run([*words, "--exclude", str(data / "blacklist.txt")], check=True)
    return folder


def rankings(
    collection: Collection,
    index: Index,
    name: str,
    model: str,
    fields: Fields = DEFAULT_FIELDS,
    *,
    as_is: bool = False,
) -> pl.DataFrame:
    """The first 20 documents of each query of a set."""
    options = RunOptions(depth=20, fields=fields, as_is=as_is)
    run = run_queries(collection, index, collection.queries(name), parse_pipeline(model), options)
    return run.table


def relevances(collection: Collection, name: str) -> Relevant:
    """The judgements by query."""
    found: dict[str, dict[str, int]] = {}
    for query_id, doc_id, grade in collection.qrels(name).table.iter_rows():
        found.setdefault(query_id, {})[doc_id] = grade
    return found


def scores(ranked: pl.DataFrame, relevant: Relevant) -> tuple[float, float]:
    """Mean recall@10 and nDCG@10 over all judged queries."""
    found = evaluate(relevant, ranked, ["R@10", "nDCG@10"], Settings(complete=True))
    recall, ndcg = found.runs[0].summaries.values()
    return recall, ndcg
