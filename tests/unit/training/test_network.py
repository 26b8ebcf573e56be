from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reference import bert

torch = pytest.importorskip("torch", reason="torch is not installed: citebed[train]")

from citebed.training.network import Network  # noqa: E402
from citebed.training.start import read_start  # noqa: E402

TOKENS = [[2, 5, 3], [2, 6, 7, 8, 9, 3], [2, 3], [2, 10, 11, 3], [2, 5, 5, 6, 3], [2, 12, 3]]


@pytest.fixture
def network(tiny: Path) -> Network:
    return Network(read_start(tiny), "cpu", 0.1, group=2)


def test_vectors_are_those_of_the_equations(tiny: Path) -> None:
    start = read_start(tiny)
    found = Network(start, "cpu", 0.1, group=2).encode(TOKENS).numpy()
    for row, tokens in zip(found, TOKENS, strict=True):
        states = bert.last_hidden_state(start.folder.config, start.weights, tokens)
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
