"""An evaluation as a notebook uses it: tables inside, comparisons, and how it prints."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import citebed
from citebed.errors import CitebedError
from citebed.evaluation import Design, Evaluation, Plan, Resampling, pool_bias, study, summarise

QRELS = {f"q{n}": {"a": 1, "b": 1, "c": 0} for n in range(12)}
GOOD = {f"q{n}": {"a": 3.0, "b": 2.0, "c": 1.0} for n in range(12)}
POOR = {f"q{n}": {"c": 3.0, "a": 2.0, "b": 1.0 if n % 3 else 4.0} for n in range(12)}
PAPERS = {f"q{n}": f"p{n // 2}" for n in range(12)}
RUNS = {"good": GOOD, "poor": POOR}


@pytest.fixture(scope="module")
def scores() -> Evaluation:
    return citebed.evaluate(QRELS, RUNS, ["AP", "P@1", "NumRel"])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a collection's judgements with their queries, and runs."""
    (tmp_path / "qrels").mkdir()
    (tmp_path / "queries").mkdir()
    lines = [f"{q} 0 {d} {grade}\n" for q, found in QRELS.items() for d, grade in found.items()]
    (tmp_path / "qrels" / "s.qrels").write_text("".join(lines))
    rows = [json.dumps({"query_id": q, "paper_id": p}) + "\n" for q, p in PAPERS.items()]
    (tmp_path / "queries" / "s.jsonl").write_text("".join(rows))
    for name, run in RUNS.items():
        ranked = [f"{q} Q0 {d} 0 {x} t\n" for q, found in run.items() for d, x in found.items()]
        (tmp_path / f"{name}.run").write_text("".join(ranked))
    return tmp_path


def test_the_summary_has_intervals_and_counts_have_none(scores: Evaluation) -> None:
    table = scores.summary()
    assert table.columns == ["run", "measure", "value", "low", "high"]
    row = dict(zip(table.columns, table.row(3), strict=True))
    (drawn,) = [x for x in summarise(scores["poor"], Resampling()) if str(x.measure) == "AP"]
    assert (row["run"], row["value"], row["low"]) == ("poor", drawn.value, drawn.low)
    assert table.filter(measure="NumRel").select("value", "low").rows() == [(24.0, None)] * 2


def test_every_query_is_a_row(scores: Evaluation) -> None:
    assert scores.per_query.columns == ["run", "query_id", "measure", "value"]
    assert scores.per_query.height == 2 * 12 * 3
    assert scores.per_query.filter(run="good", measure="AP")["value"].to_list() == [1.0] * 12


def test_differences_of_logarithms_say_so_where_they_are_shown(scores: Evaluation) -> None:
    """The difference of GMAP is not the difference of the two values shown."""
    found = citebed.evaluate(QRELS, RUNS, ["AP", "GMAP"]).compare()
    note = "difference and interval are of logarithms"
    assert found.main_table()["note"].to_list() == ["", note]
    assert note in repr(found)
    assert "note" not in scores.compare().main_table().columns


def test_comparisons_have_a_table(scores: Evaluation) -> None:
    found = scores.compare(baseline="good", correction="holm")
    same = citebed.compare(scores, Design(baseline="good", correction="holm"))
    assert found == same
    assert found.table.select("measure", "base", "run").rows() == [
        ("AP", "good", "poor"),
        ("P@1", "good", "poor"),
    ]
    assert found.table["difference"].to_list() == [one.difference for one in found]
    with pytest.raises(CitebedError, match="there is no run 'best'"):
        scores.compare(baseline="best")


def test_clusters_are_a_mapping_a_file_or_a_field_of_the_queries(files: Path) -> None:
    lines = files / "papers.txt"
    lines.write_text("".join(f"{query} {paper}\n" for query, paper in PAPERS.items()))
    paths = [files / "good.run", files / "poor.run"]
    scores = citebed.evaluate(files / "qrels" / "s.qrels", paths, ["AP"])
    tables = [scores.compare("good", cluster=x).table for x in (PAPERS, lines, "paper", str(lines))]
    assert tables[0]["clusters"].to_list() == [6]
    assert all(table.equals(tables[0]) for table in tables)
    assert scores.summary("paper").equals(scores.summary(PAPERS))
    assert scores.compare("good").table["clusters"].to_list() == [12]


def test_without_queries_a_field_of_them_is_reported(scores: Evaluation) -> None:
    with pytest.raises(CitebedError, match="cannot find the 'paper' of the queries"):
        scores.compare(cluster="paper")
    with pytest.raises(CitebedError, match="no cluster, 'q1' for one"):
        scores.compare(cluster={"q0": "p"})


def test_they_print_as_tables_and_render_as_html(scores: Evaluation) -> None:
    assert "1.0000 [0." in repr(scores)
    assert str(scores) == repr(scores)
    assert "<table" in scores._repr_html_()
    assert "p_adjusted" in repr(scores.compare())
    assert "<table" in scores.compare()._repr_html_()


def test_a_study_takes_what_evaluate_takes(files: Path) -> None:
    plan = Plan(measures=["AP"], design=Design(baseline="good"))
    by_path = study(files / "qrels" / "s.qrels", [files / "good.run", files / "poor.run"], plan)
    by_dict = study(QRELS, RUNS, plan)
    assert by_path.evaluation.per_query.equals(by_dict.evaluation.per_query)
    assert by_path.comparisons == by_dict.comparisons


def test_contrast_takes_paths_tables_and_dicts(files: Path) -> None:
    fewer = {query: {"a": 1, "c": 0} for query in QRELS}
    rows = [(query, doc, grade) for query, of in fewer.items() for doc, grade in of.items()]
    table = pl.DataFrame(rows, ["query_id", "doc_id", "relevance"], orient="row")
    table.write_parquet(files / "fewer.parquet")
    after, paths = files / "qrels" / "s.qrels", [files / "good.run", files / "poor.run"]
    found = [
        citebed.contrast(fewer, QRELS, RUNS, ["AP", "P@2"], cluster=PAPERS),
        citebed.contrast(table, after, paths, ["AP", "P@2"], cluster="paper"),
        citebed.contrast(
            files / "fewer.parquet", str(after), paths, ["AP", "P@2"], cluster="paper"
        ),
    ]
    for other in found[1:]:
        for part in ("changes", "correlations", "conclusions", "movers", "queries"):
            assert other.tables[part].equals(found[0].tables[part])
    assert found[2].sets.before.name == "fewer"
    assert found[0].tables["changes"].columns[:5] == [
        "run", "measure", "queries", "before", "after",
    ]  # fmt: skip
    assert "<table" in found[0]._repr_html_()
    assert "rose" in repr(found[0])


def test_pool_bias_has_tables() -> None:
    found = pool_bias(QRELS, RUNS, ["AP"])
    assert set(found.tables) == {"falls", "orders", "unjudged", "conclusions"}
    assert found.tables["falls"].height == 2
    assert "before_rank" in repr(found)
