"""What is played on a real Spark: a line a command, and what must be as on one machine."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import polars as pl

START = 1_323_400_000
"""When TREC KBA 2012's stream begins, about."""


class Work(NamedTuple):
    """A command, in a folder that ``prepare`` lays out; ``outputs`` are the files and folders that
    it writes there. What it prints must be the same too."""

    name: str
    prepare: Callable[[Path], None]
    words: tuple[str, ...]
    outputs: tuple[str, ...] = ()


def lay_runs(folder: Path) -> None:
    """Judgements of three grades with holes, and runs with ties: text in parts, and Parquet."""
    chance = random.Random(1)
    documents = [f"{START + n * 977}-{n:08x}" for n in range(600)]
    judged = [
        f"t{topic} 0 {doc} {chance.choice((-1, 0, 0, 1, 2))}\n"
        for topic in range(12) for doc in chance.sample(documents, 60) if topic != 5
    ]  # fmt: skip
    (folder / "some.qrels").write_text("".join(judged))
    rows = [
        (f"t{topic}", doc, float(chance.randrange(1, 40)))
        for topic in range(12) for doc in chance.sample(documents, 300) if topic != 7
    ]  # fmt: skip
    parts = folder / "parts.run"
    parts.mkdir()
    lines = [f"{topic} Q0 {doc} 1 {score} me\n" for topic, doc, score in rows]
    for part in range(4):
        (parts / f"part-{part}.txt").write_text("".join(lines[part::4]))
    (folder / "whole.run").write_text("".join(lines))
    table = pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row")
    table.with_columns(score=pl.col("score") * 3 % 17).write_parquet(folder / "other.parquet")


_RUNS = ("some.qrels", "whole.run", "other.parquet")
WORKS = (
    Work("evaluate", lay_runs, ("evaluate", *_RUNS, "--per-query", "--json")),
    Work("timeline", lay_runs, ("timeline", *_RUNS, "--slice", "1d", "--per-slice", "--json")),
)
