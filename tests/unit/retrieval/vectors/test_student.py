"""Students: the layers of a small encoder in a file, and what is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from citebed.errors import CitebedError, FormatError
from citebed.retrieval.vectors import adapter
from citebed.retrieval.vectors.model_files import write_model
from citebed.retrieval.vectors.student import KIND, SHIPPED, read_student, write_student

Weights = dict[str, NDArray[np.float32]]
ADAPTER = "a" * 64


def weights(layers: int, seed: int = 1) -> Weights:
    rng = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {"embeddings.word_embeddings.weight": (50, 8)}
    shapes["embeddings.LayerNorm.weight"] = (8,)
    for number in range(layers):
        shapes[f"encoder.layer.{number}.output.dense.weight"] = (8, 20)
        shapes[f"encoder.layer.{number}.output.dense.bias"] = (8,)
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


TEACHER, OWN = weights(3), weights(2, seed=2)


def test_layers_come_back_and_tables_are_the_teachers(tmp_path: Path) -> None:
    path = tmp_path / "student.npz"
    write_student(path, OWN, ADAPTER, {"figures": {"R@10": 0.5}})
    found = read_student(path)
    assert (found.adapter, found.layers, found.about["figures"]) == (ADAPTER, 2, {"R@10": 0.5})
    assert found.fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()
    joined = found.joined(TEACHER)
    assert set(joined) == set(OWN), "the teacher's last layer is none of its own"
    for name, array in joined.items():
        wanted = TEACHER[name] if "_embeddings" in name else OWN[name]
        np.testing.assert_allclose(array, wanted, atol=0.02, err_msg=name)
        assert array.dtype == np.float32


def test_the_same_layers_have_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        write_student(tmp_path / name, OWN, ADAPTER, {})
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_a_student_without_layers(tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match="a student has layers"):
        write_student(tmp_path / "s.npz", weights(0), ADAPTER, {})


@pytest.mark.parametrize(
    ("about", "what"),
    [
        ({"layers": 2}, "which adapter makes its teacher"),
        ({"adapter": "x", "layers": 2}, "which adapter makes its teacher"),
        ({"adapter": ADAPTER}, "has None layers"),
        ({"adapter": ADAPTER, "layers": 0}, "has 0 layers"),
    ],
)
def test_a_file_that_does_not_say_what_it_is(
    tmp_path: Path, about: dict[str, Any], what: str
) -> None:
    write_model(tmp_path / "s.npz", KIND, about, {})
    with pytest.raises(FormatError, match=what):
        read_student(tmp_path / "s.npz")


def test_a_teacher_of_another_shape(tmp_path: Path) -> None:
    write_student(tmp_path / "s.npz", OWN, ADAPTER, {})
    found = read_student(tmp_path / "s.npz")
    with pytest.raises(FormatError, match="its layers are not those of its teacher"):
        found.joined(weights(1))
    more = {**TEACHER, "encoder.layer.0.more.weight": np.ones((2, 2), np.float32)}
    with pytest.raises(FormatError, match=r"not those of its teacher: 'encoder\.layer\.0\.more"):
        found.joined(more)
    name = "encoder.layer.1.output.dense.weight"
    with pytest.raises(FormatError, match="is int8 of"):
        found.joined({**TEACHER, name: np.ones((4, 4), np.float32)})


def test_numbers_that_are_none(tmp_path: Path) -> None:
    name = "encoder.layer.0.output.dense.bias"
    write_student(tmp_path / "s.npz", {**OWN, name: np.full(8, np.nan)}, ADAPTER, {})
    with pytest.raises(FormatError, match="numbers that are none"):
        read_student(tmp_path / "s.npz").joined(TEACHER)


def test_the_one_that_ships() -> None:
    found = read_student()
    assert found.layers == 4
    assert found.adapter == adapter.read_adapter().fingerprint
    assert SHIPPED.stat().st_size < 7.5e6
