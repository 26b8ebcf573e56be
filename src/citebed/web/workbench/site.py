"""The base of the workbench's routes: the site, its queue and cache, and types of the API."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import quote

import anyio
from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import UploadFile

from citebed.drafts.draft_store import NoSuchDraft
from citebed.errors import CitebedError, UnknownName
from citebed.files.uploads import Upload
from citebed.web.access import Keys, Throttle
from citebed.web.site import Site, parse_form
from citebed.web.workbench.jobs import Jobs, NoSuchJob, TooManyJobs
from citebed.web.workbench.open_collections import OpenCollection, OpenCollections
from citebed.wording import count

if TYPE_CHECKING:
    from citebed.judging.campaign import Campaign

SECTIONS = (
    ("recommend", "Recommend", "r"),
    ("library", "Library", "l"),
    ("map", "Map", "m"),
    ("experiments", "Experiments", "e"),
    ("collection", "Collection", "c"),
)
"""The pages of a collection: the last part of the URL, the name, the shortcut (``g`` and this)."""
AT_ONCE, MOST_WAITING, SECONDS = 3, 200, 30.0
"""Simultaneous computations, requests that wait for one, and the time limit of each."""
MOST_ANSWERS, LARGEST_CACHE = 64, 64 << 20
"""The number of cached answers, and their total size."""
MAX_WRONG_PASSWORDS, WINDOW = 10, 15 * 60.0
"""Wrong passwords that one network address may send, within these seconds."""
MOST_LOGINS = 50
"""Logins with a wrong password that wait for their delayed answer at the same time."""
MOST_FILES = 5000
_T = TypeVar("_T")


class ServerBusy(CitebedError):
    """Too many requests at once, or one that took too long."""


class ClientGone(Exception):
    """The client disconnected before its computation began."""


class RequestQueue:
    """Runs the computations of requests in threads, a few at a time."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._limiter = anyio.CapacityLimiter(at_once)

    async def run(self, request: Request, work: Callable[[], _T], seconds: float = SECONDS) -> _T:
        """Return what ``work`` returns; raise `ServerBusy` if it waits or takes too long.

        If the client disconnects first, the work is skipped: a page that sends requests while its
        user types abandons most of them. The thread is a daemon: a stopping server does not
        wait for it. It counts as one of the few until it ends.
        """
        busy = ServerBusy("too many requests at once. Try again in a moment.")
        if self._limiter.statistics().tasks_waiting >= MOST_WAITING:
            raise busy
        loop = asyncio.get_running_loop()
        done: asyncio.Future[_T] = loop.create_future()

        def finish(result: Any, error: BaseException | None) -> None:
            self._limiter.release_on_behalf_of(done)
            if error is None:
                done.set_result(result)
            else:
                done.set_exception(error)
                done.exception()  # avoids a warning if no caller waits any more

        def compute() -> None:
            result, error = None, None
            try:
                result = work()
            except BaseException as raised:  # a panic of a Rust library is not an Exception
                error = raised
            with suppress(RuntimeError):  # the loop is closed: the server has stopped
                loop.call_soon_threadsafe(finish, result, error)

        try:
            try:
                with anyio.fail_after(seconds):
                    await self._limiter.acquire_on_behalf_of(done)
            except TimeoutError:
                raise busy from None
            try:
                if await request.is_disconnected():
                    raise ClientGone
                threading.Thread(target=compute, name="citebed-request", daemon=True).start()
            except BaseException:
                self._limiter.release_on_behalf_of(done)
                raise
            try:
                async with asyncio.timeout(seconds):
                    return await asyncio.shield(done)
            except TimeoutError:
                message = f"this took longer than {seconds:.0f} s. Try again later."
                raise ServerBusy(message) from None
        except asyncio.CancelledError:  # only a stopping server cancels requests
            raise ServerBusy("the server is stopping.") from None


