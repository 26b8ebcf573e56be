"""The front door, where collections are chosen or made, and the room of a collection."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from citebed.errors import CitebedError
from citebed.web.workbench.collection_api import standing
from citebed.web.workbench.shelf import Shelved
from citebed.web.workbench.site import Here, OnShelf, WorkbenchSite, path

router = APIRouter()


@router.get("/")
async def front(site: Here, request: Request, all: str = "") -> Response:
    """To the only collection, or to the choice of one; ``?all=1`` shows the choice in any case."""
    if len(site.shelf) == 1 and not all:
        only = next(iter(site.shelf))
        return RedirectResponse(path("c", only.name, "recommend"), 303)
    cards = await site.turns.run(request, lambda: [_card(site, each) for each in site.shelf])
    return site.page("front", cards=cards, home=str(site.shelf.home))


def _card(site: WorkbenchSite, shelved: Shelved) -> dict[str, object]:
    """A collection at a glance; of one that cannot be opened, why."""
    try:
        return {**standing(site, shelved), "problem": ""}
    except CitebedError as error:
        return {"collection": shelved.name, "problem": str(error)}


@router.get("/c/{name}/collection")
async def collection(site: Here, shelved: OnShelf, request: Request) -> Response:
    """What is in a collection, where it came from, and how more comes in."""
    stands = await site.turns.run(request, lambda: standing(site, shelved))
    return site.page("collection", "collection", shelved, stands=stands, folder=shelved.folder)
