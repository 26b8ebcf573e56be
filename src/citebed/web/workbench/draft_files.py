"""Files of drafts over HTTP: what is dropped onto the page is read, and kept as it was read."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from citebed.drafts.records import Draft
from citebed.drafts.uploads import read_uploads
from citebed.web.workbench.answers import ERRORS, described
from citebed.web.workbench.desk_api import OnDesk, shown
from citebed.web.workbench.jobs_api import FILES, sent_files
from citebed.web.workbench.recommend_api import Asking, passage_row
from citebed.web.workbench.shelf import Shelved
from citebed.web.workbench.site import Here, OnShelf

router = APIRouter(tags=["drafts"])
_READING_SECONDS = 180.0
"""A long PDF takes its time."""
_FILES = "/collections/{name}/drafts/{draft_id}/files"


class Passage(Asking):
    """A passage of a draft; what is ``silent`` asks for nothing, and is that."""

    silent: str


class Files(BaseModel):
    """What was read from a draft's files: its passages, how many works it cites already, and the
    names of its .bib files; ``file`` is empty where there is none."""

    file: str
    title: str
    passages: list[Passage]
    cites: int
    libraries: list[str]
    notes: list[str]


_ANSWERS = described(Files) | ERRORS


@router.post(_FILES, response_model=None, responses=_ANSWERS, openapi_extra=FILES)
async def send_files(site: Here, shelved: OnShelf, request: Request, draft_id: str) -> JSONResponse:
    """Read files for a draft: LaTeX (with its folder, or a .zip of it), Markdown, plain text, Word,
    OpenDocument, a notebook, Typst, reStructuredText, a PDF; and .bib files, the author's own."""
    async with sent_files(request) as (files, _):
        sent = [(file.filename or "", await file.read()) for file in files]
    work = lambda: _kept(shelved, draft_id, sent)  # noqa: E731
    return JSONResponse(await site.turns.run(request, work, _READING_SECONDS))


@router.get(_FILES, response_model=None, responses=_ANSWERS)
async def draft_files(
    site: Here, shelved: OnShelf, request: Request, draft_id: str
) -> JSONResponse:
    """What was read from a draft's files."""
    return JSONResponse(await site.turns.run(request, lambda: _files(shelved, draft_id)))


@router.delete(_FILES, response_model=None, responses=described(OnDesk) | ERRORS)
async def remove_file(
    site: Here, shelved: OnShelf, request: Request, draft_id: str, file: str
) -> JSONResponse:
    """Take a file of a draft away, by its name."""
    work = lambda: shelved.desk.remove_file(draft_id, file)  # noqa: E731
    return shown(await site.turns.run(request, work))


def _kept(shelved: Shelved, draft_id: str, sent: list[tuple[str, bytes]]) -> dict[str, Any]:
    shelved.desk.draft(draft_id)  # or there is none, before anything is read
    found = read_uploads(sent)
    shelved.desk.put_files(draft_id, found.draft, found.libraries)
    return _files(shelved, draft_id, found.notes)


def _files(shelved: Shelved, draft_id: str, notes: tuple[str, ...] = ()) -> dict[str, Any]:
    libraries = shelved.desk.draft(draft_id).libraries
    read = shelved.desk.read_draft(draft_id) or Draft(())
    passages = [{**passage_row(each), "silent": each.silent} for each in read.passages]
    cited = read.cited
    return {
        "file": read.file, "title": read.title, "passages": passages,
        "cites": len(cited.entries) or len(cited.keys) + len(cited.dois) + len(cited.authored),
        "libraries": list(libraries), "notes": [*notes, *read.notes],
    }  # fmt: skip
