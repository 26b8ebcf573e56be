"""Files and folders are put in place whole; links, kills and leftovers do no harm."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from citebed.errors import CitebedError
from citebed.files import output_files
from citebed.files.output_files import (
    DRAFT_PREFIX,
    FORMER,
    add_files,
    exchange_paths,
    open_to_append,
    remove_stale_drafts,
    replace_files,
    replace_folder,
    write_file,
    write_own_file,
)
from citebed.files.system_errors import find_system_error

PLANTED = f"{DRAFT_PREFIX}{0xBAD:016x}"


def drafts(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(DRAFT_PREFIX)]


def test_several_files_are_placed_together_or_not_at_all(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("old")
    with pytest.raises(ZeroDivisionError), replace_files(one, two) as paths:
        raise ZeroDivisionError(paths[0].write_text("new"))
    assert (one.read_text(), two.exists(), drafts(tmp_path)) == ("old", False, [])
    with replace_files(one, two) as paths:
        for path in paths:
            path.write_text("new")
    assert (one.read_text(), two.read_text(), drafts(tmp_path)) == ("new", "new", [])


@pytest.mark.parametrize("there", [False, True])
def test_a_file_beside_another_never_speaks_of_a_former_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    """At every step, the file beside the first one was written with it."""
    first, about = tmp_path / "run", tmp_path / "run.json"
    if there:
        first.write_text("old")
        about.write_text("old")
    seen = []

    def look(original: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **options: Any) -> Any:
            result = original(*given, **options)
            seen.append(tuple(p.read_text() if p.exists() else "" for p in (first, about)))
            return result

        return step

    with monkeypatch.context() as patch, replace_files(first, about) as drafts:
        for draft in drafts:
            draft.write_text("new")
        for name in ("replace", "unlink"):
            patch.setattr(Path, name, look(getattr(Path, name)))
    assert ("new", "new") in seen
    assert all("" in pair or pair[0] == pair[1] for pair in seen)


def test_new_files_respect_the_umask_and_replaced_ones_keep_their_mode(tmp_path: Path) -> None:
    new, kept = tmp_path / "new", tmp_path / "kept"
    kept.write_text("secret")
    kept.chmod(0o600)
    before = os.umask(0o027)
    try:
        write_file(new, "x")
        write_file(kept, "y")
        with replace_folder(tmp_path / "folder") as made:
            (made / "z").write_text("z")
    finally:
        os.umask(before)
    assert stat.S_IMODE(new.stat().st_mode) == 0o640
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o750


def test_other_users_cannot_open_drafts_of_private_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that has opened a draft reads later writes, also after a change of mode."""
    monkeypatch.setattr(Path, "chmod", lambda *_: None)
    (tmp_path / "kept.bib").touch(0o600)
    for name, private in (("backup", True), ("kept.bib", False)):
        with replace_files(tmp_path / name, private=private) as (draft,):
            assert stat.S_IMODE(draft.stat().st_mode) == 0o600
    (tmp_path / "kept").mkdir(0o700)
    with replace_folder(tmp_path / "kept") as made:
        assert stat.S_IMODE(made.parent.stat().st_mode) == 0o700


def test_devices_and_folders_are_not_targets(tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match="it is a folder"):
        write_file(tmp_path, "x")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CitebedError, match="a device or a pipe"):
        write_file(tmp_path / "pipe", "x")
    with pytest.raises(CitebedError, match=r"cannot write .*: File name too long"):
        write_file(tmp_path / ("x" * 300), "x")


