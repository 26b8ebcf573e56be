"""The application: all rooms of the workbench, its API, and how a refusal or a mistake is told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Container, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from citebed._version import __version__
from citebed.drafts.draft_store import NoSuchDraft
from citebed.errors import CitebedError, UnknownName
from citebed.files.system_errors import describe_error
from citebed.web.protection import Bodies, Protection, make_app, wrong_fields
from citebed.web.workbench import (
    api_docs,
    campaign_pages,
    collection_api,
    collection_pages,
    desk_api,
    draft_files,
    entrance,
    experiments_api,
    experiments_pages,
    jobs_api,
    library_api,
    library_pages,
    pages,
    recommend_api,
    recommend_pages,
)
from citebed.web.workbench.access import Access, Keys
from citebed.web.workbench.jobs import NoSuchJob, TooManyJobs
from citebed.web.workbench.shelf import Shelf
from citebed.web.workbench.site import ROOMS as SITE_ROOMS
from citebed.web.workbench.site import WorkbenchSite, site_of
from citebed.web.workbench.turns import Busy, Gone

if TYPE_CHECKING:
    from citebed.judging.campaign import Campaign

logger = logging.getLogger("citebed.web")
HERE = Path(__file__).parent.parent
API_BODY, FILES_BODY = Bodies(2 << 20), Bodies(256 << 20, 600.0, is_streamed=True)
TEXT_BODY = Bodies(5 << 20)
DRAFT_BODY = Bodies(64 << 20, 300.0, is_streamed=True)
"""The largest text that is asked with, all files of an import, a text that is kept, and all files
of a draft: the latter are held in memory while they are read."""


APIS = (
    recommend_api,
    desk_api,
    draft_files,
    library_api,
    experiments_api,
    collection_api,
    jobs_api,
)
ROOMS = (
    entrance,
    api_docs,
    campaign_pages,
    pages,
    recommend_pages,
    library_pages,
    experiments_pages,
    collection_pages,
)


def create_workbench(
    shelf: Shelf,
    keys: Keys,
    *,
    hosts: Container[str] | None = None,
    address: str = "",
    campaigns: Sequence[Campaign] = (),
    allowed: Sequence[Path] = (),
) -> FastAPI:
    """The workbench over the collections of a shelf, for whoever has the keys.

    ``hosts`` are the names it answers to; without them it answers to any. ``address`` is the one
    that browsers know, where a web server stands before it. Files of this machine may be imported
    from folders that are ``allowed``.
    """
    site = WorkbenchSite(shelf, keys, tuple(campaigns), tuple(allowed))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(site.jobs.close)
        site.turns.close()
        site.desk_turns.close()
        shelf.close()

    app = make_app(
        "citebed", version=__version__, openapi_url="/api/openapi.json", lifespan=lifespan
    )
    app.state.site = site
    for api in APIS:
        app.include_router(api.router, prefix="/api")
    for room in ROOMS:
        app.include_router(room.router, include_in_schema=False)
    app.openapi = lambda: api_docs.description(app)  # type: ignore[method-assign]
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    _build_routes(app)
    access = Access(keys, hosts, partial(_message, site), address)
    app.add_middleware(
        Protection, secure=keys.secure, address=address, static="/static", bodies=_bodies,
        refused=_unnoted, refusal=access.refusal,
    )  # fmt: skip
    app.add_exception_handler(CitebedError, _error)  # type: ignore[arg-type]
    app.add_exception_handler(OSError, _system_error)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _not_understood)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _no_such_page)  # type: ignore[arg-type]
    app.add_exception_handler(Gone, _gone)
    return app


def _build_routes(app: FastAPI) -> None:
    """Have all routes built, which FastAPI does when it first looks for one: what it then does to
    Python's warnings goes wrong beside threads that do the same."""
    nowhere = {"type": "http", "method": "GET", "path": "/-", "root_path": "", "headers": []}
    for route in app.routes:
        route.matches(dict(nowhere))


def _bodies(path: str) -> Bodies:
    if not path.endswith("/files"):
        return TEXT_BODY if "/drafts" in path else API_BODY
    return DRAFT_BODY if "/drafts/" in path else FILES_BODY


async def _unnoted(_request: Request, _why: str) -> None:
    """Nobody is there to read of refusals but the one who is refused."""


async def _error(request: Request, error: CitebedError) -> Response:
    missing = isinstance(error, NoSuchDraft | UnknownName) and request.method == "GET"
    told = {Busy: 503, TooManyJobs: 429, NoSuchJob: 404}
    status = told.get(type(error), 404 if missing else 400)
    response = _answer(request, status, "That did not work", str(error))
    if status in (429, 503):
        response.headers["Retry-After"] = "2"
    return response


async def _system_error(request: Request, error: OSError) -> Response:
    return _answer(request, 503, "That did not work", describe_error(error))


async def _not_understood(request: Request, error: RequestValidationError) -> Response:
    return _answer(request, 422, "That was not understood", wrong_fields(error))


async def _no_such_page(request: Request, error: HTTPException) -> Response:
    heading = "There is no such page" if error.status_code == 404 else "That did not work"
    response = _answer(request, error.status_code, heading, str(error.detail))
    response.headers.update(error.headers or {})
    return response


async def _gone(_request: Request, _error: Exception) -> Response:
    return Response(status_code=499)


def _answer(request: Request, status: int, heading: str, message: str) -> Response:
    """A line for a script, a page for a reader."""
    if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
        text = message.encode("utf-8", "replace").decode()
        return JSONResponse({"message": text}, status)
    return _message(site_of(request), status, heading, message, request)


def _message(
    site: WorkbenchSite, status: int, heading: str, message: str, request: Request | None = None
) -> Response:
    """A page of words; whoever was let into a collection keeps the way about in it."""
    parts = request.url.path.split("/") if request is not None else []
    here = [each for each in site.shelf if parts[1:2] == ["c"] and parts[2:3] == [each.name]]
    again = ""
    if request is not None and request.method == "GET":
        query = f"?{request.url.query}" if request.url.query else ""
        again = f"/{quote(request.url.path.lstrip('/'))}{query}"
    return site.stranger_page(
        "message", status, heading=heading, message=message, again=again,
        shelved=here[0] if here else None,
        at=next((room for room, *_ in SITE_ROOMS if here and parts[3:4] == [room]), ""),
    )  # fmt: skip
