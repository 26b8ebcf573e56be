"""Do 95% intervals cover 95%, and do tests at 5% find nothing in 5%? The tables of docs/compare.md.

Queries are drawn as a test collection draws them: 551 sentences from 50 papers of very unequal
length, with scores skewed as average precision is, alike within a paper to a known degree. Every
draw has a true mean that we know, so that intervals and tests can be counted right or wrong.

Run: python bench/clusters.py [--write]. The option puts the tables into the page.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import beta, ndtr

from citebed.evaluation.statistics import TESTS, mean_interval, paired_test
from common import write_between

# Sentences of each paper: 1 to 40, in all 551.
SIZES = (
    1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8,
    8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 14, 14, 15, 16, 17, 18, 19, 20, 22, 25, 27, 28, 31, 36, 40,
)  # fmt: skip
PAPERS = np.repeat(np.arange(len(SIZES)), SIZES)
# Scores have Kumaraswamy's distribution with a = 1/2 and b = 1.2, the share 1 - (1 - √x)^b of them
# below x: many near 0, some near 1.
B = 1.2
MEAN = B * beta(3, B)
CORRELATIONS = (0.0, 0.1, 0.3, 0.5)
REPEATS = 2000
SAMPLES = 999
SEED = 20260
Floats = np.ndarray
INTERVALS = ("t", "percentile", "bca", "studentised")


def scores(latent: float, papers: Floats, rng: np.random.Generator) -> Floats:
    """Scores whose normal deviates have a part of their own and one of their paper."""
    shared = rng.standard_normal(int(papers.max()) + 1)[papers]
    own = rng.standard_normal(len(papers))
    below = ndtr(np.sqrt(latent) * shared + np.sqrt(1 - latent) * own)
    return (1 - (1 - below) ** (1 / B)) ** 2


@cache
def latent_for(correlation: float) -> float:
    """The share of the paper in a deviate that makes scores correlate so, by bisection."""
    pairs = np.repeat(np.arange(100_000), 2)
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        drawn = scores(middle, pairs, np.random.default_rng(SEED)).reshape(-1, 2)
        found = np.mean((drawn[:, 0] - MEAN) * (drawn[:, 1] - MEAN)) / drawn.var()
        low, high = (middle, high) if found < correlation else (low, middle)
    return 0.0 if correlation == 0 else (low + high) / 2


def differences(latent: float, papers: Floats, rng: np.random.Generator) -> Floats:
    """Differences between two systems that are equally good; alike within papers as scores are."""
    return scores(latent, papers, rng) - scores(latent, papers, rng)


class Drawn(NamedTuple):
    """What to draw again and again; the seed makes a row of a table independent of the others."""

    what: str
    correlation: float
    clustered: bool
    seed: int

    @property
    def papers(self) -> Floats:
        """The paper of each query; without clusters, 50 papers of one query."""
        return PAPERS if self.clustered else np.arange(50)

    @property
    def mean(self) -> float:
        """The mean of all that could be drawn."""
        return MEAN if self.what == "scores" else 0.0

    def draws(self) -> Iterator[Floats]:
        """Values of all queries, as often as is asked."""
        rng = np.random.default_rng((SEED, self.seed))
        latent = latent_for(self.correlation)
        draw = scores if self.what == "scores" else differences
        for _ in range(REPEATS):
            yield draw(latent, self.papers, rng)


def coverage(drawn: Drawn) -> str:
    """A row: how many intervals hold the true mean, t by query, then all kinds by paper."""
    held = np.zeros(1 + len(INTERVALS))
    clusters = drawn.papers if drawn.clustered else None
    for repeat, values in enumerate(drawn.draws()):
        found = [mean_interval(values, method="t")]
        found += [
            mean_interval(values, clusters=clusters, samples=SAMPLES, seed=repeat, method=method)
            for method in INTERVALS
        ]
        held += [interval.low <= drawn.mean <= interval.high for interval in found]
    what = f"{len(drawn.papers)} {'sentences' if drawn.clustered else 'queries'}, {drawn.what}"
    return _row([what, f"{drawn.correlation:g}" if drawn.clustered else "–"], held)


def false_alarms(drawn: Drawn) -> str:
    """A row: how many p-values are up to 0.05 without a difference, by query and by paper."""
    found = np.zeros(2 * len(TESTS))
    for repeat, values in enumerate(drawn.draws()):
        results = [
            paired_test(name, values, clusters=clusters, samples=SAMPLES, seed=repeat)
            for name in TESTS
            for clusters in (None, PAPERS)
        ]
        found += [result.p_value <= 0.05 for result in results]
    return _row([f"{drawn.correlation:g}"], found)


def coverage_table(pool: Executor) -> Iterator[str]:
    """The table of intervals."""
    yield "| drawn | alike | t by query | " + " | ".join(f"{m} by paper" for m in INTERVALS) + " |"
    yield "|---|---" + "|---" * (1 + len(INTERVALS)) + "|"
    kinds = [("scores", 0.0, False)]
    kinds += [(what, r, True) for what in ("scores", "differences") for r in CORRELATIONS]
    yield from pool.map(coverage, [Drawn(*kind, seed) for seed, kind in enumerate(kinds)])


def alarm_table(pool: Executor) -> Iterator[str]:
    """The table of tests."""
    names = (f"{name} by {unit}" for name in TESTS for unit in ("query", "paper"))
    yield "| alike | " + " | ".join(names) + " |"
    yield "|---" + "|---" * 2 * len(TESTS) + "|"
    kinds = [Drawn("differences", r, True, 100 + i) for i, r in enumerate(CORRELATIONS)]
    yield from pool.map(false_alarms, kinds)


def _row(first: list[str], counts: Floats) -> str:
    shares = [f"{100 * count / REPEATS:.1f}" for count in counts]
    return f"| {' | '.join([*first, *shares])} |"


def shown(lines: Iterator[str]) -> str:
    """The lines of a table, printed as they come."""
    kept = []
    for line in lines:
        print(line, flush=True)
        kept.append(line)
    return "\n".join(kept)


def main() -> None:
    """Make the tables, and put them into the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/compare.md")
    arguments = parser.parse_args()
    started = time.perf_counter()
    with ProcessPoolExecutor() as pool:
        tables = (
            "Intervals that hold the true mean, in percent; 95 is right:\n\n"
            f"{shown(coverage_table(pool))}\n\n"
            "Tests that find a difference where there is none, in percent; 5 is right:\n\n"
            f"{shown(alarm_table(pool))}"
        )
    print(f"{time.perf_counter() - started:.0f} s")
    if arguments.write:
        write_between("compare.md", "coverage", tables)


if __name__ == "__main__":
    main()
