"""Streams: documents and their times, invalid lines, and cutting into blocks."""

from __future__ import annotations

import gzip
import json
import os
import threading
import zlib
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.timeline.filters.bursts import TOPICS, filtered, stream

from citebed.errors import FormatError
from citebed.files import input_files
from citebed.files.lines import Block
from citebed.timeline.filters import parse_filter
from citebed.timeline.filters.runner import FilterOptions, FilterTask, run_filter
from citebed.timeline.filters.topics import FilterContext
from citebed.timeline.streams.stream_files import (
    Source,
    blocks,
    checksum,
    decode,
    file_source,
    table_source,
)

NOON = 1323432000  # 2011-12-09T12:00:00Z, as `date -u -d @1323432000` says


def decoded(*lines: str | bytes, utc: bool = False) -> tuple[list[tuple], list[tuple[int, str]]]:
    data = b"\n".join(x.encode() if isinstance(x, str) else x for x in lines) + b"\n"
    result = decode(Block(data, 1, len(lines)), utc)
    problems = [(p.line, p.what) for p in result.problems]
    return result.table.select("line", "doc_id", "time").rows(), problems


@pytest.mark.parametrize(
    "time",
    [
        "1323432000", "1323432000.75", '"1323432000"', "1.323432e9", '"2011-12-09T12:00:00Z"',
        '"2011-12-09T12:00:00.5+00:00"', '"2011-12-09T14:00:00+02:00"',
        '"2011-12-09 07:00:00-05:00"', '"20111209T120000Z"',
    ],
)  # fmt: skip
def test_times_are_epochs_or_iso_with_a_zone(time: str) -> None:
    rows, problems = decoded(f'{{"doc_id": "d", "time": {time}, "text": "x"}}')
    assert (rows, problems) == ([(1, "d", NOON)], [])


def test_a_time_without_a_zone_is_refused_unless_said_to_be_utc() -> None:
    line = '{"doc_id": "d", "time": "2011-12-09T12:00:00", "text": "x"}'
    rows, problems = decoded(line)
    assert rows == []
    assert "'2011-12-09T12:00:00' is neither" in problems[0][1]
    assert decoded(line, utc=True) == ([(1, "d", NOON)], [])
    day = '{"doc_id": "d", "time": "2011-12-09", "text": "x"}'
    assert decoded(day, utc=True) == ([(1, "d", NOON - 43200)], [])


def test_a_document_is_named_by_doc_id_or_id_as_in_an_import() -> None:
    rows, problems = decoded(
        '{"id": "a", "time": 1323432000, "text": "x"}',
        '{"doc_id": "b", "id": "c", "time": 1323432001, "text": "x"}',
    )
    assert ([row[1] for row in rows], problems) == (["a", "b"], [])


def test_the_time_may_be_in_the_id() -> None:
    assert decoded('{"doc_id": "1323432000-ab", "text": "x"}')[0] == [(1, "1323432000-ab", NOON)]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b'{"doc_id": "d", "time": 1, "text": "x"', "not a JSON object"),
        (b'["d"]', "not a JSON object in UTF-8 (found ['d'])"),
        (b"nay", "(Expecting value at character 1)"),
        (b'{"doc_id": "d", "time": 1, "text": "\xff"}', "(byte 37 is not UTF-8)"),
        (b'{"doc_id": "d", "time": "a\\nb", "text": "x"}', r"the time 'a\nb' is neither"),
        (b'{"doc_id": "d", "time": "' + b"x" * 99 + b'", "text": "x"}', "x… is neither"),
        (b'{"time": 1323432000, "text": "x"}', "the doc_id None is not one word"),
        (b'{"doc_id": "", "time": 1323432000, "text": "x"}', "the doc_id '' is not one word"),
        (b'{"doc_id": "a b", "time": 1323432000, "text": "x"}', "'a b' is not one word"),
        (b'{"doc_id": "d", "text": "x"}', "no 'time'"),
        (b'{"doc_id": "d", "time": true, "text": "x"}', "the time 'true' is neither"),
        (b'{"doc_id": "d", "time": "soon", "text": "x"}', "the time 'soon' is neither"),
        (b'{"doc_id": "d", "time": 1323432000000, "text": "x"}', "'1323432000000' is neither"),
        (b'{"doc_id": "d", "time": 1323432000}', "none of title, abstract, text is there"),
        (b"{}", "the doc_id None"),
    ],
)
def test_a_line_that_is_not_a_document_is_reported_with_its_number(line: bytes, what: str) -> None:
    good = '{"doc_id": "%s", "time": 1323432000, "text": "x"}'
    rows, problems = decoded(good % "a", "", good % "b", line, "  ", good % "c")
    assert rows == [(1, "a", NOON), (3, "b", NOON), (6, "c", NOON)]
    assert [number for number, _ in problems] == [4]
    assert what in problems[0][1]


def test_a_byte_order_mark_is_passed_over() -> None:
    line = b'\xef\xbb\xbf{"doc_id": "d", "time": 1323432000, "text": "x"}'
    assert decoded(line)[0] == [(1, "d", NOON)]


