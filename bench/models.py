"""All models and kinds of feedback on Cranfield and CACM: the table of docs/models.md.

Run: python bench/models.py [--write]. The option puts the table into the page.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from citebed import ImportOptions, import_sources
from citebed.collection import Collection, load_profile
from citebed.evaluation import Settings, evaluate
from citebed.retrieval.execution.runner import RunOptions, run_queries
from citebed.retrieval.index.builder import write_index
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from common import REPOSITORY, shared_data

PLAIN = (
    "bm25", "bm25(k1=1.2,b=0.75)", "bm25(lengths=lucene)", "bm25f", "okapi",
    "cosine(tf=raw)", "cosine(tf=log)", "cosine(tf=bm25)",
    "kl(mu=1000)", "kl(lambda=0.5)", "kl(delta=0.7)", "kl(mu=1000,lambda=0.1)", "ql(mu=2500)",
)  # fmt: skip
PSEUDO = (
    "bm25+rocchio", "bm25+rm3", "okapi+feedback", "cosine(tf=log)+feedback",
    "kl(mu=1000)+feedback", "kl(mu=1000)+rm3", "ql(mu=2500)+feedback",
)  # fmt: skip
JUDGED = ("bm25", "okapi", "cosine(tf=log)", "kl(mu=1000)", "ql(mu=2500)")
MARK = "<!-- table: small collections -->"
COLLECTIONS = ("cranfield", "cacm")
Scores = tuple[float, float, float]


def imported(name: str, folder: Path) -> Collection:
    """A small collection, imported and indexed."""
    source = shared_data(name)
    options = ImportOptions(rules=load_profile("cranfield") if name == "cranfield" else None)
    import_sources(folder, [source], options)
    write_index(folder)
    return Collection(folder)


def score(collection: Collection, model: str) -> Scores:
    """Mean AP, P@5 and nDCG@10 over the queries that have relevant documents."""
    (name,) = collection.query_sets
    index = open_index(collection.folder)
    run = run_queries(
        collection, index, collection.queries(name), parse_pipeline(model), RunOptions(as_is=True)
    )
    settings = Settings(complete=True)
    found = evaluate(relevances(collection, name), run.table, ["AP", "P@5", "nDCG@10"], settings)
    ap, precision, ndcg = found.runs[0].summaries.values()
    return ap, precision, ndcg


def relevances(collection: Collection, name: str) -> Mapping[str, Mapping[str, int]]:
    """The judgements by query, of queries that have a relevant document."""
    found: dict[str, dict[str, int]] = {}
    for query_id, doc_id, grade in collection.qrels(name).table.iter_rows():
        found.setdefault(query_id, {})[doc_id] = grade
    return {query: rel for query, rel in found.items() if any(g > 0 for g in rel.values())}


def rows(collections: Mapping[str, Collection]) -> list[str]:
    """The table's rows."""
    lines = [
        "| | Cranfield AP | P@5 | nDCG@10 | CACM AP | P@5 | nDCG@10 |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        _row(f"`{model}`", [score(c, model) for c in collections.values()])
        for model in (*PLAIN, *PSEUDO)
    ]
    for model in JUDGED:
        scores = []
        for collection in collections.values():
            (name,) = collection.query_sets
            scores.append(score(collection, f"{model}+feedback(from={name},terms=20)"))
        lines.append(_row(f"`{model}+feedback(from=…)`", scores))
    return lines


def _row(name: str, scores: list[Scores]) -> str:
    line = f"| {name} | " + " | ".join(f"{value:.3f}" for each in scores for value in each) + " |"
    print(line, flush=True)
    return line


def main() -> None:
    """Make the table, and put it into the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/models.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        collections = {name: imported(name, Path(work) / name) for name in COLLECTIONS}
        table = "\n".join(rows(collections))
    if arguments.write:
        page = REPOSITORY / "docs" / "models.md"
        text = page.read_text("utf-8")
        if MARK not in text:
            sys.exit(f"{page} has no '{MARK}'")
        pattern = re.compile(re.escape(MARK) + r"(\n\n\|.*?)?(?=\n\n[^|])", re.DOTALL)
        page.write_text(pattern.sub(lambda _: f"{MARK}\n\n{table}", text, count=1), "utf-8")


if __name__ == "__main__":
    main()
