"""The encoder on the command line: fetched, used for an index, asked; and what is said if not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.retrieval.encoders.conftest import TinyPublic

from citebed.cli.app import main
from citebed.retrieval.encoders import fetch
from citebed.retrieval.index.index import open_index
from citebed.retrieval.vectors import trained_weights

BIB = """@article{a, title={The test of a query}, abstract={A paper cites the graph.}}
@article{b, title={Retrieval of papers}, abstract={The document of a query.}}
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    tiny: TinyPublic,
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Run the command line in a folder with a collection ``c``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    learned = trained_weights.read_adapter(tiny.adapter), trained_weights.read_student(tiny.student)
    monkeypatch.setattr(fetch, "read_adapter", lambda _: learned[0])
    monkeypatch.setattr(fetch, "read_student", lambda _: learned[1])
    Path("a.bib").write_text(BIB, "utf-8")

    def call(*words: str) -> tuple[int, str, str]:
        code = main(words)
        out, err = capsys.readouterr()
        return code, out, err

    assert call("import", "c", "a.bib")[0] == 0
    return call


def test_from_a_file_to_an_answer(run: Run, tiny: TinyPublic, tmp_path: Path) -> None:
    code, out, _ = run("fetch", "encoder", "--from", str(tiny.archive))
    assert code == 0
    assert out.startswith(f"fetched  {tmp_path}/data/citebed/models/encoder  ")
    assert out.endswith("Now run:\n  citebed index COLLECTION --neural\n")
    assert run("index", "c", "--neural")[0] == 0
    vectors = open_index(Path("c")).vectors("encoder")
    assert vectors is not None
    assert (vectors.name, len(vectors)) == ("encoder", 2)
    code, out, _ = run("recommend", "c", "retrieval", "--model", "bm25+rerank(with=gte)", "--json")
    assert code == 0
    assert json.loads(out)[0]["doc_id"] == "b"


def test_as_json(run: Run, tiny: TinyPublic) -> None:
    code, out, _ = run("fetch", "encoder", "e", "--mirror", f"file://{tiny.folder}", "--json")
    (row,) = json.loads(out)
    assert (code, row["path"], row["state"]) == (0, "e", "fetched")
    assert set(row) == {"path", "state", "bytes", "fingerprint"}
    assert run("index", "c", "--encoder", "e")[0] == 0
    vectors = open_index(Path("c")).vectors("encoder")
    assert vectors is not None
    assert vectors.fingerprint == row["fingerprint"]
    assert vectors.name == str(Path("e").resolve())
    (again,) = json.loads(run("fetch", "encoder", "e", "--mirror", "file:///x", "--json")[1])
    assert again == {**row, "state": "kept"}


def test_the_whole_encoder(run: Run, tiny: TinyPublic) -> None:
    words = ("fetch", "encoder", "e", "--from", str(tiny.archive), "--json")
    (few,), (whole,) = (json.loads(run(*words, *how)[1]) for how in ((), ("--whole",)))
    assert whole["state"] == "fetched"
    assert whole["bytes"] < few["bytes"]
    assert json.loads(run(*words, "--whole")[1]) == [{**whole, "state": "kept"}]


def test_another_folder_is_named_in_what_to_run(run: Run, tiny: TinyPublic) -> None:
    out = run("fetch", "encoder", "my encoder", "--from", str(tiny.archive))[1]
    assert out.endswith("citebed index COLLECTION --encoder 'my encoder'\n")


def test_offline(run: Run) -> None:
    code, out, err = run("--offline", "fetch", "encoder")
    assert (code, out) == (1, "")
    assert "the network is switched off (--offline" in err
    assert "--from tiny-1.0.tgz" in err


def test_without_an_encoder(run: Run) -> None:
    code, _, err = run("index", "c", "--neural")
    assert code == 1
    assert "Run: citebed fetch encoder" in err
    assert not Path("c/index").exists()
    code, _, err = run("index", "c", "--encoder", "nowhere/at/all")
    assert code == 1
    assert "'nowhere/at/all' is not a folder" in err
    code, _, err = run("index", "nowhere", "--neural")
    assert code == 1
    assert "nowhere" in err


def test_options_that_do_not_go_together(run: Run) -> None:
    code, _, err = run("fetch", "encoder", "--from", "x", "--mirror", "file:///x")
    assert (code, "Choose one" in err) == (1, True)
    code, _, err = run("fetch", "cranfield", "--from", "x")
    assert (code, "--from works only with" in err) == (1, True)


def test_it_is_listed(run: Run) -> None:
    code, out, _ = run("fetch")
    assert code == 0
    assert any(line.startswith("encoder ") for line in out.splitlines())
