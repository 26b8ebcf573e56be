"""The way in where others could come: a login, with guessing made slow, and the way out."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException

from citebed.web.protection import parse_form
from citebed.web.workbench.access import cookie_name, give_cookie
from citebed.web.workbench.guesses import MOST_WAITING, WINDOW
from citebed.web.workbench.site import Here, WorkbenchSite

router = APIRouter()
WRONG_PASSWORD_SECONDS = 1.0


@router.get("/login")
async def login_page(site: Here, next: str = "/") -> Response:
    """The form that asks for the password."""
    return _form(site, _local(next))


@router.post("/login")
async def login(request: Request, site: Here) -> Response:
    """Let in whoever knows the password; a try is counted before it is looked at."""
    said = await _fields(request)
    onward = _local(said.get("next", "/"))
    address = request.client.host if request.client else ""
    guesses = site.guesses
    if guesses.too_many(address) or guesses.waiting >= MOST_WAITING:
        problem = "Too many wrong passwords. Try again in a quarter of an hour."
        return _form(site, onward, problem, 429, {"Retry-After": f"{WINDOW:.0f}"})
    guesses.note(address)
    if not site.keys.is_password(said.get("password", "")):
        guesses.waiting += 1
        try:
            await asyncio.sleep(WRONG_PASSWORD_SECONDS)
        finally:
            guesses.waiting -= 1
        return _form(site, onward, "That is not the password.", 403)
    guesses.forget(address)
    response = RedirectResponse(onward, 303)
    give_cookie(request, response, site.keys)
    return response


@router.post("/logout")
async def logout(request: Request, site: Here) -> Response:
    """Let a browser out: its cookie is taken away."""
    response = Response(status_code=204)
    name = cookie_name(request, site.keys)
    response.delete_cookie(name, secure=site.keys.secure, httponly=True, samesite="lax")
    return response


async def _fields(request: Request) -> dict[str, str]:
    try:
        form = await parse_form(request, 0, 5)
    except (HTTPException, OSError):
        raise
    except Exception:  # a body that is no form, in whichever of many ways
        raise HTTPException(400, "this is no form of ours.") from None
    return {name: value for name, value in form.multi_items() if isinstance(value, str)}


def _form(
    site: WorkbenchSite, onward: str, problem: str = "", status: int = 200,
    headers: dict[str, str] | None = None,
) -> Response:  # fmt: skip
    response = site.stranger_page("login", status, next=onward, problem=problem)
    response.headers.update(headers or {})
    return response


def _local(address: str) -> str:
    """An address on this site; none that leads elsewhere, also as browsers mend it."""
    is_ours = address.startswith("/") and not address.startswith("//") and address.isprintable()
    return address if is_ours and "\\" not in address else "/"
