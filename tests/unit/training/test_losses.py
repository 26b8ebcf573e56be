from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: citebed[train]")

from citebed.training.loop import Pace, factor  # noqa: E402
from citebed.training.losses import contrast, not_wrong, unlike_teacher  # noqa: E402
from citebed.training.pairs import Pair  # noqa: E402
from citebed.training.prepared import Form  # noqa: E402


def test_what_a_text_cites_is_no_wrong_answer_for_it() -> None:
    pairs = [Pair("a", Form(3), (3, 5)), Pair("b", Form(5), (5,)), Pair("c", Form(3), (3,))]
    mask = not_wrong(pairs, np.array([3, 5, 3, 9, 5]))
    expected = [[0, 1, 1, 0, 1], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]
    assert mask.astype(int).tolist() == expected


def test_the_loss_by_hand() -> None:
    scores = torch.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0]])
    mask = torch.tensor([[False, True, False], [False, False, False]])
    rows = [math.log(1 + math.exp(-2)), math.log(1 + math.exp(-3) + math.exp(-2))]
    columns = [math.log(1 + math.exp(-2)), 0.0]
    expected = sum(rows) / 2 + 0.3 * sum(columns) / 2
    assert float(contrast(scores, mask, 0.3)) == pytest.approx(expected, abs=1e-5)


def test_a_pupil_like_its_teacher_has_nothing_to_learn() -> None:
    scores, mask = torch.randn(4, 4), torch.zeros(4, 4, dtype=torch.bool)
    assert float(unlike_teacher(scores, scores + 2, mask)) == pytest.approx(0, abs=1e-5)
    assert float(unlike_teacher(scores, -scores, mask)) > 0.1


def test_the_rate_rises_then_falls() -> None:
    pace = Pace(1e-3, warm_up=10, least=0.02)
    factors = [factor(step, 100, pace) for step in range(101)]
    assert factors[0] == pytest.approx(0.1)
    assert max(factors) == max(factors[9:12])
    assert factors[50] == pytest.approx(0.5)
    assert factors[100] == pytest.approx(0.02)
