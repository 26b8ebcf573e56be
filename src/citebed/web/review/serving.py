"""The review of a folder of annotated papers in the browser of the one who started it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from citebed.errors import CitebedError
from citebed.files.secret_files import is_same_secret
from citebed.files.system_errors import describe_error
from citebed.papers.review import Review
from citebed.papers.review_state import THRESHOLD
from citebed.web.listening import serve_app
from citebed.web.protection import SMALL, Protection, make_app
from citebed.web.review import pages as review_pages
from citebed.web.review.site import ReviewSite, cookie_of, is_local, site_of

STATIC = "/static"
HERE = Path(__file__).parent.parent


def review_app(folder: Path, threshold: float = THRESHOLD, key: str | None = None) -> FastAPI:
    """The pages to confirm the annotated papers of a folder; who has the ``key`` comes in."""
    site = ReviewSite(Review(folder, threshold), key)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        site.pictures.close()

    app = make_app("citebed: papers to confirm", openapi_url=None, lifespan=lifespan)
    app.state.site = site
    app.include_router(review_pages.router)
    app.mount(STATIC, StaticFiles(directory=HERE / "static"), name="static")
    app.middleware("http")(_let_in)
    app.add_middleware(
        Protection, secure=False, address="", static=STATIC, bodies=lambda _: SMALL,
        refused=_unnoted,
    )  # fmt: skip
    app.add_exception_handler(CitebedError, _error_page)  # type: ignore[arg-type]
    app.add_exception_handler(OSError, _system_error)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _not_understood)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _no_such_page)  # type: ignore[arg-type]
    return app


def serve_review(
    folder: Path,
    port: int = 0,
    *,
    browser: bool = True,
    threshold: float = THRESHOLD,
    started: Callable[[str], Any] | None = None,
) -> None:
    """Serve the review on this machine until Ctrl-C, and open it in a browser if that is wanted.

    ``started`` is told the address, the key in it. Any free port is taken unless one is named.
    """
    app = review_app(folder, threshold)
    site: ReviewSite = app.state.site

    def listening(at: int) -> None:
        address = f"http://127.0.0.1:{at}/"
        threading.Thread(target=site.pictures.warm, daemon=True).start()
        if started is not None:
            started(f"{address}?key={site.key}")
        if browser:
            site.ticket.open_browser(address)

    serve_app(app, "127.0.0.1", port, listening)


async def _unnoted(_request: Request, _why: str) -> None:
    """Nobody is there to read of refusals but the one who is refused."""


async def _let_in(
    request: Request, call_next: Callable[[Request], Awaitable[Response]]
) -> Response:
    """Answer to this machine's own names only, and to whoever has the key."""
    site = site_of(request)
    if not is_local(request.headers.get("host", "")):
        return JSONResponse({"message": "this answers at 127.0.0.1 only."}, 421)
    given = request.query_params.get("key")
    if given is not None and request.method == "GET":
        if is_same_secret(given, site.key) or site.ticket.admits(given, request.scope):
            response = RedirectResponse(request.url.path, 303)
            name = cookie_of(request)
            response.set_cookie(name, site.key, httponly=True, samesite="strict")
            return response
        return _answer(request, 403, "Not let in", _NO_KEY)
    if not request.url.path.startswith(f"{STATIC}/") and not site.lets_in(request):
        return _answer(request, 403, "Not let in", _NO_KEY)
    return await call_next(request)


_NO_KEY = "Open the address that citebed printed when it started: the key is in it."


async def _error_page(request: Request, error: CitebedError) -> Response:
    status = 403 if isinstance(error, review_pages.NotOurs) else 400
    return _answer(request, status, "That did not work", str(error))


async def _system_error(request: Request, error: OSError) -> Response:
    return _answer(request, 503, "That did not work", describe_error(error))


async def _not_understood(request: Request, error: RequestValidationError) -> Response:
    told = "; ".join(each["msg"][:300].removeprefix("Value error, ") for each in error.errors()[:3])
    return _answer(request, 422, "That was not understood", told)


async def _no_such_page(request: Request, error: HTTPException) -> Response:
    heading = "There is no such page" if error.status_code == 404 else "That did not work"
    return _answer(request, error.status_code, heading, str(error.detail))


def _answer(request: Request, status: int, heading: str, message: str) -> Response:
    """A line for a script, a page for a reader."""
    if "text/html" not in request.headers.get("accept", ""):
        text = message.encode("utf-8", "replace").decode()
        return JSONResponse({"message": text}, status)
    return site_of(request).page("message", status, heading=heading, message=message)
