"""The value of full text by default: abstracts cut after twenty words, the rest as full text.

No public collection of a small size has full texts, queries and judgements, so the script cuts
Cranfield and CACM: the first words of each document stay its abstract, the rest becomes its full
text. It prints nDCG@10 and recall@10 without the full text and by its weight, for every other
query and for the rest. Run: python bench/fulltext.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from citebed.collection import ImportOptions, Rules, import_sources, open_collection
from citebed.collection.rules import load_profile
from citebed.evaluation import Settings, evaluate
from citebed.retrieval.execution.runner import RunOptions, run_queries
from citebed.retrieval.index.builder import write_index
from citebed.retrieval.search.fields import DEFAULT_FIELDS, fields_of
from common import shared_data

SOURCES = {"cranfield": load_profile("cranfield"), "cacm": Rules()}
WEIGHTS = (0, 0.05, 0.1, 0.2, 0.3, 0.5, 1)
FIRST = 20
"""Words that stay the abstract."""
MEASURES = ["nDCG@10", "R@10"]


def main() -> None:
    """Both collections, every weight."""
    print("| collection | full text | nDCG@10, half | the rest | recall@10, half | the rest |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as work:
        for name, rules in SOURCES.items():
            folder = cut(name, rules, Path(work) / name)
            for weight in (*WEIGHTS, None):
                label = "default" if weight is None else weight
                print(f"| {name} | {label} | {row(folder, weight)} |")


def cut(name: str, rules: Rules, folder: Path) -> Path:
    """The collection with short abstracts and the rest of them as full text, indexed."""
    import_sources(folder / "whole", [shared_data(name)], ImportOptions(rules=rules))
    whole = open_collection(folder / "whole")
    lines = []
    for document in whole.iter_documents():
        words = (document.abstract or "").split()
        first, rest = " ".join(words[:FIRST]), " ".join(words[FIRST:])
        text = {"doc_id": document.doc_id, "title": document.title, "abstract": first}
        sections = [{"heading": "", "text": rest}] if rest else []
        lines.append(json.dumps({**text, "keywords": document.keywords, "sections": sections}))
    (folder / "documents.jsonl").write_text("\n".join(lines))
    sources = [folder / "documents.jsonl", whole.folder / "queries", whole.folder / "qrels"]
    import_sources(folder / "cut", sources)
    write_index(folder / "cut")
    return folder / "cut"


def row(folder: Path, weight: float | None) -> str:
    """The figures of one weight, ``None`` for the default."""
    collection = open_collection(folder)
    (name,) = (each for each in collection.query_sets if collection.queries(each).height)
    fields = f"title,abstract,keywords,fulltext={weight}"
    chosen = DEFAULT_FIELDS if weight is None else fields_of(fields)
    run = run_queries(collection, None, name, "bm25", RunOptions(depth=100, fields=chosen))
    qrels = collection.qrels(name)
    cells = []
    for measure in MEASURES:
        found = evaluate(qrels, run, [measure], Settings(complete=True))
        values = found.runs[0].of(measure).tolist()
        cells += [f"{sum(half) / len(half):.4f}" for half in (values[::2], values[1::2])]
    return " | ".join(cells)


if __name__ == "__main__":
    main()
