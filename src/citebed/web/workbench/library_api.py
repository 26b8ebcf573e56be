"""The library over HTTP: finding documents, one and what is around it, papers like these, maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from citebed.collection.filters import Filter
from citebed.drafts.bibliography import with_libraries
from citebed.drafts.reader import parse_draft
from citebed.errors import CitebedError, CollectionError
from citebed.retrieval.library.about import About
from citebed.retrieval.library.found import Found
from citebed.retrieval.library.map import Map
from citebed.web.workbench.answers import ERRORS, described
from citebed.web.workbench.recommend_api import Name, Names, Text, askable
from citebed.web.workbench.shelf import Shelved
from citebed.web.workbench.site import Here, OnShelf

router = APIRouter(tags=["library"])
_T = TypeVar("_T")
MOST_SHOWN, MOST_LIKE = 100, 50
_YEARS = r"^([0-9]{1,4}|[0-9]{0,4}[-–][0-9]{1,4}|[0-9]{1,4}[-–])?$"


class Asked(BaseModel):
    """Which documents to find, as the options of ``citebed find``."""

    model_config = ConfigDict(extra="forbid")
    words: Annotated[str, Field(max_length=2000)] = ""
    years: Annotated[str, Field(pattern=_YEARS)] = ""
    venue: Names = []
    type: Names = []
    author: Names = []
    sort: Literal["best", "newest", "oldest", "title", "cited"] = "best"
    start: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    k: Annotated[int, Field(ge=1, le=MOST_SHOWN)] = 25

    @property
    def among(self) -> Filter:
        """What is let through."""
        return Filter(self.years, tuple(self.venue), tuple(self.type), tuple(self.author))


class AskedAbout(BaseModel):
    """Which document to tell of, by any name that it goes by."""

    model_config = ConfigDict(extra="forbid")
    doc: Name
    k: Annotated[int, Field(ge=1, le=MOST_SHOWN)] = 10


class AskedLike(BaseModel):
    """Which documents to find others like."""

    model_config = ConfigDict(extra="forbid")
    doc: Annotated[list[Name], Field(min_length=1, max_length=MOST_LIKE)]
    k: Annotated[int, Field(ge=1, le=MOST_SHOWN)] = 10


class AskedMap(BaseModel):
    """What to draw a map around: a text, a draft on the desk, or documents."""

    model_config = ConfigDict(extra="forbid")
    text: Text = ""
    draft: Annotated[str, Field(max_length=100)] = ""
    doc: Annotated[list[Name], Field(max_length=MOST_LIKE)] = []
    k: Annotated[int, Field(ge=1, le=120)] = 60


class FoundRow(BaseModel):
    """A document, as ``citebed find --json`` prints it."""

    rank: int
    doc_id: str
    score: float
    title: str
    authors: list[str]
    year: int | None
    venue: str
    type: str
    doi: str
    key: str
    cited: int
    link: str


class FacetRow(BaseModel):
    """How many of what was found are of a year, venue, author or type."""

    facet: Literal["year", "venue", "author", "type"]
    value: str
    count: int
    chosen: bool


class FoundDocuments(BaseModel):
    """Documents that were found: a page of them, how many there are, how they are spread."""

    rows: list[FoundRow]
    total: int
    start: int
    facets: list[FacetRow]
    notes: list[str]


class Mention(BaseModel):
    """A sentence with which a paper cites a document; empty where it is not known."""

    paper_id: str
    doc_id: str | None
    by: str
    year: int | None
    section: str
    sentence: str


class CitedRow(FoundRow):
    """A document that another cites."""

    kind: Literal["cites", "linked"]


class TogetherRow(FoundRow):
    """A document that is cited together with another, and in how many places."""

    sentences: int
    paragraphs: int
    papers: int


class AboutDocument(BaseModel):
    """A document and what is around it."""

    document: FoundRow
    abstract: str
    bibtex: str
    cited_by: list[Mention]
    cites: list[CitedRow]
    cited_with: list[TogetherRow]
    similar: list[FoundRow]


class Node(BaseModel):
    """A document on a map; x and y are from 0 to 1."""

    doc_id: str
    title: str
    x: float
    y: float
    year: int | None
    role: Literal["centre", "cited", "citing", "recommended", "cited with", "similar"]
    group: int
    authors: list[str]
    venue: str
    key: str
    citations: int


class Group(BaseModel):
    """Documents of a map that are alike; ``label`` is a phrase of their titles."""

    group: int
    label: str
    size: int
    cited: int
    x: float
    y: float
    doc_ids: list[str]


class Edge(BaseModel):
    """What ties two documents of a map."""

    source: str
    target: str
    kind: Literal["citation", "cited together", "similar"]
    weight: float


class Drawn(BaseModel):
    """A map: documents, groups, ties, and the groups of which a draft cites nothing."""

    nodes: list[Node]
    groups: list[Group]
    edges: list[Edge]
    gaps: list[Group]
    notes: list[str]


@router.get(
    "/collections/{name}/find", response_model=None, responses=described(FoundDocuments) | ERRORS
)
async def find(
    site: Here, shelved: OnShelf, request: Request, asked: Annotated[Asked, Query()]
) -> JSONResponse:
    """The documents that have some words, with counts by year, venue, author and type."""
    found = await site.turns.run(request, lambda: found_in(shelved, asked))
    return JSONResponse(_found(found))


@router.get(
    "/collections/{name}/document",
    response_model=None,
    responses=described(AboutDocument) | ERRORS,
)
async def document(
    site: Here, shelved: OnShelf, request: Request, asked: Annotated[AskedAbout, Query()]
) -> JSONResponse:
    """A document: who cites it in which words, what is cited with it, what is similar."""
    about = await site.turns.run(request, known(lambda: shelved.library.about(asked.doc, asked.k)))
    return JSONResponse(_about(about))


@router.get(
    "/collections/{name}/similar", response_model=None, responses=described(FoundDocuments) | ERRORS
)
async def similar(
    site: Here, shelved: OnShelf, request: Request, asked: Annotated[AskedLike, Query()]
) -> JSONResponse:
    """Papers like these."""
    work = known(lambda: shelved.library.similar(asked.doc, asked.k))
    return JSONResponse(_found(await site.turns.run(request, work)))


@router.post("/collections/{name}/map", response_model=None, responses=described(Drawn) | ERRORS)
async def draw(site: Here, shelved: OnShelf, request: Request, asked: AskedMap) -> JSONResponse:
    """Documents around a text, a draft or other documents, in two dimensions."""
    drawn = await site.turns.run(request, known(lambda: drawn_around(shelved, asked)))
    parts = {part: drawn.rows(part) for part in drawn.PARTS}
    return JSONResponse({**parts, "notes": list(drawn.notes)})


# --- What pages ask too ---


def found_in(shelved: Shelved, asked: Asked) -> Found:
    """What is found in a collection."""
    return shelved.library.find(
        asked.words, among=asked.among, sort=asked.sort, start=asked.start, k=asked.k
    )


def drawn_around(shelved: Shelved, asked: AskedMap) -> Map:
    """The map around what is asked for, of which there is just one."""
    if sum(map(bool, (asked.text.strip(), asked.draft, asked.doc))) != 1:
        raise CitebedError("a map is around a text, a draft or documents: give one of these.")
    if asked.doc:
        return shelved.library.map(asked.doc, asked.k)
    if asked.text:  # which is a text, also where it looks like the name of a file
        return shelved.library.map(parse_draft(asked.text), asked.k)
    return _around_draft(shelved, asked)


def _around_draft(shelved: Shelved, asked: AskedMap) -> Map:
    """The map around a draft on the desk: what is in its basket counts as cited, and what was said
    to be none of it is not there."""
    draft = shelved.desk.draft(asked.draft)
    read = shelved.desk.read_draft(asked.draft) or (
        parse_draft(askable(draft.text)) if draft.text.strip() else None
    )
    never = draft.judged_as(0)
    if read is not None and read.passages:
        read = with_libraries(read, shelved.desk.libraries(asked.draft))
        return shelved.library.map(read, asked.k, cited=draft.basket, exclude=never)
    if not draft.basket:
        raise CitebedError("the draft has no text yet: there is nothing to draw around.")
    return shelved.library.map(draft.basket, asked.k, exclude=never)


def known(work: Callable[[], _T]) -> Callable[[], _T]:
    """Work of which a document that is not there is told as such."""

    def done() -> _T:
        try:
            return work()
        except CollectionError as error:
            if not str(error).startswith("no document "):
                raise
            raise HTTPException(404, str(error)) from None

    return done


def _found(found: Found) -> dict[str, Any]:
    return {
        "rows": list(found.rows), "total": found.total, "start": found.start,
        "facets": list(found.facet_rows), "notes": list(found.notes),
    }  # fmt: skip


def _about(about: About) -> dict[str, Any]:
    row = {name: value for name, value in about.row.items() if name != "abstract"}
    parts = {part: about.rows(part) for part in about.PARTS if part != "document"}
    return {"document": row, "abstract": about.row["abstract"], "bibtex": about.bibtex, **parts}
