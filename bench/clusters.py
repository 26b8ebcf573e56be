"""Do 95% intervals cover 95%, and do tests at 5% find nothing in 5%? The tables of docs/compare.md.

Queries are drawn as a test collection draws them: 551 sentences from 50 papers of very unequal
length, with scores skewed as average precision is, alike within a paper to a known degree. Every
draw has a true mean that we know, so that intervals and tests can be counted right or wrong.

Samples in which nearly all scores are the same, of 5 to 50 queries, are counted too (--few, alone).

Run: python bench/clusters.py [--few] [--write]. The last option puts the tables into the page.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import beta, ndtr

from citebed.evaluation.statistics.intervals import mean_interval
from citebed.evaluation.statistics.paired import TESTS, paired_test
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
    """A simulation to repeat; the seed makes a row of a table independent of the others."""

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


def false_alarms(drawn: Drawn) -> list[str]:
    """The percentage of p-values up to 0.05 without a difference, by query and by paper."""
    found = np.zeros(2 * len(TESTS))
    for repeat, values in enumerate(drawn.draws()):
        results = [
            paired_test(name, values, clusters=clusters, samples=SAMPLES, seed=repeat)
            for name in TESTS
            for clusters in (None, PAPERS)
        ]
        found += [result.p_value <= 0.05 for result in results]
    return _percent(found)


def coverage_table(pool: Executor) -> Iterator[str]:
    """The table of intervals."""
    yield "| drawn | ICC | t by query | " + " | ".join(f"{m} by paper" for m in INTERVALS) + " |"
    yield "|---|---" + "|---" * (1 + len(INTERVALS)) + "|"
    kinds = [("scores", 0.0, False)]
    kinds += [(what, r, True) for what in ("scores", "differences") for r in CORRELATIONS]
    yield from pool.map(coverage, [Drawn(*kind, seed) for seed, kind in enumerate(kinds)])


def alarm_table(pool: Executor) -> Iterator[str]:
    """The table of tests: a row per test and unit of resampling, a column per correlation."""
    yield "| test | samples | " + " | ".join(f"ICC {r:g}" for r in CORRELATIONS) + " |"
    yield "|---|---" + "|---" * len(CORRELATIONS) + "|"
    kinds = [Drawn("differences", r, True, 100 + i) for i, r in enumerate(CORRELATIONS)]
    names = [f"{name} | {unit}" for name in TESTS for unit in ("queries", "papers")]
    for name, *shares in zip(names, *pool.map(false_alarms, kinds), strict=True):
        yield f"| {name} | {' | '.join(shares)} |"


def _row(first: list[str], counts: Floats) -> str:
    return f"| {' | '.join([*first, *_percent(counts)])} |"


def _percent(counts: Floats) -> list[str]:
    return [f"{100 * count / REPEATS:.1f}" for count in counts]


# --- few queries, nearly all with the same score ---------------------------------------------

QUERIES = (5, 15, 25, 50)
FEW_REPEATS = 300
UNEVEN = np.array([1, 2, 5])  # queries of the papers, one after the other


def _either(share: float, value: float) -> Callable[[np.random.Generator, int], Floats]:
    """A value for a share of the queries, uniform scores from 0 to 1 for the others."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        return np.where(rng.random(n) < share, value, rng.random(n))

    return draw


class Population(NamedTuple):
    """Scores that are drawn, their mean, and the bounds that they lie between."""

    name: str
    draw: Callable[[np.random.Generator, int], Floats]
    mean: float
    bounds: tuple[float, float] = (0.0, 1.0)


POPULATIONS = (
    Population("all 1", lambda _, n: np.ones(n), 1.0),
    Population("98 % score 1, others 0", lambda rng, n: (rng.random(n) < 0.98) * 1.0, 0.98),
    Population("90 % score 1, others 0", lambda rng, n: (rng.random(n) < 0.9) * 1.0, 0.9),
    Population("50 % score 1, others 0", lambda rng, n: (rng.random(n) < 0.5) * 1.0, 0.5),
    Population("90 % score 1, others uniform", _either(0.9, 1.0), 0.95),
    Population("80 % score 0, others uniform", _either(0.8, 0.0), 0.1),
    Population("60 % score 0, others uniform", _either(0.6, 0.0), 0.2),
    Population("uniform, squared", lambda rng, n: rng.random(n) ** 2, 1 / 3),
    Population(
        "differences: 80 % are 0, others −1 to 1",
        lambda rng, n: np.where(rng.random(n) < 0.8, 0.0, rng.uniform(-1, 1, n)),
        0.0, (-1.0, 1.0),
    ),
    Population(
        "differences: 90 % are 0, others 0 to 1", _either(0.9, 0.0), 0.05, (-1.0, 1.0)
    ),
)  # fmt: skip


def few(at: int) -> str:
    """A row: intervals that hold the mean and their mean width, by queries and by papers."""
    of, cells = POPULATIONS[at], list[str]()
    rng = np.random.default_rng((SEED, at))
    for n in (*QUERIES, *QUERIES):
        by_paper = len(cells) >= len(QUERIES)
        sizes = np.resize(UNEVEN, n) if by_paper else np.ones(n, int)
        papers = np.repeat(np.arange(n), sizes)
        held, width = 0, 0.0
        for repeat in range(FEW_REPEATS):
            values = of.draw(rng, n)[papers]  # queries of a paper are the same: the worst case
            clusters = papers if by_paper else None
            found = mean_interval(
                values, clusters=clusters, samples=SAMPLES, seed=repeat, bounds=of.bounds
            ).within(*of.bounds)
            held += found.low - 1e-12 <= of.mean <= found.high + 1e-12
            width += found.high - found.low
        cells.append(f"{100 * held / FEW_REPEATS:.1f} ({width / FEW_REPEATS:.2f})")
    return f"| {of.name} | {' | '.join(cells)} |"


def few_table(pool: Executor) -> Iterator[str]:
    """The table of samples with nearly the same scores."""
    heads = [f"{n} {unit}" for unit in ("queries", "papers") for n in QUERIES]
    yield f"| scores | {' | '.join(heads)} |"
    yield "|---" * (1 + len(heads)) + "|"
    yield from pool.map(few, range(len(POPULATIONS)))


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
    parser.add_argument("--few", action="store_true", help="only the table of few queries")
    arguments = parser.parse_args()
    started = time.perf_counter()
    with ProcessPoolExecutor() as pool:
        of_few = shown(few_table(pool))
    if arguments.write:
        write_between("compare.md", "few", of_few)
    if arguments.few:
        return
    with ProcessPoolExecutor() as pool:
        tables = (
            "Percentage of intervals that contain the true mean; 95 is right:\n\n"
            f"{shown(coverage_table(pool))}\n\n"
            "Percentage of tests that find a difference although there is none; 5 is right:\n\n"
            f"{shown(alarm_table(pool))}"
        )
    print(f"{time.perf_counter() - started:.0f} s")
    if arguments.write:
        write_between("compare.md", "coverage", tables)


if __name__ == "__main__":
    main()
