"""Runs to be scored: opened by name, read ahead, and laid beside judged topics."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from citebed.errors import CitebedError, FormatError
from citebed.runs.ranking import SortedQrels, prepare
from citebed.runs.reader import as_run
from citebed.runs.tables import Qrels
from citebed.timeline.scoring.slice_measures import slice_measures
from citebed.timeline.scoring.stream_scores import score_stream
from citebed.timeline.scoring.topic_slices import topic_slices
from citebed.timeline.slices import parse_slicing
from citebed.timeline.streams.run_sources import opened_runs
from citebed.timeline.streams.timed_qrels import Skipped, timed, timed_qrels, topic_run

START = 1_317_945_600


def judged(*queries: str) -> SortedQrels:
    table = pl.DataFrame({"query_id": queries, "doc_id": f"{START}-0", "relevance": 1})
    return prepare(Qrels(table))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "long.run"
    path.write_text("".join(f"q{n % 2} Q0 {START}-{n} 1 {n} me\n" for n in range(1000)))
    return path


def test_a_run_that_was_begun_can_be_read_again(path: Path) -> None:
    with opened_runs(path) as (source,):
        first, second = source.read(), source.read()
    assert source.name == first.name == "long"
    assert first is not second
    assert first.table.equals(second.table)


def test_errors_ahead_reach_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "bad.run"
    path.write_text("q Q0 1317945600-a 1 5 me\nq Q0 1317945600-b 1 five me\n")
    with opened_runs([path]) as (source,):
        for _ in range(2):
            with pytest.raises(FormatError, match=r"bad\.run:2: the score 'five'"):
                source.read()


def test_files_and_tables_in_one_list_have_names(path: Path) -> None:
    table = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0]})
    with opened_runs([path, table]) as sources:
        assert [source.name for source in sources] == ["long", "run2"]
        assert [source.read().name for source in sources] == ["long", "run2"]
    with opened_runs({"a": path, "b": table}) as sources:
        assert [source.read().name for source in sources] == ["a", "b"]


@pytest.mark.parametrize("queries", [1, 30, 20_000])
def test_topics_are_found_by_name(queries: int) -> None:
    names = [f"q{number}" for number in range(queries)]
    table = {"query_id": [*names[::-1], "other"], "doc_id": f"{START}-0", "score": 1.0}
    of = judged(*names)
    found = topic_run(as_run(pl.DataFrame(table)), of)
    assert [of.query_ids[code] for code in found.query.tolist()] == names[::-1]
    assert found.skipped == Skipped(queries + 1, 1, 0, ("other",))


def test_times_are_of_a_table_the_run_or_its_ids() -> None:
    table = pl.DataFrame({"query_id": "q", "doc_id": ["a", f"{START + 5}-b"], "score": 1.0})
    known = pl.DataFrame({"doc_id": ["b"], "time": [START + 5]})
    kept, time = timed(topic_run(as_run(table), judged("q")), known)
    assert (kept.skipped.untimed, time.tolist()) == (1, [START + 5])
    assert kept.run.rows["doc_id"].to_list() == ["b"]
    own = table.with_columns(time=pl.Series([START, START + 1]))
    assert timed(topic_run(as_run(own), judged("q")), None)[1].tolist() == [START, START + 1]
    with pytest.raises(FormatError, match="no epoch second in the id 'a'"):
        timed(topic_run(as_run(table), judged("q")), None)


@pytest.mark.parametrize("apart", [0, 3 * 86_400], ids=["at one time", "at two times"])
def test_a_document_twice_for_a_topic_is_reported_anywhere(apart: int) -> None:
    judgements = {"query_id": ["q", "r"], "doc_id": ["a", "a"], "relevance": 1, "time": START}
    qrels = timed_qrels(pl.DataFrame(judgements))
    pairs = topic_slices(qrels, parse_slicing("all", qrels.range()))
    lines = [("q", "a", 2.0, START), ("r", "a", 1.0, START), ("q", "b", 1.0, START)]
    names = ["query_id", "doc_id", "score", "time"]
    once = as_run(pl.DataFrame(lines, names, orient="row"))
    assert score_stream(once, pairs, slice_measures(["AP"])).mean("AP", "uniform") == 1
    again = [*lines, ("q", "a", 1.0, START + apart)]
    with pytest.raises(CitebedError, match="'a' is retrieved twice for query 'q'"):
        score_stream(
            as_run(pl.DataFrame(again, names, orient="row")), pairs, slice_measures(["AP"])
        )
