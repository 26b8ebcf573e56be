"""Campaigns: build a test collection with the authors of papers, in two phases."""

# ruff: isort: skip_file
from __future__ import annotations

from typing import TYPE_CHECKING

from citebed.lazy import names_on_first_use

if TYPE_CHECKING:
    from citebed.judging.campaign import (
        Campaign as Campaign,
        new_campaign as new_campaign,
        open_campaign as open_campaign,
        restore_campaign as restore_campaign,
    )
    from citebed.judging.simulation import (
        SimulationOptions as SimulationOptions,
        SimulationResult as SimulationResult,
        simulate as simulate,
    )

__getattr__, __dir__ = names_on_first_use(__name__)
