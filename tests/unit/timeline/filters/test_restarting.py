"""Killed and started again: the same bytes, wherever it was killed; and what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.sampling import FULL, sized
from tests.unit.timeline.filters.bursts import LABELS, TOPICS, stream, write

from citebed.errors import CitebedError, FormatError
from citebed.timeline.filters import parse_filter
from citebed.timeline.filters.checkpoint import Progress, load, save
from citebed.timeline.filters.runner import FilterOptions, FilterTask, run_filter
from citebed.timeline.filters.topics import FilterContext
from citebed.timeline.streams.stream_files import Source, file_source

MODELS = (
    "names",
    "relevance_model(mu=10,least=0,buckets=4096)",
    "incremental(least=0.2,buckets=4096)",
)
OPTIONS = FilterOptions(every=0, block=500)


class Killed(Exception):
    pass


def task_of(path: Path, model: str, delay: int = 5) -> FilterTask:
    tools = FilterContext(str.split, LABELS, delay)
    return FilterTask(file_source(path, 200), TOPICS, parse_filter(model), tools)


def breaking(source: Source, after: int) -> Source:
    """A source that ends with an exception after so many pieces."""

    def pieces() -> Iterator[bytes]:
        for number, piece in enumerate(source.pieces()):
            if number == after:
                raise Killed
            yield piece

    return Source(source.name, pieces)


@pytest.mark.parametrize(
    ("model", "ending"), [*((model, "") for model in MODELS), (MODELS[0], ".gz")]
)
def test_stopped_anywhere_it_goes_on_to_the_same_bytes(
    tmp_path: Path, model: str, ending: str
) -> None:
    task = task_of(write(tmp_path / "s", stream()), model)
    whole = tmp_path / f"whole{ending}"
    lines = run_filter(task, whole, FilterOptions()).lines
    assert lines > 5
    stops = len(list(task.source.pieces()))
    assert stops > 20
    for after in range(0, stops - 2, sized(7, 3)):
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


@pytest.mark.parametrize("model", MODELS if FULL else MODELS[2:])
def test_killed_by_the_system_it_goes_on_to_the_same_bytes(tmp_path: Path, model: str) -> None:
    source = write(tmp_path / "s", stream(500))
    whole, output = tmp_path / "whole.gz", tmp_path / "out.gz"
    run_filter(task_of(source, model), whole, FilterOptions())
    checkpoint = tmp_path / "out.gz.checkpoint"
    command = [sys.executable, "-c", PROGRAM, str(source), model, str(output)]
    kills = 0
    stops = (1, 5, 9, 2, 14) if FULL else (1, 14)
    for made in stops:  # checkpoints made before the kill
        process = subprocess.Popen(command, cwd=Path(__file__).resolve().parents[4])
        seen: set[int] = set()
        while process.poll() is None and len(seen) < made:
            if checkpoint.exists():
                seen.add(checkpoint.stat().st_mtime_ns)
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        assert not output.exists()
    assert kills == len(stops)
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


HEADER = {"corpus_id": "s.jsonl", "topic_set_id": "t.jsonl", "made_by": "citebed 0.1"}
ASKED = replace(OPTIONS, header=HEADER, about={"the analyser": "english"})
OTHERS = [
    (
        {"declared": parse_filter("names(half=2)")},
        {},
        "the model 'names(half=1,title=2,common=0.01)' (now 'names(half=2,title=2,common=0.01)')",
    ),
    ({"topics": TOPICS[:1]}, {}, "other topics"),
    ({"tools": FilterContext(str.split, {}, 5)}, {}, "other judgements"),
    ({"tools": FilterContext(str.split, LABELS)}, {}, "the feedback delay '5 s' (now '0 s')"),
    ({}, {"team": "other"}, "the team 'citebed' (now 'other')"),
    ({}, {"about": {"the analyser": "x"}}, "the analyser 'english' (now 'x')"),
    ({}, {"about": {}}, "the analyser 'english' (now not given)"),
    ({}, {"naive_is_utc": True}, "times without a zone 'refused' (now 'UTC')"),
    ({}, {"skipped": Path("l")}, "the list of skipped lines 'not written' (now 'l')"),
    ({}, {"header": {**HEADER, "corpus_id": "u"}}, "the stream 's.jsonl' (now 'u')"),
    ({}, {"header": {**HEADER, "topic_set_id": "u"}}, "the topics file 't.jsonl' (now 'u')"),
    ({}, {"header": {**HEADER, "made_by": "u"}}, "the version 'citebed 0.1' (now 'u')"),
    ({}, {"header": {**HEADER, "x": 1}}, "the header's x not given (now '1')"),
]


@pytest.mark.parametrize(("task", "options", "what"), OTHERS)
def test_what_differs_from_the_checkpoint_is_named_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: dict, options: dict, what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = task_of(write(Path("s"), stream()), "names")
    with pytest.raises(Killed):
        run_filter(asked._replace(source=breaking(asked.source, 15)), Path("out"), ASKED)
    before = sorted(Path().iterdir())
    with pytest.raises(CitebedError) as caught:
        run_filter(asked._replace(**task), Path("out"), replace(ASKED, **options))
    message = str(caught.value)
    assert f"out.checkpoint does not fit: it was made with {what}" in message
    assert message.count("(now ") == what.count("(now ")
    assert "Run with the same options and files to go on from it, or add --restart" in message
    assert sorted(Path().iterdir()) == before
    over = replace(ASKED, **options, restart=True)
    assert run_filter(asked._replace(**task), Path("out"), over).resumed == 0


def test_another_model_is_not_said_to_be_another_analyser(
    tmp_path: Path, stopped: FilterTask
) -> None:
    other = stopped._replace(declared=parse_filter("incremental"))
    with pytest.raises(CitebedError, match="made with the model 'names") as caught:
        run_filter(other, tmp_path / "out", replace(OPTIONS, about={"the analyser": "english"}))
    assert "analyser" not in str(caught.value)


def test_everything_that_differs_is_named(tmp_path: Path, stopped: FilterTask) -> None:
    what = r"made with other topics, the team 'citebed' \(now 'x'\)\. Run"
    with pytest.raises(CitebedError, match=what):
        run_filter(
            stopped._replace(topics=TOPICS[:1]), tmp_path / "out", replace(OPTIONS, team="x")
        )


def test_a_checkpoint_of_another_version_is_reported_as_such(tmp_path: Path) -> None:
    """Also where that version kept something else in it."""

    @dataclass
    class Other(Progress):
        more: int = 7

    then, now = {"the version": "citebed 0.1"}, {"the version": "citebed 0.2"}
    save(tmp_path / "c", then, Other(), {})
    with pytest.raises(CitebedError, match=r"the version 'citebed 0.1' \(now 'citebed 0.2'\)"):
        load(tmp_path / "c", now)
    with pytest.raises(CitebedError, match=r"cannot be read .*'more'"):
        load(tmp_path / "c", then)


def test_lines_that_were_skipped_before_are_errors_if_it_goes_on_strictly(
    tmp_path: Path, stopped: FilterTask
) -> None:
    path = tmp_path / "s"
    path.write_text("no\n" + path.read_text())
    out = tmp_path / "other"
    with pytest.raises(Killed):
        run_filter(stopped._replace(source=breaking(stopped.source, 15)), out, OPTIONS)
    with pytest.raises(FormatError, match=r"s:1: not a JSON object"):
        run_filter(stopped, out, replace(OPTIONS, strict=True))
    assert run_filter(stopped, out, OPTIONS).skipped == 1


@pytest.mark.parametrize("change", ["first", "shorter"])
def test_another_stream_than_that_of_the_checkpoint(
    tmp_path: Path, stopped: FilterTask, change: str
) -> None:
    lines = (tmp_path / "s").read_text()
    changed = lines.replace("Nothing", "Nothinh", 1) if change == "first" else lines[:600]
    (tmp_path / "s").write_text(changed)
    how = "differ" if change == "first" else "are incomplete"
    with pytest.raises(CitebedError, match=rf"s has changed .* bytes {how}\. Add --restart"):
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
