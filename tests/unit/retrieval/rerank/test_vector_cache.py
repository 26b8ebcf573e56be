"""The vector cache: what is asked twice is encoded once, and nothing damaged is ever returned."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.files.writing import DRAFT
from citebed.retrieval.rerank import VectorCache, vector_cache

WIDTH = 5


def vector(text: str, mark: str = "m") -> NDArray[np.float32]:
    """Numbers that only this text and this model have."""
    digest = hashlib.sha256(f"{mark} {text!r}".encode()).digest()
    return np.frombuffer(digest[: 4 * WIDTH], "<i4").astype(np.float32)


class FakeEncoder:
    """Counts what it was asked for."""

    name = "some/fake model"
    dimensions = WIDTH

    def __init__(self, fingerprint: str = "0123456789abcdef" * 4) -> None:
        self.fingerprint = fingerprint
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str], *, batch: int = 32) -> NDArray[np.float32]:
        assert batch > 0
        self.asked += texts
        return np.array([vector(text, self.fingerprint) for text in texts], np.float32)


def expected(encoder: FakeEncoder, texts: Sequence[str]) -> NDArray[np.float32]:
    rows = [vector(text, encoder.fingerprint) for text in texts]
    return np.array(rows, np.float32).reshape(len(texts), WIDTH)


def files(cache: Path) -> tuple[Path, Path]:
    (shelf,) = cache.iterdir()
    return shelf / "index.bin", shelf / "vectors.f32"


@given(st.lists(st.lists(st.text(st.characters(codec=None), max_size=4), max_size=8), max_size=5))
def test_every_text_is_encoded_once(
    tmp_path_factory: pytest.TempPathFactory, calls: list[list[str]]
) -> None:
    encoder, folder = FakeEncoder(), tmp_path_factory.mktemp("cache")
    cache = VectorCache(folder)
    for number, texts in enumerate(calls):
        if number % 2 == 0:
            cache = VectorCache(folder)
        np.testing.assert_array_equal(cache.vectors(encoder, texts), expected(encoder, texts))
    asked = [text for texts in calls for text in texts]
    assert encoder.asked == list(dict.fromkeys(asked))


def test_the_files_are_plain(tmp_path: Path) -> None:
    VectorCache(tmp_path).vectors(FakeEncoder(), ["a", "b"])
    (shelf,) = tmp_path.iterdir()
    assert shelf.name == "0123456789abcdef" * 2
    rows = np.fromfile(shelf / "vectors.f32", "<f4").reshape(2, WIDTH)
    np.testing.assert_array_equal(rows, expected(FakeEncoder(), ["a", "b"]))
    assert (shelf / "index.bin").stat().st_size == 2 * 24
    assert '"some/fake model"' in (shelf / "model.json").read_text()


def test_models_do_not_meet(tmp_path: Path) -> None:
    cache, one, two = VectorCache(tmp_path), FakeEncoder("1" * 64), FakeEncoder("2" * 64)
    first, second = cache.vectors(one, ["a"]), cache.vectors(two, ["a"])
    np.testing.assert_array_equal(first, expected(one, ["a"]))
    np.testing.assert_array_equal(second, expected(two, ["a"]))


def test_two_open_caches_see_each_others_vectors(tmp_path: Path) -> None:
    encoder = FakeEncoder()
    one, two = VectorCache(tmp_path), VectorCache(tmp_path)
    one.vectors(encoder, ["a"])
    two.vectors(encoder, ["b"])
    one.vectors(encoder, ["b", "a"])
    assert encoder.asked == ["a", "b"]


def test_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_cache, "_AT_ONCE", 2)
    seen: list[Any] = []
    cache = VectorCache(tmp_path)
    cache.vectors(FakeEncoder(), list("abcde"), progress=lambda *counts: seen.append(counts))
    cache.vectors(FakeEncoder(), list("abcde"), progress=lambda *counts: seen.append(counts))
    assert seen == [(2, 5), (4, 5), (5, 5)]


# --- damage ---------------------------------------------------------------------------------

TEXTS = ["a", "b", "c", "d"]


@given(st.sampled_from([0, 1]), st.integers(0, 4 * 24 - 1))
def test_a_torn_tail_is_dropped(
    tmp_path_factory: pytest.TempPathFactory, which: int, size: int
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    VectorCache(folder).vectors(FakeEncoder(), TEXTS)
    path = files(folder)[which]
    os.truncate(path, min(size, path.stat().st_size))
    encoder = FakeEncoder()
    np.testing.assert_array_equal(
        VectorCache(folder).vectors(encoder, TEXTS), expected(encoder, TEXTS)
    )
    kept = size // (24 if which == 0 else 4 * WIDTH)
    assert encoder.asked == TEXTS[kept:]
    again = FakeEncoder()
    VectorCache(folder).vectors(again, TEXTS)
    assert again.asked == [], "mended for good"


@given(st.sampled_from([0, 1]), st.binary(min_size=1, max_size=60))
def test_rubbish_at_the_end_is_dropped(
    tmp_path_factory: pytest.TempPathFactory, which: int, rubbish: bytes
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    VectorCache(folder).vectors(FakeEncoder(), TEXTS)
    with files(folder)[which].open("ab") as file:
        file.write(rubbish)
    encoder = FakeEncoder()
    texts = [*TEXTS, "e", "f"]
    np.testing.assert_array_equal(
        VectorCache(folder).vectors(encoder, texts), expected(encoder, texts)
    )
    assert encoder.asked == ["e", "f"]
    np.testing.assert_array_equal(
        VectorCache(folder).vectors(encoder, texts), expected(encoder, texts)
    )


@given(st.sampled_from([0, 1]), st.integers(0, 4 * 4 * WIDTH - 1), st.integers(1, 255))
def test_a_changed_byte_is_never_returned(
    tmp_path_factory: pytest.TempPathFactory, which: int, at: int, change: int
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    VectorCache(folder).vectors(FakeEncoder(), TEXTS)
    path = files(folder)[which]
    data = bytearray(path.read_bytes())
    data[at] ^= change
    path.write_bytes(data)
    encoder = FakeEncoder()
    if which == 1:
        with pytest.raises(CitebedError, match=r"is damaged: .* Delete that folder"):
            VectorCache(folder).vectors(encoder, TEXTS)
    else:
        found = VectorCache(folder).vectors(encoder, TEXTS)
        np.testing.assert_array_equal(found, expected(encoder, TEXTS))
        assert encoder.asked == TEXTS[at // 24 :], "what follows the damage is computed anew"


def test_a_changed_number_is_an_error(tmp_path: Path) -> None:
    VectorCache(tmp_path).vectors(FakeEncoder(), TEXTS)
    path = files(tmp_path)[1]
    data = bytearray(path.read_bytes())
    data[4 * WIDTH * 2 + 3] ^= 1
    path.write_bytes(data)
    encoder = FakeEncoder()
    with pytest.raises(CitebedError, match=r"row 2 of vectors\.f32 is not what was written"):
        VectorCache(tmp_path).vectors(encoder, TEXTS)
    VectorCache(tmp_path).vectors(encoder, ["a", "b", "d"])
    assert encoder.asked == []


def test_a_file_that_shrinks_under_our_hands(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    cache.vectors(FakeEncoder(), TEXTS)
    os.truncate(files(tmp_path)[1], 3)
    with pytest.raises(CitebedError, match="has become shorter"):
        cache.vectors(FakeEncoder(), TEXTS)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": 99}'])
def test_a_folder_of_another_version(tmp_path: Path, content: str) -> None:
    VectorCache(tmp_path).vectors(FakeEncoder(), TEXTS)
    (next(tmp_path.iterdir()) / "model.json").write_text(content)
    with pytest.raises(CitebedError, match=r"model\.json is not of version 1"):
        VectorCache(tmp_path).vectors(FakeEncoder(), TEXTS)


class BrokenEncoder(FakeEncoder):
    """Gives what it is told to give."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result

    def encode(self, texts: Sequence[str], *, batch: int = 32) -> NDArray[np.float32]:  # noqa: ARG002
        return np.asarray(self.result, np.float32)


