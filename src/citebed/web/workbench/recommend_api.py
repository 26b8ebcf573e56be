"""Recommending over HTTP: a text goes in, the rows that ``--json`` prints come out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from citebed.web.workbench.answers import ERRORS, described
from citebed.web.workbench.shelf import Shelved
from citebed.web.workbench.site import Here, OnShelf

router = APIRouter(tags=["recommend"])
Text = Annotated[str, Field(max_length=1_000_000)]
Name = Annotated[str, Field(max_length=500)]
Names = Annotated[list[Name], Field(max_length=1000)]


class Asked(BaseModel):
    """What to recommend for, and how; as the options of ``citebed recommend``."""

    model_config = ConfigDict(extra="forbid")
    text: Text
    k: Annotated[int, Field(ge=1, le=100)] | None = None
    each: Literal["text", "paragraph", "sentence"] = "text"
    before: Annotated[str, Field(max_length=10)] | None = None
    exclude: Names = []
    keep_cited: bool = False
    min_probability: Annotated[float, Field(ge=0, le=1)] | None = None


class Row(BaseModel):
    """A recommended document, as ``citebed recommend --json`` prints it."""

    rank: int
    doc_id: str
    score: float
    title: str
    authors: list[str]
    year: int | None
    venue: str
    doi: str
    terms: list[str]
    sentence: str
    passage: int
    line: int
    section: str
    file: str
    column: int
    key: str
    in_bib: bool
    chance: float | None
    abstract_sentence: str
    citing_sentences: list[str]
    cited_by: list[str]
    reprints: list[str]
    link: str
    strength: str
    probability: float | None
    sure: str


class Asking(BaseModel):
    """A passage that asked."""

    number: int
    text: str
    section: str
    line: int


class Recommended(BaseModel):
    """What a text should cite, passage by passage, and what else there is to say."""

    rows: list[Row]
    passages: list[Asking]
    notes: list[str]
    left_out: list[str]
    summary: str


@router.post(
    "/collections/{name}/recommend", response_model=None, responses=described(Recommended) | ERRORS
)
async def recommend(site: Here, shelved: OnShelf, request: Request, asked: Asked) -> JSONResponse:
    """The papers of a collection that a text should cite, best first, each with its reasons."""
    return JSONResponse(await site.turns.run(request, lambda: recommended(shelved, asked)))


def recommended(shelved: Shelved, asked: Asked) -> dict[str, Any]:
    """The answer of the one door, as JSON has it."""
    found = shelved.recommender.recommend_for(
        asked.text, asked.k, each=asked.each, before=asked.before, exclude=asked.exclude,
        keep_cited=asked.keep_cited, min_probability=asked.min_probability,
    )  # fmt: skip
    passages = [
        {"number": each.number, "text": each.text, "section": each.section, "line": each.line}
        for each in found.passages
    ]
    return {
        "rows": found.rows, "passages": passages, "notes": list(found.told),
        "left_out": sorted(found.left_out), "summary": found.summary,
    }  # fmt: skip
