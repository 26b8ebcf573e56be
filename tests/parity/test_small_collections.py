"""Cranfield, CACM, the Anthology sample: counts, and first, middle and last record."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from citebed.collection import ImportOptions, Rules, import_sources, load_profile, open_collection


def imported(source: Path, target: Path, rules: Rules | None = None) -> Path:
    import_sources(target, [source], ImportOptions(rules=rules))
    return target


@pytest.fixture(scope="module")
def cranfield(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("cranfield") / "c"
    return imported(shared_data / "cranfield", target, load_profile("cranfield"))


@pytest.fixture(scope="module")
def cacm(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return imported(shared_data / "cacm", tmp_path_factory.mktemp("cacm") / "c")


def test_cranfield_documents(cranfield: Path) -> None:
    documents = open_collection(cranfield).documents
    assert documents.height == 1400
    assert documents["doc_id"].to_list() == [str(n) for n in range(1, 1401)]
    first, middle, last = (documents.row(n, named=True) for n in (0, 699, 1399))
    assert first["title"].startswith("experimental investigation of the aerodynamics of a wing")
    assert (first["authors"], first["year"]) == (["brenckman, m."], 1958)
    assert first["abstract"].startswith("an experimental study of a wing in a propeller slipstream")
    assert middle["title"].startswith("two and three-dimensional unsteady lift problems")
    assert last["title"].startswith("the buckling shear stress of simply-supported")


def test_cranfield_queries_count_from_one_and_grades_are_the_right_way_up(cranfield: Path) -> None:
    collection = open_collection(cranfield)
    (name,) = collection.query_sets
    queries = collection.queries(name)
    assert queries["query_id"].to_list() == [str(n) for n in range(1, 226)]
    assert queries["text"][0].startswith("what similarity laws must be obeyed")
    qrels = collection.qrels(name).table
    assert dict(qrels["relevance"].value_counts().iter_rows()) == {
        4: 128, 3: 387, 2: 734, 1: 363, 0: 225,
    }  # fmt: skip
    # The file has "1 184 2": a high degree of relevance, the second best of four.
    row = qrels.filter((pl.col("query_id") == "1") & (pl.col("doc_id") == "184"))
    assert row["relevance"].to_list() == [3]


def test_cranfield_codes_are_pointed_out_without_the_profile(
    shared_data: Path, tmp_path: Path
) -> None:
    report = import_sources(tmp_path / "c", [shared_data / "cranfield"])
    assert report.problems["what"].str.contains("--profile cranfield").any()


def test_cacm(cacm: Path) -> None:
    collection = open_collection(cacm)
    documents = collection.documents
    assert documents.height == 3204
    first, last = documents.row(0, named=True), documents.row(3203, named=True)
    assert first["title"] == "Preliminary Report-International Algebraic Language"
    assert (first["authors"], first["date"]) == (["Perlis, A. J.", "Samelson, K."], "1958-12")
    assert last["doc_id"] == "3204"
    assert last["title"] == "An On-Line Program for Non-Numerical Algebra"
    middle = collection.document("1602")
    assert middle.title == "POSE: A Language for Posing Problems to a Computer"
    (name,) = collection.query_sets
    assert (collection.queries(name).height, collection.qrels(name).table.height) == (64, 796)


def test_cacm_links(cacm: Path) -> None:
    links = open_collection(cacm).links
    assert dict(links["kind"].value_counts().iter_rows()) == {
        "linked": 5440,
        "coupled": 12330,
        "cocited": 10640,
    }
    # .X of document 1 in the file: 100 123 164 205 210 214 1982 398 642 669 are linked to it
    linked = links.filter((pl.col("doc_id") == "1") & (pl.col("kind") == "linked"))
    expected = {"100", "123", "164", "205", "210", "214", "1982", "398", "642", "669"}
    assert set(linked["target_id"]) == expected


def test_anthology_sample(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "acl-anthology-sample"
    collection = open_collection(imported(source, tmp_path / "all"))
    assert collection.documents.height == 1512
    paper = collection.document("2020.acl-main.1")
    assert paper.title == "Learning to Understand Child-directed and Adult-directed Speech"
    assert paper.authors[1] == "Chrupała, Grzegorz"
    assert collection.document("E06-1002").authors == ("Bunescu, Razvan", "Paşca, Marius")
    kept = open_collection(imported(source, tmp_path / "kept", load_profile("anthology")))
    reasons = dict(kept.set_aside["reason"].value_counts().iter_rows())
    assert reasons["type proceedings"] == 21
    assert kept.documents.height + sum(reasons.values()) == 1512
