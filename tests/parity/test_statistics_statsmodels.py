"""Statistics as statsmodels has them."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from tests.sampling import examples

from citebed.evaluation.statistics.corrections import adjust
from citebed.evaluation.statistics.effects import smallest_effect
from citebed.evaluation.statistics.intervals import mean_interval
from citebed.evaluation.statistics.paired import paired_test


@pytest.mark.parametrize(
    ("method", "theirs"), [("bonferroni", "bonferroni"), ("holm", "holm"), ("bh", "fdr_bh")]
)
@settings(max_examples=examples(50))
@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=15))
def test_corrections(method: str, theirs: str, p: list[float]) -> None:
    expected = multipletests(p, method=theirs)[1]
    assert adjust(p, method) == pytest.approx(expected, rel=1e-12)


# Its power at our effect, not its own search for one, which ends elsewhere on other machines.
@pytest.mark.parametrize("n", [10, 50, 551])
def test_the_smallest_effect(n: int) -> None:
    differences = np.random.default_rng(n).normal(0.1, 0.3, n)
    size = smallest_effect(differences) / differences.std(ddof=1)
    assert TTestPower().power(size, nobs=n, alpha=0.05) == pytest.approx(0.8, abs=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_clustered_t_is_the_regression_on_a_constant(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, 12)
    clusters = np.repeat(np.arange(12), sizes)
    differences = rng.normal(0.1, 1, len(clusters)) + rng.normal(0, 0.5, 12)[clusters]
    model = sm.OLS(differences, np.ones(len(clusters)))
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    found = paired_test("t", differences, clusters=clusters)
    assert found.statistic == pytest.approx(fit.tvalues[0], rel=1e-9)
    assert found.p_value == pytest.approx(fit.pvalues[0], rel=1e-9)
    interval = mean_interval(differences, clusters=clusters, method="t")
    assert interval[:2] == pytest.approx(tuple(fit.conf_int()[0]), rel=1e-9)
