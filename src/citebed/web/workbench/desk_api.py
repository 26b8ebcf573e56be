"""The desk over HTTP: drafts, their baskets, and what was said of the papers recommended."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from citebed.drafts.draft_store import DraftConflict, StoredDraft
from citebed.drafts.records import Draft
from citebed.retrieval.recommend.citing import CITING_FORMS, ToCite, cited_as, to_cite
from citebed.web.workbench.answers import ERRORS, described
from citebed.web.workbench.recommend_api import KeptText, Name, Sent
from citebed.web.workbench.shelf import Shelved
from citebed.web.workbench.site import Here, OnShelf

router = APIRouter(tags=["drafts"])


Version = Annotated[str, Field(max_length=80)]


class Written(Sent):
    """The text or the name of a draft; a field that you leave out stays as it is.

    To change a text, send the draft's ``version`` as ``base``. A page that saves often sends its
    name as ``writer`` and counts its saves in ``number``: a save that arrives late changes nothing.
    """

    text: KeptText | None = None
    name: Annotated[str, Field(max_length=200)] | None = None
    base: Version | None = None
    writer: Annotated[str, Field(max_length=40)] = ""
    number: Annotated[int, Field(ge=0, le=1 << 53)] = 0


class Chosen(Sent):
    """The text to go on with after a conflict: the draft's own or the copy's. ``base`` is the
    version of the draft that the author saw."""

    copy_id: Name
    chosen: Literal["draft", "copy"]
    base: Version


class Taken(Sent):
    """A document that goes into the basket, or out of it."""

    doc_id: Name
    taken: bool = True


class Said(Sent):
    """That a document is good (1) or not (0) for a passage of the draft; null forgets it."""

    doc_id: Name
    relevance: Literal[0, 1] | None
    text: KeptText = ""


class OnDesk(BaseModel):
    """A draft on the desk; ``file`` is the name of the file it was read from, if it was.

    ``version`` names its text; ``copies`` are drafts that keep a conflicting text of it.
    """

    draft_id: str
    name: str
    text: str
    changed: str
    basket: list[str]
    judged: dict[str, int]
    file: str
    libraries: list[str]
    version: str
    copies: list[str]


class Conflict(BaseModel):
    """Two texts of one draft: ``draft`` has the one that was stored first, ``copy`` keeps yours."""

    message: str
    draft: OnDesk
    copy_: Annotated[OnDesk, Field(alias="copy")]


class Line(BaseModel):
    """A draft in the list of all: how it begins, and how many papers it will cite."""

    draft_id: str
    name: str
    excerpt: str
    changed: str
    basket: int
    file: str


class Lines(BaseModel):
    """All drafts of a collection, the one changed last first."""

    drafts: list[Line]


class Removed(BaseModel):
    """That a draft is no longer on the desk."""

    removed: str


_ANSWERS = described(OnDesk) | ERRORS
_SAVED = _ANSWERS | described(Conflict, 409)
_DRAFTS = "/collections/{name}/drafts"
_DRAFT = _DRAFTS + "/{draft_id}"


@router.get(_DRAFTS, response_model=None, responses=described(Lines) | ERRORS)
async def drafts(site: Here, shelved: OnShelf, request: Request) -> JSONResponse:
    """All drafts on the desk."""
    work = lambda: shelved.desk.drafts()  # noqa: E731, PLW0108 - which may be opened only now
    found = await site.desk_turns.run(request, work)
    return JSONResponse({"drafts": [each._asdict() for each in found]})


@router.post(_DRAFTS, response_model=None, responses=_ANSWERS)
async def new_draft(site: Here, shelved: OnShelf, request: Request, said: Written) -> JSONResponse:
    """Put a draft on the desk."""
    made = await site.desk_turns.run(
        request, lambda: shelved.desk.new(said.text or "", said.name or "")
    )
    return shown(made)


@router.get(_DRAFT, response_model=None, responses=_ANSWERS)
async def draft(site: Here, shelved: OnShelf, request: Request, draft_id: str) -> JSONResponse:
    """A draft, with its basket and what was said for it."""
    return shown(await site.desk_turns.run(request, lambda: shelved.desk.draft(draft_id)))


@router.put(_DRAFT, response_model=None, responses=_SAVED)
async def write_draft(
    site: Here, shelved: OnShelf, request: Request, draft_id: str, said: Written
) -> JSONResponse:
    """Store a draft's text or name, unless another save changed the version it is based on."""
    work = lambda: shelved.desk.write(draft_id, **said.model_dump())  # noqa: E731
    return await _saved(site, request, work)


@router.post(f"{_DRAFT}/versions", response_model=None, responses=_SAVED)
async def choose_version(
    site: Here, shelved: OnShelf, request: Request, draft_id: str, said: Chosen
) -> JSONResponse:
    """Choose one of two conflicting texts; the other stays, as a draft of its own."""
    work = lambda: shelved.desk.choose(  # noqa: E731
        draft_id, said.copy_id, copy=said.chosen == "copy", base=said.base
    )
    return await _saved(site, request, work)


async def _saved(site: Here, request: Request, work: Callable[[], StoredDraft]) -> JSONResponse:
    try:
        return shown(await site.desk_turns.run(request, work))
    except DraftConflict as error:
        both = {"draft": error.draft._asdict(), "copy": error.copy._asdict()}
        return JSONResponse({"message": str(error), **both}, 409)


@router.delete(_DRAFT, response_model=None, responses=described(Removed) | ERRORS)
async def remove_draft(
    site: Here, shelved: OnShelf, request: Request, draft_id: str
) -> JSONResponse:
    """Take a draft off the desk, with its basket and what was said for it."""
    await site.desk_turns.run(request, lambda: shelved.desk.remove(draft_id))
    return JSONResponse({"removed": draft_id})


