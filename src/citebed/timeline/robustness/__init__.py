"""Which measures are comparable across slices: ideal rankings, perturbed, of several sizes.

The study of Dietz, Dalton & Balog (2013), section 4.4. `simulate` makes it, `robustness` sums it
up measure by measure.
"""

# ruff: isort: skip_file
from __future__ import annotations

from citebed.timeline.robustness.study import (
    PERTURBATIONS as PERTURBATIONS,
    Setting as Setting,
    levels_of as levels_of,
    settings_of as settings_of,
)
from citebed.timeline.robustness.study import (
    MEASURES as MEASURES,
    Robustness as Robustness,
    Simulation as Simulation,
    StudyOptions as StudyOptions,
    robustness as robustness,
    simulate as simulate,
    studied as studied,
)