def test_a_name_that_is_not_utf_8_can_be_written(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    write_file(path, "x")
    assert path.read_text() == "x"


def test_a_link_that_leads_to_itself_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    write_file(tmp_path / "loop", "x")
    assert (tmp_path / "loop").read_text() == "x"


def test_a_link_is_followed_only_where_the_user_chose_the_name(tmp_path: Path) -> None:
    for name in ("run", "about"):
        (tmp_path / f"real-{name}").write_text("old")
    (tmp_path / "run").symlink_to("real-run")
    (tmp_path / "run.json").symlink_to("real-about")
    with replace_files(tmp_path / "run", tmp_path / "run.json") as drafts:
        for draft in drafts:
            draft.write_text("new")
    assert (tmp_path / "run").is_symlink()
    assert not (tmp_path / "run.json").is_symlink()
    names = ("real-run", "run.json", "real-about")
    assert [(tmp_path / name).read_text() for name in names] == ["new", "new", "old"]


def test_files_of_citebed_are_never_written_through_links(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in ("whole", "grown"):
        (tmp_path / name).symlink_to(victim)
    write_own_file(tmp_path / "whole", "x")
    assert (tmp_path / "whole").read_text() == "x"
    with pytest.raises(OSError, match="symbolic link"):
        open_to_append(tmp_path / "grown")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):
        open_to_append(tmp_path / "pipe")
    with open_to_append(tmp_path / "new") as file:
        file.write(b"x")
    assert victim.read_text() == "precious"
    assert drafts(tmp_path) == []


def test_all_that_is_placed_is_on_the_disk_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, fsync = set(), os.fsync

    def note(handle: int) -> None:
        synced.add(os.fstat(handle).st_ino)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", note)
    write_file(tmp_path / "one", "x")
    write_own_file(tmp_path / "two", "x")
    with add_files(tmp_path / "several") as draft:
        (draft / "three").write_text("x")
    with replace_folder(tmp_path / "whole") as made:
        (made / "deep").mkdir()
        (made / "deep" / "four").write_text("x")
    assert {path.stat().st_ino for path in tmp_path.rglob("*") if path.is_file()} <= synced
    assert (tmp_path / "whole" / "deep").stat().st_ino in synced


@pytest.mark.parametrize("one_step", [True, False])
def test_a_folder_takes_the_place_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_step: bool
) -> None:
    if not one_step:
        monkeypatch.setattr(output_files, "exchange_paths", lambda *_: False)
    target = tmp_path / "target"
    for content in ("first", "second"):
        with replace_folder(target) as made:
            (made / content).write_text(content)
        assert os.listdir(target) == [content]
    with pytest.raises(ZeroDivisionError), replace_folder(target):
        raise ZeroDivisionError
    assert os.listdir(target) == ["second"]
    assert drafts(tmp_path) == []


def test_a_folder_whose_place_cannot_be_taken_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "old").touch()
    replace = Path.replace

    def fail(self: Path, other: Path) -> Path:
        if other == target and FORMER not in self.parts:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return replace(self, other)

    monkeypatch.setattr(output_files, "exchange_paths", lambda *_: False)
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(CitebedError, match="Input/output error"), replace_folder(target):
        pass
    assert os.listdir(target) == ["old"]
    assert os.listdir(tmp_path) == ["target"]


def test_paths_change_places_in_one_step(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert exchange_paths(tmp_path / "one", tmp_path / "two")
    assert os.listdir(tmp_path / "one") == ["two"]
    assert not exchange_paths(tmp_path / "one", tmp_path / "missing")


STOPPED = """
import sys, time
from pathlib import Path
from citebed.files import output_files

def stop():
    print("here", flush=True)
    time.sleep(60)

target = Path(sys.argv[1])
if sys.argv[2] == "file":
    with output_files.replace_files(target) as (draft,):
        draft.write_text("half")
        stop()
elif sys.argv[2] == "folder":
    with output_files.replace_folder(target) as made:
        (made / "half").touch()
        stop()
else:  # between the two renamings, where there is no exchange
    output_files.exchange_paths = lambda *_: False
    replace = Path.replace
    def slow(self, other):
        replace(self, other)
        stop()
    Path.replace = slow
    with output_files.replace_folder(target) as made:
        (made / "new").touch()
"""


def start(target: Path, where: str) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(target), where], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "here\n"
    return child


def kill(child: subprocess.Popen[str]) -> None:
    child.send_signal(signal.SIGKILL)
    child.communicate()


@pytest.mark.parametrize("where", ["file", "folder"])
def test_only_drafts_of_killed_processes_are_swept(tmp_path: Path, where: str) -> None:
    child = start(tmp_path / "target", where)
    assert len(drafts(tmp_path)) == 1
    write_file(tmp_path / "other", "x")
    assert len(drafts(tmp_path)) == 1
    kill(child)
    write_file(tmp_path / "other", "y")
    assert os.listdir(tmp_path) == ["other"]


