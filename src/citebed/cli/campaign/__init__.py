"""``citebed campaign``: its verbs stand in files by the step of the work."""

from __future__ import annotations

from citebed.cli.campaign import asking, desk, results  # noqa: F401 - their verbs
from citebed.cli.campaign.options import campaign

__all__ = ["campaign"]
