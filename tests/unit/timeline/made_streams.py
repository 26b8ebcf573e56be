"""Streams for the tests: made up by hypothesis, or by systems that fail in known ways."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import polars as pl
from hypothesis import strategies as st
from tests.reference.timeline import DAY, Judgement, Line

from citebed.runs import file_ranges
from citebed.timeline.timelines import Timeline

START = 1_317_945_600  # 2011-10-07T00:00:00Z


def judgement_table(judgements: Sequence[Judgement]) -> pl.DataFrame:
    return pl.DataFrame(
        [tuple(judgement) for judgement in judgements],
        schema={
            "query_id": pl.String,
            "doc_id": pl.String,
            "time": pl.Int64,
            "relevance": pl.Int64,
        },
        orient="row",
    )


def run_table(lines: Sequence[Line]) -> pl.DataFrame:
    return pl.DataFrame(
        [tuple(line) for line in lines],
        schema={"query_id": pl.String, "doc_id": pl.String, "time": pl.Int64, "score": pl.Float64},
        orient="row",
    )


# Few scores, so that there are ties; some that differ in the last bits, and only look tied.
SCORES = st.sampled_from([1.0, 2.0, 2.0 + 2**-51, 500.0, 1000.0, 0.0, -0.0, -3.5, 0.1, 0.1 + 1e-15])


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Judgement], list[Line]]:
    """Judgements by several assessors and a run of the same stream, at least one relevant."""
    docs = draw(st.lists(st.integers(0, 12 * DAY), min_size=1, max_size=14))
    times = {f"d{number}": START + offset for number, offset in enumerate(docs)}
    queries = ["a", "b", "c"]
    pairs = st.tuples(st.sampled_from(queries), st.sampled_from(list(times)))
    judged = draw(st.lists(st.tuples(pairs, st.integers(0, 2)), min_size=1, max_size=25))
    judgements = [Judgement(q, d, times[d], grade) for (q, d), grade in judged]
    retrieved = draw(st.lists(pairs, unique=True, max_size=25))
    run = [Line(q, d, times[d], draw(SCORES)) for q, d in retrieved]
    return judgements, run


# --- runs and judgements as files, whole or read in pieces -------------------------------------

MEASURES = ("AP", "nDCG@R", "Rprec", "SetF", "ERR@5")


def same(one: Timeline, other: Timeline) -> bool:
    """Whether two timelines are the same to the last bit, with what they rest on."""
    return all(
        (a.run, a.team, a.ledger) == (b.run, b.team, b.ledger)
        and np.array_equal(a.values, b.values, equal_nan=True)
        for a, b in zip(one.runs, other.runs, strict=True)
    )


class StreamFiles(NamedTuple):
    """A run, judgements and how they are to be scored; in pieces of so many bytes."""

    run: dict[tuple[str, str], float]
    qrels: dict[tuple[str, str], int]
    slices: str
    threshold: float | None
    form: str
    order: str | None
    piece: int

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write the judgements and the run."""
        judged, path = folder / "some.qrels", folder / f"one.{self.form}"
        judged.write_text("".join(f"{q} 0 {d} {rel}\n" for (q, d), rel in self.qrels.items()))
        rows = [(q, d, score) for (q, d), score in self.run.items()]
        rows = sorted(rows, key=_ORDERS[self.order]) if self.order else rows
        if self.form == "parquet":
            pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row").write_parquet(path)
        elif self.form == "kba":
            lines = (f"us sys {d} {q} {s!r} 2 1 2011-12-09-02\n" for q, d, s in rows)
            path.write_text('#{"team_id": "us", "system_id": "sys"}\n' + "".join(lines))
        else:
            path.write_text("".join(f"{q} Q0 {d} 1 {s!r} me\n" for q, d, s in rows))
        return judged, path

    @property
    def how(self) -> dict[str, Any]:
        """The options of `citebed.timeline`."""
        return {"slices": self.slices, "measures": MEASURES, "threshold": self.threshold}

    def in_pieces(self) -> Any:
        """While this lasts, texts are cut into pieces of that size."""
        return patch.multiple(file_ranges, MIN_SIZE=self.piece, PIECES=1 << 20)


_ORDERS: Any = {"topic": lambda row: row, "time": lambda row: row[1]}
_PAIRS = st.tuples(
    st.sampled_from(["t1", "t2", "Ada_Lovelace", "t3"]),
    st.builds(
        lambda day, n: f"{1_323_400_000 + day * DAY + n}-{'0123456789abcdef'[n] * 8}",
        st.integers(0, 12), st.integers(0, 15),
    ),
)  # fmt: skip
stream_files = st.builds(
    StreamFiles,
    st.dictionaries(
        _PAIRS, st.integers(1, 5).map(float) | st.floats(0.5, 1000), min_size=1, max_size=60
    ),
    st.dictionaries(_PAIRS, st.integers(-1, 2), min_size=1),
    st.sampled_from(["1d", "3d", "all"]),
    st.sampled_from([None, 3.0]),
    st.sampled_from(["run", "kba", "parquet"]),
    st.sampled_from([None, "topic", "time"]),
    st.sampled_from([40, 300, 1 << 20]),
)