@pytest.mark.parametrize("result", [[[np.nan] * WIDTH], [[1.0] * (WIDTH + 1)], [[1.0] * WIDTH] * 2])
def test_what_is_no_vector_is_not_kept(tmp_path: Path, result: Any) -> None:
    with pytest.raises(CitebedError, match="nothing was kept"):
        VectorCache(tmp_path).vectors(BrokenEncoder(result), ["a"])
    encoder = FakeEncoder()
    VectorCache(tmp_path).vectors(encoder, ["a"])
    assert encoder.asked == ["a"]


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = FakeEncoder()
    VectorCache(tmp_path).vectors(encoder, ["a"])

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(CitebedError, match=r"cannot write .*: No space left"):
            VectorCache(tmp_path).vectors(encoder, ["b"])
    texts = ["a", "b"]
    np.testing.assert_array_equal(
        VectorCache(tmp_path).vectors(encoder, texts), expected(encoder, texts)
    )


@pytest.mark.parametrize("name", ["model.json", "index.bin", "vectors.f32", "lock"])
def test_nothing_is_written_through_links(tmp_path: Path, name: str) -> None:
    """A collection, and its vectors with it, may come from a stranger."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    encoder, cache = FakeEncoder(), tmp_path / "cache"
    VectorCache(cache).vectors(encoder, ["a"])
    (shelf,) = cache.iterdir()
    (shelf / name).unlink()
    (shelf / name).symlink_to(victim)
    with pytest.raises(CitebedError, match=r"is not a plain file|symbolic link"):
        VectorCache(cache).vectors(encoder, ["b"])
    assert victim.read_text() == "precious"


def test_drafts_of_the_killed_are_swept_and_files_respect_the_umask(tmp_path: Path) -> None:
    encoder = FakeEncoder()
    before = os.umask(0o027)
    try:
        VectorCache(tmp_path).vectors(encoder, ["a"])
    finally:
        os.umask(before)
    (shelf,) = tmp_path.iterdir()
    (shelf / f"{DRAFT}0123").mkdir()
    VectorCache(tmp_path).vectors(encoder, ["a"])
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in shelf.iterdir()}
    assert modes == dict.fromkeys(("model.json", "index.bin", "vectors.f32", "lock"), 0o640)


# --- several at once ------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [True, False])
def test_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
    monkeypatch.setattr(vector_cache, "_AT_ONCE", 3)
    texts = [str(number) for number in range(40)]
    one = VectorCache(tmp_path)

    def work(seed: int) -> bool:
        mine = list(np.random.default_rng(seed).permutation(texts))
        found = (one if shared else VectorCache(tmp_path)).vectors(FakeEncoder(), mine)
        return bool((found == expected(FakeEncoder(), mine)).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))
    assert files(tmp_path)[0].stat().st_size == 40 * 24, "every text stands there once"


WRITER = """
import hashlib, sys
import numpy as np
from citebed.retrieval.rerank import VectorCache, vector_cache

