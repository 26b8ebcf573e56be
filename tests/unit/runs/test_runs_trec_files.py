"""Reading runs and judgements: valid forms, and the message for each error."""

from __future__ import annotations

import gzip
import os
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sampling import examples

from citebed.errors import CitebedError, FormatError
from citebed.evaluation import as_qrels, evaluate, prepare, rank
from citebed.runs import trec_files
from citebed.runs.reader import distinct_names, read_qrels, read_run, run_name
from citebed.runs.trec_files import QRELS, RUN, read_trec, run_tag, trec_lines

GOOD = b"q1 Q0 a 1 2.5 t\nq1 Q0 b 2 1.5 t\nq2 Q0 c 1 -1e3 t\n"
ROWS = [("q1", "a", 2.5), ("q1", "b", 1.5), ("q2", "c", -1000.0)]


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.replace(b" ", b"\t"),
        GOOD.replace(b" ", b" \t "),
        GOOD.replace(b"\n", b"\r\n"),
        GOOD + b"\n\r\n \n",
        b"# made by hand\n" + GOOD,
        GOOD.replace(b"q2", b"  # between\nq2"),
        b"\xef\xbb\xbf" + GOOD,
        GOOD.rstrip(b"\n"),
        gzip.compress(GOOD, mtime=0),
        gzip.compress(GOOD.replace(b" ", b"  "), mtime=0),
    ],
)
def test_accepted(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    path.write_bytes(text)
    assert read_run(path).table.rows() == ROWS


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        (b"", None, "the file is empty"),
        (b"\n\n", None, "no lines of data"),
        (b"q1 Q0 a 1 2 t\nq1 Q0 b 2 nan t\n", 2, "'nan' is not a finite number"),
        (b"q1 Q0 a 1 2 t\nq1 Q0 b 2 -inf t\n", 2, "'-inf' is not a finite number"),
        (b"q1 Q0 a 1 1_0 t\n", 1, "'1_0' is not a finite number"),
        (b"q1 Q0 a 1 abc t\n", 1, "'abc' is not a finite number"),
        (b"q1 Q0 a 1 2 t\nq1 Q0 b 2 1", 2, "found 5 fields ('q1 Q0 b 2 1'). Was the file cut"),
        (b"q1 a 1 2 t\n", 1, "found 5 fields"),
        (b"q1 Q0 a 1 2 t more\n", 1, "found 7 fields"),
        (b"q1 0 a 1\n", 1, "this looks like judgements (qrels) instead of a run"),
        (b"q1 Q0 \xff 1 2 t\n", 1, "not UTF-8"),
        (b"<html>\n", 1, "looks like XML or HTML"),
        (b'{"q1": {}}', 1, "looks like JSON"),
        (b"\x00\x01\x02\n", None, "not a text file"),
        (gzip.compress(GOOD * 500, mtime=0)[:-30], None, "cut short"),
    ],
)
def test_refused(text: bytes, line: int | None, told: str, tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    path.write_bytes(text)
    with pytest.raises(FormatError) as caught:
        read_run(path)
    assert told in str(caught.value)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"q1 0 a x\n", "'x' is not a whole number"),
        (b"q1 0 a 1.5\n", "'1.5' is not a whole number"),
        (b"q1 0 a " + b"9" * 5000, "999…' is not a whole number"),
        (b"q1 0 a 9223372036854775808\n", "9223372036854775808 is out of range"),
        (GOOD, "looks like a run instead of judgements (qrels)"),
    ],
)
def test_judgements_refused(text: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "x.qrels"
    path.write_bytes(text)
    with pytest.raises(FormatError, match=r"x\.qrels:1") as caught:
        read_qrels(path)
    assert told in str(caught.value)


def test_a_document_twice_is_reported_with_both_lines(tmp_path: Path) -> None:
    run, qrels = tmp_path / "x.run", tmp_path / "x.qrels"
    run.write_text("# head\nq1 Q0 a 1 2 t\n\nq1 Q0 b 2 1 t\nq1 Q0 a 3 0 t\n")
    qrels.write_text("q1 0 a 1\n")
    with pytest.raises(FormatError, match=r"x\.run:5: document 'a' .* line 2\."):
        evaluate(qrels, run, ["AP"])
    run.write_text("q1 Q0 a 1 2 t\n")
    qrels.write_text("q1 0 a 1\nq1 0 b 1\nq1 0 a 1\n")
    with pytest.raises(FormatError, match=r"x\.qrels:3: document 'a' .* line 1\."):
        evaluate(qrels, run, ["AP"])


BLANK = st.text(" \t", min_size=1, max_size=3)
WORD = st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters="#"), min_size=1)
SCORE = st.floats(allow_nan=False, allow_infinity=False).map(repr)
FIELDS = st.tuples(WORD, st.just("Q0"), WORD, st.just("1"), SCORE, WORD)


