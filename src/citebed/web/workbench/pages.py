"""The pages that are no room's own: the way in, and where drafts are."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from citebed.web.workbench.access import give_cookie
from citebed.web.workbench.site import Here, OnShelf, path

router = APIRouter()
_WRONG_PASSWORD_SECONDS = 1.0


@router.get("/c/{name}")
async def collection(shelved: OnShelf) -> Response:
    """To the first room of a collection."""
    return RedirectResponse(path("c", shelved.name, "recommend"), 303)


@router.get("/login")
async def login_page(site: Here, next: str = "/") -> Response:
    """The form that asks for the password."""
    return site.page("login", next=_local(next), wrong=False)


@router.post("/login")
async def login(request: Request, site: Here) -> Response:
    """Let in whoever knows the password."""
    said = await request.form(max_files=0, max_fields=5)
    onward = _local(str(said.get("next", "/")))
    if not site.keys.is_password(str(said.get("password", ""))):
        await asyncio.sleep(_WRONG_PASSWORD_SECONDS)
        return site.page("login", status=403, next=onward, wrong=True)
    response = RedirectResponse(onward, 303)
    give_cookie(request, response, site.keys)
    return response


def _local(address: str) -> str:
    """An address on this site; none that leads elsewhere."""
    is_ours = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if is_ours else "/"
