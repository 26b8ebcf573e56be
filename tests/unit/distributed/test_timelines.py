"""Runs over a stream scored on an engine: the very figures of one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from tests.reference.timeline import DAY
from tests.sampling import sized
from tests.unit.timeline.made_streams import StreamFiles, same, stream_files

import citebed
from citebed.cli.app import main
from citebed.distributed.engine import Engine
from citebed.errors import CitebedError


@given(stream_files)
@settings(
    max_examples=sized(8, 25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_scores_are_those_of_one_machine(engine: Engine, tmp_path: Path, case: StreamFiles) -> None:
    check_scores(engine, tmp_path, case)


def check_scores(engine: Engine, tmp_path: Path, case: StreamFiles) -> None:
    """Score a run here and there, where workers read it in pieces."""
    judged, path = case.write(tmp_path)
    try:
        here = citebed.timeline(judged, path, **case.how)
    except CitebedError:
        with pytest.raises(CitebedError):
            engine.timeline(judged, path, **case.how)
        return
    with case.in_pieces():
        assert same(here, engine.timeline(judged, path, **case.how))


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
