"""Coverage of the intervals of strengths: 12 papers, each compared four times by every judge.

    python bench/preferences.py [--repeats 200]

True strengths have a standard deviation of 1. In the second half of the table, every judge has
strengths of their own, which differ from the true ones with a standard deviation of 0.7. The half
width is the median.
"""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl

from citebed.evaluation import score_preferences
from citebed.judging.comparisons import PER_PAPER, PRIOR, choose_pairs

PAPERS = 12


def simulate(judges: int, deviation: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return the share of intervals that cover the true strength, and their median half width."""
    true = rng.normal(0, 1, PAPERS)
    true -= true.mean()
    rows = []
    for judge in range(judges):
        own = true + rng.normal(0, deviation, PAPERS)
        for one, other in choose_pairs(PAPERS, PER_PAPER):
            wins = rng.random() < 1 / (1 + np.exp(own[other] - own[one]))
            rows.append((one, other, one if wins else other, judge))
    table = pl.DataFrame(rows, ["first", "second", "preferred", "cluster"], orient="row")
    if judges == 1:
        table = table.drop("cluster")
    scored = score_preferences(table, prior=PRIOR).sort(pl.col("item").cast(pl.Int64))
    low, high = scored["low"].to_numpy(), scored["high"].to_numpy()
    return float(np.mean((low <= true) & (true <= high))), float(np.median(high - low)) / 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=200)
    repeats = parser.parse_args().repeats
    print("| judges | differ by | covers | half width |\n| --: | --: | --: | --: |")
    for deviation in (0.0, 0.7):
        for judges in (1, 2, 3, 5, 10):
            rng = np.random.default_rng([judges, int(10 * deviation)])
            found = np.array([simulate(judges, deviation, rng) for _ in range(repeats)])
            cover, width = found[:, 0].mean(), np.median(found[:, 1])
            print(f"| {judges} | {deviation} | {cover:.1%} | {width:.2f} |", flush=True)


if __name__ == "__main__":
    main()
