"""Times: epoch seconds, ISO 8601, and ids that start with one."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.errors import CitebedError, FormatError
from citebed.files import limits
from citebed.runs.times import epochs, format_span, format_time, parse_time
from citebed.runs.writer import stream_id
from citebed.timeline.streams.stream_files import documents_by_date
from citebed.timeline.streams.timed_qrels import joined_times, read_times


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("1317945600", 1_317_945_600), ("1317945600.9", 1_317_945_600), ("-1", -1),
        ("2011-10-07T00:00:00Z", 1_317_945_600), ("2011-10-07T02:00:00+02:00", 1_317_945_600),
        ("2011-10-06T19:00:00-05:00", 1_317_945_600), ("2011-10-07 00:00:00.75Z", 1_317_945_600),
        ("20111007T000000Z", 1_317_945_600), ("1969-12-31T23:59:59.5Z", -1),
    ],
)  # fmt: skip
def test_times_that_say_their_zone(text: str, time: int) -> None:
    assert parse_time(text, utc=False) == time


def test_times_that_do_not_must_be_declared() -> None:
    with pytest.raises(CitebedError, match="has no time zone"):
        parse_time("2011-10-07T00:00:00", utc=False)
    assert parse_time("2011-10-07", utc=True) == 1_317_945_600


@pytest.mark.parametrize("text", ["", "soon", "2011-13-01T00:00Z", "07/10/2011", "1e9"])
def test_no_times(text: str) -> None:
    with pytest.raises(CitebedError, match="neither an epoch second nor ISO 8601"):
        parse_time(text, utc=True)


@given(st.integers(-(10**10), 10**11))
def test_a_time_that_is_written_is_read_again(time: int) -> None:
    assert parse_time(format_time(time), utc=False) == time


@pytest.mark.parametrize(
    ("ids", "times"),
    [
        (["1323450574-47f2", "1323437280-f11a"], [1_323_450_574, 1_323_437_280]),
        (["1323450574-47f2", "999999999-x"], [1_323_450_574, 999_999_999]),
        (["1323450574-47f2", "plain"], [1_323_450_574, None]),
        (["13234505741-x"], [13_234_505_741]),
        (["-86400-x"], [-86_400]),
        (["1323450574"], [1_323_450_574]),
        (["1323450574x-"], [None]),
        (["1234-x"], [None]),
        ([""], [None]),
    ],
)
def test_epochs_in_ids(ids: list[str], times: list[int | None]) -> None:
    assert epochs(pl.Series(ids)).to_list() == times


def test_a_file_of_times_in_mixed_zones(tmp_path: Path) -> None:
    path = tmp_path / "times"
    path.write_text(
        "# doc time\na 1317945600\nb 2011-10-07T02:00:00+02:00\nc 2011-10-07 00:00:00Z\n"
        "a 1317945600\n"
    )
    assert read_times(path).rows() == [(doc, 1_317_945_600) for doc in "abc"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 2011-10-07T00:00:00\n", ":1: .*no time zone"),
        ("a 1317945600\nb\n", ":2: found 1 field,"),
        ("a b c d\n", "found 4 fields"),
        ("a 1317945600\ncaf\xe9 5\n", ":2: byte 0xe9 is not UTF-8"),
        ("a 1317945600\rb 1317945600\r", ":1: found 4 fields"),
        ("", "no document times"),
        ('{"doc_id": "a", "text": "no time"}', "no document times"),
    ],
)
def test_bad_files_of_times(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "times"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(FormatError, match=message):
        read_times(path)


def test_packed_times_are_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BOMB_BYTES", 1 << 16)
    path = tmp_path / "times.gz"
    path.write_bytes(gzip.compress(b"a 1317945600\n" * 100_000))
    with pytest.raises(FormatError, match="decompression bomb"):
        read_times(path)
    path.write_bytes(gzip.compress(b"a 1317945600\n")[:-9])
    with pytest.raises(FormatError, match=r":\d: the gzip file is cut short"):
        read_times(path)


def test_a_stream_has_the_times_of_its_documents(tmp_path: Path) -> None:
    """As ``citebed filter`` reads it, gzip or not."""
    path = tmp_path / "stream.jsonl.gz"
    with gzip.open(path, "wt") as stream:
        stream.write('{"doc_id": "a", "time": "2011-10-07T02:00:00+02:00", "text": "x"}\n')
        stream.write('{"doc_id": "b", "time": 1317945600, "text": "y"}\n{"doc_id": "bad"}\n')
        stream.write('{"doc_id": "1317945600-c", "title": "z"}\n')
    ids = ("a", "b", "1317945600-c")
    assert read_times(path).rows() == [(doc, 1_317_945_600) for doc in ids]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FormatError, match="cut short"):
        read_times(path)


def test_a_stream_id_is_the_id_without_its_time() -> None:
    times = pl.DataFrame({"doc_id": ["a", "7-b", "old"], "time": [70_000, 80_000, -90_000]})
    ids = ["70000-a", "7-b", "80000-7-b", "80000-a", "a", "b", "0000070000-a", "-000090000-old"]
    lines = pl.DataFrame({"doc_id": ids})
    assert joined_times(lines.lazy(), times).collect().rows() == [
        ("a", 70_000), ("7-b", 80_000), ("7-b", 80_000), ("80000-a", None), ("a", 70_000),
        ("b", None), ("a", 70_000), ("old", -90_000),
    ]  # fmt: skip
    assert stream_id("old", -90_000) == "-000090000-old"  # as filters write it


def test_two_times_of_one_document(tmp_path: Path) -> None:
    path = tmp_path / "times"
    path.write_text("a 1\na 2\n")
    with pytest.raises(CitebedError, match="'a' has two times"):
        read_times(path)


def test_dates_of_a_collection_start_when_the_day_month_or_year_does() -> None:
    dates = [("a", "2010", 1999), ("b", "2010-08", None), ("c", "2010-08-15", None),
             ("d", None, 987), ("e", None, None), ("f", "2010-13", None)]  # fmt: skip
    rows = [(*row, None, None, ["one", "two"]) for row in dates]
    names = ["doc_id", "date", "year", "title", "abstract", "keywords"]
    documents = pl.DataFrame(rows, names, orient="row").lazy()
    table = documents_by_date(documents).drop_nulls("time").collect()
    assert [(row[0], format_time(row[1])[:10]) for row in table.iter_rows()] == [
        ("d", "0987-01-01"), ("a", "2010-01-01"), ("b", "2010-08-01"), ("c", "2010-08-15"),
    ]  # fmt: skip
    assert table["text"][0] == "one; two"


def test_spans() -> None:
    assert [format_span(s) for s in (86_400, 129_600, 3600, 90, 0)] == [
        "1 day", "1.5 days", "1 hour", "90 seconds", "0 seconds",
    ]  # fmt: skip
