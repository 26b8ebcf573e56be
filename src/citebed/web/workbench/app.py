"""The application of the workbench: its API, its pages, and its limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Container, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI

from citebed._version import __version__
from citebed.web.access import AccessCheck, Keys
from citebed.web.middleware import BodyLimits
from citebed.web.site import build_app
from citebed.web.workbench import (
    api_docs,
    collection,
    drafts,
    experiments,
    library,
    pages,
    recommend,
)
from citebed.web.workbench.open_collections import OpenCollections
from citebed.web.workbench.site import ClientGone, WorkbenchSite

if TYPE_CHECKING:
    from citebed.judging.campaign import Campaign

API_BODY, TEXT_BODY = BodyLimits(2 << 20), BodyLimits(5 << 20)
FILES_BODY = BodyLimits(256 << 20, 600.0, has_files=True)
DRAFT_BODY = BodyLimits(64 << 20, 300.0, has_files=True)
"""Limits of API requests, of saved texts, of imported files, and of a draft's files, which are read
in memory."""
APIS = (recommend, drafts, library, experiments, collection)


def create_workbench(
    collections: OpenCollections,
    keys: Keys,
    *,
    hosts: Container[str] | None = None,
    address: str = "",
    campaigns: Sequence[Campaign] = (),
    allowed: Sequence[Path] = (),
) -> FastAPI:
    """Create the workbench for people with the keys.

    ``hosts`` are the accepted host names, by default any. ``address`` is the public address behind
    a proxy. Users may import files from the ``allowed`` folders.
    """
    site = WorkbenchSite(collections, keys, tuple(campaigns), tuple(allowed))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(site.jobs.close)
        collections.close()

    app = build_app(
        site, "citebed", version=__version__, openapi_url="/api/openapi.json", lifespan=lifespan,
        api=[*(each.router for each in APIS), collection.job_router], api_prefix="/api",
        pages=[pages.router, library.pages, experiments.pages, api_docs.router], secure=keys.secure,
        address=address, limits=_choose_limits,
        check_access=AccessCheck(keys, hosts, site.refusal_page, address),
    )  # fmt: skip
    app.openapi = lambda: api_docs.describe(app)  # type: ignore[method-assign]
    app.add_exception_handler(ClientGone, site.handle_error)
    # FastAPI builds routes when it first looks for one, which changes Python's warning filters;
    # that must not happen while other threads run.
    nowhere = {"type": "http", "method": "GET", "path": "/-", "root_path": "", "headers": []}
    for route in app.routes:
        route.matches(dict(nowhere))
    return app


def _choose_limits(path: str) -> BodyLimits:
    if not path.endswith("/files"):
        return TEXT_BODY if "/drafts" in path else API_BODY
    return DRAFT_BODY if "/drafts/" in path else FILES_BODY
