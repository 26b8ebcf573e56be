"""ACM-CR, whole: the figures its author published, and his own TREC files."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from citebed.collection import open_collection
from citebed.collection.lint import lint
from citebed.collection.statistics import collect_statistics
from citebed.report.collection import table1


def authors_pairs(path: Path) -> set[tuple[str, str]]:
    """Query and document of the authors' judgements; a query is paper number and context."""
    rows = (line.split() for line in path.read_text().splitlines())
    return {(query, document) for query, _, document, _ in rows}


def our_pairs(folder: Path) -> list[tuple[str, str]]:
    """Our pairs under the authors' ids: ``10.1145/3343413.3377960:01`` is ``337796001``."""
    pairs = []
    for query_id, doc_id, _ in open_collection(folder).qrels("paragraphs").table.iter_rows():
        paper, _, context = query_id.rpartition(":")
        pairs.append((paper.rpartition(".")[2] + context.split("-")[0], doc_id))
    return pairs


def test_documents(acm_cr: Path) -> None:
    collection = open_collection(acm_cr)
    assert collection.documents.height == 108_857
    assert collection.documents["doc_id"].n_unique() == 108_857
    aside = collection.set_aside
    assert aside.height == 4366 + 2 * 289
    assert aside["kept_as"].drop_nulls().n_unique() == 289
    read = collection.documents.filter(pl.col("records") == 1).height + aside.height
    assert read == 113_512
    assert collection.problems.filter(pl.col("kind") == "skipped").is_empty()


def test_first_middle_and_last_document(acm_cr: Path) -> None:
    documents = open_collection(acm_cr).documents
    columns = ["doc_id", "type", "title", "year", "pages"]
    spam = "Effects of Spam Removal on Search Engine Efficiency and Effectiveness"
    future = "Future Directions in Learning to Rank"
    assert [documents.select(columns).row(n) for n in (0, 54_428, 108_856)] == [
        ("10.1145/2407085.2407086", "inproceedings", spam, 2012, "1–8"),
        ("10.1007/s11257-011-9102-z", "article", "Acknowledgment to Reviewers", 2011, "513"),
        ("10.5555/3045754.3045764", "inproceedings", future, 2010, "91–100"),
    ]


def test_contexts_and_queries(acm_cr: Path) -> None:
    collection = open_collection(acm_cr)
    contexts = collection.contexts
    assert contexts.select("paper_id", "context_id").n_unique() == 341
    assert contexts.height == 1800
    assert contexts.filter(pl.col("cites").list.len() > 0).height == 837
    assert contexts["anonymised"].sum() == 229
    assert collection.queries("paragraphs").height == 269
    assert collection.queries("sentences").height == 551
    assert collection.qrels("paragraphs").table.height == 898
    assert collection.qrels("sentences").table.height == 976


def test_pairs_are_the_authors_but_for_documents_that_are_missing(
    acm_cr: Path, shared_data: Path
) -> None:
    ours = our_pairs(acm_cr)
    theirs = authors_pairs(shared_data / "acm-cr" / "contexts.qrels")
    assert set(ours) <= theirs
    lacking = {document for _, document in theirs - set(ours)}
    assert len(theirs - set(ours)) == 2
    documents = open_collection(acm_cr).documents
    assert documents.filter(pl.col("doc_id").is_in(list(lacking))).is_empty()


def test_two_paragraphs_of_one_id_are_kept_apart(acm_cr: Path) -> None:
    collection = open_collection(acm_cr)
    paper = collection.contexts.filter(pl.col("paper_id") == "10.1145/3409256.3409825")
    assert {"10", "10-2"} <= set(paper["context_id"])
    (finding,) = lint(collection, ["same-context-ids"])
    assert finding.count == 1


def test_findings_are_formatted_though_they_come_from_a_table_in_many_chunks(acm_cr: Path) -> None:
    (finding,) = lint(open_collection(acm_cr), ["encoding-remains"])
    assert [row["id"] for row in finding.examples] == [
        "10.1002/asi.23519",
        "10.1145/3308558.3313637",
    ]


def test_table_1_as_printed(acm_cr: Path) -> None:
    """Boudin (2021): 341 paragraphs, 269 of them usable, 837 sentences, 552 usable (551 without the
    two files that are missing here); 809.1 characters and 5.10 citations a paragraph."""
    table = table1(collect_statistics(open_collection(acm_cr)))
    assert table.head == ["contexts", "#", "tokens", "characters", "citations"]
    assert [row[:2] for row in table.lines] == [
        ["paragraphs, citing", "341"], ["paragraphs, usable as queries", "269"],
        ["sentences, citing", "837"], ["sentences, usable as queries", "551"],
    ]  # fmt: skip
    assert table.lines[0][3:] == ["809.1", "5.10"]


def test_reference_lists(acm_cr: Path) -> None:
    per_paper = open_collection(acm_cr).papers["references"]
    assert per_paper.mean() == pytest.approx(31.82)
    assert (per_paper.min(), per_paper.max()) == (8, 71)


def test_citing_papers_have_the_year_of_their_excluded_records(acm_cr: Path) -> None:
    papers = open_collection(acm_cr).papers
    assert papers["year"].to_list() == [2020] * 50
    assert papers["doc_id"].null_count() == 50


def test_no_markup_that_we_know_is_left(acm_cr: Path) -> None:
    titles = open_collection(acm_cr).documents["title"]
    for pattern in (
        r"\\[a-zA-Z]+\{",
        r"\{[A-Z]",
        r"</?(?:i|b|em|sup|sub)>",
        r"&(?:amp|lt|gt|nbsp);",
    ):
        assert titles.filter(titles.str.contains(pattern)).to_list() == []
