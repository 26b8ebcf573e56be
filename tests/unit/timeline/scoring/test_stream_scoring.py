"""Scores over slices: the case worked in the docs, and agreement with plain loops."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.reference import timeline as reference
from tests.reference.timeline import DAY, Judgement, Line
from tests.unit.timeline.made_streams import START, judgement_table, run_table, streams

from citebed.errors import CitebedError, FormatError
from citebed.runs.assessors import RULES
from citebed.runs.reader import as_run, read_run
from citebed.runs.times import TIMES
from citebed.timeline.scoring.slice_measures import slice_measures
from citebed.timeline.scoring.stream_scores import StreamScores, judged_notes, score_stream
from citebed.timeline.scoring.topic_slices import topic_slices
from citebed.timeline.slices import parse_slicing
from citebed.timeline.streams.timed_qrels import (
    Skipped,
    read_timed_qrels,
    timed_qrels,
)

MEASURES = (
    "AP", "nDCG@R", "nDCG", "Rprec", "AUC", "RescaledAUC", "RR", "P@2", "R@2", "Bpref", "SetP",
    "SetR", "SetF", "SU", "infAP", "ERR(max_rel=2)", "nDCG(dcg='exp-log2')@R",
)  # fmt: skip
WEIGHTS = ("uniform", "burst", "recency:10d")


def scored(
    judgements: list[Judgement],
    run: list[Line],
    slicing: str = "7d",
    reading: dict[str, Any] | None = None,
    **how: object,
) -> StreamScores:
    truth = timed_qrels(judgement_table(judgements), **(reading or {}))
    cells = topic_slices(truth, parse_slicing(slicing, truth.range()))
    run_read, measures = as_run(run_table(run)), slice_measures(MEASURES)
    return score_stream(run_read, cells, measures, **how)  # type: ignore[arg-type]


# --- the case of docs/timeline.md -----------------------------------------------------------

WORKED_TRUTH = [
    Judgement("q", "a", START + 3600, 1), Judgement("q", "b", START + 7200, 1),
    Judgement("q", "c", START + 10_800, 0), Judgement("q", "d", START + 8 * DAY, 1),
    Judgement("r", "e", START + 9 * DAY, 1), Judgement("r", "f", START + 22 * DAY, 1),
]  # fmt: skip
WORKED_RUN = [
    Line("q", "a", START + 3600, 900), Line("q", "c", START + 10_800, 800),
    Line("q", "b", START + 7200, 700), Line("q", "x", START + 8 * DAY, 600),
    Line("q", "d", START + 8 * DAY, 500), Line("q", "y", START + 15 * DAY, 950),
    Line("r", "e", START + 9 * DAY, 100),
]  # fmt: skip


def test_the_case_of_the_docs() -> None:
    scores = scored(WORKED_TRUTH, WORKED_RUN)
    # q: week 1 ranks a c b, AP = (1/1 + 2/3)/2 = 5/6; week 2 ranks x d, AP = 1/2.
    # r: week 2 ranks e, AP = 1; week 4 has nothing, AP = 0.
    assert scores.of("AP") == pytest.approx([5 / 6, 1 / 2, 1, 0], abs=1e-12)
    assert scores.pairs.query.tolist() == [0, 0, 1, 1]
    assert scores.pairs.slice.tolist() == [0, 1, 1, 3]
    # Rprec: 1/2 (a of a, c), 0 (x), 1, 0.
    assert scores.of("Rprec") == pytest.approx([1 / 2, 0, 1, 0], abs=1e-12)
    # nDCG@R: q, week 1: 1/(1 + 1/log2 3); week 2: 0.
    assert scores.of("nDCG@R") == pytest.approx([1 / (1 + 1 / math.log2(3)), 0, 1, 0], abs=1e-12)
    # AUC: q, week 1: of pairs (a, c), (b, c) one is right; week 2: (d, x) is wrong.
    assert scores.of("AUC") == pytest.approx([1 / 2, 0, 1, 0], abs=1e-12)
    assert scores.of("RescaledAUC") == pytest.approx([0, -1, 1, -1], abs=1e-12)
    uniform, burst = scores.by_query("AP", "uniform"), scores.by_query("AP", "burst")
    assert uniform == pytest.approx([(5 / 6 + 1 / 2) / 2, (1 + 0) / 2], abs=1e-12)
    assert burst == pytest.approx([2 / 3 * 5 / 6 + 1 / 3 * 1 / 2, 1 / 2], abs=1e-12)
    assert scores.mean("AP", "uniform") == pytest.approx(7 / 12, abs=1e-12)
    assert scores.mean("AP", "burst") == pytest.approx((13 / 18 + 1 / 2) / 2, abs=1e-12)
    assert scores.by_slice("AP")[[0, 1, 3]] == pytest.approx([5 / 6, 3 / 4, 0], abs=1e-12)
    assert math.isnan(scores.by_slice("AP")[2])
    # Recency with a half-life of a week: r's week 2 ended two weeks before week 4.
    recency = scores.by_query("AP", "recency:7d")
    assert recency == pytest.approx([(1 / 8 * 5 / 6 + 1 / 4 * 1 / 2) / (3 / 8), 1 / 5], abs=1e-12)


def test_the_ledger_of_the_case_of_the_docs() -> None:
    scores = scored(WORKED_TRUTH, [*WORKED_RUN, Line("nobody", "a", START + 3600, 1)])
    assert judged_notes(scores.pairs) == [
        "1 of 4 slices without a relevant document, in no average",
        "4 of 8 pairs of query and slice without a relevant document, in no average",
    ]
    assert (scores.ledger.measured, scores.ledger.elsewhere) == (6, 1)
    assert scores.ledger.skipped == Skipped(lines=8, unjudged=1, queries=("nobody",))
    assert (scores.ledger.silent, scores.ledger.pairs) == (1, 4)


def test_a_threshold_is_for_measures_of_sets() -> None:
    scores = scored(WORKED_TRUTH, WORKED_RUN, threshold=700)
    # Above 700 in q, week 1: a and c; in week 2 nothing, and nothing returned scores 0, SU too.
    assert scores.of("SetP") == pytest.approx([1 / 2, 0, 0, 0], abs=1e-12)
    assert scores.of("SetR") == pytest.approx([1 / 2, 0, 0, 0], abs=1e-12)
    assert scores.of("SU") == pytest.approx([((2 - 1) / 4 + 0.5) / 1.5, 0, 0, 0], abs=1e-12)
    assert scores.of("AP") == pytest.approx([5 / 6, 1 / 2, 1, 0], abs=1e-12)


def test_tables_have_the_fields_of_the_interface() -> None:
    scores = scored(WORKED_TRUTH, WORKED_RUN)
    assert scores.systems(["burst"]).row(0)[:6] == (
        "run", "AP", "all", "all", "burst", pytest.approx(11 / 18),
    )  # fmt: skip
    assert scores.queries(["uniform"]).row(1)[1:5] == ("AP", "r", "all", "uniform")
    slices = scores.slices().filter(pl.col("measure") == "AP")
    assert slices["slice"].to_list() == [
        "2011-10-07T00:00:00Z", "2011-10-14T00:00:00Z", "2011-10-28T00:00:00Z",
    ]  # fmt: skip
    every = scores.slice_queries().filter(pl.col("measure") == "AP")
    assert every["query_id"].to_list() == ["q", "q", "r", "r"]
    assert every["weight"].null_count() == 4


# --- against plain loops --------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    streams(),
    st.sampled_from([6, 24, 72, 168]),
    st.sampled_from(list(RULES)),
    st.sampled_from([1, 2]),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, 0.1, 1.0, 600.0]),
)
def test_agrees_with_plain_loops(
    stream: tuple[list[Judgement], list[Line]],
    hours: int,
    rule: str,
    rel: int,
    graded: bool | None,
    threshold: float | None,
) -> None:
    judgements, run = stream
    merged = [
        judgement._replace(grade=judgement.grade * (judgement.grade >= rel))
        for judgement in reference.merged(judgements, rule, rel)
    ]
    assume(any(judgement.grade for judgement in merged))
    slices = reference.uniform_slices(merged, hours * 3600)
    first, last = min(j.time for j in merged), max(j.time for j in merged)
    assume(hours * 3600 <= (last // DAY + 1 - first // DAY) * DAY)
    reading = {"rule": rule, "rel": rel}
    found = scored(judgements, run, f"{hours}h", reading, threshold=threshold, graded=graded)
    for name in MEASURES:
        shown = reference.shown_to(name, merged, graded)
        expected = reference.cell_scores(shown, run, slices, name, threshold)
        assert found.of(name) == pytest.approx(list(expected.values()), abs=1e-9), name
        for weight in WEIGHTS:
            shares = reference.weights(merged, list(expected), weight, slices[-1][1])
            by_query = reference.query_scores(expected, shares)
            assert found.pairs.query_ids.to_list() == list(by_query)
            assert found.by_query(name, weight) == pytest.approx(list(by_query.values()), abs=1e-9)
            mean = sum(by_query.values()) / len(by_query)
            assert found.mean(name, weight) == pytest.approx(mean, abs=1e-9)
        by_slice = reference.slice_means(expected)
        known = found.by_slice(name)[~np.isnan(found.by_slice(name))]
        assert known == pytest.approx([by_slice[at] for at in sorted(by_slice)], abs=1e-9)


def test_a_document_that_occurs_twice_is_found_anywhere() -> None:
    judgements = [Judgement("q", "a", START, 1)]
    lines = [Line("q", f"d{n}", START, float(n)) for n in range(20)]
    with pytest.raises(CitebedError, match="document 'd1' is retrieved twice for query 'q'"):
        scored(judgements, [*lines, lines[7], lines[1]], "all")


# --- tables ---------------------------------------------------------------------------------


def parquet(path: Path, **columns: object) -> Path:
    pl.DataFrame(columns).write_parquet(path)
    return path


def test_tables_are_checked_as_for_evaluate(tmp_path: Path) -> None:
    """Numbers as ids, PyTerrier's names, and times as polars and pandas write them."""
    times = [datetime.fromtimestamp(START, UTC), datetime.fromtimestamp(START + DAY, UTC)]
    qrels = parquet(tmp_path / "q.parquet", qid=[1, 1], docno=["a", "b"], label=[1, 1], time=times)
    run = parquet(
        tmp_path / "r.parquet", query_id=["1", "1"], doc_id=["a", "b"], score=[2.0, 1.0], time=times
    )
    truth = read_timed_qrels(qrels)
    cells = topic_slices(truth, parse_slicing("1d", truth.range()))
    assert score_stream(read_run(run), cells, slice_measures(["AP"])).mean("AP", "uniform") == 1


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"relevance": [0.5]}, "relevance"),
        ({"relevance": [None]}, "relevance"),
        ({"time": ["2011-10-07"]}, "holds String; expected epoch seconds"),
        ({"time": [datetime(2011, 10, 7)]}, "times without a zone"),
        ({"time": [START * 1000]}, "beyond the years"),
        ({"query_id": [None]}, "query_id of row 1 is missing"),
    ],
)
def test_tables_that_cannot_be_judgements(
    tmp_path: Path, columns: dict[str, list[object]], message: str
) -> None:
    given = {"query_id": ["q"], "doc_id": ["a"], "relevance": [1], "time": [START]} | columns
    with pytest.raises(CitebedError, match=message):
        read_timed_qrels(parquet(tmp_path / "q.parquet", **given))


