"""The Python door, as a notebook user would guess it, and the example notebook."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path

import nbclient
import nbformat
import polars as pl
import pytest

import citebed
from citebed.cli.app import main

REPOSITORY = Path(__file__).resolve().parents[2]
TEXT = "BM25 is hard to beat, and relevance feedback adds terms to a query."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("door")
    citebed.demo(folder / "mine").index()
    shutil.copy(REPOSITORY / "src/citebed/demo/landmarks.bib", folder / "library.bib")
    return folder


@pytest.fixture(autouse=True)
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def test_the_lines_of_a_notebook() -> None:
    mine = citebed.open("mine")
    mine.index()
    found = mine.recommend(TEXT, k=5)
    runs = [mine.search("paragraphs", m) for m in ("bm25", "kl(mu=1000)", "bm25+rm3")]
    scores = citebed.evaluate(mine.qrels("paragraphs"), runs, ["nDCG@10", "R@10"])
    assert [each.rank for each in found] == [1, 2, 3, 4, 5]
    assert scores.summary().columns == ["run", "measure", "value", "low", "high"]
    assert scores.summary()["run"].unique(maintain_order=True).to_list() == [
        "bm25", "kl(mu=1000)", "bm25+rm3",
    ]  # fmt: skip
    assert set(scores.per_query.columns) == {"run", "measure", "query_id", "value"}
    compared = scores.compare(baseline="bm25", cluster="paper").table
    assert isinstance(compared, pl.DataFrame)
    assert compared.height == 4
    for value in (found, scores, scores.compare(baseline="bm25"), mine):
        assert str(value)
    assert "<div class='citebed-answers'>" in found._repr_html_()
    assert "<table" in scores._repr_html_()


def test_collections_are_created_from_files_and_folders_and_again() -> None:
    one = citebed.create("one", ["library.bib"])
    assert one.imported is not None
    assert one.imported.documents == one.documents.height > 100
    assert citebed.create("one", "library.bib").documents.equals(one.documents)
    assert citebed.open(one) is one
    with pytest.raises(citebed.CitebedError, match="nothing to import"):
        citebed.create("none")


@pytest.mark.parametrize("name", ["mine", Path("mine"), "open"])
def test_names_paths_and_collections_are_accepted_alike(name: str | Path) -> None:
    given = citebed.open("mine") if name == "open" else name
    assert citebed.build_index(given).unchanged
    assert citebed.open_index(given).description.documents > 100
    assert citebed.recommend(given, TEXT, k=3)[0].rank == 1
    assert citebed.open(given).documents.height > 100


def test_both_doors_recommend_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    Path("draft.tex").write_text(
        r"\section{A} Language models \cite{ponte1998language} smooth." "\n\n" rf"{TEXT}"
    )
    assert main(["recommend", "mine", "draft.tex", "-k", "4", "--json"]) == 0
    told = pl.read_json(capsys.readouterr().out.encode())
    found = citebed.open("mine").recommend(Path("draft.tex"), k=4).table
    assert told["doc_id"].to_list() == found["doc_id"].to_list()
    assert told["probability"].to_list() == pytest.approx(found["probability"].to_list())
    assert "ponte1998language" not in told["doc_id"]


def test_runs_of_both_doors_are_the_same() -> None:
    assert main(["search", "mine", "--queries", "paragraphs", "-o", "bm25.run"]) == 0
    mine = citebed.open("mine")
    run = mine.search("paragraphs")
    both = citebed.evaluate(mine.qrels("paragraphs"), {"file": "bm25.run", "table": run}, ["AP"])
    values = both.summary()["value"].to_list()
    assert values[0] == pytest.approx(values[1], abs=1e-12)
    fused = citebed.fuse([run, "bm25.run"])
    assert fused.table.height == run.table.height


def test_queries_are_a_table_of_ids_and_texts() -> None:
    mine = citebed.open("mine")
    run = mine.search(pl.DataFrame({"query_id": ["q"], "text": ["probabilistic models"]}), depth=3)
    assert run.table["query_id"].to_list() == ["q"] * 3
    with pytest.raises(citebed.CitebedError, match="needs the columns query_id and text"):
        mine.search(pl.DataFrame({"text": ["probabilistic models"]}))


def test_an_open_collection_has_the_verbs_of_collecting(
    capsys: pytest.CaptureFixture[str],
) -> None:
    mine = citebed.open("mine")
    assert main(["stats", "mine", "--json"]) == 0
    assert mine.stats().rows == json.loads(capsys.readouterr().out)
    assert main(["lint", "mine"]) == int(mine.lint().has_errors)
    assert str(mine.lint()) == capsys.readouterr().out.rstrip("\n")
    assert len(mine.lint(["absent-documents"], examples=1)) == 1
    assert "<table" in mine.stats()._repr_html_()
    assert "<table" in mine.lint()._repr_html_()
    assert main(["export", "mine", "theirs.ris", "--to", "ris"]) == 0
    report = mine.export("ours.ris", "ris")
    assert str(report).startswith("wrote ")
    assert Path("ours.ris").read_bytes() == Path("theirs.ris").read_bytes()
    with pytest.raises(citebed.CitebedError, match="unknown export format"):
        mine.export("ours.doc", "word")


@pytest.mark.parametrize("given", [3, None, 2.5, b"bytes", ["BM25 is hard to beat.", 3]])
def test_a_binary_file_is_refused_with_its_type(given: object) -> None:
    with pytest.raises(citebed.CitebedError, match=r"expected a text.* found .* type \w+"):
        citebed.open("mine").recommend(given)  # type: ignore[arg-type]


def test_a_text_on_nothing_in_the_collection_is_a_note_at_both_doors(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = "Quokkas nibble hydrangeas."
    found = citebed.open("mine").recommend(text)
    assert (len(found), len(found.notes)) == (0, 1)
    assert "without a word in the index" in found.notes[0]
    assert main(["recommend", "mine", text]) == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", f"note: {found.notes[0]}\n")


@pytest.mark.parametrize("name", ["paper.txet", "paper.text", "paper.TXE", "sub/paper.ipnb"])
def test_a_file_name_with_a_slip_is_not_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(citebed.CitebedError, match="there is no file"):
        citebed.open("mine").recommend(name)
    assert main(["recommend", "mine", name]) == 1
    assert f"there is no file '{name}'" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["Node.js", "word2vec", "relevance.", "ASP.NET", "etc.)"])
def test_a_word_with_a_dot_is_a_text(word: str) -> None:
    citebed.open("mine").recommend(word)


def test_a_notebook_is_a_draft_of_its_markdown() -> None:
    cells = [{"cell_type": "markdown", "metadata": {}, "source": ["BM25 is hard to beat."]}]
    notebook = {"metadata": {}, "nbformat": 4, "nbformat_minor": 5, "cells": cells}
    Path("draft.ipynb").write_text(json.dumps(notebook))
    for given in ("draft.ipynb", Path("draft.ipynb")):
        found = citebed.open("mine").recommend(given, k=1)
        assert all(row["file"] == "draft.ipynb#cell-1" for row in found.table.to_dicts())


def test_a_collection_without_documents_recommends_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("only.qrels").write_text("q1 0 d1 1\n")
    citebed.create("empty", "only.qrels").index()
    assert main(["index", "empty", "--rebuild"]) == 0
    assert "no documents to index; run: citebed import empty" in capsys.readouterr().out
    with pytest.raises(citebed.CitebedError, match="'empty' has no documents in its index"):
        citebed.open("empty").recommend(TEXT)


def test_every_public_name_is_shown_and_there() -> None:
    public = [name for name in dir(citebed) if not name.startswith("_")]
    assert {"open", "create", "demo", "recommend", "evaluate", "compare", "contrast", "timeline",
            "fuse", "read_draft", "Workbench", "CitebedError"} <= set(public)  # fmt: skip
    assert all(getattr(citebed, name).__doc__ for name in public)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = citebed.nothing


def test_the_example_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform == "win32":
        asyncio.set_event_loop_policy(asyncio.WindowsSelectorEventLoopPolicy())
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(REPOSITORY / "docs" / "notebook.ipynb", as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = [out for cell in notebook.cells for out in cell.get("outputs", ())]
    assert sum("text/html" in out.get("data", {}) for out in shown) >= 4
