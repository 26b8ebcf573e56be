"""``citebed campaign``: the modules follow the steps of a campaign."""

from __future__ import annotations

from citebed.cli.campaign import asking, desk, results  # noqa: F401 - registers their commands
from citebed.cli.campaign.options import campaign

__all__ = ["campaign"]
