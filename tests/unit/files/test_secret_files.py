"""Secrets are stored completely or not at all, are for their user alone, and are never empty."""

from __future__ import annotations

import errno
import logging
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from citebed.errors import CitebedError
from citebed.files import secret_files
from citebed.files.secret_files import is_same_secret, load_key, parse_secret

SOURCE = Path(secret_files.__file__).parents[1]


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    yield
    secret_files.forget()


def test_the_secret_is_kept_outside_of_collections_for_the_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    secret = secret_files.own_secret()
    path = tmp_path / "citebed" / "secret"
    assert path.read_bytes() == secret
    assert len(secret) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["secret"]
    secret_files.forget()
    assert secret_files.own_secret() == secret


@pytest.mark.parametrize("how", ["readable by others", "short", "a link", "no folder"])
def test_a_secret_that_others_may_know_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Then each process has one of its own: what it left is another's to the next."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path, given = tmp_path / "citebed" / "secret", b"x" * 32
    if how == "no folder":
        (tmp_path / "citebed").touch()
    else:
        path.parent.mkdir()
        real = path if how != "a link" else tmp_path / "real"
        real.write_bytes(given[: 8 if how == "short" else 32])
        real.chmod(0o644 if how == "readable by others" else 0o600)
        if how == "a link":
            path.symlink_to(real)
    first = secret_files.own_secret()
    assert first == secret_files.own_secret() != given
    secret_files.forget()
    assert secret_files.own_secret() != first


def test_a_key_is_created_once_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "state" / "serve.key"
    key = load_key(path)
    assert re.fullmatch(r"[A-Za-z0-9_-]{32}", key)
    assert path.read_text() == f"{key}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert load_key(path) == key
    assert os.listdir(path.parent) == ["serve.key"]


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("step", ["fsync", "link"])
def test_a_failing_disk_leaves_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int, step: str
) -> None:
    path = tmp_path / "serve.key"

    def fail(*_: object, **__: object) -> None:
        assert not path.exists()  # an incomplete key is never readable
        raise OSError(error, os.strerror(error))

    with monkeypatch.context() as disk:
        disk.setattr(os, step, fail)
        with pytest.raises(CitebedError, match=f"cannot write .*serve.key: {os.strerror(error)}"):
            load_key(path)
    assert os.listdir(tmp_path) == []
    assert len(load_key(path)) == 32


def test_a_full_disk_at_the_first_start_leaves_no_key(tmp_path: Path) -> None:
    """As with ``ulimit -f 0``: a file can be created, and nothing written to it."""
    program = (
        "import resource, sys; from pathlib import Path\n"
        "from citebed.files.secret_files import load_key\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "load_key(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-B", "-c", program, str(tmp_path / "serve.key")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"cannot write {tmp_path / 'serve.key'}: File too large" in done.stderr
    assert os.listdir(tmp_path) == []


def test_an_empty_file_of_an_older_version_is_replaced_with_a_note(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "serve.key"
    path.touch(0o600)
    with caplog.at_level(logging.WARNING, "citebed"):
        key = load_key(path)
    assert len(key) == 32
    assert path.read_text() == f"{key}\n"
    assert f"'{path}' was empty" in caplog.text


@pytest.mark.parametrize("before", ["nothing", "empty"])
def test_servers_that_start_at_once_have_one_key(tmp_path: Path, before: str) -> None:
    for turn in range(25):
        path = tmp_path / str(turn) / "serve.key"
        if before == "empty":
            path.parent.mkdir()
            path.touch(0o600)
        with ThreadPoolExecutor(6) as servers:
            keys = set(servers.map(load_key, [path] * 6))
        assert keys == {path.read_text().strip()}


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        (b"x" * 32, 0o640, "other users may read or change it (mode 0640)"),
        (b"x" * 32, 0o602, "other users may read or change it (mode 0602)"),
        (b"x" * 31, 0o600, "it has 31 bytes and should have 32"),
        (b"\n", 0o600, "it has 1 bytes and should have 32"),
        (b"x" * 34, 0o600, "it has 34 bytes and should have 32"),
        (b"\xff" * 32, 0o600, "it is not text"),
        (b"\n" * 32, 0o600, "it is not text"),
        (b"\0" * 32, 0o600, "it contains only zero bytes"),
    ],
)
def test_a_key_that_is_not_whole_or_not_private_is_refused(
    tmp_path: Path, content: bytes, mode: int, why: str
) -> None:
    path = tmp_path / "serve.key"
    path.write_bytes(content)
    path.chmod(mode)
    with pytest.raises(CitebedError, match=f"{re.escape(why)}. Delete it"):
        load_key(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("what", ["link", "pipe", "folder", "another user's"])
def test_a_key_that_another_user_may_have_planted_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    path = tmp_path / "serve.key"
    other = tmp_path / "known"
    other.write_bytes(b"k" * 32)
    other.chmod(0o600)
    if what == "link":
        path.symlink_to(other)
    elif what == "pipe":
        os.mkfifo(path, 0o600)
    elif what == "folder":
        path.mkdir()
    else:
        other.rename(path)
        monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    whys = {"link": "a link", "another user's": "it belongs to another user"}
    with pytest.raises(CitebedError, match=whys.get(what, "not a plain file")):
        load_key(path)


@pytest.mark.parametrize("given", ["", "a", "key"])
@pytest.mark.parametrize("empty", ["", b""])
def test_an_empty_secret_matches_nothing(given: str, empty: str | bytes) -> None:
    assert not is_same_secret(given, empty)


def test_a_secret_matches_itself_only() -> None:
    assert is_same_secret("kéy", "kéy")
    assert is_same_secret(b"key", "key")
    for given in ("", "ke", "keyy", "\udcff", "KEY"):
        assert not is_same_secret(given, "key")


@pytest.mark.parametrize(
    "text", ["", "00", "zz" * 32, "01" * 31, "01" * 33, "00" * 32, None, 7, b"01" * 32]
)
def test_the_secret_of_a_campaign_is_whole(text: object) -> None:
    with pytest.raises(CitebedError, match="the secret in c is damaged: it must be 64 hexadecimal"):
        parse_secret(text, "c")
    assert parse_secret("0a" * 32, "c") == b"\n" * 32


def test_secrets_are_compared_in_one_place() -> None:
    """Any other comparison could forget that an empty secret matches nothing."""
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if "compare_digest" in path.read_text("utf-8")
    }
    assert found == {"files/secret_files.py"}