class AnswerCache:
    """A small thread-safe LRU cache of computed answers, limited in number and size."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def get(
        self, key: Hashable, make: Callable[[], _T], size: Callable[[_T], int] = lambda _: 0
    ) -> _T:
        """Return the answer of a key, computed if it is not cached."""
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                cached: _T = self._answers[key][0]
                return cached
        made = make()
        with self._lock:
            self._answers[key] = made, size(made)
            while len(self._answers) > 1 and (
                len(self._answers) > MOST_ANSWERS
                or sum(taken for _, taken in self._answers.values()) > LARGEST_CACHE
            ):
                self._answers.popitem(last=False)
        return made


def file_states(paths: Iterable[Path]) -> tuple[tuple[str, int, int, int], ...]:
    """Return a value that changes with the files."""
    states = ((path, path.stat()) for path in paths)
    return tuple((str(path), s.st_ino, s.st_size, s.st_mtime_ns) for path, s in states)


class WorkbenchSite(Site):
    """The workbench that is being served.

    ``campaigns`` run in the same process. Users may import files from the ``allowed`` folders.
    """

    folder = "workbench/"

    def __init__(
        self,
        collections: OpenCollections,
        keys: Keys,
        campaigns: tuple[Campaign, ...] = (),
        allowed: tuple[Path, ...] = (),
    ) -> None:
        super().__init__(
            token=keys.token, sections=SECTIONS, collections=collections,
            campaigns=[each.name for each in campaigns],
        )  # fmt: skip
        self.templates.filters["number"] = lambda value: f"{value:,}"
        self.collections, self.keys = collections, keys
        self.campaigns, self.allowed = campaigns, allowed
        self.queue, self.jobs, self.cache = RequestQueue(), Jobs(), AnswerCache()
        self.draft_queue = RequestQueue(1)  # saves drafts in order, while other requests compute
        self.wrong_passwords = Throttle(MAX_WRONG_PASSWORDS, WINDOW)
        self.logins = asyncio.Semaphore(MOST_LOGINS)

    def page(
        self,
        name: str,
        status: int = 200,
        *,
        at: str = "",
        collection: OpenCollection | None = None,
        **content: Any,
    ) -> HTMLResponse:
        """Render a template for a ``collection``; ``at`` is its section."""
        return super().page(name, status, at=at, collection=collection, **content)

    def stranger_page(self, name: str, status: int = 200, **content: Any) -> HTMLResponse:
        """Render a template without secrets, for people without access."""
        return self.page(name, status, token="", **content)

    def wants_json(self, request: Request) -> bool:
        """Return True if a script sent the request, not a reader."""
        return request.url.path.startswith("/api/") or super().wants_json(request)

    def answer(self, request: Request, status: int, heading: str, message: str) -> Response:
        """Return an error as JSON for a script, or as a page with the frame of its collection."""
        if self.wants_json(request):
            return super().answer(request, status, heading, message)
        parts = request.url.path.split("/")
        is_collection_url = parts[1:2] == ["c"] and parts[2:3] != []
        name = parts[2] if is_collection_url else None
        here = next((each for each in self.collections if each.name == name), None)
        query = f"?{request.url.query}" if request.url.query else ""
        again = f"/{quote(request.url.path.lstrip('/'))}{query}" if request.method == "GET" else ""
        return self.stranger_page(
            "message", status, heading=heading, message=message, again=again, collection=here,
            at=next((section for section, *_ in SECTIONS if here and parts[3:4] == [section]), ""),
        )  # fmt: skip

    def refusal_page(self, status: int, heading: str, message: str) -> Response:
        """Return a message page for a person without access."""
        return self.stranger_page("message", status, heading=heading, message=message, again="")

    async def handle_error(self, request: Request, error: Exception) -> Response:
        """Return the response to an error in a route."""
        match error:
            case ClientGone():
                return Response(status_code=499)
            case ServerBusy() | TooManyJobs():
                status = 503 if isinstance(error, ServerBusy) else 429
                response = self.answer(request, status, "This did not work", str(error))
                response.headers["Retry-After"] = "2"
                return response
            case NoSuchJob():
                return self.answer(request, 404, "This did not work", str(error))
            case NoSuchDraft() | UnknownName() if request.method == "GET":
                return self.answer(request, 404, "Not found", str(error))
        return await super().handle_error(request, error)


# --- what a route gets -------------------------------------------------------------------------


@dataclass(frozen=True)
class SiteContext:
    """The site and a request to it."""

    site: WorkbenchSite
    request: Request

    async def run(self, work: Callable[[], _T], seconds: float = SECONDS) -> _T:
        """Compute something in its turn."""
        return await self.site.queue.run(self.request, work, seconds)

    async def json(self, work: Callable[[], Any], seconds: float = SECONDS) -> JSONResponse:
        """Respond with a computed value as JSON."""
        return JSONResponse(await self.run(work, seconds))


@dataclass(frozen=True)
class CollectionContext(SiteContext):
    """The site, a request to it, and the collection that its URL names."""

    collection: OpenCollection

    async def save(self, work: Callable[[], _T]) -> _T:
        """Change a draft, in the order of the requests."""
        return await self.site.draft_queue.run(self.request, work)

    def page(self, name: str, at: str, **content: Any) -> HTMLResponse:
        """Render a template for the collection."""
        return self.site.page(name, at=at, collection=self.collection, **content)


def computed(work: Callable[..., Any]) -> Callable[..., Awaitable[JSONResponse]]:
    """Make a route from a function with a parameter ``at`` (collection) or ``here`` (site). The
    route queues the call and sends its result as JSON."""

    async def route(**given: Any) -> JSONResponse:
        context: SiteContext = given["at" if "at" in given else "here"]
        return await context.json(partial(work, **given))

    route.__name__, route.__doc__ = work.__name__, work.__doc__
    vars(route)["__signature__"] = signature(work, eval_str=True)
    return route


async def _get_site_context(request: Request) -> SiteContext:
    return SiteContext(request.app.state.site, request)  # async, so that it needs no thread


async def _get_collection_context(request: Request, name: str) -> CollectionContext:
    site: WorkbenchSite = request.app.state.site
    return CollectionContext(site, request, site.collections[name])


Here = Annotated[SiteContext, Depends(_get_site_context)]
At = Annotated[CollectionContext, Depends(_get_collection_context)]
"""For routes with ``{name}``, the name of a collection."""


# --- types of the API --------------------------------------------------------------------------

Name = Annotated[str, Field(max_length=500)]
Names = Annotated[list[Name], Field(max_length=1000)]
LongText = Annotated[str, Field(max_length=1_000_000)]


class StrictRequest(BaseModel):
    """A request body without unknown fields."""

    model_config = ConfigDict(extra="forbid")


# --- uploads -----------------------------------------------------------------------------------

_FILES_SCHEMA = {
    "type": "object",
    "required": ["files"],
    "properties": {
        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
        "name": {"type": "string", "maxLength": 200},
    },
}
TAKES_FILES: dict[str, Any] = {
    "openapi_extra": {
        "requestBody": {
            "required": True, "content": {"multipart/form-data": {"schema": _FILES_SCHEMA}},
        }
    }
}  # fmt: skip
"""Arguments of the decorator of a route that receives files."""


@asynccontextmanager
async def received_files(request: Request) -> AsyncIterator[tuple[list[UploadFile], str]]:
    """Yield the files of a form, and its field ``name``."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise CitebedError("send files as multipart/form-data, each as a field 'files'.")
    form = await parse_form(request, MOST_FILES, 10)
    try:
        files = [each for each in form.getlist("files") if isinstance(each, UploadFile)]
        name = form.get("name")
        yield files, name if isinstance(name, str) else ""
    finally:
        await form.close()


async def with_files(request: Request, work: Callable[[list[Upload], str], _T]) -> _T:
    """Return what ``work`` returns for the files of a form and its field ``name``.

    ``work`` runs in a thread to its end, even if the client disconnects. A job or a table must
    refer to every file that it leaves: nobody would delete others.
    """
    async with received_files(request) as (files, name):
        uploads: list[Upload] = [(each.filename or "", each.file) for each in files]
        return await asyncio.to_thread(work, uploads, name)


def describe_files(files: list[Upload]) -> str:
    """Name a single file, or count several."""
    first = Path(files[0][0] or "a file").name[:80] if files else "nothing"
    return first if len(files) == 1 else count(len(files), "file")
