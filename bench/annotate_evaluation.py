"""How annotations made from PDFs change an evaluation: queries, judgements and scores of BM25.

The script annotates ACM-CR's citing papers that are available as PDFs, links them to ACM-CR's
documents and imports both. It imports the manual annotations of the same papers too, and makes
and runs queries from both. The interval of a difference of means is a bootstrap over papers.
Run: python bench/annotate_evaluation.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import citebed
from citebed.papers.review import write_proposal
from common import machine, shared_data

SETS = ("paragraphs", "sentences")
MEASURES = ("nDCG@10", "R@10")
SAMPLES = 10_000


def main() -> None:
    """Both collections, then their scores side by side."""
    print(machine())
    data = shared_data("acm-cr")
    pdfs = sorted((data / "pdf").glob("*.pdf"))
    with tempfile.TemporaryDirectory() as work:
        by_hand, made = Path(work) / "by-hand", Path(work) / "made"
        by_hand.mkdir()
        for pdf in pdfs:
            for path in (data / "papers").rglob(f"{pdf.stem}.*"):
                shutil.copy(path, by_hand)
        first = collection(Path(work) / "a", by_hand)
        for paper in citebed.annotate_papers(pdfs, against=first):
            assert paper.annotation is not None, paper.notes
            write_proposal(made, paper.path.stem, paper.annotation, paper.path)
        second = collection(Path(work) / "b", made)
        for name in SETS:
            compare(name, scores(first, name), scores(second, name))


def collection(folder: Path, papers: Path) -> Path:
    """ACM-CR's documents with these citing papers, indexed."""
    data = shared_data("acm-cr")
    words = [sys.executable, "-m", "citebed", "import", str(folder), str(data / "acm-dl.tar.xz")]
    options = ["--profile", "acm-cr", "--exclude", str(data / "blacklist.txt"), "--quiet"]
    subprocess.run([*words, str(papers), *options], check=True)
    citebed.open(folder).index("english", fit=False, quiet=True)
    return folder


def scores(folder: Path, name: str) -> pl.DataFrame:
    """Scores of BM25 by query, with the query's paper."""
    found = citebed.open(folder)
    run = found.search(name, "bm25", depth=10, quiet=True)
    rows = citebed.evaluate(found.qrels(name), run, MEASURES).per_query
    return rows.with_columns(paper=pl.col("query_id").str.extract(r"(\d{7}\.\d{7})"))


def compare(name: str, by_hand: pl.DataFrame, made: pl.DataFrame) -> None:
    """How many queries each has, and the means of both."""
    print(f"{name}: {by_hand['query_id'].n_unique()} by hand, {made['query_id'].n_unique()} made")
    for measure in MEASURES:
        one, other = (
            table.filter(pl.col("measure") == measure).select("paper", "value")
            for table in (by_hand, made)
        )
        low, high = interval(one, other)
        means = one["value"].mean(), other["value"].mean()
        print(
            f"  {measure}: {means[0]:.4f} by hand, {means[1]:.4f} made, difference "
            f"{means[1] - means[0]:+.4f} [{low:+.4f}, {high:+.4f}]"
        )


def interval(one: pl.DataFrame, other: pl.DataFrame) -> tuple[float, float]:
    """95 % of the differences of means of papers drawn at random."""
    papers = sorted({*one["paper"], *other["paper"]})
    sums = np.array(
        [
            [
                (table.filter(pl.col("paper") == paper)["value"].sum(),
                 table.filter(pl.col("paper") == paper).height)
                for table in (one, other)
            ]
            for paper in papers
        ],
        dtype=float,
    )  # fmt: skip
    drawn = np.random.default_rng(7).integers(0, len(papers), (SAMPLES, len(papers)))
    totals = sums[drawn].sum(axis=1)
    means = totals[..., 0] / totals[..., 1]
    low, high = np.quantile(means[:, 1] - means[:, 0], (0.025, 0.975))
    return float(low), float(high)


if __name__ == "__main__":
    main()
