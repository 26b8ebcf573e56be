"""Fetching: the catalogue, a mirror on disk, the record, and what disk and network refuse."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from citebed.collection.fetching import download
from citebed.collection.fetching.public_collections import (
    CATALOGUE,
    FetchReport,
    PublicCollection,
    RemoteFile,
    fetch,
)
from citebed.collection.progress import Progress
from citebed.collection.rules import profiles
from citebed.errors import CitebedError, FormatError, UnknownName
from citebed.files.output_files import DRAFT_PREFIX

CONTENT = b"".join(b"%07d\n" % number for number in range(75_000))
OTHER = CONTENT[::-1]
HALF = 300_000


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "a mirror"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.bin").write_bytes(CONTENT)
    enter(monkeypatch, RemoteFile("a.bin", "http://nowhere.invalid/a.bin"))
    return folder


def enter(monkeypatch: pytest.MonkeyPatch, *files: RemoteFile) -> None:
    """Put a collection named ``tiny`` into the catalogue."""
    tiny = PublicCollection("tiny", "Tiny", "for tests", "none", "http://nowhere.invalid", files)
    monkeypatch.setitem(CATALOGUE, "tiny", tiny)


def states(report: FetchReport) -> list[str]:
    return [file.state for file in report.files]


@dataclass
class Try:
    """One call of ``fetch`` into ``out``, with what it showed and how long it would have slept."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    waits: list[float] = field(default_factory=list)
    now: tuple[str, int, int | None] = ("", 0, None)
    shown: list[tuple[str, int, int | None]] = field(default_factory=list)

    def __call__(self, stop_at: int | None = None, **options: Any) -> FetchReport:
        def step(path: str, total: int) -> None:
            self.now = (path, 0, total or None)

        def add(size: int) -> None:
            path, done, total = self.now
            self.now = (path, done + size, total)
            self.shown.append(self.now)
            if stop_at is not None and done + size >= stop_at:
                raise KeyboardInterrupt

        self.waits.clear()
        self.shown.clear()
        self.monkeypatch.setattr(download, "sleep", self.waits.append)
        return fetch("tiny", self.folder, progress=Progress(step, add), **options)

    def left(self) -> list[str]:
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))


@pytest.fixture
def attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Try:
    return Try(tmp_path / "out" / "tiny", monkeypatch)


def test_the_catalogue_is_consistent() -> None:
    for name, entry in CATALOGUE.items():
        paths = {file.path for file in entry.files}
        assert entry.name == name
        assert entry.profile in ("", *profiles())
        assert {entry.exclude} <= {"", *paths}
        assert entry.importable
        assert set(entry.importable) <= paths
        assert all(file.url.startswith(("http://", "https://")) for file in entry.files)
        assert all(file.sha256 is None or len(file.sha256) == 64 for file in entry.files)
    assert {"acm-cr", "cranfield", "cacm", "acl-anthology"} <= set(CATALOGUE)


def test_an_unknown_name_suggests_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'cranfield'"):
        fetch("cranfeld", tmp_path)


def test_a_mirror_on_disk(mirror: Path, attempt: Try) -> None:
    report = attempt(mirror=mirror.as_uri())
    assert (attempt.folder / "a.bin").read_bytes() == CONTENT
    assert [(f.path, f.state, f.bytes, f.sha256) for f in report.files] == [
        ("a.bin", "fetched", len(CONTENT), sha256(CONTENT))
    ]
    record = json.loads((attempt.folder / "fetched.json").read_text())
    assert record["files"]["a.bin"]["sha256"] == sha256(CONTENT)
    assert attempt.left() == ["a.bin", "fetched.json"]
    assert attempt.shown[0] == ("a.bin", 0, len(CONTENT))
    assert attempt.shown[-1] == ("a.bin", len(CONTENT), len(CONTENT))


def test_what_is_there_is_verified_and_kept(mirror: Path, attempt: Try) -> None:
    attempt(mirror=mirror.as_uri())
    assert [file.state for file in attempt().files] == ["kept"]
    (attempt.folder / "a.bin").write_bytes(OTHER)
    with pytest.raises(CitebedError, match=f"found sha256 {sha256(OTHER)}.*fetched.json"):
        attempt()


