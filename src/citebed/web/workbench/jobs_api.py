"""Jobs over HTTP: begin a search, an import, an index, a check; watch, cancel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import UploadFile

from citebed.errors import CitebedError, UnknownName
from citebed.files.uploads import Upload, check_allowed_path, remove_paths, store_uploads
from citebed.retrieval.pipeline import SHORT_NAMES, Learned, Stage, parse_pipeline, short_name
from citebed.retrieval.search.fields import fields_of
from citebed.web.protection import parse_form
from citebed.web.workbench.answers import ERRORS, described
from citebed.web.workbench.jobs import Job, Order
from citebed.web.workbench.shelf import Shelved
from citebed.web.workbench.site import Here, OnShelf
from citebed.wording import count

router = APIRouter(tags=["jobs"])
SOURCES = "sources"
"""The folder of a collection in which files are that were dropped on a page."""
MOST_FILES = 5000
_T = TypeVar("_T")


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SearchAsked(_Sent):
    """A search of a whole query set; as the options of ``citebed search``."""

    queries: Annotated[str, Field(max_length=200)]
    model: Annotated[str, Field(max_length=500)] = "bm25"
    depth: Annotated[int, Field(ge=1, le=100_000)] = 1000
    fields: Annotated[str, Field(max_length=500)] = "default"
    as_is: bool = False


class PathsAsked(_Sent):
    """Files and folders of the server's machine to import; only below folders it allows."""

    paths: Annotated[
        list[Annotated[str, Field(max_length=4000)]], Field(min_length=1, max_length=100)
    ]
    index: bool = True


class JobRow(BaseModel):
    """A job: what is done, and how far it is."""

    job_id: str
    kind: str
    what: str
    collection: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    step: str
    done: int
    total: int
    asked: str
    started: str
    ended: str
    message: str
    summary: str


class JobShown(JobRow):
    """A job with what came of it: rows as ``--json`` prints them, lines for people, notes."""

    rows: list[dict[str, Any]]
    lines: list[tuple[str, str]]
    notes: list[str]
    files: list[str]


class JobList(BaseModel):
    """All jobs of this server, the latest first."""

    rows: list[JobRow]


_BEGUN, _SHOWN = described(JobRow, 202) | ERRORS, described(JobShown) | ERRORS


@router.get("/jobs", response_model=None, responses=described(JobList) | ERRORS)
async def jobs(site: Here) -> JSONResponse:
    """All jobs of this server, the latest first."""
    return JSONResponse({"rows": [job.row() for job in site.jobs]})


@router.get("/jobs/{job_id}", response_model=None, responses=_SHOWN)
async def job(site: Here, job_id: str) -> JSONResponse:
    """A job with what came of it."""
    return JSONResponse(site.jobs.get(job_id).row(whole=True))


@router.post("/jobs/{job_id}/cancel", response_model=None, responses=_SHOWN)
async def cancel(site: Here, job_id: str) -> JSONResponse:
    """Let a job end: a collection changes completely or not at all."""
    found = await asyncio.to_thread(site.jobs.cancel, job_id)
    return JSONResponse(found.row(whole=True))


@router.post(
    "/collections/{name}/jobs/search", status_code=202, response_model=None, responses=_BEGUN
)
async def search(
    site: Here, shelved: OnShelf, request: Request, asked: SearchAsked
) -> JSONResponse:
    """Search with every query of a set, and put the run among the collection's."""
    await site.turns.run(request, lambda: _check_search(shelved, asked))
    what = f"{asked.model} on {asked.queries}"
    return begun(site.jobs.begin(_order("search", what, shelved, asked.model_dump())))


@router.post(
    "/collections/{name}/jobs/index", status_code=202, response_model=None, responses=_BEGUN
)
async def index(site: Here, shelved: OnShelf) -> JSONResponse:
    """Index the collection, or bring its index up to date."""
    return begun(site.jobs.begin(_order("index", "Index", shelved)))


@router.post(
    "/collections/{name}/jobs/lint", status_code=202, response_model=None, responses=_BEGUN
)
async def lint(site: Here, shelved: OnShelf) -> JSONResponse:
    """Look for what would spoil an experiment."""
    return begun(site.jobs.begin(_order("lint", "Check", shelved)))