def test_a_table_that_is_not_a_run_is_named(tmp_path: Path) -> None:
    path = parquet(tmp_path / "r.parquet", query_id=["q"], doc_id=["a"])
    with pytest.raises(FormatError, match=r"r\.parquet: the table has no column 'score'"):
        read_run(path)


# --- files ----------------------------------------------------------------------------------


def trec_run(lines: list[Line]) -> str:
    return "".join(f"{q} Q0 {t}-{d} 1 {s} me\n" for q, d, t, s in lines)


def trec_qrels(judgements: list[Judgement]) -> str:
    return "".join(f"{q} 0 {t}-{d} {grade}\n" for q, d, t, grade in judgements)


@pytest.fixture
def qrels(tmp_path: Path) -> Path:
    path = tmp_path / "worked.qrels"
    path.write_text(trec_qrels(WORKED_TRUTH))
    return path


def score_files(qrels: Path, run: Path, times: pl.DataFrame | None = None) -> StreamScores:
    truth = read_timed_qrels(qrels, times)
    cells = topic_slices(truth, parse_slicing("7d", truth.range()))
    return score_stream(read_run(run), cells, slice_measures(["AP"]), times)


@pytest.mark.parametrize("change", [str, lambda t: t.replace(" ", "  "), lambda t: f"# me\n{t}"])
def test_trec_files(qrels: Path, tmp_path: Path, change: object) -> None:
    run = tmp_path / "me.run"
    run.write_text(change(trec_run(WORKED_RUN)))
    assert score_files(qrels, run).of("AP") == pytest.approx([5 / 6, 1 / 2, 1, 0])


