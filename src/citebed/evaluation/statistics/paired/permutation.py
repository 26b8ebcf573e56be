"""The permutation test: signs of the differences flipped."""

from __future__ import annotations

from citebed.evaluation.statistics.paired.base import Outcome, PairedTest, Sample
from citebed.evaluation.statistics.resampling import flip_signs


def _run(sample: Sample) -> Outcome:
    flips = flip_signs(sample.units.sums[:, 0], sample.samples, sample.seed)
    note = "all flips counted" if flips.exact else f"{sample.samples} random flips"
    return Outcome(float(sample.units.means[0]), flips.p_value, note)


PERMUTATION = PairedTest(
    name="permutation",
    statistic="the mean difference",
    assumes="which of the two systems gave which score is a matter of chance, query by query",
    clustered="the signs of a cluster's queries are flipped together",
    citation=(
        "Fisher (1935), The Design of Experiments; Smucker, Allan & Carterette (2007), A "
        "Comparison of Statistical Significance Tests for Information Retrieval Evaluation; with "
        "clusters Canay, Romano & Shaikh (2017), Randomization Tests under an Approximate "
        "Symmetry Assumption"
    ),
    run=_run,
)
