from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citebed.errors import CitebedError, FormatError
from citebed.training.start import read_start


def test_weights_in_parts_are_those_of_the_folder(tiny: Path, tmp_path: Path) -> None:
    whole = read_start(tiny)
    names = sorted(whole.weights)
    parts = [tmp_path / "w1.npz", tmp_path / "w2.npz"]
    for path, some in zip(parts, (names[:9], names[9:]), strict=True):
        arrays: dict[str, Any] = {name: whole.weights[name] for name in some}
        np.savez(path, **arrays)
    found = read_start(tiny, parts)
    assert found.fingerprint == whole.fingerprint
    half: dict[str, Any] = {name: each.astype(np.float16) for name, each in whole.weights.items()}
    np.savez(parts[0], **half)
    rounded = read_start(tiny, parts[:1]).weights
    for name, array in whole.weights.items():
        np.testing.assert_allclose(rounded[name], array, atol=2e-3)
    assert "pooler.dense.weight" not in whole.weights


def test_weights_that_cannot_be_started_from(
    tiny: Path, tiny_of: Callable[..., Path], tmp_path: Path
) -> None:
    np.savez(tmp_path / "few.npz", a=np.zeros(3))
    with pytest.raises(FormatError, match=r"few.npz: lacks embeddings.* and \d+ other weights"):
        read_start(tiny, [tmp_path / "few.npz"])
    (tmp_path / "cut.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(FormatError, match="is no file of arrays, or damaged"):
        read_start(tiny, [tmp_path / "cut.npz"])
    np.savez_compressed(tmp_path / "bomb.npz", a=np.zeros(30 << 20, np.int32))  # 120 kB
    with pytest.raises(FormatError, match=r"bomb\.npz: holds more than 65"):
        read_start(tiny, [tmp_path / "bomb.npz"])
    objects = np.array([{"a": 1}], dtype=object)
    np.savez(tmp_path / "pickled.npz", a=objects)
    with pytest.raises(FormatError, match="is no file of arrays"):
        read_start(tiny, [tmp_path / "pickled.npz"])
    with pytest.raises(CitebedError, match="no such file"):
        read_start(tiny, [tmp_path / "none.npz"])
    with pytest.raises(CitebedError, match=r"give weights as .safetensors or .npz"):
        read_start(tiny, [tmp_path / "model.h5"])
    with pytest.raises(CitebedError, match=r"has no config.json"):
        read_start(tmp_path, [tmp_path / "few.npz"])
    with pytest.raises(CitebedError, match="cannot be trained: its model_type is 'gpt2'"):
        read_start(tiny_of("other", model_type="gpt2"))
