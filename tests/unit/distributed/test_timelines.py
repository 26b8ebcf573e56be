"""Runs over a stream scored on an engine: the very figures of one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import citebed
from citebed.cli.app import main
from citebed.distributed import run_pieces
from citebed.distributed.door import Engine
from citebed.errors import CitebedError
from citebed.timeline.timelines import Timeline

MEASURES = ("AP", "nDCG@R", "Rprec", "SetF", "ERR@5")
DAY = 86_400


def same(one: Timeline, other: Timeline) -> bool:
    """Whether two timelines are the same to the last bit, with what they rest on."""
    return all(
        (a.run, a.team, a.ledger) == (b.run, b.team, b.ledger)
        and np.array_equal(a.values, b.values, equal_nan=True)
        for a, b in zip(one.runs, other.runs, strict=True)
    )


topics = st.sampled_from(["t1", "t2", "Ada_Lovelace", "t3"])
documents = st.builds(
    lambda day, n: f"{1_323_400_000 + day * DAY + n}-{'0123456789abcdef'[n] * 8}",
    st.integers(0, 12), st.integers(0, 15),
)  # fmt: skip
scores = st.one_of(st.integers(1, 5).map(float), st.floats(0.5, 1000))
run_rows = st.dictionaries(st.tuples(topics, documents), scores, min_size=1, max_size=60)
qrels_rows = st.dictionaries(st.tuples(topics, documents), st.integers(-1, 2), min_size=1)


cases = st.tuples(
    run_rows, qrels_rows, st.sampled_from(["1d", "3d", "all"]), st.sampled_from([None, 3.0]),
    st.sampled_from(["run", "kba", "parquet"]), st.sampled_from([None, "topic", "time"]),
    st.sampled_from([40, 300, 1 << 20]),
)  # fmt: skip
ORDERS: Any = {"topic": lambda row: row, "time": lambda row: row[1]}


@given(cases)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_scores_are_those_of_one_machine(engine: Engine, tmp_path: Path, case: Any) -> None:
    check_scores(engine, tmp_path, *case)


def check_scores(  # noqa: PLR0913, PLR0917
    engine: Engine,
    tmp_path: Path,
    run: Any,
    qrels: Any,
    slicing: str,
    above: Any,
    form: str,
    order: str | None,
    piece: int,
) -> None:
    """Score a run here and there, where workers read it in pieces of so many bytes."""
    judged = tmp_path / "some.qrels"
    judged.write_text("".join(f"{q} 0 {d} {rel}\n" for (q, d), rel in qrels.items()))
    path = tmp_path / f"one.{form}"
    rows = [(q, d, score) for (q, d), score in run.items()]
    rows = sorted(rows, key=ORDERS[order]) if order else rows
    if form == "parquet":
        pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row").write_parquet(path)
    elif form == "kba":
        lines = (f"us sys {d} {q} {s!r} 2 1 2011-12-09-02\n" for q, d, s in rows)
        path.write_text('#{"team_id": "us", "system_id": "sys"}\n' + "".join(lines))
    else:
        path.write_text("".join(f"{q} Q0 {d} 1 {s!r} me\n" for q, d, s in rows))
    how: Any = {"slices": slicing, "measures": MEASURES, "threshold": above}
    try:
        here = citebed.timeline(judged, path, **how)
    except CitebedError:
        with pytest.raises(CitebedError):
            engine.timeline(judged, path, **how)
        return
    with patch.multiple(run_pieces, LEAST=piece, PIECES=1 << 20):
        assert same(here, engine.timeline(judged, path, **how))


def test_times_may_come_from_elsewhere(engine: Engine, tmp_path: Path) -> None:
    times = pl.DataFrame(
        {"doc_id": [f"d{n}" for n in range(40)], "time": [n * DAY for n in range(40)]}
    )
    (tmp_path / "a.qrels").write_text("".join(f"t 0 d{n} {n % 2}\n" for n in range(0, 40, 3)))
    (tmp_path / "a.run").write_text("".join(f"t Q0 d{n} 1 {n * 7 % 5} me\n" for n in range(50)))
    files = (tmp_path / "a.qrels", tmp_path / "a.run")
    how: Any = {"slices": "7d", "times": times}
    here, there = citebed.timeline(*files, **how), engine.timeline(*files, **how)
    assert here.runs[0].ledger.skipped.untimed == 10
    assert same(here, there)


def test_the_commands_print_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [(n % 3, 1_323_400_000 + n * 5000, n * 7 % 5) for n in range(300)]
    judged = "".join(f"t{t} 0 {at}-{at:08x} {s % 2}\n" for t, at, s in lines[::4])
    (tmp_path / "a.qrels").write_text(judged)
    for run in ("one", "two"):
        text = "".join(f"t{t} Q0 {at}-{at:08x} 1 {s * len(run)} me\n" for t, at, s in lines)
        (tmp_path / f"{run}.run").write_text(text)
    files = [str(tmp_path / name) for name in ("a.qrels", "one.run", "two.run")]
    for verb in ("evaluate", "timeline"):
        printed = []
        for more in ([], ["--on", "local"]):
            assert main([verb, *files, "--json", *more]) == 0
            printed.append(capsys.readouterr())
        assert printed[0] == printed[1]
