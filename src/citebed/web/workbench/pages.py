"""The pages that are no room's own: where drafts are."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from citebed.web.workbench.site import OnShelf, path

router = APIRouter()


@router.get("/c/{name}")
async def collection(shelved: OnShelf) -> Response:
    """To the first room of a collection."""
    return RedirectResponse(path("c", shelved.name, "recommend"), 303)
