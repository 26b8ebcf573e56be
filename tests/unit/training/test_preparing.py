from __future__ import annotations

import json
from pathlib import Path

import pytest

import citebed
from citebed.cli.app import main
from citebed.errors import CitebedError
from citebed.training import prepare, read_prepared
from citebed.training.doors import texts_of

BIB = """@article{a, title={Alpha Trees}, doi={10.1234/a}, abstract={Trees grow.},
  keywords={tree, leaf}}
@article{b, title={Beta Leaves}, doi={10.1234/b}}
"""
OTHER = """@article{c, title={Gamma Roots}, doi={10.1234/c}}
@article{d, title={Delta}, doi={10.1234/d}}
"""
ROWS = [
    ("p1", "Trees grow [CIT] .", "10.1234/A"),
    ("p1", "Trees grow [CIT] .", "10.1234/b"),
    ("p2", "Roots  too [CIT].", "10.1234/c"),
    ("p2", "Of nobody [CIT].", "10.1234/z"),
]


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A collection, another, and contexts that cite both."""
    for name, text in (("mine", BIB), ("other", OTHER)):
        (tmp_path / f"{name}.bib").write_text(text)
        citebed.create(tmp_path / name, tmp_path / f"{name}.bib")
    lines = [
        json.dumps(dict(zip(("citing", "context", "cited"), row, strict=True))) for row in ROWS
    ]
    (tmp_path / "contexts.jsonl").write_text("\n".join(lines))
    return tmp_path / "mine", tmp_path / "other", tmp_path / "contexts.jsonl"


def test_contexts_are_one_each_with_all_they_cite(made: tuple[Path, Path, Path]) -> None:
    mine, _, contexts = made
    found = prepare(mine, [contexts])
    ids = [each.doc_id for each in found.documents]
    assert sorted(ids) == ["a", "b"]
    (only,) = found.contexts
    assert (only.paper_id, only.text) == ("p1", "Trees grow.")
    assert sorted(ids[place] for place in only.cited) == ["a", "b"]
    assert found.about["contexts_elsewhere"] == 2
    assert found.documents[ids.index("a")].keywords == ("tree", "leaf")


def test_cited_documents_of_another_collection_are_taken(made: tuple[Path, Path, Path]) -> None:
    mine, other, contexts = made
    found = prepare(mine, [contexts], also=[other])
    assert sorted(each.doc_id for each in found.documents) == ["a", "b", "c"]
    assert [each.text for each in found.contexts] == ["Trees grow.", "Roots too."]
    assert found.about["contexts_elsewhere"] == 1


def test_the_papers_that_a_collection_is_tested_with_are_left_out(tmp_path: Path) -> None:
    mine = citebed.demo(tmp_path / "demo")
    own = mine.contexts.explode("cited").drop_nulls("cited")
    paper, text, cited = own.select("paper_id", "text", "cited").row(0)
    other = tmp_path / "contexts.jsonl"
    row = {"citing": "elsewhere", "context": text, "cited": cited}
    other.write_text(f"{json.dumps(row)}\n{json.dumps({**row, 'citing': paper})}\n")
    assert {each.paper_id for each in prepare(mine, [other]).contexts} == {"elsewhere"}
    papers = {each.paper_id for each in prepare(mine, [other], own=True).contexts}
    assert papers == {*own["paper_id"], "elsewhere"}


def test_where_only_its_own_papers_cite_the_error_says_so(tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match=r"but those of its own citing papers.*--own"):
        prepare(citebed.demo(tmp_path / "demo"))


def test_without_contexts_the_error_says_what_to_give(made: tuple[Path, Path, Path]) -> None:
    with pytest.raises(CitebedError, match=r"no context cites a document of '.*mine'\. Give"):
        prepare(made[0])


def test_the_command_writes_a_file_that_training_reads(
    made: tuple[Path, Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, other, contexts = made
    out = tmp_path / "texts.jsonl.xz"
    words = ["train", "prepare", mine, "--contexts", contexts, "--also", other, "-o", out]
    assert main([str(word) for word in words]) == 0
    said = capsys.readouterr().out
    assert "3 documents, 2 contexts" in said
    assert "1 context of documents that are in no collection given were left out" in said
    assert read_prepared(out) == prepare(mine, [contexts], also=[other])
    assert texts_of(out) == read_prepared(out)
    with pytest.raises(CitebedError, match="prepared texts hold all contexts"):
        texts_of(out, [contexts])
