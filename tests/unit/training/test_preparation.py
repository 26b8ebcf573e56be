from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

import citebed
from citebed.cli.app import main
from citebed.errors import CitebedError
from citebed.training import prepare, read_prepared
from citebed.training.api import load_training_texts

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
    with pytest.raises(CitebedError, match=r"apart from its own citing papers.*--own"):
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
    assert "skipped 1 context with citations outside the given collections" in said
    assert read_prepared(out) == prepare(mine, [contexts], also=[other])
    assert load_training_texts(out) == read_prepared(out)
    with pytest.raises(CitebedError, match="prepared texts hold all contexts"):
        load_training_texts(out, [contexts])


FIELDS = [
    {"citing": "p1", "context": "Trees [CIT].", "cited": ["10.1234/a", "b"], "year": 2020},
    {"citing": "p2", "context": "Roots [CIT].", "cited": "10.1234/c", "year": 2021},
    {"citing": "p3", "context": "More roots [CIT].", "cited": ["c"], "year": 2023},
    {"citing": "p4", "context": "Nothing.", "cited": [], "year": 2020},
    {"citing": "p5", "context": "No year [CIT].", "cited": ["a"]},
]


def of_fields(made: tuple[Path, Path, Path], *more: Mapping[str, object]) -> list[Path]:
    """Contexts of two fields in two files."""
    paths = [made[2].with_name("one.jsonl"), made[2].with_name("two.jsonl")]
    for path, rows in zip(paths, (FIELDS[:2], [*FIELDS[2:], *more]), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return paths


def test_collections_that_no_paper_cites_together_are_fields(
    made: tuple[Path, Path, Path],
) -> None:
    found = prepare(made[0], of_fields(made), also=[made[1]])
    fields = {each.doc_id: each.field for each in found.documents}
    assert fields == {"a": "mine", "b": "mine", "c": "other"}
    both = {"citing": "p6", "context": "Both [CIT].", "cited": ["b", "c"]}
    found = prepare(made[0], of_fields(made, both), also=[made[1]])
    assert {each.field for each in found.documents} == {""}


def test_every_document_of_other_collections_is_taken_where_asked(
    made: tuple[Path, Path, Path],
) -> None:
    found = prepare(made[0], of_fields(made), also=[made[1]], every=True)
    assert sorted(each.doc_id for each in found.documents) == ["a", "b", "c", "d"]


def test_papers_of_known_years_are_parted_by_year(made: tuple[Path, Path, Path]) -> None:
    found = prepare(made[0], of_fields(made), also=[made[1]], test_year=2022)
    parts = {each.paper_id: each.part for each in found.contexts}
    assert parts == {"p1": "training", "p2": "development", "p3": "test", "p5": ""}
    assert [each.paper_id for each in found.part("test") if each.part] == ["p3"]
    assert found.about["test_year"] == 2022


def test_the_command_takes_several_fields(made: tuple[Path, Path, Path], tmp_path: Path) -> None:
    one, two = of_fields(made)
    out = tmp_path / "texts.jsonl.xz"
    words = ["train", "prepare", made[0], "--contexts", one, "--contexts", two, "--also", made[1]]
    more = ["--every", "--test-year", "2022", "-q", "-o", out]
    assert main([str(word) for word in (*words, *more)]) == 0
    given = prepare(made[0], [one, two], also=[made[1]], every=True, test_year=2022)
    assert read_prepared(out) == given
    with pytest.raises(CitebedError, match="prepared texts hold all contexts"):
        load_training_texts(out, test_year=2022)