class Encoder:
    name, dimensions, fingerprint = "some/fake model", 5, "0123456789abcdef" * 4
    def encode(self, texts, *, batch=32):
        digests = [hashlib.sha256(f"{self.fingerprint} {t!r}".encode()).digest() for t in texts]
        return np.array([np.frombuffer(d[:20], "<i4") for d in digests], np.float32)

vector_cache._AT_ONCE = 2
cache, seed = VectorCache(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
while True:
    for number in np.random.default_rng(seed).permutation(4000):
        cache.vectors(Encoder(), [str(number), str(number + 1), str(number + 2)])
    seed += 1
"""


def test_writers_that_are_killed(tmp_path: Path) -> None:
    """Two processes write at once and are killed at some moment; four times over."""
    rng = np.random.default_rng(3)
    for round_ in range(4):
        command = [sys.executable, "-c", WRITER, str(tmp_path)]
        writers = [
            subprocess.Popen([*command, str(seed)], stdout=subprocess.PIPE)
            for seed in (round_, round_ + 100)
        ]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
        time.sleep(float(rng.uniform(0.05, 0.3)))
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.communicate()
        encoder, texts = FakeEncoder(), [str(number) for number in range(4002)]
        found = VectorCache(tmp_path).vectors(encoder, texts[round_::4])
        np.testing.assert_array_equal(found, expected(encoder, texts[round_::4]))
    index, rows = files(tmp_path)
    assert index.stat().st_size // 24 == rows.stat().st_size // (4 * WIDTH)