@router.post(f"{_DRAFT}/basket", response_model=None, responses=_ANSWERS)
async def cite(
    site: Here, shelved: OnShelf, request: Request, draft_id: str, said: Taken
) -> JSONResponse:
    """Take a document into a draft's basket, or out of it."""
    work = lambda: shelved.desk.cite(draft_id, said.doc_id, taken=said.taken)  # noqa: E731
    return shown(await site.desk_turns.run(request, work))


@router.post(f"{_DRAFT}/judgements", response_model=None, responses=_ANSWERS)
async def judge(
    site: Here, shelved: OnShelf, request: Request, draft_id: str, said: Said
) -> JSONResponse:
    """Keep that a document is good, or not, for a draft."""
    work = lambda: shelved.desk.judge(  # noqa: E731
        draft_id, said.doc_id, said.relevance, said.text
    )
    return shown(await site.desk_turns.run(request, work))


def shown(draft: StoredDraft) -> JSONResponse:
    """A draft as JSON has it."""
    return JSONResponse(draft._asdict())


# --- The papers of a draft --------------------------------------------------------------------


class Paper(BaseModel):
    """A document of the basket, or one that was judged; ``key`` is what to type for it."""

    doc_id: str
    key: str
    in_bib: bool
    title: str
    authors: list[str]
    year: int | None
    venue: str
    doi: str
    relevance: int | None


class Papers(BaseModel):
    """The papers that a draft will cite, and those of which something was said for it."""

    basket: list[Paper]
    judged: list[Paper]


@router.get(f"{_DRAFT}/papers", response_model=None, responses=described(Papers) | ERRORS)
async def papers(site: Here, shelved: OnShelf, request: Request, draft_id: str) -> JSONResponse:
    """The papers in a draft's basket, and those that were judged for it."""
    return JSONResponse(await site.turns.run(request, lambda: _papers(shelved, draft_id)))


def _papers(shelved: Shelved, draft_id: str) -> dict[str, Any]:
    draft = shelved.desk.draft(draft_id)
    cites = _cites(shelved, draft, [*draft.basket, *draft.judged])
    rows = {
        each.document.doc_id: {**each.row, "relevance": draft.judged.get(each.document.doc_id)}
        for each in cites
    }
    return {
        "basket": [rows[doc_id] for doc_id in draft.basket if doc_id in rows],
        "judged": [rows[doc_id] for doc_id in draft.judged if doc_id in rows],
    }


def _cites(shelved: Shelved, draft: StoredDraft, doc_ids: list[str]) -> list[ToCite]:
    desk = shelved.desk
    read = desk.read_draft(draft.draft_id) or Draft(())
    libraries = dict.fromkeys((*desk.libraries(draft.draft_id), *read.library))
    return to_cite(shelved.workbench, doc_ids, list(libraries), [read])


Form = Literal["bibtex", "ris", "csl-json", "keys"]
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "the file",
        "content": {
            form.media_type: {"schema": {"type": "string"}} for form in CITING_FORMS.values()
        },
    }
}


@router.get(f"{_DRAFT}/export", response_model=None, responses=_FILE | ERRORS)
async def export(
    site: Here, shelved: OnShelf, request: Request, draft_id: str, form: Form = "bibtex"
) -> Response:
    """A draft's basket as a file: BibTeX, RIS, CSL-JSON, or the ``\\cite{…}`` to type."""
    work = lambda: _exported(shelved, draft_id, form)  # noqa: E731
    name, text = await site.turns.run(request, work)
    chosen = CITING_FORMS[form]
    return file_answer(
        text.encode("utf-8", "replace"), f"{name}.{chosen.ending}", chosen.media_type
    )


def _exported(shelved: Shelved, draft_id: str, form: str) -> tuple[str, str]:
    draft = shelved.desk.draft(draft_id)
    cites = _cites(shelved, draft, list(draft.basket))
    name = re.sub(r"[^A-Za-z0-9]+", "-", draft.name).strip("-").lower()[:60]
    return name or "basket", cited_as(form, cites)


def file_answer(data: bytes, name: str, media_type: str) -> Response:
    """A file to be kept under a name, which has nothing in it but letters, digits and dots."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=media_type, headers=headers)


# --- What was said, as a test collection ------------------------------------------------------

_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"description": "the file", "content": {"text/plain": {"schema": {"type": "string"}}}}
}
_LINES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "the file",
        "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
    }
}


@router.get("/collections/{name}/desk/qrels", response_model=None, responses=_TEXT | ERRORS)
async def qrels(site: Here, shelved: OnShelf, request: Request) -> Response:
    """What was said of papers for all drafts, as judgements in TREC's form."""
    work = lambda: _said(lambda path: shelved.desk.export(qrels=path))  # noqa: E731
    data = await site.turns.run(request, work)
    return file_answer(data, "desk.qrels", "text/plain")


@router.get("/collections/{name}/desk/queries", response_model=None, responses=_LINES | ERRORS)
async def queries(site: Here, shelved: OnShelf, request: Request) -> Response:
    """The passages that these were said for, as queries, a JSON object a line."""
    work = lambda: _said(lambda path: shelved.desk.export(queries=path))  # noqa: E731
    data = await site.turns.run(request, work)
    return file_answer(data, "desk.jsonl", "application/x-ndjson")


def _said(write: Callable[[Path], object]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="citebed-desk-") as folder:
        path = Path(folder) / "desk.txt"
        write(path)
        return path.read_bytes()
