"""Adapters: the difference to public weights in a small file, and what is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from citebed.errors import CitebedError, FormatError
from citebed.retrieval.encoders.fetching.public_weights import GTE_SMALL, WEIGHTS
from citebed.retrieval.vectors.adapter import KIND, SHIPPED, read_adapter, write_adapter
from citebed.retrieval.vectors.model_files import write_model

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


def test_a_difference_of_low_rank_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "adapter.npz"
    write_adapter(path, trained(), PUBLIC, ABOUT, rank=3)
    found = read_adapter(path)
    assert (found.base, found.scale, found.about["figures"]) == ("a" * 64, 1.0, {"R@10": 0.5})
    assert found.fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.names == ("bias", "matrix", "other", "small")  # what is the same takes no room
    joined = found.joined(PUBLIC)
    for name, wanted in trained().items():
        most = np.abs(wanted - PUBLIC[name]).max()
        np.testing.assert_allclose(joined[name], wanted, atol=0.03 * most, err_msg=name)
    assert joined["same"] is not PUBLIC["matrix"]
    np.testing.assert_array_equal(joined["bias"], trained()["bias"])


def test_the_factors_are_as_good_as_any_of_their_rank(tmp_path: Path) -> None:
    """Eckart and Young: the error cannot be less than that of the singular values left out."""
    wanted = weights(5, matrix=(40, 30))
    public = {"matrix": np.zeros((40, 30), np.float32)}
    write_adapter(tmp_path / "a.npz", wanted, public, ABOUT, rank=8)
    found = read_adapter(tmp_path / "a.npz").joined(public)["matrix"]
    left_out = np.linalg.svd(wanted["matrix"], compute_uv=False)[8:]
    least = np.sqrt((left_out**2).sum())
    assert least <= np.linalg.norm(found - wanted["matrix"]) < 1.01 * least


def test_the_scale_is_applied(tmp_path: Path) -> None:
    write_adapter(tmp_path / "a.npz", trained(), PUBLIC, {**ABOUT, "scale": 0.5}, rank=3)
    joined = read_adapter(tmp_path / "a.npz").joined(PUBLIC)
    np.testing.assert_allclose(joined["bias"], PUBLIC["bias"] + np.arange(40) / 2, rtol=1e-6)


def test_the_same_difference_has_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        write_adapter(tmp_path / name, trained(), PUBLIC, ABOUT, rank=3)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_trained_weights_of_another_network(tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match="the public weights lack what was trained: new"):
        write_adapter(tmp_path / "a.npz", {"new": PUBLIC["bias"]}, PUBLIC, ABOUT)


def test_weights_that_the_adapter_changes_must_be_there(tmp_path: Path) -> None:
    write_adapter(tmp_path / "a.npz", trained(), PUBLIC, ABOUT, rank=3)
    with pytest.raises(FormatError, match="it changes 'bias', which the weights lack"):
        read_adapter(tmp_path / "a.npz").joined({})


UP = np.ones((40, 3), np.int8)
SCALES = np.ones(3, np.float32)
GOOD: dict[str, NDArray[Any]] = {
    "matrix|up": UP, "matrix|up.scales": SCALES,
    "matrix|down": UP[:30], "matrix|down.scales": SCALES,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"matrix|up": UP[:39]}, r"'matrix\|up' is int8 of \(39, 3\), not int8 of \(40, None\)"),
        ({"matrix|up": UP.astype(np.float32)}, "is float32 of"),
        ({"matrix|up.scales": SCALES[:2]}, r"of \(2,\), not float32 of \(3,\)"),
        ({"matrix|down.scales": SCALES * np.float32("nan")}, "numbers that are none"),
        (
            {"matrix|down": UP[:30, :2], "matrix|down.scales": SCALES[:2]},
            "the factors of 'matrix' do not fit each other",
        ),
        ({"bias|up": UP, "bias|up.scales": SCALES}, "'bias.up' is int8"),
        ({"bias|difference": np.ones(41, np.float16)}, "not float16 of"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "a.npz"
    write_model(path, KIND, ABOUT, {**GOOD, **change})
    with pytest.raises(FormatError, match=message):
        read_adapter(path).joined(PUBLIC)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"scale": 1}, "does not say which weights"),
        ({"base": "../../x", "scale": 1}, "does not say which weights"),
        ({"base": "a" * 64}, "its scale is None"),
        ({"base": "a" * 64, "scale": "1"}, "its scale is '1'"),
        ({"base": "a" * 64, "scale": float("nan")}, "its scale is nan"),
        ({"base": "a" * 64, "scale": 1e9}, "its scale is 1000000000.0"),
    ],
)
def test_what_an_adapter_must_say(tmp_path: Path, about: dict[str, Any], message: str) -> None:
    write_model(tmp_path / "a.npz", KIND, about, GOOD)
    with pytest.raises(FormatError, match=message):
        read_adapter(tmp_path / "a.npz")


def test_a_file_cut_short_or_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_adapter(path, trained(), PUBLIC, ABOUT, rank=3)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError, match="no usable model"):
        read_adapter(path)
    write_model(path, "static", ABOUT, GOOD)
    with pytest.raises(FormatError, match="it is of kind 'static', not 'adapter'"):
        read_adapter(path)


def test_the_adapter_that_comes_with_citebed() -> None:
    found = read_adapter()
    assert found.base == GTE_SMALL.files[WEIGHTS].sha256
    assert SHIPPED.stat().st_size < 12 << 20
    assert {"data", "settings", "runs", "after"} <= set(found.about["card"])
    layers = {name for name in found.names if name.startswith("encoder.layer.")}
    assert len(layers) == 12 * 16  # six linear parts and two norms, weights and biases
