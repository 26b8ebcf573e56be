"""The vector cache: what is asked twice is encoded once, and nothing damaged is ever returned."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import signal
import sqlite3
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
from tests.hot_journals import forge_journal
from tests.sampling import sized

from citebed.errors import CitebedError
from citebed.retrieval.encoders import vector_cache
from citebed.retrieval.encoders.models import Encoder
from citebed.retrieval.rerank import VectorCache
from citebed.retrieval.vectors.vectors import OnProgress

WIDTH = 5


def vector(text: str, mark: str = "m") -> NDArray[np.float32]:
    """Numbers that only this text and this model have."""
    digest = hashlib.sha256(f"{mark} {text!r}".encode()).digest()
    return np.frombuffer(digest[: 4 * WIDTH], "<i4").astype(np.float32)


class FakeEncoder(Encoder):
    """Counts what it was asked for."""

    name = "some/fake model"
    dimensions = WIDTH

    def __init__(self, fingerprint: str = "0123456789abcdef" * 4) -> None:
        self.fingerprint = fingerprint
        self.asked: list[str] = []

    def encode(
        self, texts: Sequence[str], *, batch: int = 32, progress: OnProgress | None = None
    ) -> NDArray[np.float32]:
        assert batch > 0
        self.asked += texts
        for done in range(1, len(texts) + 1):
            if progress is not None:
                progress(done, len(texts))
        return np.array([vector(text, self.fingerprint) for text in texts], np.float32)


def expected(encoder: FakeEncoder, texts: Sequence[str]) -> NDArray[np.float32]:
    vectors = [vector(text, encoder.fingerprint) for text in texts]
    return np.array(vectors, np.float32).reshape(len(texts), WIDTH)


def database(cache: Path) -> Path:
    """The one file of the cache."""
    (path,) = cache.iterdir()
    return path


def rows(cache: Path, query: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(database(cache))) as connection, connection:
        return connection.execute(query).fetchall()


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


def test_the_database_is_plain(tmp_path: Path) -> None:
    VectorCache(tmp_path).vectors(FakeEncoder(), ["a", "b"])
    assert database(tmp_path).name == "0123456789abcdef" * 2 + ".sqlite"
    found = [np.frombuffer(data, "<f4") for (data,) in rows(tmp_path, "SELECT vector FROM vectors")]
    np.testing.assert_array_equal(found, expected(FakeEncoder(), ["a", "b"]))
    assert rows(tmp_path, "SELECT * FROM model") == [
        ("some/fake model", FakeEncoder().fingerprint, WIDTH)
    ]


def test_few_of_many_and_many_of_many(tmp_path: Path) -> None:
    encoder, texts = FakeEncoder(), [str(number) for number in range(3000)]
    cache = VectorCache(tmp_path)
    cache.vectors(encoder, texts)
    for asked in (texts, texts[::-1], texts[2990:], texts[::100] * 2, ["new", *texts[:3]]):
        np.testing.assert_array_equal(cache.vectors(encoder, asked), expected(encoder, asked))
    assert encoder.asked == [*texts, "new"]


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
    monkeypatch.setattr(vector_cache, "_CHUNK", 2)
    seen: list[Any] = []
    cache = VectorCache(tmp_path)
    cache.vectors(FakeEncoder(), list("abcde"), progress=lambda *counts: seen.append(counts))
    cache.vectors(FakeEncoder(), list("abcde"), progress=lambda *counts: seen.append(counts))
    assert seen == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]


# --- damage ---------------------------------------------------------------------------------

TEXTS = ["a", "b", "c", "d"]


def right_or_refused(folder: Path) -> None:
    """The cache gives vectors, and those are right; or it names what to delete."""
    encoder = FakeEncoder()
    try:
        found = VectorCache(folder).vectors(encoder, TEXTS)
    except CitebedError:
        with pytest.raises(CitebedError, match=r"is damaged: (?s:.*) Delete that file"):
            VectorCache(folder).vectors(encoder, TEXTS)
        database(folder).unlink()
        found = VectorCache(folder).vectors(encoder, TEXTS)
    np.testing.assert_array_equal(found, expected(encoder, TEXTS))


@given(st.integers(0, 3 * 16384))
def test_a_torn_file_gives_no_wrong_vector(
    tmp_path_factory: pytest.TempPathFactory, size: int
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    VectorCache(folder).vectors(FakeEncoder(), TEXTS)
    os.truncate(database(folder), min(size, database(folder).stat().st_size))
    right_or_refused(folder)


@given(st.binary(min_size=1, max_size=60))
def test_rubbish_at_the_end_does_no_harm(
    tmp_path_factory: pytest.TempPathFactory, rubbish: bytes
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    VectorCache(folder).vectors(FakeEncoder(), TEXTS)
    with database(folder).open("ab") as file:
        file.write(rubbish)
    right_or_refused(folder)


def used_bytes(data: bytes) -> list[int]:
    return [at for at, byte in enumerate(data) if byte]


@given(data=st.data(), change=st.integers(1, 255))
def test_a_changed_byte_is_never_returned(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, change: int
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    VectorCache(folder).vectors(FakeEncoder(), TEXTS)
    content = bytearray(database(folder).read_bytes())
    content[data.draw(st.sampled_from(used_bytes(bytes(content))))] ^= change
    database(folder).write_bytes(content)
    right_or_refused(folder)


def test_a_changed_number_is_an_error(tmp_path: Path) -> None:
    VectorCache(tmp_path).vectors(FakeEncoder(), TEXTS)
    path = database(tmp_path)
    data = bytearray(path.read_bytes())
    data[data.index(expected(FakeEncoder(), ["c"]).tobytes()) + 3] ^= 1
    path.write_bytes(data)
    encoder = FakeEncoder()
    with pytest.raises(CitebedError, match="damaged: a vector does not match its checksum"):
        VectorCache(tmp_path).vectors(encoder, TEXTS)
    VectorCache(tmp_path).vectors(encoder, ["a", "b", "d"])
    assert encoder.asked == []


def test_a_vector_of_another_text_is_an_error(tmp_path: Path) -> None:
    VectorCache(tmp_path).vectors(FakeEncoder(), TEXTS)
    other = "(SELECT vector, checksum FROM vectors WHERE rowid = 2)"
    rows(tmp_path, f"UPDATE vectors SET (vector, checksum) = {other} WHERE rowid = 1")
    with pytest.raises(CitebedError, match="a vector does not match its checksum"):
        VectorCache(tmp_path).vectors(FakeEncoder(), TEXTS)


def test_a_file_that_shrinks_under_our_hands(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    cache.vectors(FakeEncoder(), TEXTS)
    os.truncate(database(tmp_path), 3)
    with pytest.raises(CitebedError, match=r"is damaged: .* Delete that file"):
        cache.vectors(FakeEncoder(), TEXTS)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM model",
        "UPDATE model SET dimensions = 99",
        "UPDATE model SET fingerprint = 'another'",
        "ALTER TABLE model ADD COLUMN more TEXT",
        "CREATE TRIGGER t AFTER INSERT ON vectors BEGIN DELETE FROM vectors; END",
        "UPDATE vectors SET vector = zeroblob(1000000)",
    ],
)
def test_a_database_of_another_version_or_a_stranger(tmp_path: Path, change: str) -> None:
    VectorCache(tmp_path).vectors(FakeEncoder(), TEXTS)
    rows(tmp_path, change)
    with pytest.raises(CitebedError, match=r"is damaged: .* Delete that file"):
        VectorCache(tmp_path).vectors(FakeEncoder(), TEXTS)


class BrokenEncoder(FakeEncoder):
    """An encoder with given output."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result

    def encode(self, texts: Sequence[str], **_: Any) -> NDArray[np.float32]:  # noqa: ARG002
        return np.asarray(self.result, np.float32)