@settings(max_examples=examples(150), deadline=None)
@given(
    lines=st.lists(FIELDS, min_size=1, max_size=8), blank=BLANK, end=st.sampled_from(["\n", "\r\n"])
)
def test_any_white_space_reads_as_the_slow_way(
    lines: list[tuple[str, ...]], blank: str, end: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("w") / "x.run"
    path.write_bytes(end.join(blank.join(line) for line in lines).encode())
    expected = [(line[0], line[2], float(line[4])) for line in lines]
    assert read_trec(path, RUN).select(RUN.columns).rows() == expected
    assert [row[1:] for row in trec_lines(path, RUN)] == expected


def test_hashes_of_a_file_and_of_a_table_agree(tmp_path: Path) -> None:
    qrels, run = {"q1": {"é": 1, "b" * 40: 0}}, {"q1": {"b" * 40: 2.0, "é": 1.0}}
    (tmp_path / "x.qrels").write_text(f"q1 0 é 1\nq1 0 {'b' * 40} 0\n")
    (tmp_path / "x.run").write_text(f"q1 Q0 {'b' * 40} 1 2.0 t\nq1 Q0 é 2 1.0 t\n")
    for judged in (qrels, tmp_path / "x.qrels"):
        for found in (run, tmp_path / "x.run"):
            assert evaluate(judged, found, ["RR"]).summary()["value"].to_list() == [0.5]


def test_parquet(tmp_path: Path) -> None:
    run = read_run_of(tmp_path, GOOD)
    run.table.write_parquet(tmp_path / "x.parquet")
    assert read_run(tmp_path / "x.parquet").table.rows() == ROWS
    run.table.drop("score").write_parquet(tmp_path / "y.parquet")
    with pytest.raises(FormatError, match=r"no column 'score'\. Found: query_id, doc_id"):
        read_run(tmp_path / "y.parquet")
    run.table.with_columns(query_id=pl.struct("query_id")).write_parquet(tmp_path / "y.parquet")
    with pytest.raises(FormatError, match=r"'query_id' holds Struct.*; expected ids"):
        read_run(tmp_path / "y.parquet")
    run.table.clear().write_parquet(tmp_path / "y.parquet")
    with pytest.raises(FormatError, match="has no rows"):
        read_run(tmp_path / "y.parquet")
    (tmp_path / "z.parquet").write_bytes(b"PAR1")
    with pytest.raises(FormatError, match="not a Parquet file"):
        read_run(tmp_path / "z.parquet")


def read_run_of(folder: Path, text: bytes):  # type: ignore[no-untyped-def]
    (folder / "made.run").write_bytes(text)
    return read_run(folder / "made.run")


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("a/x.run b/x.run y.run", "a/x b/x y"),
        ("x.run x.txt", "x.run x.txt"),
        ("x.run x.run.gz y.run", "x.run x.run.gz y"),
        ("a/x.run b/x.txt", "a/x b/x"),
        ("a/x.run a/x.txt b/x.run", "a/x.run a/x.txt b/x"),
        ("a/b/x.run c/b/x.run", "a/b/x c/b/x"),
        ("/b/x.run /a/b/x.run", "/b/x a/b/x"),
    ],
)
def test_names_tell_files_apart(given: str, names: str) -> None:
    assert distinct_names([Path(each) for each in given.split()]) == names.split()


PATHS = st.tuples(
    st.lists(st.sampled_from("ab"), max_size=3), st.sampled_from("xy"), st.sampled_from("rt")
)


@given(st.lists(PATHS, unique_by=str, max_size=8))
def test_names_are_never_the_same(parts: list[tuple[list[str], str, str]]) -> None:
    endings = {"r": ".run", "t": ".txt"}
    paths = [Path("/", *folders, stem + endings[end]) for folders, stem, end in parts]
    found = distinct_names(paths)
    assert len(set(found)) == len(paths)
    for path, name in zip(paths, found, strict=True):
        assert str(path).startswith(name) or f"/{name}" in str(path)


def test_the_same_file_twice_is_an_error() -> None:
    with pytest.raises(CitebedError, match=r"the file 'x\.run' is given twice"):
        distinct_names([Path("x.run"), Path("y.run"), Path("x.run")])
    with pytest.raises(CitebedError, match=r"'a/\.\./x.run' is given twice: as 'x.run' too"):
        distinct_names([Path("x.run"), Path("a/../x.run")])


