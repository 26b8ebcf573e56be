"""Killed and started again: the same bytes, wherever it was killed; and what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.timeline.filters.bursts import LABELS, TOPICS, stream, write

from citebed.errors import CitebedError
from citebed.timeline.filters import filter_of
from citebed.timeline.filters.base import Tools
from citebed.timeline.filters.running import FilterTask, RunOptions, run_filter
from citebed.timeline.filters.stream import Source, file_source

MODELS = (
    "names",
    "relevance_model(mu=10,least=0,buckets=4096)",
    "incremental(least=0.2,buckets=4096)",
)
OPTIONS = RunOptions(every=0, block=500)


class Killed(Exception):
    pass


def task_of(path: Path, model: str, delay: int = 5) -> FilterTask:
    tools = Tools(str.split, LABELS, delay)
    return FilterTask(file_source(path, 200), TOPICS, filter_of(model), tools)


def breaking(source: Source, after: int) -> Source:
    """A source that ends with an exception after so many pieces."""

    def pieces() -> Iterator[bytes]:
        for number, piece in enumerate(source.pieces()):
            if number == after:
                raise Killed
            yield piece

    return Source(source.name, pieces)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_stopped_anywhere_it_goes_on_to_the_same_bytes(
    tmp_path: Path, model: str, ending: str
) -> None:
    task = task_of(write(tmp_path / "s", stream()), model)
    whole = tmp_path / f"whole{ending}"
    lines = run_filter(task, whole, RunOptions()).lines
    assert lines > 5
    stops = len(list(task.source.pieces()))
    assert stops > 20
    for after in range(0, stops, 3):
        output = tmp_path / f"{after}{ending}"
        for stop in (after, after + 2):
            with pytest.raises(Killed):
                run_filter(task._replace(source=breaking(task.source, stop)), output, OPTIONS)
            assert not output.exists()
        report = run_filter(task, output, OPTIONS)
        assert output.read_bytes() == whole.read_bytes()
        assert (report.documents, report.lines) == (65, lines)
        assert (report.resumed > 0) == (after > 0)
    assert not [path for path in tmp_path.iterdir() if "partial" in path.name]
    assert not [path for path in tmp_path.iterdir() if "checkpoint" in path.name]


PROGRAM = """
import sys, time
from pathlib import Path
from tests.unit.timeline.filters.test_restarting import OPTIONS, Source, run_filter, task_of

task = task_of(Path(sys.argv[1]), sys.argv[2])

def pieces():
    for piece in task.source.pieces():
        time.sleep(0.002)
        yield piece

