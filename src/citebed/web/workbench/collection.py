"""API for collections: their state and content, and the jobs that change them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from pydantic import Field

from citebed.errors import CitebedError, UnknownName
from citebed.files.file_kinds import MANIFEST
from citebed.files.output_files import find_free_path
from citebed.files.uploads import (
    Upload,
    check_allowed_path,
    clean_name,
    remove_paths,
    store_uploads,
)
from citebed.report.collection import collection_state, collection_tables
from citebed.retrieval.pipeline import SHORT_NAMES, Learned, Stage, parse_pipeline, short_name
from citebed.retrieval.search.fields import fields_of
from citebed.web.workbench import responses
from citebed.web.workbench.jobs import Job, JobRequest
from citebed.web.workbench.open_collections import OpenCollection
from citebed.web.workbench.responses import answers
from citebed.web.workbench.site import (
    TAKES_FILES,
    At,
    CollectionContext,
    Here,
    StrictRequest,
    WorkbenchSite,
    computed,
    describe_files,
    with_files,
)
from citebed.wording import printable

router = APIRouter(tags=["collection"])
job_router = APIRouter(tags=["jobs"])
DEMO = "demo-collection"
SOURCES = "sources"
"""The folder of a collection for files that were dropped on a page."""


_STARTED = answers(responses.JobRow, 202)


@router.get("/collections", **answers(responses.CollectionList))
@computed
def list_collections(here: Here) -> dict[str, Any]:
    """List the collections of this server with their state."""
    return {"rows": [get_status(here.site, each) for each in here.site.collections]}


@router.get("/collections/{name}", **answers(responses.CollectionStatus))
@computed
def get_collection(at: At) -> dict[str, Any]:
    """Return the state of a collection."""
    return get_status(at.site, at.collection)


def get_status(site: WorkbenchSite, collection: OpenCollection) -> dict[str, Any]:
    """Return the state of a collection, cached until it changes."""
    opened = collection.workbench
    key = ("state", collection.name, collection.state)
    return {
        "collection": collection.name,
        **site.cache.get(key, lambda: collection_state(opened).row()),
    }


@router.get("/collections/{name}/stats", **answers(responses.Statistics))
@computed
def get_statistics(at: At) -> dict[str, Any]:
    """Return statistics of the collection and its index."""

    def compute() -> dict[str, Any]:
        found = at.collection.workbench.stats()
        tables = collection_tables(found.collection, found.index)
        rows = {"rows": found.rows, "tables": [table.plain() for table in tables]}
        return {**rows, "notes": list(found.notes)}

    key = ("stats", at.collection.name, at.collection.state)
    return at.site.cache.get(key, compute)


@router.get("/collections/{name}/sources", **answers(responses.RowPage))
@computed
def list_sources(at: At) -> dict[str, Any]:
    """List the imported paths, with their files and a hash of the content."""
    rows = [dict(each) for each in at.collection.workbench.sources]
    return {"rows": rows, "total": len(rows)}


@router.get("/collections/{name}/problems", **answers(responses.RowPage))
@computed
def list_problems(
    at: At,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """List the records that were skipped or repaired, with file and line."""
    table = at.collection.workbench.problems
    return {"rows": table.slice(offset, limit).to_dicts(), "total": table.height}


# --- new collections ---------------------------------------------------------------------------


@router.post("/demo", **_STARTED)
async def create_demo(here: Here) -> JSONResponse:
    """Create the demo collection in the folder for new collections, and open it."""
    site = here.site

    def find_folder() -> Path:
        from citebed.collection.demo import check_demo_folder

        folder = site.collections.home / DEMO
        try:
            check_demo_folder(folder)
        except CitebedError:
            folder = find_free_path(folder)
        return folder

    folder = await asyncio.to_thread(find_folder)

    def after(is_changed: bool) -> None:
        if is_changed:
            site.collections.add(folder)

    job = JobRequest("demo", "Create the demo collection", folder.name, folder, after=after)
    return _started(site.jobs.begin(job))


@router.post("/collections/files", **_STARTED, **TAKES_FILES)
async def create_collection(here: Here) -> JSONResponse:
    """Create a collection from files, with the given ``name``."""
    site = here.site

    def begin(uploads: list[Upload], name: str) -> Job:
        folder = _create_folder(site.collections.home, name)

        def after(is_changed: bool) -> None:
            if is_changed:
                site.collections.add(folder)
            elif not (folder / MANIFEST).exists():  # nothing was imported
                shutil.rmtree(folder, ignore_errors=True)

        try:
            paths, _ = store_uploads(uploads, folder / SOURCES)
        except BaseException:
            after(False)
            raise
        what = f"Create {folder.name} from {describe_files(uploads)}"
        asked = {"paths": [str(path) for path in paths], "name": name.strip()[:200]}
        return site.jobs.begin(JobRequest("import", what, folder.name, folder, asked, after))

    return _started(await with_files(here.request, begin))


def _create_folder(home: Path, name: str) -> Path:
    if not name.strip():
        raise CitebedError("the collection needs a name.")
    folder = home / clean_name(name.strip(), "collection")
    try:
        folder.mkdir()
    except FileExistsError:
        raise CitebedError(f"'{folder.name}' already exists. Choose another name.") from None
    except OSError as error:
        where = printable(home)
        raise CitebedError(f"cannot create a folder in {where}: {error.strerror}.") from None
    return folder


# --- jobs --------------------------------------------------------------------------------------


class SearchRequest(StrictRequest):
    """A query set to search with; options as in ``citebed search``."""

    queries: Annotated[str, Field(max_length=200)]
    model: Annotated[str, Field(max_length=500)] = "bm25"
    depth: Annotated[int, Field(ge=1, le=100_000)] = 1000
    fields: Annotated[str, Field(max_length=500)] = "default"
    as_is: bool = False


class ImportRequest(StrictRequest):
    """Files and folders on the server to import, from the folders it allows."""

    paths: Annotated[
        list[Annotated[str, Field(max_length=4000)]], Field(min_length=1, max_length=100)
    ]
    index: bool = True


@job_router.get("/jobs", **answers(responses.JobList))
async def list_jobs(here: Here) -> JSONResponse:
    """List the jobs of this server, the latest first."""
    return JSONResponse({"rows": [job.row() for job in here.site.jobs]})


@job_router.get("/jobs/{job_id}", **answers(responses.JobDetails))
async def get_job(here: Here, job_id: str) -> JSONResponse:
    """Return a job with its result."""
    return JSONResponse(here.site.jobs.get(job_id).row(whole=True))


@job_router.post("/jobs/{job_id}/cancel", **answers(responses.JobDetails))
async def cancel_job(here: Here, job_id: str) -> JSONResponse:
    """Cancel a job; a collection changes completely or not at all."""
    job = await asyncio.to_thread(here.site.jobs.cancel, job_id)
    return JSONResponse(job.row(whole=True))


@job_router.post("/collections/{name}/jobs/search", **_STARTED)
async def search(at: At, asked: SearchRequest) -> JSONResponse:
    """Search with every query of a set, and add the run to the collection."""

    def check() -> None:
        sets = at.collection.workbench.query_sets
        if asked.queries not in sets:
            raise UnknownName("query set", asked.queries, sets)
        fields_of(asked.fields)
        stage = parse_pipeline(asked.model).stage
        named = stage.source if isinstance(stage, Stage | Learned) else None
        if named is not None and short_name(named) not in SHORT_NAMES:  # a file, perhaps
            raise CitebedError(
                f"'{named}' is not a built-in encoder ({', '.join(SHORT_NAMES)}). Use the command "
                "line for your own models."
            )

    await at.run(check)
    what = f"{asked.model} on {asked.queries}"
    return _started(_begin(at, "search", what, asked.model_dump()))


@job_router.post("/collections/{name}/jobs/index", **_STARTED)
async def index(at: At) -> JSONResponse:
    """Index the collection, or update its index."""
    return _started(_begin(at, "index", "Index"))


@job_router.post("/collections/{name}/jobs/lint", **_STARTED)
async def lint(at: At) -> JSONResponse:
    """Check the collection for problems."""
    return _started(_begin(at, "lint", "Check"))


@job_router.post("/collections/{name}/import", **_STARTED)
async def import_paths(at: At, asked: ImportRequest) -> JSONResponse:
    """Import files and folders on the server, from the folders it allows."""
    paths = await asyncio.to_thread(
        lambda: [check_allowed_path(each, at.site.allowed) for each in asked.paths]
    )
    what = f"Import {', '.join(path.name for path in paths)[:200]}"
    options = {"paths": [str(path) for path in paths], "index": asked.index}
    return _started(_begin(at, "import", what, options))


@job_router.post("/collections/{name}/import/files", **_STARTED, **TAKES_FILES)
async def import_files(at: At) -> JSONResponse:
    """Import uploaded files; they are stored in the collection's folder ``sources``."""

    def begin(uploads: list[Upload], _: str) -> Job:
        paths, new = store_uploads(uploads, at.collection.folder / SOURCES)
        options = {"paths": [str(path) for path in paths]}
        what = f"Import {describe_files(uploads)}"
        return _begin(
            at, "import", what, options, lambda changed: None if changed else remove_paths(new)
        )

    return _started(await with_files(at.request, begin))


def _begin(
    at: CollectionContext,
    kind: str,
    what: str,
    options: dict[str, Any] | None = None,
    after: Callable[[bool], None] = lambda _: None,
) -> Job:
    name, folder = at.collection.name, at.collection.folder
    return at.site.jobs.begin(JobRequest(kind, what, name, folder, options or {}, after))


def _started(job: Job) -> JSONResponse:
    """Respond with a new job, and the address of its progress."""
    return JSONResponse(job.row(), 202, {"Location": f"/api/jobs/{job.job_id}"})
