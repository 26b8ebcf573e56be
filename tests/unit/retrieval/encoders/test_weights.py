"""Weights read from safetensors, whole and broken."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tiny_models import CONFIG

from citebed.errors import FormatError
from citebed.retrieval.encoders.graph import read_safetensors, with_current_names

pytestmark = pytest.mark.usefixtures("neural")

BASE = np.arange(12, dtype=np.float32).reshape(3, 4) / 4


def test_a_file_of_holes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"x")
    os.truncate(path, (4 << 30) + 1)
    with pytest.raises(FormatError, match=r"more than 4 GiB\. .* CITEBED_MAX_BYTES"):
        read_safetensors(path)
    monkeypatch.setenv("CITEBED_MAX_BYTES", "5G")
    with pytest.raises(FormatError, match=r"not a"):
        read_safetensors(path)


def test_safetensors_of_every_width(
    tmp_path: Path, write_safetensors: Callable[..., bytes]
) -> None:
    arrays = {
        "single": BASE,
        "double": BASE.astype(np.float64),
        "half": BASE.astype(np.float16),
        "brain": np.array([1.5, -3.0, 0.0], np.float32),
        "whole": np.array([[7, -7]]),
        "scalar": np.array(2.5, np.float32),
        "none": np.empty((0, 3), np.float32),
    }
    path = tmp_path / "model.safetensors"
    path.write_bytes(write_safetensors(arrays, bfloat16=("brain",)))
    found = read_safetensors(path)
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == (np.int64 if name == "whole" else np.float32)


def header(entry: object) -> bytes:
    text = json.dumps({"x": entry}).encode()
    return struct.pack("<Q", len(text)) + text + bytes(16)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "header too small"),
        (b"\x00" * 7, "header too small"),
        (b"\xff" * 64, "header too large"),
        (struct.pack("<Q", 4) + b"{{{{", "invalid JSON"),
        (struct.pack("<Q", 2) + b"[]", "expected struct"),
        (header(5), "expected struct"),
        (header({"dtype": "F32", "shape": [4]}), "missing field `data_offsets`"),
        (header({"dtype": "F32", "shape": [3], "data_offsets": [0, 16]}), "invalid shape"),
        (header({"dtype": "F32", "shape": [-1], "data_offsets": [4, 0]}), "integer `-1`"),
        (header({"dtype": "F32", "shape": [4], "data_offsets": [-16, 0]}), "integer `-16`"),
        (header({"dtype": "F32", "shape": [8], "data_offsets": [0, 32]}), "not fully covered"),
    ],
)
def test_broken_safetensors_say_what_is_wrong(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    what = rf"truncated, or not a safetensors file \(.*{message}.*\). Download the model again"
    with pytest.raises(FormatError, match=what):
        read_safetensors(path)


def test_tensors_of_eight_bits_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(header({"dtype": "F8_E4M3", "shape": [16], "data_offsets": [0, 16]}))
    assert read_safetensors(path) == {}


@given(data=st.data())
def test_a_truncated_file_never_gives_tensors(
    tmp_path_factory: pytest.TempPathFactory,
    write_safetensors: Callable[..., bytes],
    data: st.DataObject,
) -> None:
    whole = write_safetensors({"a": BASE, "b": BASE})
    path = tmp_path_factory.mktemp("cut") / "model.safetensors"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(FormatError):
        read_safetensors(path)


def test_names_of_converted_weights_are_brought_up_to_date() -> None:
    one = np.ones(1)
    names = ["bert.embeddings.LayerNorm.gamma", "bert.embeddings.LayerNorm.beta", "classifier.bias"]
    assert list(with_current_names(dict.fromkeys(names, one), CONFIG)) == [
        "embeddings.LayerNorm.weight",
        "embeddings.LayerNorm.bias",
        "classifier.bias",
    ]
