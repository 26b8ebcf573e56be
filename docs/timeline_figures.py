"""Draws the pictures of `timeline-report.md` from a made-up stream.

One topic is quiet but for a burst in its third month. "steady" is as good at any time, "fading"
is the better one at first and gets worse, "sprinter" is good in the burst only.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from citebed.report.timeline_figures import timeline_pictures
from citebed.runs.reader import as_run
from citebed.runs.times import DAY
from citebed.timeline.scoring.slice_measures import slice_measures
from citebed.timeline.scoring.stream_scores import StreamScores, score_stream
from citebed.timeline.scoring.topic_slices import topic_slices
from citebed.timeline.slices import parse_slicing
from citebed.timeline.streams.timed_qrels import timed_qrels

START, DAYS, NOISE, SEED = 1_704_067_200, 112, 3, 11  # from 2024-01-01T00:00:00Z on
BURST = range(63, 77)
NAMES = {
    "relevant_bursty-topic": "timeline-volume",
    "scores_AP": "timeline-scores",
    "areas_AP_steady-sprinter_bursty-topic": "timeline-areas",
}
BY_WEIGHT = {"areas_AP_steady-sprinter_bursty-topic": "timeline-weights"}


def scored() -> list[StreamScores]:
    """Three made-up systems on three made-up topics, by week."""
    rng = np.random.default_rng(SEED)
    rows = []
    for topic in ("bursty topic", "even topic", "sparse topic"):
        for day in range(DAYS):
            rate = {"bursty topic": 9.0 if day in BURST else 0.5, "even topic": 2.0}.get(topic, 0.4)
            number = rng.poisson(rate)
            for at in range(number * (1 + NOISE)):
                time = START + day * DAY + int(rng.integers(DAY))
                rows.append((topic, f"{time}-{len(rows)}", time, int(at < number)))
    names = ["query_id", "doc_id", "time", "relevance"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    qrels = timed_qrels(table, "made-up")
    pairs = topic_slices(qrels, parse_slicing("7d", qrels.range()))
    day = (table["time"].to_numpy() - START) // DAY
    sights = {
        "steady": np.full(len(day), 1.6),
        "fading": 2.6 * (1 - day / DAYS),
        "sprinter": np.where(np.isin(day, BURST), 3.5, 0.8),
    }
    measures = slice_measures(["AP"])
    return [
        score_stream(as_run(_seen(table, sight, rng), name), pairs, measures)
        for name, sight in sights.items()
    ]


def _seen(table: pl.DataFrame, sight: np.ndarray, rng: np.random.Generator) -> pl.DataFrame:
    score = rng.normal(size=table.height) + table["relevance"].to_numpy() * sight
    return table.select("query_id", "doc_id", "time").with_columns(score=pl.Series(score))


def draw(folder: Path) -> None:
    """Write the pictures that the page shows."""
    runs, pairs = scored(), [("steady", "sprinter")]
    for names, over in ((NAMES, "time"), (BY_WEIGHT, "weight")):
        for picture in timeline_pictures(runs, pairs=pairs, over=over):
            if picture.name in names:
                (folder / f"{names[picture.name]}.svg").write_bytes(picture.svg)


if __name__ == "__main__":
    draw(Path(__file__).resolve().parent / "figures")
