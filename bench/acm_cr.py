"""What the scripts on ACM-CR share: the collection, rankings and their scores."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from citebed.collection import Collection
from citebed.retrieval.index.index import Index
from citebed.retrieval.pipeline import pipeline_of
from citebed.retrieval.running import RunOptions, run_queries
from citebed.retrieval.search.fields import DEFAULT_FIELDS, Fields
from common import shared_data
from measures import ndcg, recall

QUERY_SETS = ("paragraphs", "sentences")
Rankings = Mapping[str, list[str]]
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
) -> Rankings:
    """The first 20 documents of each query of a set."""
    options = RunOptions(depth=20, fields=fields, as_is=as_is)
    run = run_queries(collection, index, collection.queries(name), pipeline_of(model), options)
    found: dict[str, list[str]] = {}
    for query_id, doc_id in run.table.select("query_id", "doc_id").iter_rows():
        found.setdefault(query_id, []).append(doc_id)
    return found


def relevances(collection: Collection, name: str) -> Relevant:
    """The judgements by query."""
    found: dict[str, dict[str, int]] = {}
    for query_id, doc_id, grade in collection.qrels(name).iter_rows():
        found.setdefault(query_id, {})[doc_id] = grade
    return found


def scores(ranked: Rankings, relevant: Relevant) -> tuple[float, float]:
    """Mean recall@10 and nDCG@10."""
    pairs = [(ranked.get(query, []), rel) for query, rel in relevant.items()]
    return (
        sum(recall(ranking, rel, 10) for ranking, rel in pairs) / len(pairs),
        sum(ndcg(ranking, rel, 10) for ranking, rel in pairs) / len(pairs),
    )
