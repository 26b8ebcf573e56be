"""The page to recommend with."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from citebed.retrieval.recommend.citing import CITING_FORMS
from citebed.web.workbench.site import Here, OnShelf

router = APIRouter()


@router.get("/c/{name}/recommend")
async def recommend(site: Here, shelved: OnShelf) -> Response:
    """The page to recommend with: its script asks for the draft that the address names."""
    return site.page("recommend", "recommend", shelved, forms=CITING_FORMS.values())
