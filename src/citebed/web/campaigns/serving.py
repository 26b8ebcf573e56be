"""Serving a campaign: one process, until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from citebed.judging.campaign import Campaign
from citebed.web.campaigns.app import create_app
from citebed.web.listening import has_proxy, serve_app


def serve(
    campaign: Campaign,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    started: Callable[[int], Any] | None = None,
) -> None:
    """Serve a campaign's pages until stopped; ``started`` is told the port when it listens."""
    secure = campaign.settings.address.startswith("https://")
    app = create_app(campaign, secure=secure)
    serve_app(app, host, port, started, is_behind_proxy=has_proxy(campaign.settings.address))
