"""Runs: every query of a set searched, what must not be found left out, feedback told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.unit.retrieval.index.making import build, context, write_collection

from citebed.collection import open_collection
from citebed.collection.tables import QUERIES
from citebed.errors import CitebedError, FormatError
from citebed.retrieval.execution import runner as running
from citebed.retrieval.execution.runner import RUN_COLUMNS, RunOptions, run_queries
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.query import DocumentMasks
from citebed.retrieval.search.feedback import read_judged
from citebed.retrieval.search.fields import fields_of
from citebed.retrieval.search.queries import checked_date
from citebed.runs.tables import Run

DOCUMENTS = (
    {"doc_id": "oak", "title": "Oak trees in the forest", "year": 2001},
    {"doc_id": "elm", "title": "Elm bark and forest soil", "year": 2005, "date": "2005-06"},
    {"doc_id": "sea", "title": "Trees at the sea", "year": 2010},
    {"doc_id": "ash", "title": "Ash trees"},
)
ONE_QUERY = {"query_id": "q1", "text": "trees"}


def made(folder: Path, **options: Any) -> Path:
    write_collection(folder, DOCUMENTS, **options)
    build(folder)
    return folder


def run(
    folder: Path,
    *rows: Mapping[str, Any],
    pipeline: str = "bm25",
    options: RunOptions | None = None,
) -> Run:
    queries = pl.DataFrame(
        [{**dict.fromkeys(QUERIES), **row} for row in rows], schema=QUERIES, orient="row"
    )
    return run_queries(
        open_collection(folder), open_index(folder), queries, parse_pipeline(pipeline), options
    )


def found(run: Run, query: str = "q1") -> list[str]:
    return run.table.filter(pl.col("query_id") == query)["doc_id"].to_list()


def test_a_run_is_a_table_in_the_order_of_the_queries(tmp_path: Path) -> None:
    folder = made(tmp_path)
    both = run(folder, {"query_id": "z", "text": "forest"}, {"query_id": "a", "text": "ash tree"})
    assert both.table.columns == list(RUN_COLUMNS)
    assert both.table.dtypes == [pl.String, pl.String, pl.Int32, pl.Float64]
    assert both.table["query_id"].to_list() == ["z", "z", "a", "a", "a"]
    assert both.table["rank"].to_list() == [1, 2, 1, 2, 3]
    assert found(both, "a")[0] == "ash"
    assert both.notes == ()


def test_depth(tmp_path: Path) -> None:
    folder = made(tmp_path)
    assert len(found(run(folder, ONE_QUERY, options=RunOptions(depth=2)))) == 2
    assert len(found(run(folder, ONE_QUERY, options=RunOptions(depth=10**9)))) == 3


def test_many_queries_are_answered_as_one_is(tmp_path: Path) -> None:
    """From some number on a run prepares itself; that must not be seen in it."""
    folder = made(tmp_path)
    texts = ("trees", "forest", "", "the", "bark elm trees", "nothing of it")
    rows = [{"query_id": f"q{n}", "text": texts[n % len(texts)]} for n in range(100)]
    many = run(folder, *rows)
    for row in rows[:6]:
        alone = run(folder, row)
        assert many.table.filter(pl.col("query_id") == row["query_id"]).equals(alone.table)


def test_queries_without_a_word_are_reported(tmp_path: Path) -> None:
    folder = made(tmp_path)
    result = run(folder, {"query_id": "q1", "text": "the"}, {"query_id": "q2", "text": None})
    assert result.table.is_empty()
    assert result.notes == ("2 queries have no word in the index: q1, q2",)
    assert run(folder).table.is_empty()


def test_what_is_excluded_or_later_is_not_found(tmp_path: Path) -> None:
    folder = made(tmp_path)
    assert set(found(run(folder, {**ONE_QUERY, "exclude": ["sea", "unknown"]}))) == {"ash", "oak"}
    assert set(found(run(folder, {**ONE_QUERY, "before": "2009"}))) == {"ash", "oak"}
    assert set(found(run(folder, {**ONE_QUERY, "before": "2010"}))) == {"ash", "oak", "sea"}
    result = run(
        folder,
        {"query_id": "q1", "text": "trees", "before": "2000"},
        {"query_id": "q2", "text": "trees", "exclude": ["ash", "oak", "sea"]},
        {"query_id": "q3", "text": "trees"},
    )
    assert [len(found(result, name)) for name in ("q1", "q2", "q3")] == [1, 0, 3]


@pytest.mark.parametrize(
    ("before", "late"),
    [
        ("2004", {"elm", "sea"}),
        ("2005", {"sea"}),
        ("2005-05", {"elm", "sea"}),
        ("2005-05-31", {"elm", "sea"}),
        ("2005-06-01", {"sea"}),
        ("2010-01-01", set()),
    ],
)
def test_what_is_later_than_a_date(tmp_path: Path, before: str, late: set[str]) -> None:
    """As far as both are known: a document without a date is later than none."""
    folder = made(tmp_path)
    index = open_index(folder)
    allowed = DocumentMasks(open_collection(folder), index).not_later(before)
    assert allowed is not None
    assert {name for name, may in zip(index.ids, allowed, strict=True) if not may} == late


def test_dates() -> None:
    assert checked_date(" 2019-07-31 ") == "2019-07-31"
    for text in ("", "19", "2019-13", "2019-00", "2019-1", "2019-07-32", "31.07.2019", "２０１９"):
        with pytest.raises(CitebedError, match="is not a date; write 2019"):
            checked_date(text)


def test_queries_as_they_are_and_as_citing_text(tmp_path: Path) -> None:
    folder = made(tmp_path)
    query = {"query_id": "q1", "text": "for-\nest [elm], (Ash, 2001)"}
    assert set(found(run(folder, query))) == {"oak", "elm"}
    assert set(found(run(folder, query, options=RunOptions(as_is=True)))) == {"elm", "ash"}


def test_fields(tmp_path: Path) -> None:
    folder = made(tmp_path)
    with pytest.raises(CitebedError, match="no field 'citing'"):
        run(folder, ONE_QUERY, options=RunOptions(fields=fields_of("citing")))
    assert run(folder, ONE_QUERY, options=RunOptions(fields=fields_of("abstract"))).notes


def test_the_citing_text_of_a_querys_own_paper_does_not_count(tmp_path: Path) -> None:
    says = [context("p", ["elm"], "Whales [1]"), context("q", ["sea"], "Whales [2]")]
    folder = made(tmp_path, contexts=says)
    citing = RunOptions(fields=fields_of("title,citing"))
    whales = {"query_id": "q1", "text": "whales"}
    assert set(found(run(folder, whales, options=citing))) == {"elm", "sea"}
    for paper, others in (("p", ["sea"]), ("q", ["elm"]), ("nobody", ["elm", "sea"])):
        result = run(folder, {**whales, "paper_id": paper}, options=citing)
        assert sorted(found(result)) == others
    rows = [{"query_id": f"q{n}", "text": "whales", "paper_id": "pqx"[n % 3]} for n in range(30)]
    for feedback in ("", "+rm3(docs=2,max_df=1)"):
        many = run(folder, *rows, pipeline=f"bm25{feedback}", options=citing)
        for n in range(3):
            alone = run(folder, rows[n], pipeline=f"bm25{feedback}", options=citing)
            assert found(many, f"q{n}") == found(alone, f"q{n}")
            assert found(alone, f"q{n}")[0] == ["sea", "elm", "sea"][n]


# --- feedback -------------------------------------------------------------------------------


def average_precision(ranking: list[str], relevant: set[str]) -> float:
    hits = [place for place, name in enumerate(ranking, 1) if name in relevant]
    return sum(n / place for n, place in enumerate(hits, 1)) / len(relevant)


@pytest.mark.parametrize(
    "pipeline", ["kl(mu=10)+feedback", "bm25+rocchio", "bm25+rm3(max_df=1)", "okapi+robertson"]
)
def test_feedback_from_judged_documents_finds_more(tmp_path: Path, pipeline: str) -> None:
    """``elm`` has none of the query's words, but words of ``oak``."""
    filler = [{"doc_id": f"x{n}", "title": "ships sails harbours"} for n in range(12)]
    write_collection(
        tmp_path,
        [*DOCUMENTS, *filler],
        queries={"own": [{"query_id": "q1", "text": "oak trees"}]},
        qrels={"own": "q1 0 oak 1\nq1 0 elm 1\nq1 0 sea 0\nq9 0 ash 1\n"},
    )
    build(tmp_path)
    query = {"query_id": "q1", "text": "oak trees"}
    plain, _, way = pipeline.partition("+")
    before = run(tmp_path, query, pipeline=plain)
    name, _, given = way.partition("(")
    spec = f"{plain}+{name}(from=own,{given}" if given else f"{plain}+{name}(from=own)"
    after = run(tmp_path, query, pipeline=spec)
    relevant = {"oak", "elm"}
    assert average_precision(found(before), relevant) == pytest.approx(0.5)
    assert average_precision(found(after), relevant) == pytest.approx(1.0)
    assert after.facts["feedback_from_evaluation_judgements"] == ["own"]
    assert after.facts["feedback_from"]["file"] == "own.qrels"
    assert any("uses judgements of" in note for note in after.notes)
    assert not before.facts


