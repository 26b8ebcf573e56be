"""Every form: what is in its files, and what comes back when they are imported."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from citebed.collection import (
    Collection,
    ImportOptions,
    Rules,
    import_sources,
    open_collection,
)
from citebed.collection.exporting import EXPORTERS, export
from citebed.collection.exporting.base import BIBLIOGRAPHIC
from citebed.collection.formats.bibtex_scanner import scan
from citebed.wording import escape_formulas

FIELDS = ("doc_id", *BIBLIOGRAPHIC)
Imported = Callable[..., Collection]


def target_of(folder: Path, form: str) -> Path:
    return folder / {"bibtex": "out.bib", "ris": "out.ris", "csl-json": "out.json"}.get(form, "out")


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]


def same(left: pl.DataFrame, right: pl.DataFrame, *columns: str) -> None:
    names = columns or tuple(left.columns)
    assert_frame_equal(left.select(names), right.select(names))


def test_the_table_names_every_form() -> None:
    assert list(EXPORTERS) == [
        "trec", "beir", "parquet", "csv", "bibtex", "ris", "csl-json", "jsonl", "ir_datasets",
    ]  # fmt: skip
    assert all(name == exporter.name and exporter.title for name, exporter in EXPORTERS.items())


@pytest.mark.parametrize("form", EXPORTERS)
def test_the_report_lists_the_files_that_are_there(
    small: Collection, tmp_path: Path, form: str
) -> None:
    target = target_of(tmp_path, form)
    report = export(small, form, target)
    root = target.parent if target.is_file() else target
    there = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert there == set(report.files)
    assert (report.form, report.target) == (form, target)
    assert small.documents.height in report.files.values()
    assert report.rows()[0]["file"] in there
    assert str(target) in report.lines()[0]


def test_jsonl_comes_back_as_the_same_collection(
    small: Collection, tmp_path: Path, imported: Imported
) -> None:
    report = export(small, "jsonl", tmp_path / "out")
    again = imported(tmp_path / "out")
    assert again.problems.is_empty()
    same(small.documents, again.documents, *FIELDS, "bibtex")
    same(small.papers.drop("source", "line"), again.papers.drop("source", "line"))
    same(small.contexts.drop("source"), again.contexts.drop("source"))
    same(small.references.drop("source", "target"), again.references.drop("source", "target"))
    same(small.sections, again.sections, "doc_id", "position", "heading", "text")
    same(small.links, again.links, "doc_id", "target_id", "kind", "weight")
    assert again.query_sets == small.query_sets == ("paragraphs", "sentences", "cats")
    for name in small.query_sets:
        same(small.queries(name), again.queries(name))
        same(small.qrels(name).table, again.qrels(name).table)
    assert "queries/paragraphs.jsonl" not in report.files


def test_jsonl_keeps_references_to_the_letter(sources: Path, tmp_path: Path) -> None:
    rules = Rules(references="exact", no_future=True)
    import_sources(tmp_path / "a", [sources], ImportOptions(rules=rules, workers=1))
    first = open_collection(tmp_path / "a")
    report = export(first, "jsonl", tmp_path / "out")
    assert any("references = exact and no_future = True" in note for note in report.notes)
    import_sources(tmp_path / "b", [tmp_path / "out"], ImportOptions(rules=rules, workers=1))
    again = open_collection(tmp_path / "b")
    same(first.references.drop("source", "target"), again.references.drop("source", "target"))
    same(first.queries("paragraphs"), again.queries("paragraphs"))
    same(first.qrels("paragraphs").table, again.qrels("paragraphs").table)


def test_jsonl_with_chosen_sets_writes_those(small: Collection, tmp_path: Path) -> None:
    report = export(small, "jsonl", tmp_path / "out", query_sets=["sentences"])
    assert {"queries/sentences.jsonl", "qrels/sentences.jsonl"} <= set(report.files)
    assert "queries/cats.jsonl" not in report.files
    assert any("sentences-given" in note for note in report.notes)


def test_equal_query_files_stay_two_sets(tmp_path: Path, imported: Imported) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "docs.jsonl").write_text('{"doc_id": "d", "title": "T"}\n')
    query = '{"query_id": "q", "text": "t"}\n'
    for name, grade in (("train", 1), ("dev", 2)):
        (source / f"{name}.jsonl").write_text(f"{query}".replace("}", f', "set": "{name}"}}'))
        (source / f"{name}.qrels").write_text(f"q 0 d {grade}\n")
    import_sources(tmp_path / "c", [source])
    first = open_collection(tmp_path / "c")
    export(first, "jsonl", tmp_path / "out")
    again = imported(tmp_path / "out")
    assert sorted(again.query_sets) == sorted(first.query_sets) == ["dev", "train"]
    for name in first.query_sets:
        same(first.queries(name), again.queries(name))
        same(first.qrels(name).table, again.qrels(name).table)


def test_bibtex_comes_back(small: Collection, tmp_path: Path, imported: Imported) -> None:
    report = export(small, "bibtex", tmp_path / "out.bib")
    again = imported(tmp_path / "out.bib")
    assert again.problems.is_empty()
    same(small.documents, again.documents, *FIELDS)
    text = (tmp_path / "out.bib").read_text("utf-8")
    keys = [entry.key for entry in scan(text, 1, {})]
    assert len(keys) == len(set(keys)) == small.documents.height
    assert "an extra field" in text
    assert "full text of 1 document is not part of BibTeX" in report.notes
    assert "the links of 1 document are not part of BibTeX" in report.notes
    assert not any("reads back" in note for note in report.notes)


def test_trec_comes_back(small: Collection, tmp_path: Path, imported: Imported) -> None:
    report = export(small, "trec", tmp_path / "out")
    again = imported(tmp_path / "out")
    assert again.problems.is_empty()
    same(small.documents, again.documents, "doc_id", "title", "abstract")
    for name in small.query_sets:
        given = name if name == "cats" else f"{name}-given"
        same(small.queries(name), again.queries(given), "query_id", "text", "title")
        same(small.qrels(name).table, again.qrels(given).table)
    assert any("all fields except id, title" in note for note in report.notes)


def test_trec_files_follow_the_conventions(small: Collection, tmp_path: Path) -> None:
    export(small, "trec", tmp_path / "out", query_sets=["cats"])
    lines = (tmp_path / "out/qrels/cats.qrels").read_text().splitlines()
    assert [line.split() for line in lines] == [
        ["q1", "0", "adams2001", "2"],
        ["q1", "0", "zero", "0"],
    ]
    documents = (tmp_path / "out/documents.trec").read_text("utf-8")
    assert (
        documents.count("<DOC>\n<DOCNO>")
        == documents.count("</TEXT>\n</DOC>\n")
        == small.documents.height
    )
    topics = (tmp_path / "out/topics/cats.topics").read_text("utf-8")
    assert topics.startswith("<top>\n<num> Number: q1\n<title> cats & dogs\n")
    assert topics.count("<top>") == topics.count("</top>") == 2


def test_beir_is_a_dataset_for_each_set(small: Collection, tmp_path: Path) -> None:
    export(small, "beir", tmp_path / "out")
    folders = [tmp_path / "out" / name for name in small.query_sets]
    assert len({(folder / "corpus.jsonl").stat().st_ino for folder in folders}) == 1
    with (folders[2] / "qrels" / "test.tsv").open(newline="") as handle:
        rows = list(csv.reader(handle, delimiter="\t"))
    assert rows == [
        ["query-id", "corpus-id", "score"],
        ["q1", "adams2001", "2"],
        ["q1", "zero", "0"],
    ]
    corpus = json_lines(folders[0] / "corpus.jsonl")
    first = corpus[small.documents["doc_id"].to_list().index("adams2001")]
    assert set(first) == {"_id", "title", "text", "metadata"}
    assert first["metadata"]["venue"] == "Journal of Demonstrations"
    assert all(isinstance(doc["text"], str) for doc in corpus)
    queries = json_lines(folders[0] / "queries.jsonl")
    assert set(queries[0]) == {"_id", "text", "metadata"}


def test_beir_of_one_chosen_set_comes_back(
    small: Collection, tmp_path: Path, imported: Imported
) -> None:
    export(small, "beir", tmp_path / "out", query_sets=["cats"])
    again = imported(tmp_path / "out")
    assert again.problems.is_empty()
    held = ("doc_id", "title", "year", "date", "url", "abstract")
    same(small.documents, again.documents, *held)
    same(small.queries("cats"), again.queries("queries"), "query_id", "text")
    same(small.qrels("cats").table, again.qrels("queries").table)


def test_parquet_is_the_tables(small: Collection, tmp_path: Path) -> None:
    report = export(small, "parquet", tmp_path / "out")
    assert report.notes == ()
    same(small.documents, pl.read_parquet(tmp_path / "out/documents.parquet"))
    same(small.links, pl.read_parquet(tmp_path / "out/links.parquet"))
    same(small.queries("sentences"), pl.read_parquet(tmp_path / "out/queries/sentences.parquet"))
    same(small.qrels("cats").table, pl.read_parquet(tmp_path / "out/qrels/cats.parquet"))


def test_csv_reads_with_any_reader(small: Collection, tmp_path: Path) -> None:
    report = export(small, "csv", tmp_path / "out")
    with (tmp_path / "out/documents.csv").open(newline="", encoding="utf-8") as handle:
        rows = {row["doc_id"]: row for row in csv.DictReader(handle)}
    assert rows.keys() == set(small.documents["doc_id"])
    for row in small.documents.iter_rows(named=True):
        assert rows[row["doc_id"]]["abstract"] == (row["abstract"] or "")
        assert rows[row["doc_id"]]["bibtex"] == escape_formulas(row["bibtex"] or "")
        assert rows[row["doc_id"]]["authors"] == "; ".join(row["authors"])
    assert any("keywords contains the separator '; '" in note for note in report.notes)
    back = pl.read_csv(tmp_path / "out/qrels/cats.csv", schema_overrides={"relevance": pl.Int32})
    same(small.qrels("cats").table, back)


def test_csv_runs_nothing_in_a_spreadsheet(tmp_path: Path, imported: Imported) -> None:
    titles = {"-1": "=cmd|' /C calc'!A0", "-x": "@SUM(A1)", "c": "1+1=2", "d": "-0.5"}
    lines = [json.dumps({"doc_id": name, "title": title}) for name, title in titles.items()]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    report = export(imported(tmp_path / "docs.jsonl"), "csv", tmp_path / "out")
    with (tmp_path / "out/documents.csv").open(newline="", encoding="utf-8") as handle:
        rows = {row["doc_id"]: row["title"] for row in csv.DictReader(handle)}
    assert rows == {"-1": "'=cmd|' /C calc'!A0", "'-x": "'@SUM(A1)", "c": "1+1=2", "d": "-0.5"}
    told = "documents.csv: 3 cells that a spreadsheet would run got an apostrophe in front"
    assert told in report.notes


def test_a_collection_without_queries(tmp_path: Path, imported: Imported) -> None:
    (tmp_path / "one.bib").write_text("@misc{a, title = {Only One}}\n")
    collection = imported(tmp_path / "one.bib")
    for form in EXPORTERS:
        report = export(collection, form, tmp_path / form)
        assert 1 in report.files.values()
        assert not any("quer" in note for note in report.notes)