def test_tabs_gzip_and_parquet(qrels: Path, tmp_path: Path) -> None:
    import gzip

    text = trec_run(WORKED_RUN)
    (tmp_path / "tabs.run").write_text(text.replace(" ", "\t"))
    (tmp_path / "zip.run.gz").write_bytes(gzip.compress(text.encode()))
    ids = (pl.col("time").cast(pl.String) + "-" + pl.col("doc_id")).alias("doc_id")
    run_table(WORKED_RUN).with_columns(ids).write_parquet(tmp_path / "table.parquet")
    for name in ("tabs.run", "zip.run.gz", "table.parquet"):
        found = score_files(qrels, tmp_path / name)
        assert found.of("AP") == pytest.approx([5 / 6, 1 / 2, 1, 0]), name


def test_a_kba_run_and_kba_judgements(tmp_path: Path) -> None:
    (tmp_path / "kba.txt").write_text(
        "".join(f"{q} {t}-{d} 1000 {grade or -1} 1\n" for q, d, t, grade in WORKED_TRUTH)
    )
    (tmp_path / "me.txt").write_text(
        '#{"team_id": "t", "system_id": "me"}\n'
        + "".join(f"t me {t}-{d} {q} {s} 1 1 2011-10-07-00\n" for q, d, t, s in WORKED_RUN)
    )
    found = score_files(tmp_path / "kba.txt", tmp_path / "me.txt")
    assert found.of("AP") == pytest.approx([5 / 6, 1 / 2, 1, 0])
    assert found.run == "me"


