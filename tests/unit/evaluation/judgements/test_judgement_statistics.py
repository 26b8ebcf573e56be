"""Statistics of judgement sets: the figures of the paper's Tables 2 and 3, and labels."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.errors import CitebedError, FormatError
from citebed.evaluation.judgements.sets import read_labelled
from citebed.evaluation.judgements.statistics import JudgementCounts, JudgementStatistics, describe
from citebed.runs.reader import as_qrels, read_qrels
from citebed.runs.tables import Qrels
from citebed.runs.writer import write_qrels

SOURCED = "p cited a 1\np cited b 0\np manual c 2\nq cited a 1\nq automatic d 0\nq manual e -1\n"


def figures(found: JudgementStatistics) -> dict[str, float]:
    return {row["figure"]: row["value"] for row in found.rows()}


def test_describe_by_hand() -> None:
    found = describe(as_qrels({"p": {"a": 2, "b": 0, "c": 1}, "q": {"a": 0, "d": -1}}, "j"))
    assert (found.queries, found.documents, found.judgements) == (2, 4, 5)
    assert found.grades == {2: 1, 1: 1, 0: 2, -1: 1}
    assert found.judged_per_query == (1, 2.0, 3)
    assert found.relevant_per_query == (0, 1.0, 2)
    assert found.without_relevant == 1
    assert figures(found)["grade -1"] == 1
    assert figures(found)["judged per query, median"] == 2.0


def test_table_2_by_hand() -> None:
    """Four judged, two relevant over two queries, of a thousand documents; -1 is unjudged."""
    judged = as_qrels({"p": {"a": 2, "b": 0, "c": 1}, "q": {"a": 0, "d": -1}})
    assert describe(judged, documents=1000).table_2() == {
        "queries": 2,
        "relevant per query, mean": 1.0,
        "not relevant per query, mean": 1.0,
        "judged per query, mean": 2.0,
        "documents of the collection": 1000,
        "relevant per 1,000 documents": 1.0,
    }
    assert describe(judged, rel=2).means["relevant"] == 0.5
    assert "relevant per 1,000 documents" not in describe(judged).table_2()
    with pytest.raises(CitebedError, match="0 documents"):
        describe(judged, documents=0)


@pytest.mark.parametrize(
    ("queries", "relevant", "documents", "published"),
    [(150, 94, 528_000, 0.18), (50, 131.2, 1_033_000, 0.13), (82, 11.39, 9_084, 1.25)],
)
def test_relevant_documents_per_thousand_are_the_published_ones(
    queries: int, relevant: float, documents: int, published: float
) -> None:
    """TREC 8, TREC Robust; of its own the paper says 1.14: 11.4 of ten thousand, not of 9,084."""
    total = JudgementCounts(round(queries * relevant), round(queries * relevant))
    found = JudgementStatistics(
        "j", queries, 0, 0, {}, (0, 0, 0), (0, 0, 0), 0, total, documents
    )  # fmt: skip
    assert found.per_thousand is not None
    assert round(found.per_thousand, 2) == published


# --- sources --------------------------------------------------------------------------------


def test_judgements_by_source_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "j.qrels"
    path.write_text(SOURCED)
    found = describe(path)
    assert found.sources == {"cited": (3, 2), "manual": (1, 1), "automatic": (1, 0)}
    assert found.total == (5, 3)
    rows = figures(found)
    assert rows["cited: judged per query, mean"] == 1.5
    assert rows["automatic: not relevant per query, mean"] == 0.5
    assert not describe(as_qrels(path)).sources


LABELLED = st.lists(
    st.tuples(st.sampled_from("pq"), st.sampled_from(["0", "cited", "hand"]),
              st.sampled_from("abcde"), st.integers(-1, 2)),
    min_size=1, unique_by=lambda row: (row[0], row[2]),
)  # fmt: skip


@given(LABELLED)
def test_sources_are_counted_as_loops_count_them(rows: list[tuple[str, str, str, int]]) -> None:
    table = pl.DataFrame(
        rows, schema=["query_id", "label", "doc_id", "relevance"], orient="row"
    )  # fmt: skip
    judged = Counter(label for _, label, _, grade in rows if grade >= 0)
    relevant = Counter(label for _, label, _, grade in rows if grade >= 1)
    found = describe(Qrels(table)).sources
    assert found == {label: (number, relevant[label]) for label, number in judged.items()}


@pytest.mark.parametrize("form", ["plain", "packed", "tabs", "remarks", "table"])
def test_labels_are_read_in_every_form(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"j.{'parquet' if form == 'table' else 'qrels'}"
    text = {
        "packed": gzip.compress(SOURCED.encode()),
        "tabs": SOURCED.replace(" ", "\t").encode(),
        "remarks": f"# who\n\n{SOURCED.replace(' ', '   ')}# end\n".encode(),
    }.get(form, SOURCED.encode())
    path.write_bytes(text)
    if form == "table":
        (tmp_path / "j.qrels").write_text(SOURCED)
        write_qrels(path, read_labelled(tmp_path / "j.qrels"))
    found = read_labelled(path)
    labels = ["cited", "cited", "manual", "cited", "automatic", "manual"]
    assert found.table["label"].to_list() == labels
    assert (found.name, found.source) == ("j", path)
    assert found.table.drop("label").equals(read_qrels(path).table)


def test_a_field_that_says_nothing_is_not_a_label(tmp_path: Path) -> None:
    path = tmp_path / "j.qrels"
    path.write_text("p 0 a 1\np Q0 b 0\np 17 c 1\n")
    assert read_labelled(path).table.columns == ["query_id", "doc_id", "relevance"]
    pl.DataFrame({"qid": ["p"], "docno": ["a"], "label": [1]}).write_parquet(tmp_path / "j.parquet")
    assert read_labelled(tmp_path / "j.parquet").table.rows() == [("p", "a", 1)]


def test_a_line_that_is_invalid_is_named_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "j.qrels"
    path.write_text("p cited a 1\np cited b x\n")
    with pytest.raises(FormatError, match=r"j\.qrels:2: the relevance 'x' is not a whole number"):
        read_labelled(path)


def test_labels_are_written_and_must_be_words(tmp_path: Path) -> None:
    path = tmp_path / "j.qrels"
    path.write_text(SOURCED)
    write_qrels(tmp_path / "again.qrels", read_labelled(path), "other")
    assert (tmp_path / "again.qrels").read_text() == SOURCED
    table = read_labelled(path).table.with_columns(label=pl.lit("by hand"))
    with pytest.raises(CitebedError, match="the label 'by hand'"):
        write_qrels(tmp_path / "bad.qrels", Qrels(table))
