"""The application: all pages of a campaign, and how a refusal or a mistake is told."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from citebed.errors import CitebedError, CollectionError, FormatError
from citebed.files.system_errors import describe_error
from citebed.judging.assignments import LinkRefused
from citebed.judging.campaign import Campaign
from citebed.judging.organisers import TooManyTries
from citebed.judging.responses import NotOnForm
from citebed.judging.store.database import Unavailable
from citebed.web.campaigns import (
    api,
    auth,
    desks,
    judge_pages,
    organiser_pages,
    problem_pages,
    work_pages,
)
from citebed.web.campaigns.site import HERE, Site, site_of
from citebed.web.protection import SAFE, SMALL, UPLOAD, Protection, make_app, wrong_fields

logger = logging.getLogger("citebed.web")


def create_app(campaign: Campaign, *, secure: bool = True) -> FastAPI:
    """The pages of a campaign; ``secure`` where browsers reach them by https."""
    site = Site(campaign, secure=secure)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        site.writer.open()
        yield
        site.writer.close()

    app = make_app(f"citebed: {campaign.name}", openapi_url=None, lifespan=lifespan)
    app.state.site = site
    app.include_router(api.router, prefix=site.prefix)
    for room in (judge_pages, organiser_pages, problem_pages, work_pages, desks):
        app.include_router(room.router, prefix=site.prefix, include_in_schema=False)
    static = f"{site.prefix}/static"
    app.mount(static, StaticFiles(directory=HERE / "static"), name="static")
    app.add_middleware(
        Protection,
        secure=secure,
        address=campaign.settings.address,
        static=static,
        bodies=lambda path: UPLOAD if path == site.path("work", "returns") else SMALL,
        refused=site.refused,
    )
    app.add_exception_handler(CitebedError, _error_page)  # type: ignore[arg-type]
    app.add_exception_handler(OSError, _system_error)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _not_understood)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _no_such_page)  # type: ignore[arg-type]
    return app


async def _error_page(request: Request, error: CitebedError) -> Response:
    """Say what is wrong, and note who was not let in."""
    site = site_of(request)
    if isinstance(error, LinkRefused):
        await site.refused(request, error.why, error.form_id)
        return _link_refused(request)
    if type(error) in _REFUSED:
        why, status, heading = _REFUSED[type(error)]
        await site.refused(request, why)
        if isinstance(error, auth.NotLoggedIn) and request.method in SAFE:
            return RedirectResponse(site.path("login"), 303)
        return _answer(request, status, heading, str(error))
    if isinstance(error, NotOnForm):
        await site.refused(request, "a document of another list", error.form_id)
    if isinstance(error, Unavailable) or _is_ours_to_mend(request, error):
        # Where data are, and what ails them, is for the organisers' log: judges read this page.
        logger.error("%s", error)
        return _answer(request, 503, "Not possible just now", _LATER)
    return _answer(request, 400, "That did not work", str(error))


_REFUSED: dict[type[CitebedError], tuple[str, int, str]] = {
    auth.NotLoggedIn: ("not logged in", 403, "Log in first"),
    auth.Forged: ("a form that is not from our page", 403, "Not sent from our page"),
    TooManyTries: ("too many wrong passwords", 429, "Too many tries"),
}
"""Who is not let in: what is written down, the status, the heading of the page."""
_LATER = (
    "The server cannot get at its data just now. Try again in a minute; what was saved is not lost."
)


async def _system_error(request: Request, error: OSError) -> Response:
    logger.error("%s", describe_error(error))
    return _answer(request, 503, "Not possible just now", _LATER)


def _is_ours_to_mend(request: Request, error: CitebedError) -> bool:
    """Whether a judge is told of a collection or a file, which judges know nothing of."""
    site = site_of(request)
    of_judges = (f"{site.prefix}/judge/", f"{site.prefix}/api/judge/")
    return isinstance(error, CollectionError | FormatError) and request.url.path.startswith(
        of_judges
    )


def _link_refused(request: Request) -> Response:
    contact = site_of(request).campaign.settings.contact
    ask = f" Write to {contact} for a new one." if contact else ""
    message = (
        "This link does not open a list: it may be incomplete, have expired, or have been "
        f"replaced by a newer one.{ask}"
    )
    return _answer(request, 403, "This link does not open a list", message)


async def _not_understood(request: Request, error: RequestValidationError) -> Response:
    return _answer(request, 422, "That was not understood", wrong_fields(error))


async def _no_such_page(request: Request, error: HTTPException) -> Response:
    names = {404: "There is no such page", 405: "Not in this way"}
    heading = names.get(error.status_code, "That did not work")
    response = _answer(request, error.status_code, heading, str(error.detail))
    response.headers.update(error.headers or {})
    return response


def _answer(request: Request, status: int, heading: str, message: str) -> Response:
    """A line for a script, a page for a reader."""
    site = site_of(request)
    wanted = request.headers.get("accept", "")
    if request.url.path.startswith(f"{site.prefix}/api/") or "application/json" in wanted:
        text = message.encode("utf-8", "replace").decode()
        return JSONResponse({"message": text}, status)
    return site.page("message", status, heading=heading, message=message)
