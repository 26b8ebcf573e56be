"""Model files: written alike, read without trust."""

from __future__ import annotations

import contextlib
import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.errors import CitebedError, FormatError
from citebed.files.input_files import hash_file
from citebed.retrieval.vectors import model_files
from citebed.retrieval.vectors.model_files import read_model, write_model

ARRAYS: dict[str, np.ndarray] = {
    "vectors": np.arange(12, dtype=np.int8).reshape(3, 4),
    "scales": np.ones(3, np.float16),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_model(tmp_path / "m.npz", "static", {"name": "Möwe"}, ARRAYS)
    return tmp_path / "m.npz"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One to be broken and mended again and again."""
    path = tmp_path_factory.mktemp("model") / "m.npz"
    write_model(path, "static", {"name": "Möwe"}, ARRAYS)
    return path


def test_what_is_written_is_read(path: Path) -> None:
    found = read_model(path, "static")
    assert found.about == {"name": "Möwe", "kind": "static", "format": 1}
    assert found.fingerprint == hash_file(path)
    assert set(found.arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found.arrays[name], array)
        assert found.array(name, str(array.dtype), *array.shape) is found.arrays[name]


def test_numpy_reads_it_too(path: Path) -> None:
    with np.load(path, allow_pickle=False) as found:
        np.testing.assert_array_equal(found["vectors"], ARRAYS["vectors"])


def test_the_same_model_has_the_same_bytes(path: Path) -> None:
    write_model(path.with_name("again.npz"), "static", {"name": "Möwe"}, ARRAYS)
    assert path.read_bytes() == path.with_name("again.npz").read_bytes()


def test_a_changed_byte_is_an_error_or_changes_the_fingerprint(whole: Path) -> None:
    good, known = whole.read_bytes(), read_model(whole, "static").fingerprint
    for place in range(len(good)):
        bad = bytearray(good)
        bad[place] ^= 4
        whole.write_bytes(bad)
        with contextlib.suppress(FormatError):
            assert read_model(whole, "static").fingerprint != known
    whole.write_bytes(good)


def test_every_truncated_file_is_an_error(whole: Path) -> None:
    good = whole.read_bytes()
    for size in range(len(good)):
        whole.write_bytes(good[:size])
        with pytest.raises(FormatError, match="not a usable model"):
            read_model(whole, "static")
    whole.write_bytes(good)


@given(st.binary(max_size=100))
def test_random_bytes_are_not_a_model(whole: Path, data: bytes) -> None:
    path = whole.with_name("random.npz")
    path.write_bytes(data)
    with pytest.raises(FormatError):
        read_model(path, "static")


class Trap:
    """An object that must never be unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return pytest.fail, ("it was unpickled",)


def zipped(path: Path, members: dict[str, bytes], packing: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", packing) as file:
        for name, data in members.items():
            file.writestr(name, data)


def saved(array: np.ndarray, **options: bool) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


ABOUT = {"about.npy": saved(np.frombuffer(b'{"kind": "static", "format": 1}', np.uint8))}
HOSTILE = {
    "pickled array": {"x.npy": saved(np.array([Trap()], object), allow_pickle=True)},
    "pickle": {"x.npy": pickle.dumps(Trap())},
    "of columns": {"x.npy": saved(np.asfortranarray(np.ones((2, 3))))},
    "too few bytes": {"x.npy": saved(np.ones(9))[:-1]},
    "more bytes": {"x.npy": saved(np.ones(9)) + b"12345678"},
    "huge header": {"x.npy": saved(np.ones(9)).replace(b"(9,)", b"(9999999999999999,)")},
    "not an array": {"x.npy": b"text"},
    "other version": {"x.npy": b"\x93NUMPY\x03\x00" + saved(np.ones(1))[8:]},
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE)
def test_arrays_that_are_invalid_are_refused(tmp_path: Path, members: dict[str, bytes]) -> None:
    zipped(tmp_path / "m.npz", ABOUT | members)
    with pytest.raises(FormatError, match="not a usable model"):
        read_model(tmp_path / "m.npz", "static")


@pytest.mark.parametrize(
    ("about", "told"),
    [
        (b'{"kind": "ranker", "format": 1}', "kind is 'ranker', not 'static'"),
        (b'{"kind": "static", "format": 2}', "format is 2; this citebed reads up to 1"),
        *(
            (data, "not a usable model")
            for data in (b"", b"{", b"[]", b"{}", b"\xff", b"[" * 10**5)
        ),
    ],
)
def test_a_model_of_another_kind_or_time(tmp_path: Path, about: bytes, told: str) -> None:
    zipped(tmp_path / "m.npz", {"about.npy": saved(np.frombuffer(about, np.uint8))})
    with pytest.raises(FormatError, match=told):
        read_model(tmp_path / "m.npz", "static")


def test_a_file_without_a_description_or_packed_otherwise(tmp_path: Path) -> None:
    for members, packing in (({}, zipfile.ZIP_STORED), (ABOUT, zipfile.ZIP_LZMA)):
        zipped(tmp_path / "m.npz", members, packing)
        with pytest.raises(FormatError, match="not a usable model"):
            read_model(tmp_path / "m.npz", "static")


def test_sizes_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "MOST_BYTES", 10_000)
    zipped(tmp_path / "m.npz", ABOUT | {"x.npy": saved(np.zeros(2000))}, zipfile.ZIP_DEFLATED)
    with pytest.raises(FormatError, match=r"unpacks to more than .* CITEBED_MAX_BYTES"):
        read_model(tmp_path / "m.npz", "static")
    (tmp_path / "m.npz").write_bytes(bytes(10_001))
    with pytest.raises(FormatError, match="larger than"):
        read_model(tmp_path / "m.npz", "static")
    with pytest.raises(CitebedError, match="a model of"):
        write_model(tmp_path / "n.npz", "static", {}, {"x": np.ones(10_000, np.int8)})
    assert not (tmp_path / "n.npz").exists()


def test_there_is_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match="no such file"):
        read_model(tmp_path / "m.npz", "static")