@pytest.mark.parametrize("result", [[[np.nan] * WIDTH], [[1.0] * (WIDTH + 1)], [[1.0] * WIDTH] * 2])
def test_an_invalid_vector_is_not_kept(tmp_path: Path, result: Any) -> None:
    with pytest.raises(CitebedError, match="stored none"):
        VectorCache(tmp_path).vectors(BrokenEncoder(result), ["a"])
    encoder = FakeEncoder()
    VectorCache(tmp_path).vectors(encoder, ["a"])
    assert encoder.asked == ["a"]


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, texts = FakeEncoder(), [str(number) for number in range(2000)]
    VectorCache(tmp_path).vectors(encoder, ["a"])
    with monkeypatch.context() as patch:
        settings = (*vector_cache._SETTINGS, "max_page_count = 5")
        patch.setattr(vector_cache, "_SETTINGS", settings)
        with pytest.raises(CitebedError, match=r"cannot write .*sqlite: database or disk is full"):
            VectorCache(tmp_path).vectors(encoder, texts)
    found = VectorCache(tmp_path).vectors(encoder, [*texts, "a"])
    np.testing.assert_array_equal(found, expected(encoder, [*texts, "a"]))


@pytest.mark.parametrize("end", ["", "-journal", "-wal", "-shm"])
def test_nothing_is_written_through_links(tmp_path: Path, end: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    encoder, cache = FakeEncoder(), tmp_path / "cache"
    VectorCache(cache).vectors(encoder, ["a"])
    path = Path(f"{database(cache)}{end}")
    path.unlink(missing_ok=True)
    path.symlink_to(victim)
    with pytest.raises(CitebedError, match="is not a plain file"):
        VectorCache(cache).vectors(encoder, ["b"])
    assert victim.read_text() == "precious"


def test_a_journal_that_names_a_file_of_the_users_deletes_nothing(tmp_path: Path) -> None:
    victim = tmp_path / "thesis.tex"
    victim.write_text("precious")
    encoder, cache = FakeEncoder(), tmp_path / "cache"
    VectorCache(cache).vectors(encoder, ["a"])
    forge_journal(database(cache), victim)
    with pytest.raises(CitebedError, match="names another file"):
        VectorCache(cache).vectors(encoder, ["a", "b"])
    assert victim.read_text() == "precious"


def test_files_respect_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        VectorCache(tmp_path).vectors(FakeEncoder(), ["a"])
    finally:
        os.umask(before)
    assert stat.S_IMODE(database(tmp_path).stat().st_mode) == 0o640


# --- several at once ------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [True, False])
def test_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
    monkeypatch.setattr(vector_cache, "_CHUNK", 3)
    texts = [str(number) for number in range(40)]
    one = VectorCache(tmp_path)

    def work(seed: int) -> bool:
        mine = list(np.random.default_rng(seed).permutation(texts))
        found = (one if shared else VectorCache(tmp_path)).vectors(FakeEncoder(), mine)
        return bool((found == expected(FakeEncoder(), mine)).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))
    assert rows(tmp_path, "SELECT count(*) FROM vectors") == [(40,)]