def test_times_from_elsewhere_and_documents_without_one(tmp_path: Path) -> None:
    qrels, run = tmp_path / "a.qrels", tmp_path / "a.run"
    qrels.write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, _, grade in WORKED_TRUTH))
    run.write_text("".join(f"{q} Q0 {d} 1 {s} me\n" for q, d, _, s in WORKED_RUN))
    known = {doc: time for _, doc, time, _ in [*WORKED_TRUTH, *WORKED_RUN] if doc != "x"}
    times = pl.DataFrame(list(known.items()), schema=TIMES, orient="row")
    found = score_files(qrels, run, times)
    assert found.of("AP") == pytest.approx([5 / 6, 1, 1, 0])  # x, above d, has no time
    assert found.ledger.skipped.untimed == 1
    with pytest.raises(CitebedError, match="no judged document has a time"):
        score_files(qrels, run)


def test_an_id_without_an_epoch_in_the_run(qrels: Path, tmp_path: Path) -> None:
    run = tmp_path / "me.run"
    run.write_text(trec_run(WORKED_RUN) + "q Q0 plain 1 3 me\n")
    with pytest.raises(FormatError, match="no epoch second in the id 'plain'"):
        score_files(qrels, run)


def test_a_document_twice(qrels: Path, tmp_path: Path) -> None:
    run = tmp_path / "me.run"
    run.write_text(trec_run([*WORKED_RUN, WORKED_RUN[5]]))
    with pytest.raises(CitebedError, match=r"-y' is retrieved twice for query 'q'"):
        score_files(qrels, run)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("q Q0 1317945600-a 1 5 me\nq Q0 1317945600-b 1 3", "found 5 fields"),
        ("q 0 1317945600-a 1\n", "instead of a run"),
    ],
)
def test_bad_runs(qrels: Path, tmp_path: Path, text: str, message: str) -> None:
    run = tmp_path / "me.run"
    run.write_text(text)
    with pytest.raises(FormatError, match=message):
        score_files(qrels, run)


def test_a_run_that_returned_nothing_scores_nothing(qrels: Path, tmp_path: Path) -> None:
    run = tmp_path / "me.txt"
    run.write_text('#{"team_id": "t", "system_id": "me"}\n')
    found = score_files(qrels, run)
    assert found.mean("AP", "uniform") == 0
    assert found.ledger.notes() == ["the run returned nothing and scores 0"]


def test_runs_and_judgements_in_the_wrong_order(qrels: Path, tmp_path: Path) -> None:
    run = tmp_path / "me.run"
    run.write_text(trec_run(WORKED_RUN))
    with pytest.raises(FormatError, match="a run, but judgements were expected"):
        score_files(run, qrels)


def test_measures_that_make_no_sense_here() -> None:
    with pytest.raises(CitebedError, match="--rel 2"):
        slice_measures(["AP(rel=2)"])
    with pytest.raises(CitebedError, match="no mean over slices"):
        slice_measures(["NumRet"])
    assert [str(m) for m in slice_measures(["AP,nDCG@R", "RescaledAUC", "AUC:rescaled"])] == [
        "AP", "nDCG@R", "RescaledAUC",
    ]  # fmt: skip


def test_weights_that_are_invalid() -> None:
    scores = scored(WORKED_TRUTH, WORKED_RUN)
    for text, message in (
        ("bursts", "Did you mean 'burst'"),
        ("recency", "needs a half-life"),
        ("recency:1mo", "write it in days"),
        ("burst:3", "takes no parameter"),
    ):
        with pytest.raises(CitebedError, match=message):
            scores.mean("AP", text)


def test_nothing_relevant_in_any_slice() -> None:
    truth = timed_qrels(judgement_table([Judgement("q", "a", START, 0)]))
    with pytest.raises(CitebedError, match="no slice has a relevant document"):
        topic_slices(truth, parse_slicing("1d", truth.range()))


def test_all_is_the_evaluation_that_knows_no_time() -> None:
    # q ranks y a c b x d, AP = (1/2 + 2/4 + 3/6)/3; r ranks e, AP = 1/2.
    assert scored(WORKED_TRUTH, WORKED_RUN, "all").of("AP") == pytest.approx([1 / 2, 1 / 2])
