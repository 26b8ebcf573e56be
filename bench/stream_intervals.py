"""Do 95% intervals of time-aware scores hold the truth in 95% of streams? See docs/timeline.md.

1,000 streams of 30 queries and 13 weeks are drawn with known true scores, all in the same weeks and
each in weeks of its own (tests/simulated_streams.py), and every kind of interval is counted right
or wrong.

Run: python bench/stream_intervals.py [--streams N] [--sizes] [--write]. The last puts the table
into the page. With --trends only the trends are tried: how many 95% intervals of a slope hold it,
and how many series without a trend, with a correlation of 0.6 between neighbours, show one.
Ends with exit code 1 if an interval that citebed gives holds less than 93% or more than 97%.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
from scipy.special import stdtrit

from common import REPOSITORY, write_between

sys.path.insert(0, str(REPOSITORY))

from tests.simulated_streams import (
    SEED,
    WEIGHTS,
    coverage,
    scored,
    stream,
    true_scores,
    week_effects,
)

from citebed.evaluation.statistics.crossed import crossed_cells, crossed_interval
from citebed.evaluation.statistics.intervals import mean_interval
from citebed.timeline.scoring.topic_slices import weights_of
from citebed.timeline.scoring.trends import mann_kendall, serial_correction, slope_interval

SAMPLES = 999
QUERY_KINDS = ("percentile", "bca", "t", "studentised")
KINDS = (*QUERY_KINDS, "t, both", "studentised, both")
OURS = {"the same": "studentised", "their own": "studentised, both"}
"""Return citebed's intervals: over queries, and over queries and slices."""


SIZES = ((20_000, 30, 13), (8000, 10, 13), (8000, 30, 5), (8000, 60, 40))
"""Queries that the truth is the mean of, then queries and weeks of a stream."""

TREND_SLICES = (13, 40, 90)


def held(number: int, same: bool, truth: dict[str, float]) -> np.ndarray:
    """Which intervals of one stream hold the truth: a row a weighting, a column a kind."""
    rng = np.random.default_rng((SEED, 4, number))
    weeks = week_effects(np.random.default_rng((SEED, 2))) if same else week_effects(rng)
    scores = scored(stream(rng, weeks), samples=100).runs[0]
    rows = []
    for weight in WEIGHTS:
        queries = scores.by_query("AP", weight)
        cells = crossed_cells(
            scores.of("AP"),
            weights_of(weight, scores.pairs),
            scores.pairs.query,
            scores.pairs.slice,
        )
        how = {"samples": SAMPLES, "seed": number}
        reach = float(stdtrit(cells.smaller_unit_count - 1, 0.975)) * cells.error
        limits = [mean_interval(queries, method=kind, **how)[:2] for kind in QUERY_KINDS]
        limits += [(cells.mean - reach, cells.mean + reach), crossed_interval(cells, **how)[:2]]
        rows.append([low <= truth[weight] <= high for low, high in limits])
    return np.array(rows, float)


def table(streams: int) -> tuple[list[str], bool]:
    """The lines of the table, and whether ours are all within 93 and 97."""
    lines = [f"| weeks | weights | {' | '.join(KINDS)} |", "|---" * (2 + len(KINDS)) + "|"]
    fine = True
    # Polars has threads of its own, which a forked process would lack.
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for weeks, ours in OURS.items():
            same = weeks == "the same"
            fixed = week_effects(np.random.default_rng((SEED, 2))) if same else None
            of_one = partial(held, same=same, truth=true_scores(fixed, 20_000))
            shares = np.mean(list(pool.map(of_one, range(streams), chunksize=20)), axis=0)
            for weight, row in zip(WEIGHTS, shares, strict=True):
                cells = (f"{100 * share:.1f}" for share in row)
                lines.append(f"| {weeks} | {weight} | {' | '.join(cells)} |")
                fine &= bool(0.93 <= row[KINDS.index(ours)] <= 0.97)
    return lines, fine


def noise(rng: np.random.Generator, slices: int, correlation: float) -> np.ndarray:
    """A series without a trend whose neighbours correlate so."""
    values = np.zeros(slices + 50)
    for at, shock in enumerate(rng.normal(size=len(values) - 1), 1):
        values[at] = correlation * values[at - 1] + shock
    return values[50:]


def trends(number: int) -> list[bool]:
    """For one series: whether slope intervals contain 0, and which tests find a trend."""
    rng, found = np.random.default_rng((SEED, 5, number)), []
    for slices in TREND_SLICES:
        interval = slope_interval(np.arange(slices) * 1.0, noise(rng, slices, 0), seed=number)
        found.append(interval.low <= 0 <= interval.high)
    x, y = np.arange(90) * 1.0, noise(rng, 90, 0.6)
    plain, corrected = mann_kendall(y), mann_kendall(y, serial_correction(x, y))
    return [*found, plain.p < 0.05, corrected.p < 0.05]


def print_trends(streams: int) -> None:
    """Print the shares of all series."""
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        shares = np.mean(list(pool.map(trends, range(streams), chunksize=20)), axis=0)
    kinds = [f"intervals over {slices} slices hold the slope" for slices in TREND_SLICES]
    for kind, share in zip(
        [*kinds, "plain tests find a trend", "corrected tests find one"], shares, strict=True
    ):
        print(f"{kind}: {share:.1%}")


def main() -> None:
    """Make the table, and put it into the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--sizes", action="store_true", help="streams of other sizes too")
    parser.add_argument("--write", action="store_true", help="put the table into docs/timeline.md")
    parser.add_argument("--trends", action="store_true", help="only the intervals of trends")
    arguments = parser.parse_args()
    if arguments.trends:
        print_trends(arguments.streams)
        return
    started = time.perf_counter()
    lines, fine = table(arguments.streams)
    print("\n".join(lines))
    for size in SIZES if arguments.sizes else SIZES[:1]:
        for units in ("queries", "both"):
            found = coverage(units, arguments.streams, *size)
            print(f"{size[1]} queries, {size[2]} weeks, over {units}: {found}", flush=True)
    print(f"{arguments.streams:,} streams, {time.perf_counter() - started:.0f} s")
    if arguments.write:
        write_between("timeline.md", "coverage", "\n".join(lines))
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
