"""The pages for reviewing a folder of annotated papers, served on this machine only."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from citebed.errors import CitebedError
from citebed.papers.decisions import FRONT, Decisions, Step
from citebed.papers.page_images import PageImageRequest, PageTextRequest
from citebed.papers.review import Proposal, Review, StaleReview
from citebed.papers.review_state import THRESHOLD, doubtful
from citebed.processes import Worker, WorkerDied, WorkerError
from citebed.web.access import LOCAL, AccessCheck, Keys
from citebed.web.middleware import SMALL
from citebed.web.server import serve_app
from citebed.web.site import Site, build_app
from citebed.wording import count

MOST_PICTURES = 60
"""Page images in memory."""
PATIENCE = 40.0
"""Time limit for drawing a page, in seconds."""
WIDTH_STEP = 200
"""Image widths are rounded up to multiples of this, so that similar windows share images."""


class ReviewSite(Site):
    """A review that is being served, with a child process that draws pages one at a time."""

    def __init__(self, review: Review, key: str | None = None) -> None:
        self.review = review
        self.keys = Keys(key or secrets.token_urlsafe(18), name="citebed_review", strict=True)
        super().__init__(title="Papers to confirm", simulated=False, token=self.keys.token)
        self.templates.filters["minutes"] = _format_minutes
        self._lock = threading.Lock()
        self._worker = Worker(
            "citebed.papers.page_images:answer", "citebed.papers.paper:limit_process",
            PATIENCE, (),
        )  # fmt: skip
        self._draw = lru_cache(MOST_PICTURES)(self._run)

    async def handle_error(self, request: Request, error: Exception) -> Response:
        """Return the response to an error in a route."""
        if isinstance(error, RequestValidationError):
            reasons = [each["msg"][:300].removeprefix("Value error, ") for each in error.errors()]
            return self.answer(request, 422, "Invalid request", "; ".join(reasons[:3]))
        return await super().handle_error(request, error)

    def picture(self, proposal: Proposal, page: int, width: int) -> bytes:
        """Return a page of a paper as PNG."""
        with self._lock:
            drawn: bytes = self._draw(PageImageRequest(*_find_pdf(self, proposal), page, width))
            return drawn

    def marked_text(self, proposal: Proposal, page: int, *box: float) -> str:
        """Return the text in a part of a page."""
        with self._lock:
            text: str = self._run(PageTextRequest(*_find_pdf(self, proposal), page, *box))
            return text

    def warm(self) -> None:
        """Start the child process, by asking for a file that does not exist."""
        with contextlib.suppress(Exception), self._lock:
            self._run(PageImageRequest("", "", 0, 100))

    def _run(self, job: PageImageRequest | PageTextRequest) -> Any:
        try:
            return self._worker.run(job)
        except (WorkerDied, WorkerError) as error:
            what = "took too long or broke" if isinstance(error, WorkerDied) else "cannot be read"
            name = Path(job.path).name
            raise CitebedError(f"page {job.page + 1} of '{name}' {what}.") from error

    def close(self) -> None:
        """End the child process."""
        self._worker.end()
        self._worker.close()


def _find_pdf(site: ReviewSite, proposal: Proposal) -> tuple[str, str]:
    """Return the path and hash of a paper's PDF: where it was read, or in the folder."""
    places = (proposal.pdf, site.review.folder / f"{proposal.stem}.pdf")
    path = next((place for place in places if place.is_file()), places[0])
    return str(path), proposal.pdf_hash


def _format_minutes(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d} min"


def review_app(folder: Path, threshold: float = THRESHOLD, key: str | None = None) -> FastAPI:
    """Create the pages for reviewing a folder, for browsers with the ``key``."""
    site = ReviewSite(Review(folder, threshold), key)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        site.close()

    def refusal_page(status: int, heading: str, message: str) -> Response:
        return site.page("message", status, heading=heading, message=message)

    return build_app(
        site, "citebed: papers to confirm", pages=[router], openapi_url=None, lifespan=lifespan,
        secure=False, address="", limits=lambda _: SMALL,
        check_access=AccessCheck(site.keys, frozenset(LOCAL), refusal_page),
    )  # fmt: skip


def serve_review(
    folder: Path,
    port: int = 0,
    *,
    browser: bool = True,
    threshold: float = THRESHOLD,
    started: Callable[[str], Any] | None = None,
) -> None:
    """Serve the review on this machine until Ctrl-C, and open it in a browser if requested.

    ``started`` is called with the address that contains the key. Port 0 means any free port.
    """
    app = review_app(folder, threshold)
    site: ReviewSite = app.state.site

    def on_start(at: int) -> None:
        address = f"http://127.0.0.1:{at}/"
        threading.Thread(target=site.warm, daemon=True).start()
        if started is not None:
            started(f"{address}?key={site.keys.key}")
        if browser:
            site.keys.ticket.open_browser(address)

    serve_app(app, "127.0.0.1", port, on_start)


# --- requests ---------------------------------------------------------------------------------


def _site(request: Request) -> ReviewSite:
    site: ReviewSite = request.app.state.site
    return site


router = APIRouter()
Here = Annotated[ReviewSite, Depends(_site)]
Points = Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)]


class TimeSpent(BaseModel):
    """The seconds of work since the last message."""

    model_config = ConfigDict(extra="forbid")
    seconds: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)] = 0.0


class UndoRequest(TimeSpent):
    """Undo the last step of a paper that has this version."""

    version: Annotated[int, Field(ge=0, le=2**31)]


class StepRequest(UndoRequest):
    """Take a step in a paper that has this version."""

    step: Step