WRITER = """
import hashlib, sys
import numpy as np
from citebed.retrieval.encoders import vector_cache
from citebed.retrieval.encoders.vector_cache import VectorCache

class Encoder:
    name, dimensions, fingerprint = "some/fake model", 5, "0123456789abcdef" * 4
    def encode(self, texts, *, batch=32, progress=None):
        digests = [hashlib.sha256(f"{self.fingerprint} {t!r}".encode()).digest() for t in texts]
        return np.array([np.frombuffer(d[:20], "<i4") for d in digests], np.float32)

vector_cache._CHUNK = 2
cache, seed = VectorCache(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
while True:
    for number in np.random.default_rng(seed).permutation(4000):
        cache.vectors(Encoder(), [str(number), str(number + 1), str(number + 2)])
    seed += 1
"""


def test_writers_that_are_killed(tmp_path: Path) -> None:
    """Two processes write at once and are killed at some moment, several times."""
    rng = np.random.default_rng(3)
    for round_ in range(sized(2, 8)):
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
    assert rows(tmp_path, "PRAGMA integrity_check") == [("ok",)]


def test_a_folder_that_is_read_only_lends_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cache, encoder = VectorCache(tmp_path / "v"), FakeEncoder()
    cache.vectors(encoder, ["a", "b"])
    before = database(tmp_path / "v").read_bytes()
    monkeypatch.setattr(os, "access", lambda *_: False)
    vector_cache._warn_read_only.cache_clear()
    for _ in range(2):
        again = FakeEncoder()
        found = cache.vectors(again, ["b", "c", "a"])
        np.testing.assert_array_equal(found, expected(encoder, ["b", "c", "a"]))
        assert again.asked == ["c"], "what is there is used, what is new is not kept"
    assert database(tmp_path / "v").read_bytes() == before
    assert [record.getMessage().count("read-only") for record in caplog.records] == [1], "said once"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_collection_where_no_folder_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "mkdir", refuse)
    encoder = FakeEncoder()
    found = VectorCache(tmp_path / "v").vectors(encoder, ["a", "b"])
    np.testing.assert_array_equal(found, expected(encoder, ["a", "b"]))
    assert not (tmp_path / "v").exists()


def test_a_full_disk_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(CitebedError, match="cannot write"):
        VectorCache(tmp_path / "v").vectors(FakeEncoder(), ["a"])