def test_feedback_from_a_file(tmp_path: Path) -> None:
    folder = made(
        tmp_path / "c",
        queries={"own": [ONE_QUERY], "other": [ONE_QUERY]},
        qrels={"own": "q1 0 oak 1\n", "other": "q2 0 oak 1\nq1 0 elm 0\n"},
    )
    path = tmp_path / "mine.qrels"
    spec = f'bm25+rocchio(from="{path}")'
    for text, shared in (
        ("q1 0 oak 1\nq1 0 gone 1\n", ["own"]),
        ("q1 0 oak 0\n", []),
        ("q1 0 elm 1\n", []),
        ("q2 0 oak 1\n", []),  # not asked for
        ("", []),
    ):
        path.write_text(text)
        result = run(folder, ONE_QUERY, pipeline=spec)
        assert result.facts["feedback_from_evaluation_judgements"] == shared
        assert result.facts["feedback_from"]["not_in_index"] == text.count("gone")
        told = any("no judged document" in note for note in result.notes)
        assert told == ("q1" not in text or " 1" not in text)
    assert found(run(folder, ONE_QUERY)) == found(result)


def test_pseudo_feedback_takes_what_is_found_first(tmp_path: Path) -> None:
    folder = made(tmp_path)
    query = {"query_id": "q1", "text": "oak"}
    assert found(run(folder, query)) == ["oak"]
    more = run(folder, query, pipeline="bm25+rocchio(docs=1)")
    assert found(more)[0] == "oak"
    assert set(found(more)) == {"oak", "elm", "sea", "ash"}
    assert set(found(run(folder, {**query, "exclude": ["oak"]}, pipeline="bm25+rm3"))) == set()


