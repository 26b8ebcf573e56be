"""Files are opened with a limit, whatever they are."""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import lzma
import os
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from citebed.errors import CitebedError, FormatError
from citebed.files import input_files, limits
from citebed.files.input_files import (
    open_input,
    read_lines,
    read_small,
    read_text,
    reusable_path,
)

TEXT = b"one\ntwo\n" * 1000
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lambda data: lzma.compress(data, preset=0),
}


def contents(path: Path) -> bytes:
    with open_input(path) as stream:
        return stream.read()


@pytest.mark.parametrize("how", PACKERS)
def test_packed_and_plain_files_give_the_same_bytes(tmp_path: Path, how: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(PACKERS[how](TEXT))
    assert contents(path) == TEXT
    with open_input(path) as stream:
        assert list(stream)[1] == b"two\n"


@pytest.mark.parametrize("how", ["gzip", "bzip2", "xz"])
def test_damage_is_reported_with_the_file(tmp_path: Path, how: str) -> None:
    path = tmp_path / "x"
    packed = PACKERS[how](os.urandom(5000))
    path.write_bytes(packed[:-20])
    with pytest.raises(FormatError, match=f"x: the {how} file is cut short or damaged"):
        contents(path)
    path.write_bytes(packed[:2000] + bytes(200) + packed[2200:])
    with pytest.raises(FormatError, match=f"x: the {how} file is cut short or damaged"):
        contents(path)


@pytest.mark.parametrize("how", ["gzip", "bzip2", "xz"])
def test_a_bomb_is_refused_and_the_limit_can_be_raised(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    path.write_bytes(PACKERS[how](bytes(120 << 20)))
    with pytest.raises(FormatError, match=r"decompression bomb.*CITEBED_MAX_BYTES"):
        contents(path)
    monkeypatch.setenv(limits.VARIABLE, "1G")
    assert len(contents(path)) == 120 << 20


def test_an_endless_pipe_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_files, "PIPE_BYTES", 1 << 20)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        try:
            with pipe.open("wb") as handle:
                while True:
                    handle.write(b"q 0 d 1\n" * 1000)
        except BrokenPipeError:
            return

    for read in (contents, lambda path: reusable_path(path).__enter__()):
        thread = threading.Thread(target=write)
        thread.start()
        with pytest.raises(FormatError, match="gives more than 1 MiB"):
            read(pipe)
        thread.join()


def test_a_pipe_may_be_endless_where_that_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_files, "PIPE_BYTES", 1 << 10)
    for data in (bytes(1 << 22), gzip.compress(os.urandom(1 << 22))):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        thread = threading.Thread(target=pipe.write_bytes, args=(data,))
        thread.start()
        with open_input(pipe, endless=True) as stream:
            assert len(stream.read()) == 1 << 22
        thread.join()
        pipe.unlink()


def test_a_bomb_in_an_endless_pipe_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    bomb = gzip.compress(bytes(120 << 20))

    def write() -> None:
        with contextlib.suppress(BrokenPipeError):  # it is not read to its end
            pipe.write_bytes(bomb)

    thread = threading.Thread(target=write)
    thread.start()
    with (
        open_input(pipe, endless=True) as stream,
        pytest.raises(FormatError, match="decompression bomb"),
    ):
        stream.read()
    thread.join()


def test_a_full_temporary_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        with contextlib.suppress(BrokenPipeError):  # the reader gives up before the end
            pipe.write_bytes(b"q 0 d 1\n")

    thread = threading.Thread(target=write)
    thread.start()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("shutil.copyfileobj", fail)
    with (
        pytest.raises(CitebedError, match=rf"cannot write {tmp_path}/citebed-\w+/pipe: No space"),
        reusable_path(pipe),
    ):
        raise AssertionError
    thread.join()


def test_devices_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match="/dev/zero is a device"):
        contents(Path("/dev/zero"))
    with pytest.raises(CitebedError, match="is a folder"):
        contents(tmp_path)
    with pytest.raises(CitebedError, match="no such file"):
        contents(tmp_path / "missing")
    with pytest.raises(CitebedError, match="cannot read"):
        contents(tmp_path / "nul\0l")


def test_a_file_that_is_read_whole_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(TEXT)
    assert read_small(path) == TEXT
    with pytest.raises(FormatError, match=r"larger than 1,000 bytes.*CITEBED_MAX_BYTES"):
        read_small(path, 1000)


def test_a_small_file_takes_little_memory(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(TEXT)
    tracemalloc.start()
    try:
        assert read_small(tmp_path / "small") == TEXT
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20


def test_text_that_is_not_utf_8_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\xe9\n")
    with pytest.raises(FormatError, match="x:2: byte 0xe9 is not UTF-8") as caught:
        read_text(path)
    assert caught.value.line == 2
    path.write_bytes(b"a\nb\0\n")
    with pytest.raises(FormatError, match="x:2: byte 0x00 is not UTF-8"):
        read_text(path)
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\x0bc\n")
    assert list(read_lines(path)) == [(1, "a"), (2, "b\x0bc"), (3, "")]


def test_a_name_that_is_not_utf_8_is_at_hand_under_another(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.run"))
    path.write_bytes(TEXT)
    with reusable_path(path) as same:
        same.as_posix().encode()
        assert same.read_bytes() == TEXT
    with pytest.raises(FormatError, match=r"caf\\xe9.run:3: wrong"), reusable_path(path) as same:
        raise FormatError(same, 3, "wrong")


@pytest.mark.parametrize(
    ("given", "limit"), [("5", 10), ("64", 64), ("2K", 2048), ("1GiB", 1 << 30)]
)
def test_limits_are_raised_never_lowered(
    monkeypatch: pytest.MonkeyPatch, given: str, limit: int
) -> None:
    monkeypatch.setenv(limits.VARIABLE, given)
    assert limits.effective_limit(10) == limit


def test_a_limit_that_is_not_a_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.VARIABLE, "lots")
    with pytest.raises(CitebedError, match="expected a number of bytes"):
        limits.effective_limit(10)
