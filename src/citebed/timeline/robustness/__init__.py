"""Which measures are comparable across slices: ideal rankings, perturbed, of several sizes.

The study of Dietz, Dalton & Balog (2013), section 4.4. `simulate` makes it, `robustness` sums it
up measure by measure.
"""

from __future__ import annotations

from citebed.timeline.robustness.perturbations import PERTURBATIONS, Perturbation
from citebed.timeline.robustness.settings import (
    DOCUMENTS,
    RELEVANT,
    Setting,
    levels_of,
    settings_of,
)
from citebed.timeline.robustness.simulating import LEVELS, Simulation, StudyOptions, simulate
from citebed.timeline.robustness.studied import MEASURES, Studied, studied
from citebed.timeline.robustness.summary import Robustness, robustness

__all__ = [
    "DOCUMENTS",
    "LEVELS",
    "MEASURES",
    "PERTURBATIONS",
    "RELEVANT",
    "Perturbation",
    "Robustness",
    "Setting",
    "Simulation",
    "Studied",
    "StudyOptions",
    "levels_of",
    "robustness",
    "settings_of",
    "simulate",
    "studied",
]