run_filter(task._replace(source=Source(task.source.name, pieces)), Path(sys.argv[3]), OPTIONS)
"""


@pytest.mark.parametrize("model", MODELS)
def test_killed_by_the_system_it_goes_on_to_the_same_bytes(tmp_path: Path, model: str) -> None:
    source = write(tmp_path / "s", stream(500))
    whole, output = tmp_path / "whole.gz", tmp_path / "out.gz"
    run_filter(task_of(source, model), whole, RunOptions())
    checkpoint = tmp_path / "out.gz.checkpoint"
    command = [sys.executable, "-c", PROGRAM, str(source), model, str(output)]
    kills = 0
    for made in (1, 5, 9, 2, 14):  # checkpoints made before the kill
        process = subprocess.Popen(command, cwd=Path(__file__).resolve().parents[4])
        seen: set[int] = set()
        while process.poll() is None and len(seen) < made:
            if checkpoint.exists():
                seen.add(checkpoint.stat().st_mtime_ns)
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        assert not output.exists()
    assert kills == 5
    subprocess.run(command, check=True, cwd=Path(__file__).resolve().parents[4])
    assert output.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.gz", "s", "whole.gz"]


# --- what is refused ------------------------------------------------------------------------


@pytest.fixture
def stopped(tmp_path: Path) -> FilterTask:
    """A run into ``out`` that was stopped half-way."""
    task = task_of(write(tmp_path / "s", stream()), "names")
    with pytest.raises(Killed):
        run_filter(task._replace(source=breaking(task.source, 15)), tmp_path / "out", OPTIONS)
    assert (tmp_path / "out.checkpoint").exists()
    return task


def test_other_options_than_those_of_the_checkpoint(tmp_path: Path, stopped: FilterTask) -> None:
    out = tmp_path / "out"
    for other, options, what in (
        (stopped._replace(declared=filter_of("names(half=2)")), OPTIONS, "model 'names.half=1"),
        (stopped._replace(topics=TOPICS[:1]), OPTIONS, "made with topics"),
        (stopped._replace(tools=Tools(str.split, {}, 5)), OPTIONS, "made with judgements"),
        (stopped._replace(tools=Tools(str.split, LABELS)), OPTIONS, "made with feedback delay 5"),
        (stopped, replace(OPTIONS, team="other"), "made with team 'citebed'"),
        (stopped, replace(OPTIONS, about={"analyser": "x"}), "made with analyser None"),
    ):
        with pytest.raises(CitebedError, match=what) as caught:
            run_filter(other, out, options)
        assert "--restart" in str(caught.value)
    other = stopped._replace(declared=filter_of("names(half=2)"))
    assert run_filter(other, out, replace(OPTIONS, restart=True)).resumed == 0


@pytest.mark.parametrize("change", ["first", "shorter"])
def test_another_stream_than_that_of_the_checkpoint(
    tmp_path: Path, stopped: FilterTask, change: str
) -> None:
    lines = (tmp_path / "s").read_text()
    changed = lines.replace("Nothing", "Nothinh", 1) if change == "first" else lines[:600]
    (tmp_path / "s").write_text(changed)
    with pytest.raises(CitebedError, match=r"s has changed since the checkpoint .*--restart"):
        run_filter(stopped, tmp_path / "out", OPTIONS)
    if change == "first":
        assert run_filter(stopped, tmp_path / "out", replace(OPTIONS, restart=True)).lines


def test_a_stream_that_has_grown_is_gone_on_with(tmp_path: Path, stopped: FilterTask) -> None:
    write(tmp_path / "s", stream(100))
    assert run_filter(stopped, tmp_path / "out", OPTIONS).documents == 105
    run_filter(stopped, tmp_path / "whole", OPTIONS)
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 no more", b"text"])
def test_a_damaged_checkpoint(tmp_path: Path, stopped: FilterTask, damage: bytes) -> None:
    (tmp_path / "out.checkpoint").write_bytes(damage)
    with pytest.raises(CitebedError, match=r"cannot be read .*--restart"):
        run_filter(stopped, tmp_path / "out", OPTIONS)


def test_an_unfinished_output_that_was_cut(tmp_path: Path, stopped: FilterTask) -> None:
    os.truncate(tmp_path / "out.partial", 10)
    with pytest.raises(CitebedError, match=r"shorter than the checkpoint .*--restart"):
        run_filter(stopped, tmp_path / "out", OPTIONS)


def test_an_output_that_is_there(tmp_path: Path, stopped: FilterTask) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(CitebedError, match="--overwrite"):
        run_filter(stopped, tmp_path / "out", OPTIONS)
    assert (tmp_path / "out").read_text() == "mine"
    run_filter(stopped, tmp_path / "out", replace(OPTIONS, overwrite=True))
    assert (tmp_path / "out").read_text() != "mine"


def test_two_at_once(tmp_path: Path, stopped: FilterTask) -> None:
    def pieces() -> Iterator[bytes]:
        with pytest.raises(CitebedError, match="another process is writing"):
            run_filter(stopped, tmp_path / "out", OPTIONS)
        yield from stopped.source.pieces()

    run_filter(stopped._replace(source=Source("s", pieces)), tmp_path / "out", OPTIONS)
