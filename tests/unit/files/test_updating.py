"""A file of the user's own, changed by several at once: what anybody saved is kept."""

from __future__ import annotations

import os
import stat
import threading
import time
from pathlib import Path

import pytest

from citebed.errors import CitebedError
from citebed.files import output_files
from citebed.files.output_files import update_file, write_file


def add(line: bytes):  # type: ignore[no-untyped-def]
    def change(data: bytes) -> bytes:
        time.sleep(0.002)  # time for the others
        return data + line

    return change


@pytest.mark.parametrize("exists", [True, False])
def test_all_that_is_added_at_once_is_there(tmp_path: Path, exists: bool) -> None:
    path = tmp_path / "a.bib"
    if exists:
        path.write_bytes(b"first\n")
    lines = [b"%d\n" % number for number in range(24)]
    threads = [threading.Thread(target=update_file, args=(path, add(line))) for line in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = [*lines, *([b"first\n"] if exists else [])]
    assert sorted(path.read_bytes().splitlines(keepends=True)) == sorted(wanted)
    assert os.listdir(tmp_path) == ["a.bib"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_what_an_editor_saves_in_between_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    path = tmp_path / "a.bib"
    path.write_bytes(b"mine\n")
    real, saves = output_files.exchange_paths, [b"mine\nedited\n", b"mine\nedited twice\n"]

    def exchange(one: Path, other: Path) -> bool:
        if saves:
            saved = tmp_path / "a.bib.swp"
            saved.write_bytes(saves.pop(0))
            saved.replace(path)
        return can_exchange and real(one, other)

    monkeypatch.setattr(output_files, "exchange_paths", exchange)
    update_file(path, add(b"ours\n"))
    assert path.read_bytes() == b"mine\nedited twice\nours\n"
    assert os.listdir(tmp_path) == ["a.bib"]


def test_files_created_in_between_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.bib"

    def change(data: bytes) -> bytes:
        if not data:
            path.write_bytes(b"theirs\n")
        return data + b"ours\n"

    update_file(path, change)
    assert path.read_bytes() == b"theirs\nours\n"


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "a.bib", tmp_path / "a.bib"
    real.write_bytes(b"first\n")
    real.chmod(0o640)
    link.symlink_to(real)
    update_file(link, add(b"second\n"))
    assert link.is_symlink()
    assert real.read_bytes() == b"first\nsecond\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_file_that_may_not_be_written_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.bib"
    path.write_bytes(b"first\n")
    path.chmod(0o444)
    with pytest.raises(CitebedError, match="read-only and was left alone"):
        update_file(path, add(b"second\n"))
    assert path.read_bytes() == b"first\n"


def test_a_folder_that_is_not_there_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match=r"there is no folder '.*typo'\. Create it"):
        update_file(tmp_path / "typo" / "a.bib", add(b"x"))
    assert not (tmp_path / "typo").exists()


def test_an_error_leaves_all_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.bib"
    path.write_bytes(b"first\n")

    def change(_: bytes) -> bytes:
        raise CitebedError("no")

    with pytest.raises(CitebedError, match="no"):
        update_file(path, change)
    update_file(path, lambda _: None)
    assert path.read_bytes() == b"first\n"
    assert os.listdir(tmp_path) == ["a.bib"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
def test_a_read_only_folder_is_reported() -> None:
    with pytest.raises(CitebedError, match=r"cannot write /proc/x\.bib"):
        update_file(Path("/proc/x.bib"), add(b"x"))
    with pytest.raises(CitebedError, match=r"cannot write /proc/x\.run"):
        write_file(Path("/proc/x.run"), "x")
