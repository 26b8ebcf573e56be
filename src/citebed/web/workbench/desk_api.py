"""The desk over HTTP: drafts, their baskets, and what was said of the papers recommended."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from citebed.desk import DeskDraft
from citebed.web.workbench.answers import ERRORS, described
from citebed.web.workbench.recommend_api import Name, Text
from citebed.web.workbench.site import Here, OnShelf

router = APIRouter(tags=["drafts"])


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Written(_Sent):
    """What a draft says or is called; what is not given stays."""

    text: Text | None = None
    name: Annotated[str, Field(max_length=200)] | None = None


class Taken(_Sent):
    """A document that goes into the basket, or out of it."""

    doc_id: Name
    taken: bool = True


class Said(_Sent):
    """That a document is good (1) or not (0) for a passage of the draft; null forgets it."""

    doc_id: Name
    relevance: Literal[0, 1] | None
    text: Text = ""


class OnDesk(BaseModel):
    """A draft on the desk."""

    draft_id: str
    name: str
    text: str
    changed: str
    basket: list[str]
    judged: dict[str, int]


_ANSWERS = described(OnDesk) | ERRORS


@router.post("/collections/{name}/drafts", response_model=None, responses=_ANSWERS)
async def new_draft(site: Here, shelved: OnShelf, request: Request, said: Written) -> JSONResponse:
    """Put a draft on the desk."""
    made = await site.turns.run(request, lambda: shelved.desk.new(said.text or "", said.name or ""))
    return _shown(made)


@router.get("/collections/{name}/drafts/{draft_id}", response_model=None, responses=_ANSWERS)
async def draft(site: Here, shelved: OnShelf, request: Request, draft_id: str) -> JSONResponse:
    """A draft, with its basket and what was said for it."""
    return _shown(await site.turns.run(request, lambda: shelved.desk.draft(draft_id)))


@router.put("/collections/{name}/drafts/{draft_id}", response_model=None, responses=_ANSWERS)
async def write_draft(
    site: Here, shelved: OnShelf, request: Request, draft_id: str, said: Written
) -> JSONResponse:
    """Keep what a draft says now."""
    work = lambda: shelved.desk.write(draft_id, text=said.text, name=said.name)  # noqa: E731
    return _shown(await site.turns.run(request, work))


@router.post(
    "/collections/{name}/drafts/{draft_id}/basket", response_model=None, responses=_ANSWERS
)
async def cite(
    site: Here, shelved: OnShelf, request: Request, draft_id: str, said: Taken
) -> JSONResponse:
    """Take a document into a draft's basket, or out of it."""
    work = lambda: shelved.desk.cite(draft_id, said.doc_id, taken=said.taken)  # noqa: E731
    return _shown(await site.turns.run(request, work))


@router.post(
    "/collections/{name}/drafts/{draft_id}/judgements", response_model=None, responses=_ANSWERS
)
async def judge(
    site: Here, shelved: OnShelf, request: Request, draft_id: str, said: Said
) -> JSONResponse:
    """Keep that a document is good, or not, for a draft."""
    work = lambda: shelved.desk.judge(  # noqa: E731
        draft_id, said.doc_id, said.relevance, said.text
    )
    return _shown(await site.turns.run(request, work))


def _shown(draft: DeskDraft) -> JSONResponse:
    return JSONResponse(draft._asdict())
