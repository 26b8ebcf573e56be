"""The pages of a review: the papers, one paper beside its PDF, and what is decided there."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from citebed.errors import CitebedError
from citebed.papers.decisions import FRONT, Decisions, Step
from citebed.papers.review import Proposal, StaleReview
from citebed.papers.review_state import Paragraph, ReviewState, Sentence, doubtful
from citebed.web.review.site import ReviewSite, site_of
from citebed.wording import count

router = APIRouter()
STEP_OF_WIDTH = 200
"""Pictures come in widths of so many pixels more: windows of about one size share them."""
Here = Annotated[ReviewSite, Depends(site_of)]
Version = Annotated[int, Field(ge=0, le=2**31)]
Points = Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)]


class NotOurs(CitebedError):
    """A request that no page of ours sent."""


def _sent_by_us(request: Request) -> None:
    if not site_of(request).sent_it(request):
        raise NotOurs("this was not sent from our page. Load the page again.")


_OURS = [Depends(_sent_by_us)]


class Spent(BaseModel):
    """How long somebody worked since the last message."""

    model_config = ConfigDict(extra="forbid")
    seconds: Seconds = 0.0


class Undone(Spent):
    """Take back the last step of a paper that is at a version."""

    version: Version


class Taken(Undone):
    """Take a step in a paper that is at a version."""

    step: Step


@router.get("/", response_class=HTMLResponse)
def show_papers(site: Here) -> HTMLResponse:
    """All papers, and how far each is."""
    rows = [site.review.progress(stem) for stem in site.review.stems()]
    done = sum(row.finished for row in rows)
    seconds = sum(row.seconds for row in rows)
    return site.page("review_list", rows=rows, done=done, seconds=seconds)


@router.get("/papers/{stem}", response_class=HTMLResponse)
def show_paper(site: Here, stem: str) -> HTMLResponse:
    """One paper: its pages on the left, the annotation on the right."""
    stand = site.review.state(stem)
    stems = site.review.stems()
    behind = [*stems[stems.index(stem) + 1 :], *stems[: stems.index(stem)]]
    following = next((each for each in behind if not site.review.progress(each).finished), "")
    pages = [
        (number, round(width, 2), round(height, 2))
        for number, (width, height) in enumerate(stand.annotation.pages)
    ]
    return site.page(
        "review", stem=stem, paper=stand.annotation, pages=pages, following=following,
        place=stems.index(stem) + 1, papers=len(stems),
    )  # fmt: skip


@router.get("/papers/{stem}/stand")
def fetch_stand(site: Here, stem: str) -> JSONResponse:
    """How a paper stands, for the page's script."""
    return JSONResponse(_shown(site, stem, site.review.decisions(stem)))


@router.get("/papers/{stem}/pages/{page}.png")
def fetch_picture(
    site: Here, stem: str, page: int, width: Annotated[int, Query(ge=100, le=6000)] = 1000
) -> Response:
    """A page as a picture."""
    proposal = site.review.proposal(stem)
    _check_page(proposal, page)
    wide = -(-width // STEP_OF_WIDTH) * STEP_OF_WIDTH
    return Response(site.picture(proposal, page, wide), media_type="image/png")


class Box(BaseModel):
    """A part of a page, in points."""

    left: Points
    top: Points
    right: Points
    bottom: Points


@router.get("/papers/{stem}/pages/{page}/text")
def fetch_text(site: Here, stem: str, page: int, box: Annotated[Box, Query()]) -> JSONResponse:
    """The text in a part of a page."""
    proposal = site.review.proposal(stem)
    _check_page(proposal, page)
    text = site.marked_text(proposal, page, box.left, box.top, box.right, box.bottom)
    return JSONResponse({"text": text})


def _check_page(proposal: Proposal, page: int) -> None:
    if not 0 <= page < len(proposal.annotation.pages):
        raise CitebedError(f"the paper has no page {page + 1}.")


@router.post("/papers/{stem}/step", dependencies=_OURS)
def take_step(site: Here, stem: str, taken: Taken) -> JSONResponse:
    """Take a step, which is saved when this answers."""
    try:
        decisions = site.review.decide(stem, taken.step, taken.version, taken.seconds)
    except StaleReview as stale:
        return _stale(site, stem, stale)
    return JSONResponse(_shown(site, stem, decisions))


@router.post("/papers/{stem}/undo", dependencies=_OURS)
def undo_step(site: Here, stem: str, undone: Undone) -> JSONResponse:
    """Take back the last step."""
    try:
        decisions = site.review.undo(stem, undone.version, undone.seconds)
    except StaleReview as stale:
        return _stale(site, stem, stale)
    return JSONResponse(_shown(site, stem, decisions))


def _stale(site: ReviewSite, stem: str, stale: StaleReview) -> JSONResponse:
    stand = _shown(site, stem, site.review.decisions(stem))
    return JSONResponse({"message": str(stale), "stand": stand}, 409)


@router.post("/papers/{stem}/seconds", dependencies=_OURS)
def note_seconds(site: Here, stem: str, spent: Spent) -> JSONResponse:
    """Note how long somebody worked on a paper without deciding anything."""
    return JSONResponse({"seconds": site.review.spend(stem, spent.seconds).seconds})


@router.post("/export", dependencies=_OURS)
def export(site: Here) -> JSONResponse:
    """Write XML and ``.dois`` of all papers as they stand."""
    done = site.review.export()
    contexts = sum(each.contexts for each in done)
    told = f"Written: {count(len(done), 'paper')} with {count(contexts, 'paragraph')}."
    unfinished = sum(not each.finished for each in done)
    if unfinished:
        told += f" {count(unfinished, 'paper')} not confirmed to the end: as far as decided."
    return JSONResponse({"message": told, "papers": len(done), "unfinished": unfinished})


def _shown(site: ReviewSite, stem: str, decisions: Decisions) -> dict[str, Any]:
    stand = site.review.state(stem, decisions)
    paper, asked = stand.annotation, doubtful(stand, site.review.threshold)
    cited = {cite for p in stand.paragraphs for s in p.sentences for cite in s.content.cites}
    return {
        "version": decisions.version,
        "seconds": decisions.seconds,
        "steps": len(decisions.steps),
        "last": _place(decisions.steps[-1]) if decisions.steps else "",
        "finished": stand.finished,
        "asked": asked,
        "open": [] if stand.finished else [item for item in asked if item not in stand.decided],
        "decided": sorted(stand.decided),
        "front": {"title": paper.title, "abstract": paper.abstract, "doi": paper.doi or ""},
        "paragraphs": [_paragraph(each) for each in stand.paragraphs],
        "references": _references(stand, cited),
    }


def _place(step: Step) -> str:
    """The item at which a step was taken."""
    return str(getattr(step, "item", getattr(step, "after", FRONT)))


def _paragraph(paragraph: Paragraph) -> dict[str, Any]:
    return {
        "item": paragraph.item,
        "section": paragraph.section,
        "heading": paragraph.heading,
        "confidence": paragraph.confidence,
        "dropped": paragraph.dropped,
        "cites": paragraph.cites,
        "sentences": [_sentence(each) for each in paragraph.sentences],
    }


def _sentence(sentence: Sentence) -> dict[str, Any]:
    return {"item": sentence.item, **asdict(sentence.content), "confidence": sentence.confidence}


def _references(stand: ReviewState, cited: set[str]) -> list[dict[str, Any]]:
    return [
        {**asdict(each), "item": f"r{each.ref_id}", "cited": each.ref_id in cited}
        for each in stand.annotation.references
    ]