def test_a_file_of_which_nothing_is_known_is_not_overwritten(mirror: Path, attempt: Try) -> None:
    attempt.folder.mkdir(parents=True)
    (attempt.folder / "a.bin").write_bytes(b"mine")
    with pytest.raises(CitebedError, match="its checksum is unknown"):
        attempt(mirror=mirror.as_uri())
    assert (attempt.folder / "a.bin").read_bytes() == b"mine"


def test_new_content_after_the_file_was_removed_is_reported(mirror: Path, attempt: Try) -> None:
    attempt(mirror=mirror.as_uri())
    (attempt.folder / "a.bin").unlink()
    (mirror / "a.bin").write_bytes(OTHER)
    [file] = attempt(mirror=mirror.as_uri()).files
    assert (file.sha256, file.previous) == (sha256(OTHER), sha256(CONTENT))
    assert [file.state for file in attempt().files] == ["kept"]


def test_the_sums_of_a_mirror_are_enforced(mirror: Path, attempt: Try) -> None:
    sums = mirror / "SHA256SUMS"
    sums.write_text(f"{sha256(OTHER)}  a.bin\n")
    with pytest.raises(CitebedError, match=f"found sha256 {sha256(CONTENT)}, expected.*SHA256SUMS"):
        attempt(mirror=mirror.as_uri())
    assert attempt.left() == []
    sums.write_text(f"# made by hand\n{sha256(CONTENT).upper()} *./a.bin\n")
    assert states(attempt(mirror=mirror.as_uri())) == ["fetched"]
    sums.write_text("a.bin is fine\n")
    with pytest.raises(FormatError, match="SHA256SUMS:1"):
        attempt(mirror=mirror.as_uri())


@pytest.mark.parametrize("known", [{"sha256": sha256(OTHER)}, {"bytes": 7}])
def test_the_catalogue_is_enforced(
    mirror: Path, attempt: Try, monkeypatch: pytest.MonkeyPatch, known: dict[str, Any]
) -> None:
    enter(monkeypatch, RemoteFile("a.bin", (mirror / "a.bin").as_uri(), **known))
    with pytest.raises(CitebedError, match=r"found .* expected"):
        attempt()
    assert attempt.left() == []


def test_paths_with_folders_and_odd_names(
    mirror: Path, attempt: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(monkeypatch, RemoteFile("deep/ä +#.bin", "http://nowhere.invalid"))
    (mirror / "deep" / "ä +#.bin").write_bytes(b"")
    assert states(attempt(mirror=mirror.as_uri() + "/")) == ["fetched"]
    assert attempt.left() == ["deep", "deep/ä +#.bin", "fetched.json"]


def test_an_interrupted_copy_is_no_file_yet_and_made_again(mirror: Path, attempt: Try) -> None:
    with pytest.raises(KeyboardInterrupt):
        attempt(stop_at=HALF, mirror=mirror.as_uri())
    assert (attempt.folder / "a.bin.part").stat().st_size >= HALF
    assert not (attempt.folder / "a.bin").exists()
    attempt(mirror=mirror.as_uri())
    assert (attempt.folder / "a.bin").read_bytes() == CONTENT


def test_a_changed_file_is_copied_from_the_start(mirror: Path, attempt: Try) -> None:
    with pytest.raises(KeyboardInterrupt):
        attempt(stop_at=HALF, mirror=mirror.as_uri())
    (mirror / "a.bin").write_bytes(OTHER)
    os.utime(mirror / "a.bin", ns=(1, 1))
    attempt(mirror=mirror.as_uri())
    assert attempt.shown[0][1] == 0
    assert (attempt.folder / "a.bin").read_bytes() == OTHER


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("/srv/mirror", "expected a file://"),
        ("ftp://127.0.0.1/mirror", "expected a file://"),
        ("file://elsewhere/mirror", "three slashes"),
        ("http://[bad", "not a usable address"),
        ("file:///nonexistent", "no such file: /nonexistent/a.bin"),
    ],
)
def test_unusable_mirrors(mirror: Path, attempt: Try, address: str, message: str) -> None:
    assert mirror.exists()
    with pytest.raises(CitebedError, match=message):
        attempt(mirror=address)
    assert not (attempt.folder / "a.bin.part").exists()