def test_runs_given_as_a_list_of_files_are_distinguished(tmp_path: Path) -> None:
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.run").write_bytes(GOOD)
    paths = [str(tmp_path / "old" / "x.run"), str(tmp_path / "new" / "x.run")]
    scores = evaluate({"q1": {"a": 1}}, paths, ["RR"])
    assert [run.run for run in scores.runs] == ["old/x", "new/x"]


def test_names(tmp_path: Path) -> None:
    assert run_name(Path("runs/bm25.run.gz")) == "bm25"
    assert run_name(Path("bm25.v2.run")) == "bm25.v2"
    (tmp_path / "x.run").write_bytes(b"#\n" + GOOD)
    assert run_tag(tmp_path / "x.run") == "t"
    with pytest.raises(CitebedError, match="is a folder"):
        read_qrels(tmp_path)


def test_layouts_end_where_a_short_line_shows() -> None:
    assert (QRELS.fields[-1], RUN.fields[-1]) == ("relevance", "tag")


LATE = "".join(f"q{n} 0 d{n} 1\n" for n in range(8000))
"""Longer than the sample that is looked at first."""


@pytest.mark.parametrize("line", ["q900 0  1", " 0 d1 1", "q900  d1 1", "q900 0 d1 "])
def test_a_short_line_far_down_is_found(line: str, tmp_path: Path) -> None:
    (tmp_path / "x.qrels").write_text(f"{LATE}{line}\n")
    with pytest.raises(FormatError, match=r"x\.qrels:8001: found 3 fields"):
        read_qrels(tmp_path / "x.qrels")


ODD = {
    "a seventh field": "q1 Q0 doc 77 2 5 t",
    "a return between two records": "q1 Q0 a 1 2 t\rq1 Q0 b 2 1 t",
    "two lines run together": "q1 Q0 a 1 2 tq1 Q0 b 2 1 t",
    "a tab in an id": "q1 Q0 a\tb 1 2 t",
    "a blank in an id": "q1 Q0 a b 1 2 t",
    "a return in an id": "q1 Q0 a\rb 1 2 t",
    "a form feed in an id": "q1 Q0 a\fb 1 2 t",
    "a NUL": "q1 Q0 a\0b 1 2 t",
}


@pytest.mark.parametrize(
    ("blank", "packed", "far"),
    [(" ", False, 0), ("  ", False, 1), ("\t", True, 1), (" ", False, 8000), ("\t", True, 8000)],
)
@pytest.mark.parametrize("odd", ODD)
def test_a_line_with_too_many_fields_is_found_anywhere(
    odd: str, blank: str, packed: bool, far: int, tmp_path: Path
) -> None:
    before = "".join(f"q{n} Q0 d{n} 1 1.5 t\n" for n in range(far))
    text = f"{before}{ODD[odd]}\nq9 Q0 x 1 1 t\n".replace(" ", blank).encode()
    (tmp_path / "x.run").write_bytes(gzip.compress(text) if packed else text)
    with pytest.raises(FormatError, match=r"fields|not text|not a text file") as caught:
        read_run(tmp_path / "x.run")
    at_once = "NUL" in odd and far < 8000
    assert caught.value.line == (None if at_once else far + 1)


LATE_RUN = "".join(f"q{n} Q0 d{n} 1 1.5 t\n" for n in range(8000))


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize("line", ["q9  d1 1 1.5 t", "q9 Q0 d1 1  t", "q9 Q0 d1 1 1.5 "])
def test_a_field_of_a_run_that_is_missing_far_down_is_found(
    line: str, end: str, tmp_path: Path
) -> None:
    for lines in ("", LATE_RUN):
        (tmp_path / "x.run").write_text(f"{lines}{line}{end}")
        with pytest.raises(
            FormatError, match=rf"x\.run:{lines.count(chr(10)) + 1}: found 5 fields"
        ):
            read_run(tmp_path / "x.run")


@pytest.mark.parametrize(
    "line", ["# q9 d1 1 1.5 t", "#q9 Q0 d1 1 high t", "#", " # a comment  of mine"]
)
@pytest.mark.parametrize("before", ["", "# the run\n"])
def test_a_comment_far_down_a_run_is_a_comment(line: str, before: str, tmp_path: Path) -> None:
    (tmp_path / "x.run").write_text(f"{before}{LATE_RUN}{line}\nq9 Q0 last 2 1 t\n")
    table = read_run(tmp_path / "x.run").table
    assert table.height == 8001
    assert table.row(-1) == ("q9", "last", 1.0)


