"""Pipes: what can be read once reads like any file."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from citebed.cli.app import main
from citebed.errors import CitebedError, FormatError
from citebed.files.input_files import reusable_path
from citebed.runs.reader import read_qrels, read_run

RUN = b"q1 Q0 b 1 2.0 mine\nq1 Q0 a 2 1.0 mine\n"
QRELS = b"q1 0 a 1\n"
Pipe = Callable[[str, bytes], Path]

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")


@pytest.fixture
def pipe(tmp_path: Path) -> Pipe:
    """Makes named pipes that give their text once."""

    def make(name: str, text: bytes) -> Path:
        path = tmp_path / name
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=(text,), daemon=True).start()
        return path

    return make


def test_a_file_is_itself(tmp_path: Path) -> None:
    (tmp_path / "x.run").write_bytes(RUN)
    with reusable_path(tmp_path / "x.run") as file:
        assert file == tmp_path / "x.run"


@pytest.mark.parametrize(
    "text",
    [RUN, gzip.compress(RUN), RUN.replace(b" ", b" \t")],
    ids=["plain", "gzip", "tabs"],
)
def test_a_run_from_a_pipe(text: bytes, pipe: Pipe) -> None:
    path = pipe("x.run", text)
    run = read_run(path)
    assert run.table.rows() == [("q1", "b", 2.0), ("q1", "a", 1.0)]
    assert (run.name, run.source, run.tag) == ("x", path, "mine")


def test_a_pipe_is_not_begun_before_the_judgements_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a copy would be left where temporary files are kept, by a program that has ended."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "x.qrels").write_bytes(b"q1 0 a one\n")
    os.mkfifo(tmp_path / "x.run")  # which nobody writes to
    assert main(["evaluate", str(tmp_path / "x.qrels"), str(tmp_path / "x.run")]) == 1
    assert "x.qrels:1: the relevance 'one'" in capsys.readouterr().err
    assert list((tmp_path / "tmp").iterdir()) == []


def test_more_than_a_pipe_holds_at_once(pipe: Pipe) -> None:
    lines = b"".join(b"q%d 0 d%d 1\n" % (n, n) for n in range(20_000))
    assert read_qrels(pipe("x.qrels", lines)).table.height == 20_000


def test_a_pipe_without_a_name() -> None:
    out, into = os.pipe()
    os.write(into, RUN)
    os.close(into)
    try:
        assert read_run(f"/dev/fd/{out}").table.height == 2
    finally:
        os.close(out)


def test_errors_name_the_pipe_and_not_the_copy(pipe: Pipe) -> None:
    path = pipe("x.run", RUN + b"q1 Q0 c\n")
    with pytest.raises(FormatError) as caught:
        read_run(path)
    assert (caught.value.path, caught.value.line) == (str(path), 3)


def test_a_repeated_document_is_reported_without_reading_again(
    pipe: Pipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.qrels").write_bytes(QRELS)
    path = pipe("x.run", RUN + b"q1 Q0 a 3 0.5 mine\n")
    assert main(["evaluate", str(tmp_path / "x.qrels"), str(path)]) == 1
    told = capsys.readouterr().err
    assert f"{path}: document 'a' is retrieved twice for query 'q1'" in told


def test_the_copy_is_gone_afterwards(
    pipe: Pipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "drafts").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "drafts"))
    with reusable_path(pipe("x.run", RUN)) as file:
        assert file.parent.parent == tmp_path / "drafts"
        assert file.read_bytes() == RUN
    with pytest.raises(CitebedError):
        read_run(pipe("y.run", b"one\n"))
    assert not list((tmp_path / "drafts").iterdir())


def test_the_verbs_read_pipes(
    pipe: Pipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plain.run").write_bytes(RUN)
    given = [str(pipe("a.qrels", QRELS)), str(pipe("a.run", RUN)), "-m", "RR"]
    assert main(["evaluate", *given, "--format", "trec_eval"]) == 0
    assert capsys.readouterr().out.split() == [
        "runid", "all", "mine", "recip_rank", "all", "0.5000",
    ]  # fmt: skip
    given = [str(pipe("b.qrels", QRELS)), str(pipe("b.run", RUN)), str(tmp_path / "plain.run")]
    assert main(["compare", *given, "-m", "RR", "--json"]) == 0
    sets = [str(pipe("c.qrels", QRELS)), str(pipe("d.qrels", QRELS))]
    out = str(tmp_path / "merged.qrels")
    assert main(["qrels", "merge", *sets, "--rule", "max", "-o", out]) == 0
    assert Path(out).read_bytes() == b"q1 c a 1\n"  # the set that judged it first
    runs = [str(pipe("e.run", RUN)), str(pipe("f.run", RUN))]
    assert main(["fuse", *runs, "-o", str(tmp_path / "fused.run")]) == 0
    assert len((tmp_path / "fused.run").read_text().splitlines()) == 2


def test_clusters_from_a_pipe(
    pipe: Pipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.qrels").write_bytes(QRELS)
    (tmp_path / "x.run").write_bytes(RUN)
    given = [str(tmp_path / "x.qrels"), str(tmp_path / "x.run"), "-m", "RR"]
    assert main(["evaluate", *given, "--cluster", str(pipe("c", b"q2 one\n"))]) == 1
    assert "1 of 1 query has no cluster, 'q1' for one" in capsys.readouterr().err
