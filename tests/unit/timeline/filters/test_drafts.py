"""Files with the name of a draft: citebed writes, reads and resumes only its own."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.timeline.filters.bursts import stream, write
from tests.unit.timeline.filters.test_restarting import OPTIONS, Killed, breaking, task_of

from citebed.errors import CitebedError
from citebed.timeline.filters import output_files as drafts
from citebed.timeline.filters.runner import FilterTask, run_filter

MINE = "not to be touched\n"
DRAFTS = ["out.partial", "out.checkpoint", "list.partial"]
Plant = Callable[[Path, Path], None]
PLANTED: dict[str, Plant] = {
    "a link": lambda path, victim: path.symlink_to(victim),
    "a hard-linked file": lambda path, victim: path.hardlink_to(victim),
    "not a plain file": lambda path, _: os.mkfifo(path),
}


@pytest.fixture
def task(tmp_path: Path) -> FilterTask:
    return task_of(write(tmp_path / "s", stream()), "names")


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "elsewhere" / "victim"
    path.write_text(MINE)
    return path


@pytest.mark.parametrize(
    ("name", "what"),
    [*((DRAFTS[0], what) for what in PLANTED), *((name, "a link") for name in DRAFTS[1:])],
)
def test_nothing_that_was_planted_is_followed(
    tmp_path: Path, task: FilterTask, victim: Path, name: str, what: str
) -> None:
    PLANTED[what](tmp_path / name, victim)
    options = replace(OPTIONS, skipped=tmp_path / "list")
    with pytest.raises(CitebedError, match=f"{name} is {what}; citebed uses only its own"):
        run_filter(task, tmp_path / "out", options)
    assert victim.read_text() == MINE
    assert not (tmp_path / "out").exists()
    (tmp_path / name).unlink()
    assert run_filter(task, tmp_path / "out", options).documents == 65


@pytest.mark.parametrize("name", DRAFTS[:2])
def test_a_link_that_leads_nowhere_makes_no_file(
    tmp_path: Path, task: FilterTask, name: str
) -> None:
    (tmp_path / name).symlink_to(tmp_path / "nowhere")
    with pytest.raises(CitebedError, match="is a link"):
        run_filter(task, tmp_path / "out", OPTIONS)
    assert not (tmp_path / "nowhere").exists()


def test_a_draft_of_another_user_is_not_gone_on_from(
    tmp_path: Path, task: FilterTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Killed):
        run_filter(task._replace(source=breaking(task.source, 15)), tmp_path / "out", OPTIONS)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(CitebedError, match=r"out\.partial is a file of another user"):
        run_filter(task, tmp_path / "out", OPTIONS)


def test_a_link_put_there_while_a_run_goes_is_replaced(
    tmp_path: Path, task: FilterTask, victim: Path
) -> None:
    """The checkpoint is rewritten all the time; an attacker could use a moment without it."""
    pieces = task.source.pieces
    link = tmp_path / "link"
    link.symlink_to(victim)

    def planting() -> Iterator[bytes]:
        for number, piece in enumerate(pieces()):
            if number == 15:
                link.replace(tmp_path / "out.checkpoint")  # at once: it is being written meanwhile
            yield piece

    run_filter(
        task._replace(source=task.source._replace(pieces=planting)), tmp_path / "out", OPTIONS
    )
    assert victim.read_text() == MINE
    assert not link.is_symlink()


def test_starting_over_takes_a_link_away_and_not_what_it_leads_to(
    tmp_path: Path, task: FilterTask, victim: Path
) -> None:
    (tmp_path / "out.checkpoint").symlink_to(victim)
    run_filter(task, tmp_path / "out", replace(OPTIONS, restart=True))
    assert victim.read_text() == MINE


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_permissions_are_the_umask_s_or_those_of_what_is_replaced(
    tmp_path: Path, task: FilterTask, name: str
) -> None:
    made = [tmp_path / name, tmp_path / "list"]
    options = replace(OPTIONS, skipped=made[1], overwrite=True)
    before = os.umask(0o027)
    try:
        for mode in (0o640, 0o600):
            run_filter(task, made[0], options)
            assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [mode, mode]
            for path in made:
                path.chmod(0o600)
    finally:
        os.umask(before)


def test_an_output_that_is_a_link_leads_to_where_it_is_written(
    tmp_path: Path, task: FilterTask, victim: Path
) -> None:
    run_filter(task, tmp_path / "whole", OPTIONS)
    (tmp_path / "out").symlink_to(victim)
    with pytest.raises(CitebedError, match="victim' already exists"):
        run_filter(task, tmp_path / "out", OPTIONS)
    report = run_filter(task, tmp_path / "out", replace(OPTIONS, overwrite=True))
    assert report.output == tmp_path / "out"
    assert (tmp_path / "out").is_symlink()
    assert victim.read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_draft_that_was_just_put_in_place_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may end between the opening of its draft and the locking."""
    path, out = tmp_path / "out.partial", tmp_path / "out"
    path.write_text(MINE)
    real = fcntl.flock

    def ending(file: Any, how: int) -> None:
        if not out.exists():
            path.rename(out)
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", ending)
    with drafts.locked_draft(path) as draft:
        draft.write(b"new")
    assert (out.read_text(), path.read_text()) == (MINE, "new")
