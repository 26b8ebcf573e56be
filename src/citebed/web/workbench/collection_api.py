"""A collection over HTTP: how it stands, what is in it, where that came from; and new ones."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.datastructures import UploadFile

from citebed.collection.storing.store import MANIFEST, read_state
from citebed.errors import CitebedError
from citebed.files.output_files import find_free_path
from citebed.files.uploads import clean_name, store_uploads
from citebed.report.collection import collection_state, collection_tables
from citebed.retrieval.index.layout import description_version
from citebed.web.workbench.answers import ERRORS, described
from citebed.web.workbench.jobs import Job, Order
from citebed.web.workbench.jobs_api import (
    FILES,
    SOURCES,
    JobRow,
    begun,
    named_files,
    names_of,
    with_files,
)
from citebed.web.workbench.shelf import Shelved
from citebed.web.workbench.site import Here, OnShelf, WorkbenchSite
from citebed.wording import printable

router = APIRouter(tags=["collection"])
DEMO = "demo-collection"
_BEGUN = described(JobRow, 202) | ERRORS


class Standing(BaseModel):
    """A collection at a glance."""

    collection: str
    name: str
    documents: int
    papers: int
    queries: dict[str, int]
    index: Literal["none", "current", "old", "damaged"]
    index_said: str
    said: list[str]
    problems: int
    skipped: int


class Standings(BaseModel):
    """All collections of this server, at a glance."""

    rows: list[Standing]


class Counted(BaseModel):
    """What is in a collection and in its index: rows as ``citebed stats --json`` prints them, and
    tables for people."""

    rows: list[dict[str, Any]]
    tables: list[dict[str, Any]]
    notes: list[str]


class Found(BaseModel):
    """Rows, and how many there are in all."""

    rows: list[dict[str, Any]]
    total: int


@router.get("/collections", response_model=None, responses=described(Standings) | ERRORS)
async def collections(site: Here, request: Request) -> JSONResponse:
    """All collections of this server, at a glance."""
    work = lambda: [standing(site, each) for each in site.shelf]  # noqa: E731
    return JSONResponse({"rows": await site.turns.run(request, work)})


@router.get("/collections/{name}", response_model=None, responses=described(Standing) | ERRORS)
async def collection(site: Here, shelved: OnShelf, request: Request) -> JSONResponse:
    """A collection at a glance."""
    return JSONResponse(await site.turns.run(request, lambda: standing(site, shelved)))


@router.get("/collections/{name}/stats", response_model=None, responses=described(Counted) | ERRORS)
async def stats(site: Here, shelved: OnShelf, request: Request) -> JSONResponse:
    """What is in the collection and its index, in numbers."""
    return JSONResponse(await site.turns.run(request, lambda: counted(site, shelved)))


@router.get("/collections/{name}/sources", response_model=None, responses=described(Found) | ERRORS)
async def sources(site: Here, shelved: OnShelf, request: Request) -> JSONResponse:
    """What was imported: the paths that were given, with their files and a hash of the content."""
    rows = await site.turns.run(request, lambda: [dict(each) for each in shelved.workbench.sources])
    return JSONResponse({"rows": rows, "total": len(rows)})


@router.get(
    "/collections/{name}/problems", response_model=None, responses=described(Found) | ERRORS
)
async def problems(
    site: Here,
    shelved: OnShelf,
    request: Request,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> JSONResponse:
    """What was skipped or mended while reading, with file and line."""
    table = await site.turns.run(request, lambda: shelved.workbench.problems)
    return JSONResponse({"rows": table.slice(offset, limit).to_dicts(), "total": table.height})


@router.post("/demo", status_code=202, response_model=None, responses=_BEGUN)
async def demo(site: Here) -> JSONResponse:
    """Make the demo collection where new ones are made, and put it on the shelf."""
    folder = await asyncio.to_thread(_demo_folder, site.shelf.home)

    def after(is_changed: bool) -> None:
        if is_changed:
            site.shelf.add(folder)

    order = Order(
        kind="demo", what="Make the demo collection", collection=folder.name, folder=folder,
        after=after,
    )  # fmt: skip
    return begun(site.jobs.begin(order))


@router.post(
    "/collections/files", status_code=202, response_model=None, responses=_BEGUN,
    openapi_extra=FILES,
)  # fmt: skip
async def new_collection(site: Here, request: Request) -> JSONResponse:
    """Make a collection of the files that come along, under the ``name`` beside them."""

    def begin(sent: list[UploadFile], name: str) -> Job:
        folder = _new_folder(site.shelf.home, name)
        try:
            paths, _ = store_uploads(named_files(sent), folder / SOURCES)
        except BaseException:
            _unmake(folder)
            raise

        def after(is_changed: bool) -> None:
            if is_changed:
                site.shelf.add(folder)
            else:
                _unmake(folder)

        asked = {"paths": [str(path) for path in paths], "name": name.strip()[:200]}
        what = f"Make {folder.name} of {names_of(sent)}"
        order = Order(
            kind="import", what=what, collection=folder.name, folder=folder, asked=asked,
            after=after,
        )  # fmt: skip
        return site.jobs.begin(order)

    return begun(await with_files(request, begin))


def standing(site: WorkbenchSite, shelved: Shelved) -> dict[str, Any]:
    """A collection at a glance, kept until it changes."""
    opened = shelved.workbench
    key = ("standing", shelved.name, _state(shelved))
    row = site.kept.get(key, lambda: collection_state(opened).row())
    return {"collection": shelved.name, **row}


def counted(site: WorkbenchSite, shelved: Shelved) -> dict[str, Any]:
    """What is in a collection, kept until it changes."""

    def make() -> dict[str, Any]:
        found = shelved.workbench.stats()
        tables = collection_tables(found.collection, found.index)
        return {
            "rows": found.rows, "tables": [table.plain() for table in tables],
            "notes": list(found.notes),
        }  # fmt: skip

    return site.kept.get(("stats", shelved.name, _state(shelved)), make)


def _state(shelved: Shelved) -> object:
    return read_state(shelved.folder), description_version(shelved.folder / "index")


def _demo_folder(home: Path) -> Path:
    """The demo's own folder, or where a new one may be."""
    from citebed.collection.demo import check_demo_folder

    folder = home / DEMO
    try:
        check_demo_folder(folder)
    except CitebedError:
        folder = find_free_path(folder)
    return folder


def _new_folder(home: Path, name: str) -> Path:
    if not name.strip():
        raise CitebedError("the collection needs a name.")
    folder = home / clean_name(name.strip(), "collection")
    try:
        folder.mkdir()
    except FileExistsError:
        raise CitebedError(
            f"'{folder.name}' is there already, and nothing is overwritten. Choose another name."
        ) from None
    except OSError as error:
        where = printable(home)
        raise CitebedError(f"cannot make a folder in {where}: {error.strerror}.") from None
    return folder


def _unmake(folder: Path) -> None:
    """Take away a folder that was made for a collection which came to nothing."""
    if not (folder / MANIFEST).exists():
        shutil.rmtree(folder, ignore_errors=True)
