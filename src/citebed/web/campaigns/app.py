"""The application of a campaign's pages, and the server that runs it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI

from citebed.judging.campaign import Campaign
from citebed.web.campaigns import judge_pages, organiser_pages, question_pages, work_pages
from citebed.web.campaigns.site import CampaignSite
from citebed.web.middleware import SMALL, UPLOAD
from citebed.web.server import has_proxy, serve_app
from citebed.web.site import build_app


def create_app(campaign: Campaign, *, secure: bool = True) -> FastAPI:
    """Create the pages of a campaign; ``secure`` says that browsers use https."""
    site = CampaignSite(campaign, secure=secure)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        site.writer.open()
        yield
        site.writer.close()

    return build_app(
        site, f"citebed: {campaign.name}", api=[judge_pages.api],
        pages=[each.router for each in (judge_pages, organiser_pages, question_pages, work_pages)],
        secure=secure, address=campaign.settings.address, openapi_url=None, lifespan=lifespan,
        limits=lambda path: UPLOAD if path == site.path("work", "returns") else SMALL,
    )  # fmt: skip


def serve(
    campaign: Campaign, host: str = "127.0.0.1", port: int = 8000, *,
    started: Callable[[int], Any] | None = None,
) -> None:  # fmt: skip
    """Serve a campaign's pages until stopped; ``started`` is called with the port."""
    address = campaign.settings.address
    app = create_app(campaign, secure=address.startswith("https://"))
    serve_app(app, host, port, started, is_behind_proxy=has_proxy(address))