def test_a_folder_moved_aside_by_the_killed_is_put_back(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "old").touch()
    kill(start(target, "between"))
    assert not target.exists()
    remove_stale_drafts(tmp_path)
    assert os.listdir(target) == ["old"]
    assert os.listdir(tmp_path) == ["target"]


def test_a_planted_link_is_neither_followed_nor_removed_from(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "precious").write_text("x")
    out = tmp_path / "out"
    out.mkdir()
    (out / PLANTED).symlink_to(victim)
    (out / f"{DRAFT_PREFIX}{1:016x}").symlink_to(victim / "precious")
    write_file(out / "a", "x")
    with add_files(out) as made:
        (made / "b").write_text("b")
    assert (victim / "precious").read_text() == "x"
    assert (out / "b").read_text() == "b"


def test_drafts_of_another_user_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / PLANTED).mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    remove_stale_drafts(tmp_path)
    assert len(drafts(tmp_path)) == 1
    monkeypatch.undo()
    remove_stale_drafts(tmp_path)
    assert drafts(tmp_path) == []


@pytest.mark.parametrize(
    "name",
    ["mynotes/a.txt", "todo.txt", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF",
     "0123456789abcdef.txt", "0123456789abcdeg", "notes/former/a"],
)  # fmt: skip
@pytest.mark.parametrize("where", ["file", "own", "folder", "several"])
def test_what_only_begins_like_a_draft_is_the_users(tmp_path: Path, name: str, where: str) -> None:
    mine = tmp_path / f"{DRAFT_PREFIX}{name}"
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("mine")
    if where == "file":
        write_file(tmp_path / "x.run", "x")
    elif where == "own":
        write_own_file(tmp_path / "x.run", "x")
    elif where == "folder":
        with replace_folder(tmp_path / "x"):
            pass
    else:
        with add_files(tmp_path) as made:
            (made / "x").touch()
    remove_stale_drafts(tmp_path)
    assert mine.read_text() == "mine"


def test_nothing_is_put_back_from_behind_a_link(tmp_path: Path) -> None:
    home, out = tmp_path / "home", tmp_path / "out"
    (out / PLANTED).mkdir(parents=True)
    home.mkdir()
    (home / "precious").touch()
    (out / PLANTED / FORMER).symlink_to(home)
    remove_stale_drafts(out)
    assert os.listdir(home) == ["precious"]
    assert os.listdir(out) == []


def test_errors_of_the_system_are_found_behind_others(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="os error") as caught:
        pl.DataFrame({"a": [1]}).write_csv(tmp_path / "missing" / "x.csv")
    found = find_system_error(caught.value)
    assert found is not None
    assert found.errno == errno.ENOENT
    found = find_system_error(pl.exceptions.ComputeError("parquet: [Errno 28] No space left"))
    assert found is not None
    assert found.errno == errno.ENOSPC
    assert find_system_error(ValueError("x")) is None
    assert str(find_system_error(OSError("in words"))).endswith("in words")


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    old = tmp_path / "x"
    old.write_text("old")
    full = pl.exceptions.ComputeError("underlying IO error: No space left (os error 28)")
    with pytest.raises(CitebedError, match=r"x: No space left on device"), replace_files(old):
        raise full
    with pytest.raises(CitebedError, match=r"x: No space left on device"), replace_files(old):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    panic = pl.exceptions.PanicException("called `unwrap()`: No space left (os error 28)")
    with pytest.raises(CitebedError, match=r"x: No space left on device"), replace_files(old):
        raise panic
    assert old.read_text() == "old"


def test_many_write_into_one_folder_at_once(tmp_path: Path) -> None:
    """A draft that another sweeps before it is locked is made again."""

    def write(number: int) -> None:
        for _ in range(40):
            with add_files(tmp_path) as made:
                (made / str(number)).write_text(str(number))

    threads = [threading.Thread(target=write, args=[number]) for number in range(8)]
    with pytest.MonkeyPatch.context() as patch:
        failed: list[object] = []
        patch.setattr(threading, "excepthook", failed.append)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failed == []
    assert sorted(os.listdir(tmp_path)) == [str(number) for number in range(8)]
