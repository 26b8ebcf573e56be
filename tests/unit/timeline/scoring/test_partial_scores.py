"""Long runs are scored part by part: the very figures, notes and errors of the whole."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from tests.reference.timeline import DAY
from tests.unit.timeline.made_streams import START, StreamFiles, same, stream_files

import citebed
from citebed.errors import CitebedError
from citebed.evaluation.measures import MEASURES
from citebed.evaluation.measures.names import measure
from citebed.runs import file_ranges, texts
from citebed.runs.reader import read_run
from citebed.timeline.scoring import partial_scores
from citebed.timeline.timelines import Timeline


def long_timeline(*files: Path, **how: Any) -> Timeline:
    """The timeline with every text taken for a long one."""
    with patch.object(texts, "LARGE", 0):
        return citebed.timeline(*files, **how)


@given(stream_files)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_parts_give_what_the_whole_gives(tmp_path: Path, case: StreamFiles) -> None:
    files = case.write(tmp_path)
    try:
        whole = citebed.timeline(*files, **case.how)
    except CitebedError as error:
        with case.in_pieces(), pytest.raises(CitebedError, match=re.escape(str(error))):
            long_timeline(*files, **case.how)
        return
    with case.in_pieces():
        assert same(whole, long_timeline(*files, **case.how))


def stream(folder: Path, lines: int = 400) -> tuple[Path, Path]:
    """Judgements and a run of three topics over ten days, in the order of time."""
    rows = [(f"t{n % 3}", f"{START + n * 10 * DAY // lines}-{n:032x}", n) for n in range(lines)]
    (folder / "a.qrels").write_text("".join(f"{t} 0 {d} {n // 4 % 2}\n" for t, d, n in rows[::4]))
    (folder / "a.run").write_text("".join(f"{t} Q0 {d} 1 {n * 7 % 5} me\n" for t, d, n in rows))
    return folder / "a.qrels", folder / "a.run"


@pytest.fixture
def whole_reads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The runs that were read whole after all."""
    read: list[Any] = []

    def reading(path: Any) -> Any:
        read.append(path)
        return read_run(path)

    monkeypatch.setattr(partial_scores, "read_run", reading)
    monkeypatch.setattr(file_ranges, "MIN_SIZE", 2000)
    monkeypatch.setattr(file_ranges, "_LOOK", 500)
    monkeypatch.setattr(file_ranges, "PIECES", 1 << 20)
    return read


def test_a_run_in_the_order_of_time_is_never_whole_in_memory(
    tmp_path: Path, whole_reads: list[Any]
) -> None:
    files = stream(tmp_path)
    assert same(citebed.timeline(*files, slices="1d"), long_timeline(*files, slices="1d"))
    assert not whole_reads


def test_what_is_before_and_after_the_slices_is_read_in_parts_too(
    tmp_path: Path, whole_reads: list[Any]
) -> None:
    files = stream(tmp_path)
    how: Any = {"slices": "1d", "start": "2011-10-10", "end": "2011-10-13"}
    whole, parts = citebed.timeline(*files, **how), long_timeline(*files, **how)
    assert same(whole, parts)
    assert parts.runs[0].ledger.outside > 200
    assert not whole_reads


def test_a_part_takes_no_id_that_the_whole_refuses(tmp_path: Path) -> None:
    """Nine digits before September 2001, ten from then on, and one that is neither."""
    ids = [f"{999_980_000 + n * 100}-{n:08x}" for n in range(300)]
    ids[-1] = "0100000990077-weird"
    (tmp_path / "a.qrels").write_text("".join(f"t 0 {d} 1\n" for d in ids[:-1:7]))
    (tmp_path / "a.run").write_text("".join(f"t Q0 {d} 1 {n} me\n" for n, d in enumerate(ids)))
    with patch.multiple(file_ranges, MIN_SIZE=500, PIECES=1 << 20):
        for score in (citebed.timeline, long_timeline):
            with pytest.raises(CitebedError, match="no epoch second in the id '0100000990077-we"):
                score(tmp_path / "a.qrels", tmp_path / "a.run", slices="1h")


