"""Agreement and strictness by hand, and judges that are tuned to a system or honest."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from citebed.errors import CitebedError
from citebed.evaluation.options import Resampling
from citebed.evaluation.scoring.judge_quality import assess_judge

QUICK = Resampling(samples=500)


def qrels(grades: dict[str, dict[str, int]]) -> pl.DataFrame:
    rows = [(q, d, g) for q, of in grades.items() for d, g in of.items()]
    return pl.DataFrame(rows, ["query_id", "doc_id", "relevance"], orient="row")


def test_figures_by_hand() -> None:
    human = qrels({"p": {"a": 1, "b": 0, "c": 0}, "q": {"a": 1, "b": 1, "c": 0}})
    machine = qrels({"p": {"a": 1, "b": 1, "c": 0}, "q": {"a": 1, "b": 1, "c": 1}})
    found = assess_judge(human, machine)
    figures = dict(zip(found.table["measure"], found.table["value"], strict=True))
    assert figures["raw"] == pytest.approx(4 / 6)
    assert figures["kappa"] == pytest.approx(1 - 2 / (6 * (3 / 6 * 1 / 6 + 3 / 6 * 5 / 6)))
    assert figures["strictness"] == pytest.approx(5 / 6 - 3 / 6)
    assert found.grades.rows() == [(0, 0, 1), (0, 1, 2), (1, 1, 3)]


def test_the_interval_of_strictness_ends_at_one() -> None:
    # The mean of 1, 0.5, 0.1 and 0.2 has an interval from -0.2 to 2.7 if it knows no limits.
    accepted = {"p": 10, "q": 5, "r": 1, "s": 2}
    human = qrels({query: {f"d{n}": 0 for n in range(10)} for query in accepted})
    machine = qrels({q: {f"d{n}": int(n < k) for n in range(10)} for q, k in accepted.items()})
    found = assess_judge(human, machine).strictness
    assert (found.value, found.high) == (pytest.approx(0.45), 1.0)
    assert found.low is not None
    assert -1 <= found.low < 0
    with pytest.raises(CitebedError, match="unknown measure 'foo'"):
        assess_judge(human, machine, measure="foo")


QUERIES, POOL = 40, 12


def simulated(tuned: bool, seed: int) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, object]]:
    """A judge that accepts 80 % of what one system ranks high, or errs anywhere alike."""
    rng = np.random.default_rng(seed)
    runs = {
        name: {
            f"q{q}": {f"d{d}": float(rng.random()) for d in rng.permutation(POOL)[:8]}
            for q in range(QUERIES)
        }
        for name in ("one", "two", "three")
    }
    human = {
        f"q{q}": {f"d{d}": int(rng.random() < 0.3) for d in range(POOL)} for q in range(QUERIES)
    }
    machine = {
        q: {
            d: int(rng.random() < (0.9 if g else 0.8 if tuned and d in runs["one"][q] else 0.15))
            for d, g in of.items()
        }
        for q, of in human.items()
    }
    return qrels(human), qrels(machine), dict(runs)


def test_a_judge_tuned_to_a_system_is_flagged() -> None:
    flagged = 0
    for seed in range(10):
        human, machine, runs = simulated(True, seed)
        biases = assess_judge(human, machine, runs, resampling=QUICK).biases
        flagged += [b.name for b in biases if b.is_flagged] == ["system one"]
    assert flagged >= 9


def test_an_honest_judge_is_rarely_flagged() -> None:
    flagged = 0
    for seed in range(20):
        human, machine, runs = simulated(False, seed)
        biases = assess_judge(human, machine, runs, resampling=QUICK).biases
        flagged += any(bias.is_flagged for bias in biases)
    assert flagged <= 1


def test_a_property_that_the_judge_likes_is_flagged() -> None:
    human, machine, _ = simulated(False, 1)
    rng = np.random.default_rng(3)
    noise = pl.Series(rng.random(machine.height))
    properties = machine.select(
        "query_id", "doc_id", length=pl.col("relevance") + noise, year=pl.Series(rng.random(480))
    )
    found = assess_judge(human, machine, properties=properties, resampling=QUICK).biases
    assert [(bias.name, bias.is_flagged) for bias in found] == [
        ("length", True), ("year", False),
    ]  # fmt: skip
    assert found[0].low < found[0].value < found[0].high


def test_equal_judges_rank_systems_alike() -> None:
    human, _, runs = simulated(False, 2)
    systems = assess_judge(human, human, runs, resampling=QUICK).systems
    assert systems is not None
    assert (systems.value, systems.low, systems.high) == (1.0, 1.0, 1.0)


def test_judges_of_one_query_cannot_be_compared() -> None:
    one = qrels({"q": {"a": 1, "b": 0}})
    with pytest.raises(CitebedError, match="expected two queries or more"):
        assess_judge(one, one)