def test_judgements_that_are_invalid(tmp_path: Path) -> None:
    folder = made(tmp_path / "c", qrels={"own": "q1 0 oak 1\n"})
    collection, known = open_collection(folder), open_index(folder).ids.choose_known
    with pytest.raises(CitebedError, match=r"no judgements 'nix'.*\(own\)"):
        read_judged(collection, "nix", known)
    path = tmp_path / "bad.qrels"
    bad = {"q1 0 oak\n": 1, "\nq1 0 oak x\n": 2, "q1 0 oak 1 2\n": 1, f"q1 0 oak {'9' * 5000}\n": 1}
    for text, line in bad.items():
        path.write_text(text)
        with pytest.raises(FormatError, match=r"found \d fields|not a whole number") as caught:
            read_judged(collection, str(path), known)
        assert caught.value.line == line
    path.write_text("# mine\nq1 0 oak 1\nq1 0 oak 2\nq1\t0\tsea -1\r\nq1 0 gone 1\n")
    judged = read_judged(collection, str(path), known)
    assert judged.documents("q1") == (["oak"], ["sea"])
    assert judged.documents("q2") == ([], [])
    assert judged.facts["not_in_index"] == 1


# --- preparing ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("queries", "must_compile", "expected"),
    [
        (9, False, (False, 0)),
        (10, False, (True, 0)),
        (10, True, (False, 0)),
        (100, True, (True, 1)),
    ],
)
def test_preparing_is_done_where_it_pays_and_compiling_is_reported(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    queries: int,
    must_compile: bool,
    expected: tuple[bool, int],
) -> None:
    folder = made(tmp_path / "c")
    index = open_index(folder)
    postings = index.description.postings
    monkeypatch.setattr(running, "_PREPARE_FROM", 10 * postings)
    monkeypatch.setattr(running, "_COMPILE_FROM", 100 * postings)
    monkeypatch.setattr(running, "_must_compile", lambda: must_compile)
    runner = running.Runner(open_collection(folder), index, parse_pipeline("bm25"), RunOptions())
    prepared = runner.prepare_for(queries)
    assert (runner.searcher._prepared is not None) is prepared
    told = caplog.text.count("compiling the search, once on this machine")
    assert (prepared, told) == expected