@given(
    st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=12),
    st.integers(1, 20),
    st.integers(1, 20),
    st.booleans(),
)
def test_blocks_are_whole_lines_that_make_up_the_stream(
    lines: list[bytes], size: int, piece: int, ended: bool
) -> None:
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    source = Source("s", lambda: (data[n : n + piece] for n in range(0, len(data), piece)))
    cut = list(blocks(source, size))
    assert b"".join(block.data for block in cut) == data
    assert all(block.data.endswith(b"\n") for block in cut[:-1])
    line, offset = 1, 0
    for number, block in enumerate(cut):
        assert block.first_line == line
        assert list(blocks(source, size, line, offset))[:1] == [block] or piece > 1
        rest = b"".join(b.data for b in blocks(source, size, line, offset))
        assert rest == b"".join(b.data for b in cut[number:])
        assert checksum(source, offset) == zlib.crc32(data[:offset])
        line += block.lines
        offset += len(block.data)
    assert checksum(source, len(data) + 1) is None


def test_a_gzip_stream_is_read_and_one_cut_short_is_reported(tmp_path: Path) -> None:
    lines = b"".join(b'{"doc_id": "%d"}\n' % (n * 7919) for n in range(2000))
    packed = gzip.compress(lines)
    (tmp_path / "s").write_bytes(packed)
    assert b"".join(file_source(tmp_path / "s", 100).pieces()) == lines
    (tmp_path / "s").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(FormatError, match=r"cut short.*Get it again") as caught:
        list(blocks(file_source(tmp_path / "s", 100), 1000))
    assert 1 < caught.value.line < 2000


def test_a_pipe_is_read_as_it_comes_and_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_files, "PIPE_BYTES", 10)
    os.mkfifo(tmp_path / "s")
    seen = threading.Event()

    def write() -> None:
        with (tmp_path / "s").open("wb", buffering=0) as pipe:
            pipe.write(b"one\n")
            assert seen.wait(60)
            pipe.write(b"two\n" * 10)

    writer = threading.Thread(target=write)
    writer.start()
    found = blocks(file_source(tmp_path / "s"), 1)
    assert next(found).data == b"one\n"
    seen.set()
    assert b"".join(block.data for block in found) == b"two\n" * 10
    writer.join()


def test_a_table_is_the_lines_it_would_be_in_a_file() -> None:
    table = pl.DataFrame({"doc_id": ["a", "é"], "time": [5, 6], "text": ["x", None]})
    lines = b"".join(table_source("t", table, rows=1).pieces()).splitlines()
    assert [json.loads(line) for line in lines] == table.to_dicts()


def test_documents_out_of_order_are_an_error_with_their_line(tmp_path: Path) -> None:
    docs = stream(10)
    docs[8], docs[9] = docs[9], docs[8]
    for block in (1 << 20, 100):
        with pytest.raises(FormatError, match=r"stream.jsonl:10: .*earlier than.*sort it"):
            filtered(tmp_path, docs, "names", block=block, restart=True)


def test_bad_lines_are_skipped_counted_and_listed_or_end_it(tmp_path: Path) -> None:
    docs = [*stream(10), {"doc_id": "x"}, {"time": 7}]
    _, report = filtered(tmp_path, docs, "names", block=100)
    assert (report.documents, report.skipped) == (15, 2)
    assert [problem.line for problem in report.problems] == [16, 17]
    with pytest.raises(FormatError, match=r"stream.jsonl:16: no 'time'"):
        filtered(tmp_path, docs, "names", strict=True, restart=True)


def test_a_stream_without_a_line_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    for empty in ("", "\n \n"):
        (tmp_path / "s").write_text(empty)
        with pytest.raises(FormatError, match=r"s: it is empty; expected JSON Lines with doc_id"):
            run_filter(task(tmp_path / "s"), tmp_path / "out", FilterOptions(every=0))
        assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_a_stream_of_skipped_lines_is_an_error_with_the_reasons(tmp_path: Path) -> None:
    options = FilterOptions(every=0, block=3, skipped=tmp_path / "list", overwrite=True)
    (tmp_path / "s").write_text("no\n")
    with pytest.raises(FormatError, match="s: its only line is not a document, so no run is"):
        run_filter(task(tmp_path / "s"), tmp_path / "out", options)
    (tmp_path / "s").write_text("no\n" * 7)
    with pytest.raises(FormatError) as caught:
        run_filter(task(tmp_path / "s"), tmp_path / "out", options)
    first, *reasons, more = str(caught.value).split("\n")
    assert first.endswith("s: none of its 7 lines is a document, so no run is written:")
    why = "not a JSON object in UTF-8 (Expecting value at character 1)"
    assert [reason.split("/")[-1] for reason in reasons] == [f"s:{n}: {why}" for n in range(1, 6)]
    assert more == "  and 2 more"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["list", "s"]
    assert len((tmp_path / "list").read_text().splitlines()) == 7


def task(path: Path) -> FilterTask:
    return FilterTask(file_source(path, 2), TOPICS, parse_filter("names"), FilterContext())
