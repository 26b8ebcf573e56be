"""How good the default is in several fields, against BM25: ``python bench/fields.py [WORK]``.

Citing sentences ask for what they cite, among all cited papers of their field: life sciences
(``elife``, sentences of 2022) and computer science (``citation-contexts``, papers of the fold that
nothing was learned from); queries of people ask CACM and Cranfield. The script makes the
collections in the folder WORK, or in one that it removes, and indexes them as installed; a
collection that WORK has already is measured as it is. ``--acm-cr FOLDER`` adds ACM-CR, each query
without the sentences of its own paper. If all indexes have vectors of the encoder, there is a
column with it. ``--write`` puts the table into docs/learned.md.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import citebed
from citebed.collection import open_collection
from citebed.collection.rules import load_profile
from citebed.report.tables import text_table
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.training.texts import assign_fold
from common import machine, shared_data, write_between

MODELS = {
    "BM25": "bm25",
    "not fitted": "bm25+learned(fit=no,encoder=no)",
    "default": "bm25+learned(encoder=no)",
}
WITH_ENCODER = {"with the encoder": "bm25+learned"}
YEAR, FOLD, DEPTH, ROUNDS = 2022, 0, 10, 1000


class Asked(NamedTuple):
    """A text, what it should find, who asks, and when."""

    text: str
    relevant: frozenset[str]
    paper: str
    year: int | None = None


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def life_sciences(data: Path, before: int = 0) -> list[Asked]:
    """The sentences of the last year, or of one before."""
    year = YEAR - before
    found = (row for row in rows(data / "elife" / "contexts.jsonl.xz") if row["year"] == year)
    return [
        Asked(row["text"].replace("[CIT]", ""), frozenset(row["cited"]), row["citing"], year)
        for row in found
    ]


def computer_science(data: Path, before: int = 0) -> list[Asked]:
    """The sentences of the papers of the test's fold, or of another."""
    found = rows(data / "citation-contexts" / "contexts-train.jsonl.xz")
    return [
        Asked(row["context"].replace("[CIT]", ""), frozenset((row["cited"],)), row["citing"])
        for row in found
        if assign_fold(row["citing"]) == FOLD + before
    ]


def citing_fields(data: Path) -> dict[str, tuple[Path, Any]]:
    """The fields with sentences that cite: their documents, and what reads the sentences."""
    cited = data / "citation-contexts" / "cited-documents.jsonl.xz"
    return {
        "life sciences": (data / "elife" / "documents.jsonl.xz", life_sciences),
        "computer science": (cited, computer_science),
    }


def of_people(folder: Path, query_set: str = "") -> list[Asked]:
    """The queries of a test collection, by paper if they come from papers."""
    collection = citebed.open(folder)
    name = query_set or collection.query_sets[0]
    wanted: dict[str, set[str]] = {}
    for row in collection.qrels(name).table.iter_rows(named=True):
        if row["relevance"] > 0:
            wanted.setdefault(row["query_id"], set()).add(row["doc_id"])
    return [
        Asked(
            row["text"],
            frozenset(wanted[row["query_id"]]),
            row.get("paper_id") or row["query_id"],
        )
        for row in collection.queries(name).iter_rows(named=True)
        if row["query_id"] in wanted
    ]


def figures(folder: Path, asked: Sequence[Asked], model: str) -> np.ndarray:
    """nDCG@10 and R@10 of each text; what asks is not found."""
    collection = open_collection(folder)
    index = open_index(collection)
    runner = Runner(collection, index, parse_pipeline(model), RunOptions())
    runner.prepare()
    queries = [
        replace(runner.query(one.text, paper=one.paper, exclude=[one.paper]), year=one.year)
        for one in asked
    ]
    found = np.zeros((len(asked), 2))
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    for place, result in enumerate(runner.run(queries, DEPTH)):
        relevant = asked[place].relevant
        right = np.array([index.ids[int(n)] in relevant for n in result.docs[:DEPTH]])
        ideal = discounts[: min(len(relevant), DEPTH)].sum()
        found[place] = discounts[: len(right)] @ right / ideal, right.sum() / len(relevant)
    return found


def interval(values: np.ndarray, papers: Sequence[str]) -> np.ndarray:
    """A 95 % interval of the mean, by drawing papers."""
    names, of = np.unique(np.array(papers), return_inverse=True)
    sums, counts = np.bincount(of, values), np.bincount(of)
    draw = np.random.default_rng(1)
    drawn = (draw.integers(0, len(names), len(names)) for _ in range(ROUNDS))
    return np.quantile([sums[some].sum() / counts[some].sum() for some in drawn], (0.025, 0.975))


def cell(values: np.ndarray, papers: Sequence[str]) -> str:
    """nDCG@10 with its interval, and R@10."""
    gain, recall = values.mean(axis=0)
    low, high = interval(values[:, 0], papers)
    return f"{gain:.3f} [{low:.3f}, {high:.3f}], {recall:.3f}"


def row(name: str, folder: Path, asked: Sequence[Asked], models: Sequence[str]) -> list[str]:
    """Measure all models on some texts; this is a row of the table."""
    papers = [one.paper for one in asked]
    size = open_collection(folder).scan_documents().select(pl.len()).collect().item()
    cells = [cell(figures(folder, asked, model), papers) for model in models]
    found = [f"{name}: {len(asked):,} texts, {size:,} papers", *cells]
    print("  ".join(found), flush=True)
    return found


def main() -> None:
    """Make the collections, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", nargs="?", type=Path, help="The folder for the collections.")
    parser.add_argument("--acm-cr", type=Path, help="ACM-CR, imported and indexed.")
    parser.add_argument("--models", nargs="+", help="Other models to compare.")
    parser.add_argument(
        "--texts", type=int, default=1500, help="The largest number of texts per field."
    )
    parser.add_argument("--write", action="store_true", help="Write the table into docs/.")
    arguments = parser.parse_args()
    data = shared_data("elife").parent
    print(machine())
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or Path(temporary)
        sources = {
            **citing_fields(data),
            "CACM": (data / "cacm", None),
            "Cranfield": (data / "cranfield", None),
        }
        sets: list[tuple[str, Path, list[Asked]]] = []
        for field, (source, contexts) in sources.items():
            folder = work / field.replace(" ", "-").lower()
            if not folder.exists():
                rules = load_profile("cranfield") if field == "Cranfield" else None
                citebed.create(folder, source, rules=rules).index(quiet=True)
            asked = of_people(folder) if contexts is None else contexts(data)
            random.Random(1).shuffle(asked)
            sets.append((field, folder, asked[: arguments.texts]))
        if folder := arguments.acm_cr:
            names = ("paragraphs", "sentences")
            sets += [(f"ACM-CR {name}", folder, of_people(folder, name)) for name in names]
        models = dict(MODELS)
        if all(open_index(open_collection(folder)).vectors("encoder") for _, folder, _ in sets):
            models |= WITH_ENCODER
        if arguments.models:
            models = {model: model for model in arguments.models}
        rows = [row(*each, list(models.values())) for each in sets]
    if arguments.write:
        write_between("learned.md", "fields", text_table(["", *models], rows).markdown())


if __name__ == "__main__":
    main()
