"""``citebed campaign``: its verbs stand in files by the step of the work."""

from __future__ import annotations

from citebed.cli import campaign_asking, campaign_desk, campaign_results  # noqa: F401 - their verbs
from citebed.cli.campaign_options import campaign

__all__ = ["campaign"]