def test_a_broken_record_is_an_error(mirror: Path, attempt: Try) -> None:
    attempt.folder.mkdir(parents=True)
    (attempt.folder / "fetched.json").write_text('{"files": [1]}')
    with pytest.raises(FormatError, match="delete it to start over"):
        attempt(mirror=mirror.as_uri())


def test_a_folder_that_is_a_file(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CitebedError, match=r"cannot write .*: Not a directory"):
        Try(mirror / "a.bin" / "out", monkeypatch)(mirror=mirror.as_uri())


@pytest.mark.parametrize(
    ("code", "message"),
    [(errno.ENOSPC, "cannot write .*: No space left"), (errno.EROFS, "Read-only file system")],
)
def test_what_the_disk_refuses(
    mirror: Path, attempt: Try, monkeypatch: pytest.MonkeyPatch, code: int, message: str
) -> None:
    real = os.fsync

    def refuse(handle: int) -> None:
        if os.fstat(handle).st_size == len(CONTENT):
            raise OSError(code, os.strerror(code))
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        with pytest.raises(CitebedError, match=message):
            attempt(mirror=mirror.as_uri())
    assert (attempt.folder / "a.bin.part").exists()
    assert states(attempt(mirror=mirror.as_uri())) == ["fetched"]
    assert attempt.left() == ["a.bin", "fetched.json"]


@pytest.mark.parametrize("name", ["a.bin.part", "a.bin.part.json", "fetched.json", "a.bin"])
def test_nothing_is_written_through_links(
    mirror: Path, attempt: Try, tmp_path: Path, name: str
) -> None:
    attempt.folder.mkdir(parents=True)
    (attempt.folder / name).symlink_to(tmp_path / "victim")
    if name == "a.bin.part":
        with pytest.raises(CitebedError, match=r"cannot write .*a\.bin\.part: .*symbolic links"):
            attempt(mirror=mirror.as_uri())
    else:
        assert states(attempt(mirror=mirror.as_uri())) == ["fetched"]
        assert attempt.left() == ["a.bin", "fetched.json"]
    assert not (tmp_path / "victim").exists()


def test_drafts_of_the_killed_are_swept(mirror: Path, attempt: Try) -> None:
    (attempt.folder / f"{DRAFT_PREFIX}{0x123:016x}").mkdir(parents=True)
    assert states(attempt(mirror=mirror.as_uri())) == ["fetched"]
    assert attempt.left() == ["a.bin", "fetched.json"]


def test_two_at_once_are_kept_apart(mirror: Path, attempt: Try) -> None:
    attempt.folder.mkdir(parents=True)
    with (attempt.folder / "a.bin.part").open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(CitebedError, match="another fetch"):
            attempt(mirror=mirror.as_uri())
    assert states(attempt(mirror=mirror.as_uri())) == ["fetched"]


def no_such_host(*_: object, **__: object) -> None:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def nobody_listens(*_: object, **__: object) -> None:
    raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")


def too_slow(*_: object, **__: object) -> None:
    raise TimeoutError("timed out")


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (no_such_host, "nowhere.invalid.*: the host was not found; is there a network"),
        (nobody_listens, "Connection refused"),
        (too_slow, "no response in time"),
    ],
)
def test_no_connection(
    mirror: Path,
    attempt: Try,
    monkeypatch: pytest.MonkeyPatch,
    failure: Callable[..., None],
    message: str,
) -> None:
    assert mirror.exists()
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(socket, "create_connection", failure)
    with pytest.raises(CitebedError, match=message):
        attempt()
    assert len(attempt.waits) == 4
    assert attempt.left() == []
