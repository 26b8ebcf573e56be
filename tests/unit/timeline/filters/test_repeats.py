"""Documents that come again: left out and told, wherever a stream is cut or stopped."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sampling import examples, sized
from tests.unit.timeline.filters.bursts import TOPICS, filtered, stream, write
from tests.unit.timeline.filters.test_restarting import MODELS, OPTIONS, Killed, breaking, task_of

from citebed.errors import FormatError
from citebed.files.lines import Block
from citebed.runs.writer import stream_id, stream_ids
from citebed.timeline.filters import parse_filter
from citebed.timeline.filters.runner import FilterOptions, FilterTask, run_filter
from citebed.timeline.filters.stream_checks import RepeatedDocuments
from citebed.timeline.filters.topics import FilterContext
from citebed.timeline.streams.stream_files import decode, file_source, table_source

IDS = st.sampled_from(["a", "b", "1300000000-a", "1300000001-a", "0000000005-a", "12345-a", "5-a"])
TIMES = st.sampled_from([-5, 5, 12345, 1300000000, 1300000001])


@given(st.lists(st.tuples(IDS, TIMES), min_size=1, max_size=12))
def test_ids_of_a_table_are_those_of_its_documents(pairs: list[tuple[str, int]]) -> None:
    pairs.sort(key=lambda pair: pair[1])
    table = pl.DataFrame(pairs, schema=["doc_id", "time"], orient="row")
    assert stream_ids(table["doc_id"], table["time"]).to_list() == [
        stream_id(*pair) for pair in pairs
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(st.lists(st.tuples(IDS, TIMES), min_size=1, max_size=20), st.sampled_from([1, 100, 4096]))
def test_a_stream_with_repeats_is_as_if_they_were_not_there(
    tmp_path: Path, pairs: list[tuple[str, int]], block: int
) -> None:
    pairs.sort(key=lambda pair: pair[1])
    names = [stream_id(*pair) for pair in pairs]
    again = [place for place, name in enumerate(names) if name in names[:place]]
    docs = [{"doc_id": i, "time": t, "text": "Ann Oak"} for i, t in pairs]
    once = [doc for place, doc in enumerate(docs) if place not in again]
    rows, report = filtered(tmp_path, docs, "names", block=block)
    assert rows == filtered(tmp_path, once, "names")[0]
    assert [problem.line for problem in report.problems] == [place + 1 for place in again]
    assert (report.documents, report.skipped) == (len(once), len(again))
    assert report.repeated == len(again)


def test_a_repeat_is_reported_with_its_line_among_the_other_problems(tmp_path: Path) -> None:
    docs = [*stream(1), {"doc_id": "no time"}, stream(1)[-1]]
    _, report = filtered(tmp_path, docs, "names")
    assert [problem.line for problem in report.problems] == [7, 8]
    assert (report.skipped, report.repeated) == (2, 1)
    assert report.problems[1].what == (
        "the same document again: '1300000100-n0' came before at the same time (1300000100)"
    )
    with pytest.raises(FormatError, match=r"stream.jsonl:7: the same document again"):
        filtered(tmp_path, [*stream(1), stream(1)[-1]], "names", strict=True)


def test_the_same_id_at_another_time_is_another_document_of_the_run(tmp_path: Path) -> None:
    docs = [{"doc_id": "a", "time": 1300000000 + n, "text": "Ann Oak"} for n in (0, 1)]
    rows, report = filtered(tmp_path, docs, "names")
    assert [row[0] for row in rows] == ["1300000000-a", "1300000001-a"]
    assert report.repeated == 0


def test_only_the_ids_of_the_last_time_are_remembered() -> None:
    repeats = RepeatedDocuments()
    last = None
    for time in range(1300000000, 1300000010):
        lines = [f'{{"doc_id": "{name}", "time": {time}, "text": "x"}}\n' for name in "ab"]
        for line in lines:
            repeats.left_out(decode(Block(line.encode(), 1, 1), naive_is_utc=False), last)
            last = time
    kept = repeats.state()["repeats"].tobytes().split(b"\n")
    assert sorted(kept) == [b"1300000009-a", b"1300000009-b"]


@pytest.mark.parametrize("model", MODELS)
def test_stopped_between_a_document_and_its_repeat(tmp_path: Path, model: str) -> None:
    once = stream(30)
    twice = [doc for doc in once for _ in range(2)]
    whole = tmp_path / "whole"
    run_filter(task_of(write(tmp_path / "once", once), model), whole, FilterOptions())
    task = task_of(write(tmp_path / "s", twice), model)
    for after in range(3, len(list(task.source.pieces())), sized(12, 4)):
        output = tmp_path / str(after)
        with pytest.raises(Killed):
            run_filter(task._replace(source=breaking(task.source, after)), output, OPTIONS)
        report = run_filter(task, output, OPTIONS)
        assert report.resumed > 0
        assert report.repeated == len(once)
        assert output.read_bytes() == whole.read_bytes()


def test_a_table_with_a_document_twice(tmp_path: Path) -> None:
    table = pl.DataFrame({"doc_id": ["a", "a"], "time": [5, 5], "title": ["Ann Oak", "Ann Oak"]})
    task = FilterTask(table_source("t", table), TOPICS, parse_filter("names"), FilterContext())
    report = run_filter(task, tmp_path / "out", FilterOptions())
    assert (report.lines, report.repeated) == (1, 1)


def test_a_stream_of_one_time(tmp_path: Path) -> None:
    """All documents have one time, and blocks are shorter than a line."""
    docs = [{"doc_id": f"d{n % 7}", "time": 1300000000, "text": "Ann Oak"} for n in range(21)]
    task = FilterTask(
        file_source(write(tmp_path / "s", docs), 10), TOPICS, parse_filter("names"), FilterContext()
    )
    report = run_filter(task, tmp_path / "out", FilterOptions(block=10))
    assert (report.documents, report.repeated, report.lines) == (7, 14, 7)
