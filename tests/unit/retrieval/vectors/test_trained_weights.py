"""Adapters and students: weights come back from small files, and damaged files are refused."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from citebed.errors import CitebedError, FormatError
from citebed.retrieval.encoders.fetch import GTE_SMALL, WEIGHTS
from citebed.retrieval.vectors.model_files import write_model
from citebed.retrieval.vectors.trained_weights import (
    ADAPTER,
    SHIPPED_ADAPTER,
    SHIPPED_STUDENT,
    STUDENT,
    read_adapter,
    read_student,
    write_adapter,
    write_student,
)

ABOUT = {"base": "a" * 64, "scale": 1.0, "figures": {"R@10": 0.5}}
Weights = dict[str, NDArray[np.float32]]


def weights(seed: int, **shapes: tuple[int, ...]) -> Weights:
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


PUBLIC = weights(1, matrix=(40, 30), other=(30, 50), bias=(40,), small=(2, 30), same=(7,))


def trained(rank: int = 3) -> Weights:
    """The public weights, changed by matrices of a rank, and a bias by whole numbers."""
    parts = weights(2, a=(40, rank), b=(rank, 30), c=(30, rank), d=(rank, 50), e=(2, 30))
    return {
        "matrix": PUBLIC["matrix"] + parts["a"] @ parts["b"],
        "other": PUBLIC["other"] + parts["c"] @ parts["d"],
        "bias": PUBLIC["bias"] + np.arange(40, dtype=np.float32),
        "small": PUBLIC["small"] + parts["e"],
        "same": PUBLIC["same"],
    }


# --- Adapters ---


def test_a_difference_of_low_rank_comes_back(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.npz", "b.npz")]
    for path in paths:
        write_adapter(path, trained(), PUBLIC, ABOUT, rank=3)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    found = read_adapter(paths[0])
    assert (found.base, found.scale, found.file.about["figures"]) == ("a" * 64, 1.0, {"R@10": 0.5})
    assert found.file.fingerprint == hashlib.sha256(paths[0].read_bytes()).hexdigest()
    assert found.names == ("bias", "matrix", "other", "small"), "equal weights are left out"
    adapted = found.apply(PUBLIC)
    for name, wanted in trained().items():
        most = np.abs(wanted - PUBLIC[name]).max()
        np.testing.assert_allclose(adapted[name], wanted, atol=0.03 * most, err_msg=name)
    np.testing.assert_array_equal(adapted["bias"], trained()["bias"])
    write_adapter(paths[1], trained(), PUBLIC, {**ABOUT, "scale": 0.5}, rank=3)
    half = read_adapter(paths[1]).apply(PUBLIC)
    np.testing.assert_allclose(half["bias"], PUBLIC["bias"] + np.arange(40) / 2, rtol=1e-6)
    with pytest.raises(FormatError, match="it changes 'bias', which the weights lack"):
        found.apply({})
    with pytest.raises(CitebedError, match="the public weights have no arrays for: new"):
        write_adapter(paths[0], {"new": PUBLIC["bias"]}, PUBLIC, ABOUT)


def test_the_factors_are_the_best_of_their_rank(tmp_path: Path) -> None:
    """Eckart and Young: the error is at least that of the singular values left out."""
    wanted = weights(5, matrix=(40, 30))
    public = {"matrix": np.zeros((40, 30), np.float32)}
    write_adapter(tmp_path / "a.npz", wanted, public, ABOUT, rank=8)
    found = read_adapter(tmp_path / "a.npz").apply(public)["matrix"]
    left_out = np.linalg.svd(wanted["matrix"], compute_uv=False)[8:]
    least = np.sqrt((left_out**2).sum())
    assert least <= np.linalg.norm(found - wanted["matrix"]) < 1.01 * least


UP = np.ones((40, 3), np.int8)
SCALES = np.ones(3, np.float32)
GOOD: dict[str, NDArray[Any]] = {
    "matrix|up": UP, "matrix|up.scales": SCALES,
    "matrix|down": UP[:30], "matrix|down.scales": SCALES,
}  # fmt: skip
BAD_ARRAYS: list[tuple[dict[str, Any], str]] = [
    ({"matrix|up": UP[:39]}, r"'matrix\|up' is int8 of \(39, 3\), not int8 of \(40, None\)"),
    ({"matrix|up": UP.astype(np.float32)}, "is float32 of"),
    ({"matrix|up.scales": SCALES[:2]}, r"of \(2,\), not float32 of \(3,\)"),
    ({"matrix|down.scales": SCALES * np.float32("nan")}, "'matrix' has NaN or infinite values"),
    ({"matrix|down": UP[:30, :2], "matrix|down.scales": SCALES[:2]},
     "the factors of 'matrix' have different widths"),
    ({"bias|up": UP, "bias|up.scales": SCALES}, "'bias.up' is int8"),
    ({"bias|difference": np.ones(41, np.float16)}, "not float16 of"),
]  # fmt: skip


def test_an_adapter_with_other_arrays_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    for change, message in BAD_ARRAYS:
        write_model(path, ADAPTER, ABOUT, {**GOOD, **change})
        with pytest.raises(FormatError, match=message):
            read_adapter(path).apply(PUBLIC)


BAD_ABOUT: list[tuple[str, dict[str, Any], str]] = [
    (ADAPTER, {"scale": 1}, "'base' is not the SHA-256"),
    (ADAPTER, {"base": "../../x", "scale": 1}, "'base' is not the SHA-256"),
    (ADAPTER, {"base": "a" * 64}, "its scale is None"),
    (ADAPTER, {"base": "a" * 64, "scale": "1"}, "its scale is '1'"),
    (ADAPTER, {"base": "a" * 64, "scale": float("nan")}, "its scale is nan"),
    (ADAPTER, {"base": "a" * 64, "scale": 1e9}, "its scale is 1000000000.0"),
    (STUDENT, {"layers": 2}, "'adapter' is not the SHA-256"),
    (STUDENT, {"adapter": "x", "layers": 2}, "'adapter' is not the SHA-256"),
    (STUDENT, {"adapter": "a" * 64}, "'layers' is None"),
    (STUDENT, {"adapter": "a" * 64, "layers": 0}, "'layers' is 0"),
]


def test_an_invalid_description_is_refused(tmp_path: Path) -> None:
    for kind, about, message in BAD_ABOUT:
        write_model(tmp_path / "a.npz", kind, about, GOOD)
        with pytest.raises(FormatError, match=message):
            (read_adapter if kind == ADAPTER else read_student)(tmp_path / "a.npz")


def test_a_truncated_file_or_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_adapter(path, trained(), PUBLIC, ABOUT, rank=3)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(FormatError, match="not a usable model file"):
        read_adapter(path)
    write_model(path, "static", ABOUT, GOOD)
    with pytest.raises(FormatError, match="its kind is 'static', not 'adapter'"):
        read_adapter(path)


# --- Students ---


def layers(count: int, seed: int = 1) -> Weights:
    shapes: dict[str, tuple[int, ...]] = {"embeddings.word_embeddings.weight": (50, 8)}
    shapes["embeddings.LayerNorm.weight"] = (8,)
    for number in range(count):
        shapes[f"encoder.layer.{number}.output.dense.weight"] = (8, 20)
        shapes[f"encoder.layer.{number}.output.dense.bias"] = (8,)
    return weights(seed, **shapes)


TEACHER, OWN = layers(3), layers(2, seed=2)


def test_layers_come_back_and_tables_are_the_teachers(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.npz", "b.npz")]
    for path in paths:
        write_student(path, OWN, "a" * 64, {"figures": {"R@10": 0.5}})
    assert paths[0].read_bytes() == paths[1].read_bytes()
    found = read_student(paths[0])
    assert (found.adapter, found.layers, found.file.about["figures"]) == (
        "a" * 64,
        2,
        {"R@10": 0.5},
    )
    assert found.file.fingerprint == hashlib.sha256(paths[0].read_bytes()).hexdigest()
    student = found.apply(TEACHER)
    assert set(student) == set(OWN), "without the teacher's last layer"
    for name, array in student.items():
        wanted = TEACHER[name] if "_embeddings" in name else OWN[name]
        np.testing.assert_allclose(array, wanted, atol=0.02, err_msg=name)
        assert array.dtype == np.float32
    with pytest.raises(CitebedError, match="have no layers"):
        write_student(tmp_path / "s.npz", layers(0), "a" * 64, {})


def test_a_teacher_of_another_shape_is_refused(tmp_path: Path) -> None:
    write_student(tmp_path / "s.npz", OWN, "a" * 64, {})
    found = read_student(tmp_path / "s.npz")
    with pytest.raises(FormatError, match="its layers do not match its teacher's"):
        found.apply(layers(1))
    more = {**TEACHER, "encoder.layer.0.more.weight": np.ones((2, 2), np.float32)}
    with pytest.raises(FormatError, match=r"do not match its teacher's: 'encoder\.layer\.0\.more"):
        found.apply(more)
    name = "encoder.layer.1.output.dense.weight"
    with pytest.raises(FormatError, match="is int8 of"):
        found.apply({**TEACHER, name: np.ones((4, 4), np.float32)})
    name = "encoder.layer.0.output.dense.bias"
    write_student(tmp_path / "s.npz", {**OWN, name: np.full(8, np.nan)}, "a" * 64, {})
    with pytest.raises(FormatError, match="NaN or infinite values"):
        read_student(tmp_path / "s.npz").apply(TEACHER)


def test_the_shipped_files_belong_together() -> None:
    adapter, student = read_adapter(), read_student()
    assert adapter.base == GTE_SMALL.files[WEIGHTS].sha256
    assert SHIPPED_ADAPTER.stat().st_size < 12 << 20
    assert {"data", "settings", "runs", "after"} <= set(adapter.file.about["card"])
    changed = {name for name in adapter.names if name.startswith("encoder.layer.")}
    assert len(changed) == 12 * 16  # six linear parts and two norms, weights and biases
    assert (student.layers, student.adapter) == (4, adapter.file.fingerprint)
    assert SHIPPED_STUDENT.stat().st_size < 7.5e6
