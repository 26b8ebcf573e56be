"""Runs and judgements to files and back; whole or not at all."""

from __future__ import annotations

import gzip
import json
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.errors import CitebedError
from citebed.files.output_files import replace_files
from citebed.runs.ranking import rank
from citebed.runs.reader import as_qrels, as_run, read_qrels, read_run
from citebed.runs.tables import Qrels, Run
from citebed.runs.writer import check_not_input, write_qrels, write_run

QRELS = as_qrels({"q2": {"b": 0, "a": 2}, "q1": {"c": -1}})
RUN = as_run({"q2": {"a": 0.1, "b": 0.30000000000000004}, "q1": {"x": 1.0, "y": 1.0}}, "my run")


def test_qrels_as_trec_has_them(tmp_path: Path) -> None:
    written = write_qrels(tmp_path / "new" / "j.qrels", QRELS)
    assert written == [tmp_path / "new" / "j.qrels"]
    assert written[0].read_text() == "q2 0 b 0\nq2 0 a 2\nq1 0 c -1\n"


def test_a_run_as_trec_has_it(tmp_path: Path) -> None:
    """Queries ascending, ranks from 1, equal scores by id descending, no blank in the tag."""
    path = tmp_path / "r.run"
    write_run(path, RUN)
    assert path.read_text() == (
        "q1 Q0 y 1 1.0 myrun\nq1 Q0 x 2 1.0 myrun\n"
        "q2 Q0 b 1 0.30000000000000004 myrun\nq2 Q0 a 2 0.1 myrun\n"
    )


def test_gzip_holds_the_same_text_and_the_same_bytes_twice(tmp_path: Path) -> None:
    for name in ("a.qrels.gz", "b.qrels.gz"):
        write_qrels(tmp_path / name, QRELS)
    assert gzip.decompress((tmp_path / "a.qrels.gz").read_bytes()).startswith(b"q2 0 b 0\n")
    assert (tmp_path / "a.qrels.gz").read_bytes() == (tmp_path / "b.qrels.gz").read_bytes()


def test_a_label_and_facts(tmp_path: Path) -> None:
    text, table = tmp_path / "j.qrels", tmp_path / "j.parquet"
    files = write_qrels(text, QRELS, "cocited", {"tool": "ours"})
    assert files == [text, tmp_path / "j.qrels.json"]
    assert text.read_text().startswith("q2 cocited b 0\n")
    hashed = sha256(text.read_bytes()).hexdigest()
    about = {"tool": "ours", "file": "j.qrels", "sha256": hashed}
    assert json.loads(files[1].read_text()) == about
    write_qrels(table, QRELS, "cocited")
    assert pl.read_parquet(table)["label"].to_list() == ["cocited"] * 3
    assert read_qrels(table).table.equals(QRELS.table)
    with pytest.raises(CitebedError, match="one word"):
        write_qrels(text, QRELS, "two words")


@pytest.mark.parametrize("odd", ["a b", "", "a\tb", "a\u00a0b", "a\x1cb", "a\0b"])
def test_ids_that_trec_cannot_hold(tmp_path: Path, odd: str) -> None:
    qrels = as_qrels({"q": {odd: 1}})
    with pytest.raises(CitebedError, match=r"Write Parquet instead: j\.parquet"):
        write_qrels(tmp_path / "j.qrels", qrels)
    assert not list(tmp_path.iterdir())
    write_qrels(tmp_path / "j.parquet", qrels)
    assert read_qrels(tmp_path / "j.parquet").table["doc_id"].to_list() == [odd]


def test_a_query_that_would_be_a_comment(tmp_path: Path) -> None:
    for name in ("#1", "\ufeffq"):
        with pytest.raises(CitebedError, match="starts with #"):
            write_qrels(tmp_path / "j.qrels", as_qrels({name: {"#d": 1}}))
    write_qrels(tmp_path / "j.qrels", as_qrels({"1": {"#d": 1}}))
    assert read_qrels(tmp_path / "j.qrels").table.rows() == [("1", "#d", 1)]


def test_what_goes_wrong_leaves_everything_as_it_was(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_text("precious")

    def fail() -> None:
        with replace_files(old, tmp_path / "new") as drafts:
            drafts[0].write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert old.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    (tmp_path / "folder").mkdir()
    with pytest.raises(CitebedError, match="cannot write"):
        write_run(tmp_path / "folder", RUN)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "old"]


def test_an_input_is_never_the_output(tmp_path: Path) -> None:
    path = tmp_path / "j.qrels"
    check_not_input(path, path)
    path.write_text("q 0 d 1\n")
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(CitebedError, match="is an input file"):
        check_not_input(tmp_path / "link", path)
    check_not_input(tmp_path / "other", path)


IDS = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=4)
SAFE = IDS.filter(lambda text: len(text.split()) == 1 and text[0] not in "#<{[")
ENDINGS = st.sampled_from([".trec", ".gz", ".parquet"])


@given(
    st.dictionaries(
        SAFE,
        st.dictionaries(SAFE, st.floats(allow_nan=False, allow_infinity=False), min_size=1),
        min_size=1,
        max_size=4,
    ),
    ENDINGS,
)
def test_a_run_comes_back_as_it_was(scores: dict[str, dict[str, float]], ending: str) -> None:
    run = as_run(scores)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"r{ending}"
        write_run(path, run)
        back = read_run(path)
    assert _rows(back) == _rows(run)
    assert back.table["query_id"].is_sorted()
    ranked = rank(back)
    assert ranked.doc_ids.to_list() == back.table["doc_id"].to_list()


@given(
    st.dictionaries(
        SAFE, st.dictionaries(SAFE, st.integers(-2, 9), min_size=1), min_size=1, max_size=4
    ),
    ENDINGS,
)
def test_judgements_come_back_as_they_were(grades: dict[str, dict[str, int]], ending: str) -> None:
    qrels = as_qrels(grades)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"j{ending}"
        write_qrels(path, qrels)
        assert read_qrels(path).table.equals(qrels.table)


def _rows(of: Run | Qrels) -> list[tuple[object, ...]]:
    return sorted(of.table.rows())


def test_a_device_a_pipe_or_a_folder_is_never_replaced(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    for target, told in ((tmp_path / "pipe", "a device or a pipe"), (tmp_path, "is a folder")):
        with pytest.raises(CitebedError, match=told), replace_files(target):
            pass
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with replace_files(tmp_path / "link") as (draft,):
        draft.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
