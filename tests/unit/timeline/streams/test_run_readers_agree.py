"""TREC runs as the timeline reads them against line by line, on thousands of odd files."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from pathlib import Path

import pytest
from tests.sampling import sized
from tests.unit.runs.test_runs_readers_agree import file_of, outcome
from tests.unit.timeline.streams.test_runs import Collected, judged

from citebed.errors import FormatError
from citebed.runs import plain_text
from citebed.runs.reading import Form, form_of
from citebed.runs.trec_files import RUN, trec_lines
from citebed.timeline.streams import stream_runs as runs
from citebed.timeline.streams import tally as streams
from citebed.timeline.streams.stream_runs import open_run, without_times
from citebed.timeline.streams.tally import tally

FILES = sized(200, 600)
Row = tuple[str, str, float]


def counted(path: Path, queries: set[str]) -> list[Row]:
    """Every line, as a tally is given it."""
    of = judged(*queries)
    kept, skipped = tally(without_times(open_run(path)), of, None, Collected)
    rows = [
        (of.query_ids[query], doc_id, score)
        for batch in kept.batches
        for query, doc_id, score in zip(
            batch.query.tolist(), batch.doc_ids, batch.score.tolist(), strict=True
        )
    ]
    assert skipped.lines == len(rows)
    return sorted(rows)


@pytest.mark.parametrize("seed", range(5))
def test_quickly_and_line_by_line_agree(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, path, ways = random.Random(seed), tmp_path / "x", Counter[str]()
    for _ in range(FILES):
        text = file_of(draw, RUN)
        path.write_bytes(text if draw.random() < 0.6 else gzip.compress(text, 1))
        monkeypatch.setattr(plain_text, "_BLOCK", draw.choice([1, 50, 1 << 18]))
        monkeypatch.setattr(runs, "_BLOCK", draw.choice([1, 50, 1 << 25]))
        monkeypatch.setattr(runs, "_ROWS", draw.choice([1, 3, 100_000]))
        slow = outcome(lambda: sorted(row[1:] for row in trec_lines(path, RUN)))
        try:
            if form_of(path) is not Form.TREC_RUN:
                raise FormatError(path, None, "of another form")
        except FormatError:
            assert slow[0] == "line" or not slow[1], text
            continue
        queries = {row[0] for row in slow[1]} if slow[0] == "rows" else set()
        fast = outcome(lambda: counted(path, queries or {"q1"}))  # noqa: B023
        if fast == ("line", None):  # of a file that is no text at all
            assert b"\0" in text, text
        else:
            assert fast == slow, text
        ways[fast[0]] += 1
    assert min(ways.values()) > FILES / 5, ways


@pytest.mark.parametrize(
    "line",
    [
        b"q Q0 1317945600-b 1 5 me more",
        b"q Q0 1317945600-b 1 5 meq Q0 1317945600-c 1 4 me",
        b"q Q0 1317945600-b 1 5 me q Q0 1317945600-c 1 4 me",
        b"q Q0 1317945600-b 1 5 me\rq Q0 1317945600-c 1 4 me",
        b"q Q0 1317945600-b 1 5",
        b"q Q0 1317945600-b 1",
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_lines_that_ran_together_or_were_torn_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes, pack: type[bytes]
) -> None:
    monkeypatch.setattr(streams, "_WORKERS", 2)
    good = b"".join(b"q Q0 1317945600-%d 1 5 me\n" % number for number in range(20_000))
    path = tmp_path / "x.run"
    path.write_bytes(pack(good + line + b"\n" + good.replace(b"-", b"-x")))
    with pytest.raises(FormatError, match=r"x\.run:20001: found"):
        tally(open_run(path), judged("q"), None, Collected)
