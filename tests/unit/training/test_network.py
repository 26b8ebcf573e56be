"""The network against BERT's equations; its initial weights, losses and learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reference import bert

from citebed.errors import CitebedError, FormatError

torch = pytest.importorskip("torch", reason="torch is not installed: citebed[torch]")

from citebed.training.encoder import (  # noqa: E402
    contrastive_loss,
    divergence,
    not_negative,
)
from citebed.training.network import Network, read_initial_model  # noqa: E402
from citebed.training.run import LearningRate  # noqa: E402
from citebed.training.texts import Form, Pair  # noqa: E402

TOKENS = [[2, 5, 3], [2, 6, 7, 8, 9, 3], [2, 3], [2, 10, 11, 3], [2, 5, 5, 6, 3], [2, 12, 3]]


@pytest.fixture
def network(tiny: Path) -> Network:
    return Network(read_initial_model(tiny), "cpu", 0.1, group=2)


def test_vectors_are_those_of_the_equations(tiny: Path) -> None:
    initial = read_initial_model(tiny)
    found = Network(initial, "cpu", 0.1, group=2).encode(TOKENS).numpy()
    for row, tokens in zip(found, TOKENS, strict=True):
        states = bert.last_hidden_state(initial.folder.config, initial.weights, tokens)
        mean = states.mean(axis=0)
        np.testing.assert_allclose(row, mean / np.linalg.norm(mean), atol=2e-5)


def _gradients(network: Network) -> dict[str, np.ndarray]:
    for tensor in network.weights.values():
        tensor.grad = None

    def loss_of(vectors: Any) -> Any:
        scores = vectors[:3] @ vectors[3:].T
        return torch.nn.functional.cross_entropy(scores / 0.05, torch.arange(3))

    loss = network.learn(network.batch(TOKENS), loss_of, "7:stage:1")
    found = {n: t.grad.numpy().copy() for n, t in network.weights.items() if t.grad is not None}
    return {**found, "loss": loss.numpy()}


def test_gradients_are_the_same_where_memory_is_short(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = _gradients(network)
    monkeypatch.setattr("citebed.training.network._memory", lambda _: 0)
    in_turn = _gradients(network)
    assert at_once.keys() == in_turn.keys()
    for name, expected in at_once.items():
        np.testing.assert_allclose(in_turn[name], expected, atol=1e-5, err_msg=name)


def test_dropout_follows_from_the_seed(network: Network) -> None:
    first, again = _gradients(network), _gradients(network)
    for name, expected in first.items():
        np.testing.assert_array_equal(again[name], expected, err_msg=name)


def test_what_a_text_cites_is_not_a_wrong_answer_for_it() -> None:
    pairs = [Pair("a", Form(3), (3, 5)), Pair("b", Form(5), (5,)), Pair("c", Form(3), (3,))]
    mask = not_negative(pairs, np.array([3, 5, 3, 9, 5]))
    expected = [[0, 1, 1, 0, 1], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]
    assert mask.astype(int).tolist() == expected


def test_the_loss_by_hand() -> None:
    scores = torch.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0]])
    mask = torch.tensor([[False, True, False], [False, False, False]])
    rows = [math.log(1 + math.exp(-2)), math.log(1 + math.exp(-3) + math.exp(-2))]
    columns = [math.log(1 + math.exp(-2)), 0.0]
    expected = sum(rows) / 2 + 0.3 * sum(columns) / 2
    assert float(contrastive_loss(scores, mask, 0.3)) == pytest.approx(expected, abs=1e-5)


def test_a_pupil_like_its_teacher_has_nothing_to_learn() -> None:
    scores, mask = torch.randn(4, 4), torch.zeros(4, 4, dtype=torch.bool)
    assert float(divergence(scores, scores + 2, mask)) == pytest.approx(0, abs=1e-5)
    assert float(divergence(scores, -scores, mask)) > 0.1


def test_the_rate_rises_then_falls() -> None:
    rate = LearningRate(1.0, warm_up=10, final_fraction=0.02)
    factors = [rate.at(step, 100) for step in range(101)]
    assert factors[0] == pytest.approx(0.1)
    assert max(factors) == max(factors[9:12])
    assert factors[50] == pytest.approx(0.5)
    assert factors[100] == pytest.approx(0.02)


def test_weights_in_parts_are_those_of_the_folder(tiny: Path, tmp_path: Path) -> None:
    whole = read_initial_model(tiny)
    names = sorted(whole.weights)
    parts = [tmp_path / "w1.npz", tmp_path / "w2.npz"]
    for path, some in zip(parts, (names[:9], names[9:]), strict=True):
        arrays: dict[str, Any] = {name: whole.weights[name] for name in some}
        np.savez(path, **arrays)
    found = read_initial_model(tiny, parts)
    assert found.fingerprint == whole.fingerprint
    half: dict[str, Any] = {name: each.astype(np.float16) for name, each in whole.weights.items()}
    np.savez(parts[0], **half)
    rounded = read_initial_model(tiny, parts[:1]).weights
    for name, array in whole.weights.items():
        np.testing.assert_allclose(rounded[name], array, atol=2e-3)
    assert "pooler.dense.weight" not in whole.weights


def test_weights_that_cannot_be_started_from(
    tiny: Path, tiny_of: Callable[..., Path], tmp_path: Path
) -> None:
    np.savez(tmp_path / "few.npz", a=np.zeros(3))
    with pytest.raises(FormatError, match=r"few.npz: lacks embeddings.* and \d+ other weights"):
        read_initial_model(tiny, [tmp_path / "few.npz"])
    (tmp_path / "cut.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(FormatError, match="not a file of arrays, or damaged"):
        read_initial_model(tiny, [tmp_path / "cut.npz"])
    np.savez_compressed(tmp_path / "bomb.npz", a=np.zeros(30 << 20, np.int32))  # 120 kB
    with pytest.raises(FormatError, match=r"bomb\.npz: holds more than 65"):
        read_initial_model(tiny, [tmp_path / "bomb.npz"])
    objects = np.array([{"a": 1}], dtype=object)
    np.savez(tmp_path / "pickled.npz", a=objects)
    with pytest.raises(FormatError, match="not a file of arrays"):
        read_initial_model(tiny, [tmp_path / "pickled.npz"])
    with pytest.raises(CitebedError, match="no such file"):
        read_initial_model(tiny, [tmp_path / "none.npz"])
    with pytest.raises(CitebedError, match=r"give weights as .safetensors or .npz"):
        read_initial_model(tiny, [tmp_path / "model.h5"])
    with pytest.raises(CitebedError, match=r"has no config.json"):
        read_initial_model(tmp_path, [tmp_path / "few.npz"])
    with pytest.raises(CitebedError, match="cannot be trained: its model_type is 'gpt2'"):
        read_initial_model(tiny_of("other", model_type="gpt2"))


class Harmful:
    """Unpickled by the standard library, this would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return (open, (str(self.path), "w"))


def test_pickles_are_read_without_running_code(tiny: Path, tmp_path: Path) -> None:
    initial, path = read_initial_model(tiny), tiny / "pytorch_model.bin"
    (tiny / "model.safetensors").unlink()
    torch.save({f"bert.{n}": torch.tensor(a) for n, a in initial.weights.items()}, path)
    assert read_initial_model(tiny).fingerprint == initial.fingerprint
    torch.save({"a": Harmful(tmp_path / "trace")}, path)
    with pytest.raises(FormatError, match="PyTorch cannot read its weights"):
        read_initial_model(tiny)
    assert not (tmp_path / "trace").exists()