def test_a_space_that_readers_ignore_makes_no_other_form(tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text(f"t 0 {START}-a\u00a0x 1\n")
    (tmp_path / "a.run").write_text(f"t Q0 {START}-a\u00a0x 1 0.5 me\n")
    files = (tmp_path / "a.qrels", tmp_path / "a.run")
    whole, parts = citebed.timeline(*files, slices="all"), long_timeline(*files, slices="all")
    assert same(whole, parts)
    assert parts.runs[0].team == ""


def test_a_part_knows_the_highest_grade_of_all(tmp_path: Path, whole_reads: list[Any]) -> None:
    """ERR needs it, and most days have none of that grade."""
    qrels, run = stream(tmp_path)
    lines = qrels.read_text().splitlines(keepends=True)
    qrels.write_text("".join([lines[1].replace(" 1\n", " 3\n"), *lines[2:]]))
    how: Any = {"slices": "1d", "measures": ("ERR@5", "AP"), "graded": True}
    whole, parts = citebed.timeline(qrels, run, **how), long_timeline(qrels, run, **how)
    assert same(whole, parts)
    assert same(
        whole, citebed.timeline(qrels, run, **how | {"measures": ("ERR(max_rel=3)@5", "AP")})
    )
    assert not whole_reads


EVERY = [name for name, kind in MEASURES.items() if kind.SUMMARY == "mean"]


@pytest.mark.parametrize("graded", [True, False])
def test_every_measure_looks_at_its_own_query_alone(
    tmp_path: Path, whole_reads: list[Any], graded: bool
) -> None:
    qrels, run = stream(tmp_path)
    grades = iter("0312011002" * 100)
    lines = (line.split() for line in qrels.read_text().splitlines())
    qrels.write_text("".join(f"{t} 0 {d} {next(grades)}\n" for t, _, d, _ in lines))
    chosen = [
        next(filter(possible, (name, f"{name}@5", f"{name}@0.3", f"{name}@0.5"))) for name in EVERY
    ]
    how: Any = {"slices": "1d", "measures": chosen, "graded": graded, "threshold": 1.0}
    assert same(citebed.timeline(qrels, run, **how), long_timeline(qrels, run, **how))
    assert not whole_reads


def possible(name: str) -> bool:
    try:
        measure(name)
    except CitebedError:
        return False
    return True


def test_a_run_in_no_order_is_read_whole(tmp_path: Path, whole_reads: list[Any]) -> None:
    qrels, run = stream(tmp_path)
    lines = np.array(run.read_text().splitlines(keepends=True))
    run.write_text("".join(lines[np.random.default_rng(0).permutation(len(lines))]))
    assert same(citebed.timeline(qrels, run, slices="1d"), long_timeline(qrels, run, slices="1d"))
    assert whole_reads


def test_a_group_that_comes_back_is_seen(tmp_path: Path, whole_reads: list[Any]) -> None:
    qrels, run = stream(tmp_path)
    lines = run.read_text().splitlines(keepends=True)
    run.write_text("".join(lines[:40] + lines[41:] + [lines[40]]))  # of the first day, at the end
    assert same(citebed.timeline(qrels, run, slices="1d"), long_timeline(qrels, run, slices="1d"))
    assert whole_reads


def test_times_may_come_from_elsewhere(tmp_path: Path, whole_reads: list[Any]) -> None:
    qrels, run = stream(tmp_path)
    by_topic = sorted(run.read_text().splitlines(keepends=True))
    run.write_text("".join(by_topic))
    ids = pl.Series("doc_id", [line.split()[2] for line in by_topic[10:]])
    times = pl.DataFrame({"doc_id": ids, "time": START + ids.hash() % (10 * DAY)})
    how: Any = {"slices": "1d", "times": times.cast({"time": pl.Int64})}
    whole, parts = citebed.timeline(qrels, run, **how), long_timeline(qrels, run, **how)
    assert same(whole, parts)
    assert parts.runs[0].ledger.skipped.untimed == 10
    assert not whole_reads


@pytest.mark.parametrize(
    ("line", "told", "is_whole"),
    [
        ("t1 Q0 {} 1 high me", "a.run:331: the score 'high'", False),
        ("t1 Q0 {} 1 0.5", "a.run:331", False),
        ("t1 Q0 d1 1 0.5 me", "no epoch second in the id 'd1'", True),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(
    tmp_path: Path, whole_reads: list[Any], line: str, told: str, is_whole: bool
) -> None:
    qrels, run = stream(tmp_path)
    lines = run.read_text().splitlines(keepends=True)
    lines[330] = line.format(lines[330].split()[2]) + "\n"
    run.write_text("".join(lines))
    with pytest.raises(CitebedError, match=told):
        long_timeline(qrels, run, slices="1d")
    assert bool(whole_reads) is is_whole


def test_a_document_that_occurs_twice_is_reported(tmp_path: Path, whole_reads: list[Any]) -> None:
    qrels, run = stream(tmp_path)
    lines = run.read_text().splitlines(keepends=True)
    run.write_text("".join([*lines[:300], *lines[299:]]))
    with pytest.raises(CitebedError, match="retrieved twice for query"):
        long_timeline(qrels, run, slices="1d")
    assert whole_reads