def test_a_name_is_not_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "x[1]*.run").write_bytes(GOOD)
    (tmp_path / "x1.run").write_bytes(GOOD.replace(b"q1", b"other"))
    assert read_run(tmp_path / "x[1]*.run").table.rows() == ROWS


def test_a_comment_far_down_is_a_comment(tmp_path: Path) -> None:
    (tmp_path / "x.qrels").write_text(f"{LATE}# q0 dX 1\n")
    assert read_qrels(tmp_path / "x.qrels").table.height == 8000


@pytest.mark.parametrize("before", ["", "# mine\n", LATE_RUN])
@pytest.mark.parametrize("packed", [False, True])
def test_a_query_whose_name_starts_as_a_remark_is_not_lost(
    before: str, packed: bool, tmp_path: Path
) -> None:
    text = f"{before}#hash Q0 a 1 2.5 t\nq9 Q0 b 2 1 t\n".encode()
    (tmp_path / "x.run").write_bytes(gzip.compress(text) if packed else text)
    line = before.count("\n") + 1
    with pytest.raises(FormatError, match=rf"x\.run:{line}: .*does a query have the id '#hash'"):
        read_run(tmp_path / "x.run")
    (tmp_path / "x.qrels").write_text("q 0 a 1\n  #hash 0 a 1\n")
    with pytest.raises(FormatError, match=r"x\.qrels:2: .*does a query have the id '#hash'"):
        read_qrels(tmp_path / "x.qrels")


def test_a_blank_between_tabs_is_white_space_anywhere(tmp_path: Path) -> None:
    tabs = LATE.replace(" ", "\t")
    (tmp_path / "x.qrels").write_text(f"{tabs}q9\t0\ta b\t1\n")
    with pytest.raises(FormatError, match=r"x\.qrels:8001: found 5 fields"):
        read_qrels(tmp_path / "x.qrels")


@pytest.mark.parametrize("name", [b"caf\xe9.run", b"caf\xe9.run.gz", b"caf\xe9.parquet"])
def test_a_name_that_is_not_utf_8_is_one_that_can_be_printed(name: bytes, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(name)
    if name.endswith(b"parquet"):
        read_run_of(tmp_path, GOOD).table.write_parquet(io := BytesIO())
        path.write_bytes(io.getvalue())
    else:
        path.write_bytes(gzip.compress(GOOD) if name.endswith(b"gz") else GOOD)
    run = read_run(path)
    assert (run.name, run.table.rows()) == ("caf\\xe9", ROWS)
    other = tmp_path / "other" / path.name
    assert distinct_names([path, other]) == [f"{tmp_path.name}/caf\\xe9", "other/caf\\xe9"]
    with pytest.raises(CitebedError, match=r"caf\\xe9[a-z.]+' is given twice"):
        distinct_names([path, path])


def test_remarks_may_be_of_any_bytes_and_a_first_one_may_follow_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    path.write_bytes(b"\xef\xbb\xbf# Q0 a 1 2 t\n# caf\xe9\n" + GOOD)
    run = read_run(path)
    assert (run.table.rows(), run.tag) == (ROWS, "t")


def test_ids_are_strings_and_queries_keep_the_order_in_which_they_come(tmp_path: Path) -> None:
    given = ["b Q0 x 1 1 t", "a Q0 x 1 3 t", "b Q0 y 1 2 t", "c Q0 x 1 1 t", "a Q0 y 1 3 t"]
    run = read_run_of(tmp_path, "\n".join(given).encode())
    assert run.table.schema == {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
    ranked = rank(run)
    assert ranked.query_ids.to_list() == ["b", "a", "c"]
    assert ranked.doc_ids.to_list() == ["y", "x", "y", "x", "x"]
    assert ranked.tied.tolist() == [3]


def test_judgements_are_put_by_query_whatever_their_order() -> None:
    judged = prepare(as_qrels({"q2": {"a": 1}, "q3": {"a": 2}, "q1": {"a": 0}}))
    assert judged.query_ids.to_list() == ["q1", "q2", "q3"]
    assert judged.relevance.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("first", "line"), [(b"q Q0 a 1 x t\n", 1), (b"", 20)])
def test_a_bad_line_before_damage_is_reported_first(
    first: bytes, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trec_files, "_SAMPLE", 20)
    monkeypatch.setattr(trec_files, "_BLOCK", 64)
    packed = gzip.compress(first + b"".join(b"q Q0 %d 1 1.5 t\n" % at for at in range(19)))
    (tmp_path / "x.gz").write_bytes(packed[:-8])  # without the sum at its end
    with pytest.raises(FormatError) as told:
        read_trec(tmp_path / "x.gz", RUN)
    assert told.value.line == line