class Box(BaseModel):
    """A part of a page, in points."""

    left: Points
    top: Points
    right: Points
    bottom: Points


@router.get("/", response_class=HTMLResponse)
def show_papers(site: Here) -> HTMLResponse:
    """Show all papers with their progress."""
    rows = [site.review.progress(stem) for stem in site.review.stems()]
    done = sum(row.finished for row in rows)
    seconds = sum(row.seconds for row in rows)
    return site.page("review_list", rows=rows, done=done, seconds=seconds)


@router.get("/papers/{stem}", response_class=HTMLResponse)
def show_paper(site: Here, stem: str) -> HTMLResponse:
    """Show a paper: its pages on the left, the annotation on the right."""
    state = site.review.state(stem)
    stems = site.review.stems()
    place = stems.index(stem)
    others = [*stems[place + 1 :], *stems[:place]]
    following = next((each for each in others if not site.review.progress(each).finished), "")
    pages = [
        (number, round(width, 2), round(height, 2))
        for number, (width, height) in enumerate(state.annotation.pages)
    ]
    return site.page(
        "review", stem=stem, paper=state.annotation, pages=pages, following=following,
        place=place + 1, papers=len(stems),
    )  # fmt: skip


@router.get("/papers/{stem}/stand")
def get_state(site: Here, stem: str) -> JSONResponse:
    """Return the state of a paper for the page's script."""
    return JSONResponse(_state(site, stem, site.review.decisions(stem)))


@router.get("/papers/{stem}/pages/{page}.png")
def get_picture(
    site: Here, stem: str, page: int, width: Annotated[int, Query(ge=100, le=6000)] = 1000
) -> Response:
    """Return a page as an image."""
    rounded = -(-width // WIDTH_STEP) * WIDTH_STEP
    picture = site.picture(_check_page(site, stem, page), page, rounded)
    return Response(picture, media_type="image/png")


@router.get("/papers/{stem}/pages/{page}/text")
def get_text(site: Here, stem: str, page: int, box: Annotated[Box, Query()]) -> JSONResponse:
    """Return the text in a part of a page."""
    proposal = _check_page(site, stem, page)
    text = site.marked_text(proposal, page, box.left, box.top, box.right, box.bottom)
    return JSONResponse({"text": text})


def _check_page(site: ReviewSite, stem: str, page: int) -> Proposal:
    proposal = site.review.proposal(stem)
    if not 0 <= page < len(proposal.annotation.pages):
        raise CitebedError(f"the paper has no page {page + 1}.")
    return proposal


@router.post("/papers/{stem}/step")
def take_step(site: Here, stem: str, asked: StepRequest) -> JSONResponse:
    """Take a step; it is saved before the response."""
    review = site.review
    return _change(
        site, stem, lambda: review.decide(stem, asked.step, asked.version, asked.seconds)
    )


@router.post("/papers/{stem}/undo")
def undo_step(site: Here, stem: str, asked: UndoRequest) -> JSONResponse:
    """Undo the last step."""
    return _change(site, stem, lambda: site.review.undo(stem, asked.version, asked.seconds))


def _change(site: ReviewSite, stem: str, change: Callable[[], Decisions]) -> JSONResponse:
    """Return the new state, or the current one if another window changed it first."""
    try:
        return JSONResponse(_state(site, stem, change()))
    except StaleReview as stale:
        current = _state(site, stem, site.review.decisions(stem))
        return JSONResponse({"message": str(stale), "stand": current}, 409)


@router.post("/papers/{stem}/seconds")
def note_seconds(site: Here, stem: str, spent: TimeSpent) -> JSONResponse:
    """Record time of work without a step."""
    return JSONResponse({"seconds": site.review.spend(stem, spent.seconds).seconds})


@router.post("/export")
def export(site: Here) -> JSONResponse:
    """Write ``.xml`` and ``.dois`` of all papers in their current state."""
    done = site.review.export()
    contexts = sum(each.contexts for each in done)
    message = f"Written: {count(len(done), 'paper')} with {count(contexts, 'paragraph')}."
    unfinished = sum(not each.finished for each in done)
    if unfinished:
        message += f" {count(unfinished, 'paper')} not fully confirmed yet."
    return JSONResponse({"message": message, "papers": len(done), "unfinished": unfinished})


def _state(site: ReviewSite, stem: str, decisions: Decisions) -> dict[str, Any]:
    """Return all that the page shows of a paper."""
    state = site.review.state(stem, decisions)
    paper, asked = state.annotation, doubtful(state, site.review.threshold)
    cited = {cite for p in state.paragraphs for s in p.sentences for cite in s.content.cites}
    last = decisions.steps[-1] if decisions.steps else None
    return {
        "version": decisions.version,
        "seconds": decisions.seconds,
        "steps": len(decisions.steps),
        "last": str(getattr(last, "item", getattr(last, "after", FRONT))) if last else "",
        "finished": state.finished,
        "asked": asked,
        "open": [] if state.finished else [item for item in asked if item not in state.decided],
        "decided": sorted(state.decided),
        "front": {"title": paper.title, "abstract": paper.abstract, "doi": paper.doi or ""},
        "paragraphs": [
            {
                "item": each.item,
                "section": each.section,
                "heading": each.heading,
                "confidence": each.confidence,
                "dropped": each.dropped,
                "cites": each.cites,
                "sentences": [
                    {"item": one.item, **asdict(one.content), "confidence": one.confidence}
                    for one in each.sentences
                ],
            }
            for each in state.paragraphs
        ],
        "references": [
            {**asdict(each), "item": f"r{each.ref_id}", "cited": each.ref_id in cited}
            for each in paper.references
        ],
    }
