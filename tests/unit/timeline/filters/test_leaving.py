"""Files and messages after a run: drafts, the list of skipped lines, useless options."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.sampling import sized
from tests.unit.timeline.filters.bursts import TOPICS, filtered, stream, write
from tests.unit.timeline.filters.test_restarting import MODELS, OPTIONS, Killed, breaking, task_of

from citebed.errors import CitebedError, FormatError
from citebed.timeline.filters import checkpoint, parse_filter
from citebed.timeline.filters.online_learning import Labels
from citebed.timeline.filters.runner import FilterOptions, FilterTask, run_filter
from citebed.timeline.filters.topics import (
    DocumentFeatures,
    FilterContext,
    Name,
    Topic,
    no_vectors,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def task(tmp_path: Path) -> FilterTask:
    return task_of(write(tmp_path / "s", stream()), "names")


# --- what stops a run -----------------------------------------------------------------------


def test_an_error_before_the_first_checkpoint_leaves_nothing(
    tmp_path: Path, task: FilterTask
) -> None:
    late = FilterOptions(block=500, skipped=tmp_path / "list")
    for broken, options, error in (
        (task._replace(source=breaking(task.source, 15)), late, Killed),
        (task, replace(late, team="a b"), CitebedError),
    ):
        with pytest.raises(error) as caught:
            run_filter(broken, tmp_path / "out", options)
        assert not hasattr(caught.value, "__notes__")
        assert names(tmp_path) == ["s"]


def test_a_model_that_cannot_begin_makes_no_folder(tmp_path: Path, task: FilterTask) -> None:
    with pytest.raises(CitebedError, match="has no letter"):
        run_filter(
            task._replace(topics=[Topic("x", (Name("!"),))]), tmp_path / "new" / "o", OPTIONS
        )
    assert names(tmp_path) == ["s"]


@pytest.mark.parametrize("cause", [Killed, KeyboardInterrupt])
def test_what_can_be_gone_on_with_is_kept_and_told(
    tmp_path: Path, task: FilterTask, cause: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, saves = checkpoint.save, list[int]()

    def save(*arguments: Any) -> None:
        if len(saves) == 3:
            raise cause
        real(*arguments)
        saves.append(arguments[2].documents)

    monkeypatch.setattr(checkpoint, "save", save)
    out = tmp_path / "out"
    with pytest.raises(cause) as caught:
        run_filter(task, out, OPTIONS)
    assert caught.value.__notes__ == [
        f"to go on after document {saves[-1]}, run the same command again ({out}.partial and "
        f"{out}.checkpoint are kept for that); add --restart to start over"
    ]
    assert names(tmp_path) == ["out.checkpoint", "out.partial", "s"]
    monkeypatch.undo()
    assert run_filter(task, out, OPTIONS).resumed == saves[-1] > 0
    assert names(tmp_path) == ["out", "s"]


def test_a_line_out_of_order_late_in_a_stream_can_be_repaired(tmp_path: Path) -> None:
    docs = stream()
    late = [*docs[:40], docs[3], *docs[40:]]
    task = task_of(write(tmp_path / "s", late), "names")
    with pytest.raises(FormatError, match=r"s:41: .*earlier than") as caught:
        run_filter(task, tmp_path / "out", OPTIONS)
    assert "to go on after document" in caught.value.__notes__[0]
    write(tmp_path / "s", docs)
    assert run_filter(task, tmp_path / "out", OPTIONS).resumed > 20
    run_filter(task, tmp_path / "whole", OPTIONS)
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_full_disk_leaves_the_checkpoint_before(
    tmp_path: Path, task: FilterTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = np.savez, list[int]()

    def savez(handle: Any, **arrays: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            handle.write(b"half of i")
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle, **arrays)

    monkeypatch.setattr(np, "savez", savez)
    with pytest.raises(CitebedError, match="No space left"):
        run_filter(task, tmp_path / "out", OPTIONS)
    assert names(tmp_path) == ["out.checkpoint", "out.partial", "s"]
    run_filter(task, tmp_path / "out", OPTIONS)
    assert names(tmp_path) == ["out", "s"]


# --- the list of skipped lines --------------------------------------------------------------


def with_bad_lines(path: Path) -> Path:
    good = write(path, stream()).read_text().splitlines()
    path.write_text("".join(f"{line}\nno\n" for line in good))
    return path


WHY = "not a JSON object in UTF-8 (Expecting value at character 1)"


@pytest.mark.parametrize("model", MODELS)
def test_the_list_has_every_skipped_line_also_after_a_stop(tmp_path: Path, model: str) -> None:
    task = task_of(with_bad_lines(tmp_path / "s"), model)
    source = task.source
    expected = "".join(f"{tmp_path / 's'}:{2 * n}: {WHY}\n" for n in range(1, 66))
    for after in range(4, len(list(source.pieces())), sized(40, 9)):
        out, listed = tmp_path / f"{after}", tmp_path / f"{after}.list"
        options = replace(OPTIONS, skipped=listed)
        with pytest.raises(Killed):
            run_filter(task._replace(source=breaking(source, after)), out, options)
        assert not listed.exists()
        report = run_filter(task, out, options)
        assert listed.read_text() == expected
        assert (report.skipped, report.resumed > 0) == (65, True)
    assert not [name for name in names(tmp_path) if "partial" in name]


def test_what_was_written_after_the_checkpoint_is_written_once(tmp_path: Path) -> None:
    task = task_of(with_bad_lines(tmp_path / "s"), "names")
    whole = replace(OPTIONS, skipped=tmp_path / "all")
    run_filter(task, tmp_path / "whole", whole)
    options = replace(OPTIONS, skipped=tmp_path / "list")
    with pytest.raises(Killed):
        run_filter(task._replace(source=breaking(task.source, 20)), tmp_path / "out", options)
    for draft in ("out.partial", "list.partial"):
        with (tmp_path / draft).open("a") as handle:
            handle.write("after the checkpoint\n")
    assert run_filter(task, tmp_path / "out", options).resumed > 0
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()
    assert (tmp_path / "list").read_bytes() == (tmp_path / "all").read_bytes()


def test_a_list_without_a_line_is_an_empty_file(tmp_path: Path, task: FilterTask) -> None:
    run_filter(task, tmp_path / "out", replace(OPTIONS, skipped=tmp_path / "list"))
    assert (tmp_path / "list").read_bytes() == b""


def test_a_list_that_is_there_is_not_replaced(tmp_path: Path, task: FilterTask) -> None:
    (tmp_path / "list").write_text("mine")
    options = replace(OPTIONS, skipped=tmp_path / "list")
    with pytest.raises(CitebedError, match="list' already exists; add --overwrite"):
        run_filter(task, tmp_path / "out", options)
    assert (tmp_path / "list").read_text() == "mine"
    assert names(tmp_path) == ["list", "s"]
    run_filter(task, tmp_path / "out", replace(options, overwrite=True))
    assert (tmp_path / "list").read_text() == ""


def test_a_list_that_was_cut(tmp_path: Path) -> None:
    task = task_of(with_bad_lines(tmp_path / "s"), "names")
    options = replace(OPTIONS, skipped=tmp_path / "list")
    with pytest.raises(Killed):
        run_filter(task._replace(source=breaking(task.source, 20)), tmp_path / "out", options)
    (tmp_path / "list.partial").write_text("")
    with pytest.raises(CitebedError, match=r"list.partial is shorter than the checkpoint .*--rest"):
        run_filter(task, tmp_path / "out", options)


# --- what was given in vain -----------------------------------------------------------------

IN_VAIN = {"1300000130-n30": {"elm": True, "fig": True}, "gone": {"oak": False}}


def test_topics_without_a_line_are_reported(tmp_path: Path) -> None:
    docs = [{"doc_id": "d", "time": 5, "text": "Bo Elm"}]
    assert filtered(tmp_path, docs, "names")[1].unmatched == ("oak", "sea")


@pytest.mark.parametrize(
    ("model", "unmet"),
    [
        ("names", ()),
        ("relevance_model(buckets=4096)", ("nowhere",)),
        ("incremental(buckets=4096)", ("gone", "nowhere")),
    ],
)
def test_documents_that_did_not_come_are_reported_also_after_a_stop(
    tmp_path: Path, model: str, unmet: tuple[str, ...]
) -> None:
    topics = [TOPICS[0]._replace(training=("nowhere", "1300000003-d")), *TOPICS[1:]]
    task = task_of(write(tmp_path / "s", stream()), model)
    task = task._replace(topics=topics, tools=FilterContext(str.split, IN_VAIN))
    for after in (1, 8, 20):
        with pytest.raises(Killed):
            run_filter(
                task._replace(source=breaking(task.source, after)), tmp_path / "out", OPTIONS
            )
    report = run_filter(task, tmp_path / "out", OPTIONS)
    assert report.unmet == unmet
    assert report.unknown == ("fig",)
    assert report.unmatched == ()


def test_a_document_is_judged_under_both_of_its_ids() -> None:
    topics = [Topic("q", (), "", ("d",)), Topic("r", ())]
    labels = Labels(topics, {"1300000000-d": {"r": False}, "e": {"r": True}})
    times = np.array([1300000000, 1300000000])
    reads = DocumentFeatures(
        np.arange(2), pl.Series(["f", "d"]), times, no_vectors(2), no_vectors(2)
    )
    assert labels.of(reads) == {1: ((0, True), (1, False))}
    assert labels.unmet() == ["e"]


def test_a_training_document_counts_also_where_it_is_judged_for_another(tmp_path: Path) -> None:
    docs = [{"doc_id": d, "time": 1300000000 + n, "text": "Ann Oak"} for n, d in enumerate("de")]
    topics = [Topic("oak", (Name("Ann Oak"),), "", ("d",)), Topic("elm", (Name("Bo Elm"),))]
    source = task_of(write(tmp_path / "s", docs), "names").source
    scores = []
    for labels in ({}, {"1300000000-d": {"elm": False}}):
        task = FilterTask(
            source, topics, parse_filter("incremental"), FilterContext(str.split, labels)
        )
        run_filter(task, tmp_path / "out", FilterOptions(overwrite=True))
        scores.append((tmp_path / "out").read_text().splitlines()[-1].split()[2:5])
    assert scores[0] == scores[1]