@router.post("/collections/{name}/import", status_code=202, response_model=None, responses=_BEGUN)
async def import_paths(site: Here, shelved: OnShelf, asked: PathsAsked) -> JSONResponse:
    """Import files and folders that lie on the server's machine, below folders that it allows."""
    paths = await asyncio.to_thread(
        lambda: [check_allowed_path(each, site.allowed) for each in asked.paths]
    )
    what = f"Import {', '.join(path.name for path in paths)[:200]}"
    order = {"paths": [str(path) for path in paths], "index": asked.index}
    return begun(site.jobs.begin(_order("import", what, shelved, order)))


FILES = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "properties": {
                        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
                        "name": {"type": "string", "maxLength": 200},
                    },
                }
            }
        },
    }
}
"""The form that files are sent in, for the description."""


@router.post(
    "/collections/{name}/import/files", status_code=202, response_model=None, responses=_BEGUN,
    openapi_extra=FILES,
)  # fmt: skip
async def import_files(site: Here, shelved: OnShelf, request: Request) -> JSONResponse:
    """Import files that come along; they are kept in the collection's folder ``sources``."""

    def begin(sent: list[UploadFile], _: str) -> Job:
        paths, new = store_uploads(named_files(sent), shelved.folder / SOURCES)
        asked = {"paths": [str(path) for path in paths]}
        order = _order(
            "import", f"Import {names_of(sent)}", shelved, asked,
            after=lambda is_changed: None if is_changed else remove_paths(new),
        )  # fmt: skip
        return site.jobs.begin(order)

    return begun(await with_files(request, begin))


def begun(job: Job) -> JSONResponse:
    """The answer to whoever began a job: where it can be watched."""
    return JSONResponse(job.row(), 202, {"Location": f"/api/jobs/{job.job_id}"})


@asynccontextmanager
async def sent_files(request: Request) -> AsyncIterator[tuple[list[UploadFile], str]]:
    """Yield the files that came along and the name beside them."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise CitebedError("files are sent as multipart/form-data, each as a field 'files'.")
    form = await parse_form(request, MOST_FILES, 10)
    try:
        sent = [each for each in form.getlist("files") if isinstance(each, UploadFile)]
        name = form.get("name")
        yield sent, name if isinstance(name, str) else ""
    finally:
        await form.close()


async def with_files(request: Request, work: Callable[[list[UploadFile], str], _T]) -> _T:
    """Return what ``work`` makes of the files that came along and the name beside them.

    It runs in a thread, to its end even if the browser goes away meanwhile: it must leave files
    only where a job or a table knows of them.
    """
    async with sent_files(request) as (sent, name):
        return await asyncio.to_thread(work, sent, name)


def named_files(sent: list[UploadFile]) -> list[Upload]:
    """What was sent, as it is put in place."""
    return [(each.filename or "", each.file) for each in sent]


def names_of(sent: list[UploadFile]) -> str:
    """What was sent, in a few words."""
    first = Path(sent[0].filename or "a file").name[:80] if sent else "nothing"
    return first if len(sent) == 1 else count(len(sent), "file")


def _order(
    kind: str,
    what: str,
    shelved: Shelved,
    asked: dict[str, Any] | None = None,
    after: Callable[[bool], None] = lambda _: None,
) -> Order:
    return Order(
        kind=kind, what=what, collection=shelved.name, folder=shelved.folder, asked=asked or {},
        after=after,
    )  # fmt: skip


def _check_search(shelved: Shelved, asked: SearchAsked) -> None:
    """What is wrong is told at once. A page chooses a model by its name, and no file."""
    sets = shelved.workbench.query_sets
    if asked.queries not in sets:
        raise UnknownName("query set", asked.queries, sets)
    fields_of(asked.fields)
    stage = parse_pipeline(asked.model).stage
    named = stage.source if isinstance(stage, Stage | Learned) else None
    if named is not None and short_name(named) not in SHORT_NAMES:
        raise CitebedError(
            f"'{named}' is not one of the encoders {', '.join(SHORT_NAMES)}: models of one's own "
            "are for the command line."
        )
