"""Base of the three web applications: pages from templates, error responses, routes and guards."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from markupsafe import Markup
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from citebed._version import __version__
from citebed.errors import CitebedError
from citebed.files.system_errors import describe_error
from citebed.pages import ready_script, templates
from citebed.web.middleware import BodyLimits, CheckAccess, SecurityMiddleware
from citebed.wording import for_page

_STATIC = Path(__file__).parent / "static"
_NO_TELEMETRY: Any = dict.fromkeys(("auto_configure", "tracing", "metrics", "logs"), False)


class Site:
    """The base of an application's pages; its URLs start with ``prefix``."""

    folder = ""
    """The folder of its templates."""

    def __init__(self, prefix: str = "", **shared: Any) -> None:
        self.prefix = prefix
        self.templates = templates("citebed.web.templates", for_page)
        self.templates.globals |= {
            "path": self.path,
            "version": __version__,
            "ready": Markup(ready_script()),
            **shared,
        }

    def path(self, *parts: str, **query: Any) -> str:
        """Return a path on this site, with its parts and query quoted."""
        path = "/".join([self.prefix, *(quote(part, safe="") for part in parts)]) or "/"
        return f"{path}?{urlencode(query, doseq=True)}" if query else path

    def page(self, name: str, status: int = 200, **content: Any) -> HTMLResponse:
        """Render a template."""
        template = self.templates.get_template(f"{self.folder}{name}.html.j2")
        text = template.render(content)
        return HTMLResponse(text.encode("utf-8", "replace"), status)

    # --- errors --------------------------------------------------------------------------------

    def wants_json(self, request: Request) -> bool:
        """Return True if a script sent the request, not a reader."""
        return "text/html" not in request.headers.get("accept", "")

    def answer(self, request: Request, status: int, heading: str, message: str) -> Response:
        """Return an error as JSON for a script, or as a page for a reader."""
        if self.wants_json(request):
            text = message.encode("utf-8", "replace").decode()
            return JSONResponse({"message": text}, status)
        return self.page("message", status, heading=heading, message=message)

    async def refuse(self, request: Request, status: int, message: str) -> Response:  # noqa: ARG002
        """Return the response to a request that the middleware rejected."""
        return JSONResponse({"message": message}, status)

    async def handle_error(self, request: Request, error: Exception) -> Response:
        """Return the response to an error in a route."""
        match error:
            case HTTPException():
                headings = {404: "Page not found", 405: "Method not allowed"}
                heading = headings.get(error.status_code, "This did not work")
                response = self.answer(request, error.status_code, heading, str(error.detail))
                response.headers.update(error.headers or {})
                return response
            case RequestValidationError():
                return self.answer(request, 422, "Invalid request", invalid_fields(error))
            case OSError():
                return self.answer(request, 503, "This did not work", describe_error(error))
            case _:
                return self.answer(request, 400, "This did not work", str(error))


def build_app(  # noqa: PLR0913 - keywords that differ between the applications
    site: Site,
    title: str,
    *,
    api: Iterable[APIRouter] = (),
    api_prefix: str = "",
    pages: Iterable[APIRouter],
    secure: bool,
    address: str,
    limits: Callable[[str], BodyLimits],
    check_access: CheckAccess = lambda _: None,
    **options: Any,
) -> FastAPI:
    """Create an application that sends nothing to other servers.

    FastAPI would export traces, with the secrets in URLs, if environment variables of OpenTelemetry
    name a server. Its own documentation pages would load scripts from elsewhere. A redirect to or
    from a trailing slash would contain the host that a request names.
    """
    own: dict[str, Any] = {"docs_url": None, "redoc_url": None, "redirect_slashes": False}
    app = FastAPI(title=title, telemetry=_NO_TELEMETRY, **own, **options)
    app.state.site = site
    for router in api:
        app.include_router(router, prefix=f"{site.prefix}{api_prefix}")
    for router in pages:
        app.include_router(router, prefix=site.prefix, include_in_schema=False)
    static = f"{site.prefix}/static"
    app.mount(static, StaticFiles(directory=_STATIC), name="static")
    app.add_middleware(
        SecurityMiddleware, secure=secure, address=address, static=static, limits=limits,
        refuse=site.refuse, check_access=check_access,
    )  # fmt: skip
    handle: Callable[[Request, Exception], Awaitable[Response]] = site.handle_error
    for kind in (CitebedError, OSError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, handle)
    return app


async def parse_form(request: Request, max_files: int, max_fields: int) -> FormData:
    """Return the fields and files of a form; files beyond 1 MB are stored in a temporary folder."""
    try:
        return await request.form(max_files=max_files, max_fields=max_fields)
    except OSError as error:
        raise OSError(error.errno, error.strerror, tempfile.gettempdir()) from error


def send_file(data: bytes, name: str, media_type: str) -> Response:
    """Respond with a download; the name has only letters, digits and ``_.-``."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=media_type, headers=headers)


def invalid_fields(error: RequestValidationError) -> str:
    """Name the invalid fields of a request with the reasons, but without their values."""
    return "; ".join(
        f"{'.'.join(str(part) for part in each['loc'][1:])[:100] or 'body'}: {each['msg'][:200]}"
        for each in error.errors()[:5]
    )
