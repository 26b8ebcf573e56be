"""Runs as lines: batches, reading ahead, and queries found by their names."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import polars as pl
import pytest

from citebed.errors import CitebedError, FormatError
from citebed.runs.ranking import SortedQrels, prepare
from citebed.runs.tables import Qrels
from citebed.timeline.scoring.repeated_pairs import RepeatedPairs, check_repeats
from citebed.timeline.streams.stream_runs import (
    NotPlain,
    StreamRun,
    open_run,
    read_ahead,
    run_of,
    tables,
    without_times,
)
from citebed.timeline.streams.tally import RunLines, Skipped, tally

LINES = 250_000


class Collected:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.batches: list[RunLines] = []

    def add(self, batch: RunLines) -> None:
        self.batches.append(batch)

    def close(self) -> None:
        pass

    def absorb(self, other: Collected) -> None:
        self.batches += other.batches


def judged(*queries: str) -> SortedQrels:
    table = pl.DataFrame({"query_id": queries, "doc_id": "1317945600-0", "relevance": 1})
    return prepare(Qrels(table))


@pytest.fixture
def long_run(tmp_path: Path) -> StreamRun:
    """Three batches, so that there is something to read ahead."""
    path = tmp_path / "long.run"
    path.write_text("".join(f"q{n % 2} Q0 1317945600-{n} 1 {n} me\n" for n in range(LINES)))
    return open_run(path)


def ids(run: StreamRun) -> list[str]:
    return [doc for table in tables(run) for doc in table["doc_id"]]


def test_lines_come_in_their_order(long_run: StreamRun) -> None:
    assert ids(long_run) == [f"1317945600-{n}" for n in range(LINES)]


def test_reading_ahead_gives_the_same_lines_and_can_be_repeated(long_run: StreamRun) -> None:
    with read_ahead(long_run) as ahead:
        assert ids(ahead) == ids(long_run)
        assert ids(ahead) == ids(long_run)


def test_what_was_read_ahead_is_not_used_where_it_does_not_fit(long_run: StreamRun) -> None:
    times = pl.DataFrame({"doc_id": ["1317945600-0"], "time": [5]})
    with read_ahead(long_run) as ahead:
        (first, *_) = tables(ahead, times)
        assert first["time"][0] == 5
        (first, *_) = tables(without_times(ahead))
        assert first["time"].unique().to_list() == [0]


def test_reading_ahead_ends_with_its_block(long_run: StreamRun) -> None:
    before = threading.active_count()
    with pytest.raises(CitebedError, match="judgements"), read_ahead(long_run):
        raise CitebedError("judgements that cannot be read")
    assert threading.active_count() == before


def test_what_goes_wrong_ahead_is_told_to_who_reads(tmp_path: Path) -> None:
    path = tmp_path / "bad.run"
    path.write_text("q Q0 1317945600-a 1 5 me\nq Q0 1317945600-b 1 five me\n")
    with read_ahead(open_run(path)) as ahead:
        with pytest.raises(NotPlain):
            list(tables(ahead))
        with pytest.raises(FormatError, match=r"bad\.run:2: the score 'five'"):
            tally(ahead, judged("q"), None, Collected)


def test_workers_share_the_lines(long_run: StreamRun) -> None:
    kept, skipped = tally(long_run, judged("q0", "q1"), None, Collected)
    assert skipped == Skipped(LINES)
    found = [doc for batch in kept.batches for doc in batch.doc_ids]
    assert sorted(found) == sorted(ids(long_run))


class Failing(Collected):
    """Fails at every batch, and sooner at later ones."""

    def add(self, batch: RunLines) -> None:
        first = int(batch.score[0])
        time.sleep(0.2 if first < LINES // 4 else 0)
        raise CitebedError(f"the batch from {first}")


def test_of_several_errors_the_first_in_the_file_is_told(long_run: StreamRun) -> None:
    for _ in range(3):
        with pytest.raises(CitebedError, match=r"the batch from 0$"):
            tally(long_run, judged("q0", "q1"), None, Failing)


@pytest.mark.parametrize("queries", [1, 30, 20_000])
def test_queries_are_found_by_name(queries: int) -> None:
    names = [f"q{number}" for number in range(queries)]
    run = run_of(pl.DataFrame({
        "query_id": [*names[::-1], "other"], "doc_id": "1317945600-0", "score": 1.0,
    }))  # fmt: skip
    of = judged(*names)
    kept, skipped = tally(run, of, None, Collected)
    found = [of.query_ids[code] for batch in kept.batches for code in batch.query.tolist()]
    assert found == names[::-1]
    assert skipped == Skipped(queries + 1, 1, 0, frozenset({"other"}))
    matched = [j for batch in kept.batches for j in batch.judgement.tolist()]
    assert sorted(matched) == list(range(queries))


def test_repeats_are_told_from_lines_that_only_look_alike() -> None:
    of = judged("q", "r")
    lines = [("q", "1317945600-a"), ("r", "1317945600-a"), ("q", "1317945600-b")]

    def run(*rows: tuple[str, str]) -> StreamRun:
        table = pl.DataFrame(rows, schema=["query_id", "doc_id"], orient="row")
        return run_of(table.with_columns(score=1.0))

    for rows, twice in ((lines, 0), ([*lines, lines[0]], 1)):
        kept, _ = tally(run(*rows), of, None, RepeatedPairs)
        assert len(kept.suspects()) == twice
    with pytest.raises(CitebedError, match="'1317945600-a' is retrieved twice for query 'q'"):
        check_repeats(run(*lines, lines[0]), of, None, kept.suspects())
    # Keys may coincide: then the lines are compared letter by letter.
    check_repeats(run(*lines), of, None, kept.suspects())
