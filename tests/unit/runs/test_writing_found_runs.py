"""Runs on disk: TREC and Parquet, their metadata files, and no partial files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.errors import CitebedError
from citebed.runs.reader import read_run
from citebed.runs.tables import Run
from citebed.runs.writer import write_run

SCHEMA = {"query_id": pl.String, "doc_id": pl.String, "rank": pl.Int32, "score": pl.Float64}


def table(*rows: tuple[str, str, int, float]) -> Run:
    return Run(pl.DataFrame(list(rows), schema=SCHEMA, orient="row"))


RUN = table(("q1", "10.1/a", 1, 12.5), ("q1", "ü\N{PILE OF POO}", 2, 1e-7), ("q2", '"b"', 1, -3.25))


def test_a_trec_run(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "my.run"
    written = write_run(path, RUN, "bm25 (k1=1)\tx\n", {"model": "bm25"})
    assert written == [path, path.with_name("my.run.json")]
    rows = [line.split(" ") for line in path.read_text("utf-8").splitlines()]
    assert [row[:4] + row[5:] for row in rows] == [
        ["q1", "Q0", "10.1/a", "1", "bm25(k1=1)x"],
        ["q1", "Q0", "ü\N{PILE OF POO}", "2", "bm25(k1=1)x"],
        ["q2", "Q0", '"b"', "1", "bm25(k1=1)x"],
    ]
    assert [float(row[4]) for row in rows] == [12.5, 1e-7, -3.25]
    about = json.loads(written[1].read_text("utf-8"))
    assert about == {
        "model": "bm25",
        "file": "my.run",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    assert sorted(p.name for p in path.parent.iterdir()) == ["my.run", "my.run.json"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_run_without_results(tmp_path: Path) -> None:
    write_run(tmp_path / "a.run", table(), "tag", {})
    assert (tmp_path / "a.run").read_bytes() == b""


@pytest.mark.parametrize("name", ["a b", "a\tb", "a\nb", "", "a\u00a0b", "\u2028", "a\x1fb", " "])
def test_ids_that_a_trec_run_cannot_hold(tmp_path: Path, name: str) -> None:
    for row in ((name, "d", 1, 1.0), ("q", name, 1, 1.0)):
        with pytest.raises(
            CitebedError, match=r"contains a blank.*Write Parquet instead: x.parquet"
        ):
            write_run(tmp_path / "x" / "x.run", table(row), "t", {})
    assert not list(tmp_path.iterdir())


ANY = st.text(st.characters(codec="utf-8"), max_size=3) | st.sampled_from(["#1", "\ufeffq", "a\0"])


@given(ANY, ANY)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, query: str, document: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.run"
    try:
        write_run(path, table((query, document, 1, 0.5)), "t", {})
    except CitebedError:
        return
    assert read_run(path).table.rows() == [(query, document, 0.5)]


def test_what_was_there_stays_where_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "my.run"
    write_run(path, RUN, "one", {})
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    for target in (
        "polars.DataFrame.write_csv",
        "polars.DataFrame.write_parquet",
        "pathlib.Path.write_text",
        "os.fsync",
    ):
        with monkeypatch.context() as patch:
            patch.setattr(target, fail)
            name = "my.parquet" if "parquet" in target else "my.run"
            with pytest.raises(CitebedError, match=r"cannot write .*No space left"):
                write_run(tmp_path / name, RUN, "two", {})
        assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_polars_own_errors_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise pl.exceptions.ComputeError("underlying IO error: File too large (os error 27)")

    monkeypatch.setattr("polars.DataFrame.write_parquet", fail)
    with pytest.raises(CitebedError, match=r"cannot write .*File too large"):
        write_run(tmp_path / "a.parquet", RUN, "t", {})
    assert not list(tmp_path.iterdir())


def test_facts_that_json_spells_oddly(tmp_path: Path) -> None:
    write_run(tmp_path / "a.run", RUN, "t", {"command": ["citebed", "\udcff", "é"]})
    about = json.loads((tmp_path / "a.run.json").read_text("utf-8"))
    assert about["command"] == ["citebed", "\\xff", "é"]
