"""TREC KBA's files: what is read, what is refused and where, and that writing reads back."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.errors import CitebedError, FormatError
from citebed.files import limits
from citebed.runs.kba_files import SCHEMA, read_filter_run, read_judgements
from citebed.runs.times import FIRST_SECOND, LAST_SECOND
from citebed.runs.writer import FilterLine, filter_lines, filter_names, header_line, stream_id

HEADER = '#{"team_id": "CWI", "system_id": "dic", "corpus_id": "kba-2012"}\n'
GOOD = (
    "CWI dic 1323450574-47f28b76 Aharon_Barak 1000 2 1 2011-12-09-17\n"
    "CWI dic 1323450575-936705de Mario_Garnero 1 -1 0 2011-12-09-17\n"
    "CWI dic 1323450599-f11a2d5c Aharon_Barak 370.5 - -\n"
)
ROWS = [
    ("Aharon_Barak", "1323450574-47f28b76", 1323450574, 1000.0, 2, True),
    ("Mario_Garnero", "1323450575-936705de", 1323450575, 1.0, -1, False),
    ("Aharon_Barak", "1323450599-f11a2d5c", 1323450599, 370.5, None, None),
]


def written(folder: Path, text: str | bytes, name: str = "a.run") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# --- runs -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        HEADER + GOOD,
        HEADER + "# a remark\n" + GOOD.replace("\n", "\n#{} \n", 1) + "\n\n#{}\n",
        HEADER + GOOD.replace(" ", "\t"),
        HEADER + GOOD.replace(" ", "  ").replace("\n", " \n"),
        HEADER + GOOD.replace("\n", "\r\n"),
        HEADER + GOOD.replace("CWI", "   CWI"),
        HEADER + GOOD.replace("\nCWI", "\n  CWI", 1),
        HEADER + GOOD.replace("\nCWI", "\n" + 12 * " " + "CWI", 1),
        (HEADER + GOOD).removesuffix("\n"),
    ],
    ids=["plain", "remarks", "tabs", "blanks", "CRLF", "indented", "one indented", "far", "no end"],
)
def test_a_run_is_read_however_it_is_laid_out(tmp_path: Path, text: str) -> None:
    for path in (
        written(tmp_path, text),
        written(tmp_path, gzip.compress(text.encode()), "packed"),
    ):
        run = read_filter_run(path)
        assert run.table.rows() == ROWS
        assert run.table.schema == SCHEMA
        assert run.header["corpus_id"] == "kba-2012"
        assert (run.team, run.system, run.problems) == ("CWI", "dic", ())


def test_more_fields_than_seven_are_passed_over(tmp_path: Path) -> None:
    text = GOOD.replace("-17\n", "-17 NULL -1 0-0\n", 1)
    assert read_filter_run(written(tmp_path, text)).table.rows() == ROWS
    assert read_filter_run(written(tmp_path, "".join(reversed(text.splitlines(True))))).header == {}


def test_a_header_may_span_lines_and_a_broken_one_is_reported(tmp_path: Path) -> None:
    run = read_filter_run(written(tmp_path, '#{\n#  "team_id": "x"\n#}\n' + GOOD))
    assert run.header == {"team_id": "x"}
    run = read_filter_run(written(tmp_path, '#{"team_id": "x\n' + GOOD))
    assert (run.header, run.table.height) == ({}, 3)
    assert [(p.line, p.kind) for p in run.problems] == [(1, "mended")]


def test_a_header_alone_is_a_run_that_returned_nothing(tmp_path: Path) -> None:
    run = read_filter_run(written(tmp_path, HEADER))
    assert run.table.height == 0
    assert run.table.schema == SCHEMA
    assert (run.team, run.system) == ("CWI", "dic")


BAD = {
    "confidence 0": ("CWI dic 1323450576-a E 0 1 1", "confidence '0'"),
    "confidence 1001": ("CWI dic 1323450576-a E 1001 1 1", "confidence '1001'"),
    "confidence below 0": ("CWI dic 1323450576-a E -5 1 1", "confidence '-5'"),
    "confidence no number": ("CWI dic 1323450576-a E high 1 1", "confidence 'high'"),
    "confidence nan": ("CWI dic 1323450576-a E nan 1 1", "confidence 'nan'"),
    "confidence inf": ("CWI dic 1323450576-a E inf 1 1", "confidence 'inf'"),
    "no epoch": ("CWI dic 47f28b76 E 500 1 1", "'47f28b76' does not start with an epoch"),
    "a date is no epoch": ("CWI dic 2011-12-09-a E 500 1 1", "does not start with an epoch"),
    "an epoch alone": ("CWI dic 1323450576- E 500 1 1", "does not start with an epoch"),
    "six fields": ("CWI dic 1323450576-a E 500 1", "6 fields"),
    "one field": ("CWI", "1 fields"),
    "rating 3": ("CWI dic 1323450576-a E 500 3 1", "rating '3'"),
    "rating no number": ("CWI dic 1323450576-a E 500 good 1", "rating 'good'"),
}


@pytest.mark.parametrize(("line", "what"), BAD.values(), ids=BAD)
def test_a_bad_line_is_an_error_with_its_place_or_a_counted_skip(
    tmp_path: Path, line: str, what: str
) -> None:
    first, rest = GOOD.split("\n", 1)
    path = written(tmp_path, f"{HEADER}{first}\n\n{line}\n{rest}")
    with pytest.raises(FormatError, match=f"a.run:4: .*{what}") as caught:
        read_filter_run(path)
    assert caught.value.line == 4
    run = read_filter_run(path, strict=False)
    assert run.table.rows() == ROWS
    assert [(p.line, p.kind) for p in run.problems] == [(4, "skipped")]


def test_bytes_that_are_not_utf_8_have_a_place(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD.encode() + b"CWI dic 1323450576-\xff E 5 1 1\n")
    with pytest.raises(FormatError, match=r"a.run:4: bytes that are not UTF-8"):
        read_filter_run(path)
    assert read_filter_run(path, strict=False).table.rows() == ROWS


def test_lines_that_only_returns_part_are_reported_and_never_one(tmp_path: Path) -> None:
    for text in (GOOD, HEADER + GOOD):
        with pytest.raises(FormatError, match=r"a.run:1: a carriage return within the line"):
            read_filter_run(written(tmp_path, text.replace("\n", "\r")))


def test_a_header_of_depths_without_end_is_passed_over(tmp_path: Path) -> None:
    run = read_filter_run(written(tmp_path, "#" + '{"a":' * 100_000 + "\n" + GOOD))
    assert (run.table.rows(), run.header) == (ROWS, {})
    assert [(p.line, p.kind) for p in run.problems] == [(1, "mended")]


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BOMB_BYTES", 1 << 16)
    path = written(tmp_path, gzip.compress(LONG.encode() * 30_000), "bomb.gz")
    for read in (read_filter_run, read_judgements):
        with pytest.raises(FormatError, match="decompression bomb"):
            read(path)


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    for text in ("", "\n\n"):
        with pytest.raises(FormatError, match="empty; expected lines of 'team system stream_id"):
            read_filter_run(written(tmp_path, text))


def test_a_gzip_file_cut_short_is_an_error_or_keeps_what_is_there(tmp_path: Path) -> None:
    lines = "".join(f"a b 13234505{n:02}-{n * 7919:x} E 500 1 1\n" for n in range(100))
    whole = gzip.compress(lines.encode())
    path = written(tmp_path, whole[: len(whole) // 2], "cut.gz")
    with pytest.raises(FormatError, match=r"cut short.*Get it again") as caught:
        read_filter_run(path)
    run = read_filter_run(path, strict=False)
    assert 0 < run.table.height < 100
    assert [p.line for p in run.problems][-1] == caught.value.line
    with pytest.raises(FormatError, match="cut short"):
        read_filter_run(written(tmp_path, whole[:12], "head.gz"))


def test_a_name_with_brackets_is_not_a_pattern(tmp_path: Path) -> None:
    assert read_filter_run(written(tmp_path, GOOD, "run[1]*.txt")).table.rows() == ROWS


# --- judgements -----------------------------------------------------------------------------

SHORT = "E1 1323450574-a 1000 2 1\nE1 1323450574-a 1000 -1 1\nE2 1323450575-b 1000 0 0\n"
LONG = (
    "NIST one 1323450574-a E1 1000 2 1 2011-12-09-17\n"
    "NIST two 1323450574-a E1 1000 -1 1 2011-12-09-17\n"
    "NIST two 1323450575-b E2 1000 0 0 2011-12-09-17\n"
)


@pytest.mark.parametrize("text", [SHORT, LONG, SHORT.replace(" ", "\t"), "# all\n" + LONG])
def test_judgements_in_both_forms_are_kept_one_by_one(tmp_path: Path, text: str) -> None:
    table = read_judgements(written(tmp_path, text)).table
    assert table.columns == ["query_id", "doc_id", "time", "relevance"]
    assert table.rows() == [
        ("E1", "1323450574-a", 1323450574, 2),
        ("E1", "1323450574-a", 1323450574, -1),
        ("E2", "1323450575-b", 1323450575, 0),
    ]


def test_a_judgement_must_have_a_rating(tmp_path: Path) -> None:
    path = written(tmp_path, SHORT + "E3 1323450574-a 1000 - 1\n")
    with pytest.raises(FormatError, match=r"a.run:4: the rating '-'"):
        read_judgements(path)
    assert read_judgements(path, strict=False).table.height == 3


def test_trec_qrels_are_not_judgements_of_kba(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"a.run:1: 4 fields, but a line has at least 5"):
        read_judgements(written(tmp_path, "q 0 d 1\n"))


def test_the_judgements_of_kba_2012(kba_2012: Path) -> None:
    table = read_judgements(kba_2012).table
    assert table.height == 9925
    assert table["query_id"].n_unique() == 29
    assert sorted(table["relevance"].unique()) == [1, 2]
    by_pair = table.group_by("query_id", "doc_id").len()
    assert by_pair.filter(pl.col("len") > 1).height == 1401
    # October to December 2011
    assert table["time"].min() >= 1317427200
    assert table["time"].max() < 1325376000


# --- writing --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["out.run", "out.run.gz"])
def test_what_is_written_reads_back(tmp_path: Path, name: str) -> None:
    table = pl.DataFrame(ROWS, schema=SCHEMA, orient="row")
    lines = filter_lines(filter_names("CWI", "dic"), (FilterLine(*row) for row in ROWS))
    text = header_line({"corpus_id": "é"}) + lines
    written(tmp_path, gzip.compress(text) if name.endswith(".gz") else text, name)
    run = read_filter_run(tmp_path / name)
    assert run.table.equals(table)
    assert (run.header, run.team, run.system) == ({"corpus_id": "é"}, "CWI", "dic")


def test_lines_are_as_in_the_wild() -> None:
    line = FilterLine("E", "1323450574-a", 1323450574, 500, 1, True)
    assert filter_lines("t s", [line]) == b"t s 1323450574-a E 500 1 1 2011-12-09-17\n"
    assert header_line({"team_id": "t"}) == b'#{"team_id": "t"}\n'


def test_names_that_a_run_cannot_hold_are_refused() -> None:
    for team in ("", "a b", "#a"):
        with pytest.raises(CitebedError, match="must be one word"):
            filter_names(team, "s")


def test_stream_ids_start_with_the_epoch() -> None:
    assert stream_id("1323450574-ab", 1323450574) == "1323450574-ab"
    assert stream_id("1323450574-ab", 1323450575) == "1323450575-1323450574-ab"
    assert stream_id("10.1145/1", 1323450574) == "1323450574-10.1145/1"
    assert stream_id("d", 0) == "0000000000-d"
    assert stream_id("d", -3600) == "-000003600-d"


@given(st.integers(FIRST_SECOND, LAST_SECOND - 1), st.text("ab-0", min_size=1, max_size=3))
def test_the_time_of_a_stream_id_reads_back(
    tmp_path_factory: pytest.TempPathFactory, time: int, doc_id: str
) -> None:
    path = tmp_path_factory.mktemp("ids") / "x"
    path.write_text(f"t s {stream_id(doc_id, time)} E 5 1 1\n")
    assert read_filter_run(path).table["time"].to_list() == [time]
