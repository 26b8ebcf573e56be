"""Library of a collection: search, documents, similar papers and maps, as API and as pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from citebed.collection.filters import Filter
from citebed.drafts.reader import parse_draft
from citebed.errors import CitebedError, CollectionError
from citebed.retrieval.library.finder import FACETS, SORTS, FindResult
from citebed.retrieval.library.map import Map
from citebed.retrieval.recommend.display import format_authors
from citebed.text.names import display_name, family_name
from citebed.web.workbench import responses
from citebed.web.workbench.drafts import read_stored_draft
from citebed.web.workbench.open_collections import OpenCollection
from citebed.web.workbench.recommend import Text
from citebed.web.workbench.responses import answers
from citebed.web.workbench.site import At, Name, Names, StrictRequest, computed
from citebed.wording import count

router = APIRouter(tags=["library"])
pages = APIRouter()
MOST_SHOWN, MOST_LIKE = 100, 50
PAGE_SIZE, MAP_SIZE = 25, 60
_MOST_TIES = 2
_YEARS = r"^([0-9]{1,4}|[0-9]{0,4}[-–][0-9]{1,4}|[0-9]{1,4}[-–])?$"
_P = ParamSpec("_P")
_T = TypeVar("_T")


class FindRequest(StrictRequest):
    """Documents to find, with the options of ``citebed find``."""

    words: Annotated[str, Field(max_length=2000)] = ""
    years: Annotated[str, Field(pattern=_YEARS)] = ""
    venue: Names = Field(default=[])
    type: Names = Field(default=[])
    author: Names = Field(default=[])
    sort: Literal["best", "newest", "oldest", "title", "cited"] = "best"
    start: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    k: Annotated[int, Field(ge=1, le=MOST_SHOWN)] = PAGE_SIZE

    @property
    def filter(self) -> Filter:
        """The filter of the search."""
        return Filter(self.years, tuple(self.venue), tuple(self.type), tuple(self.author))


class DocumentRequest(StrictRequest):
    """A document, by any of its names."""

    doc: Name
    k: Annotated[int, Field(ge=1, le=MOST_SHOWN)] = 10


class SimilarRequest(StrictRequest):
    """Documents to find similar ones for."""

    doc: Annotated[list[Name], Field(min_length=1, max_length=MOST_LIKE)]
    k: Annotated[int, Field(ge=1, le=MOST_SHOWN)] = 10


class MapRequest(StrictRequest):
    """The centre of a map: a text, a stored draft, or documents."""

    text: Text = ""
    draft: Annotated[str, Field(max_length=100)] = ""
    doc: Annotated[list[Name], Field(max_length=MOST_LIKE)] = Field(default=[])
    k: Annotated[int, Field(ge=1, le=120)] = MAP_SIZE


def _with_404(work: Callable[_P, _T]) -> Callable[_P, _T]:
    """Respond with status 404 if a document does not exist."""

    @wraps(work)
    def run(*given: _P.args, **named: _P.kwargs) -> _T:
        try:
            return work(*given, **named)
        except CollectionError as error:
            if not str(error).startswith("no document "):
                raise
            raise HTTPException(404, str(error)) from None

    return run


@router.get("/collections/{name}/find", **answers(responses.FoundDocuments))
@computed
def find(at: At, asked: Annotated[FindRequest, Query()]) -> dict[str, Any]:
    """Find documents by words, with counts by year, venue, author and type."""
    return _found_row(_find(at.collection, asked))


@router.get("/collections/{name}/document", **answers(responses.AboutDocument))
@computed
@_with_404
def get_document(at: At, asked: Annotated[DocumentRequest, Query()]) -> dict[str, Any]:
    """Return a document, the sentences that cite it, and related documents."""
    about = at.collection.library.about(asked.doc, asked.k)
    row = {name: value for name, value in about.row.items() if name != "abstract"}
    parts = {part: about.rows(part) for part in about.PARTS if part != "document"}
    extra = {"abstract": about.row["abstract"], "bibtex": about.bibtex}
    return {"document": row, **extra, **parts}


@router.get("/collections/{name}/similar", **answers(responses.FoundDocuments))
@computed
@_with_404
def find_similar(at: At, asked: Annotated[SimilarRequest, Query()]) -> dict[str, Any]:
    """Find papers similar to these."""
    return _found_row(at.collection.library.similar(asked.doc, asked.k))


@router.post("/collections/{name}/map", **answers(responses.MapResponse))
@computed
@_with_404
def get_map(at: At, asked: MapRequest) -> dict[str, Any]:
    """Return documents around a text, a draft or other documents, in two dimensions."""
    drawn = _draw_map(at.collection, asked)
    return {**{part: drawn.rows(part) for part in drawn.PARTS}, "notes": list(drawn.notes)}


def _find(collection: OpenCollection, asked: FindRequest) -> FindResult:
    return collection.library.find(
        asked.words, among=asked.filter, sort=asked.sort, start=asked.start, k=asked.k
    )


def _found_row(found: FindResult) -> dict[str, Any]:
    return {
        "rows": list(found.rows), "total": found.total, "start": found.start,
        "facets": list(found.facet_rows), "notes": list(found.notes),
    }  # fmt: skip


def _draw_map(collection: OpenCollection, asked: MapRequest) -> Map:
    """Compute the map around a text, a draft or documents.

    The papers in a draft's basket count as cited; papers marked as "not this" are left out.
    """
    library = collection.library
    if sum(map(bool, (asked.text.strip(), asked.draft, asked.doc))) != 1:
        raise CitebedError("a map needs either a text, a draft or documents.")
    if asked.doc:
        return library.map(asked.doc, asked.k)
    if asked.text:  # a text that looks like a file name is a text
        return library.map(parse_draft(asked.text), asked.k)
    stored = collection.drafts.draft(asked.draft)
    never = stored.judged_as(0)
    if stored.file or stored.text.strip():
        draft = read_stored_draft(collection, stored)
        if draft.passages:
            return library.map(draft, asked.k, cited=stored.basket, exclude=never)
    if not stored.basket:
        raise CitebedError("the draft has no text yet, so there is nothing to map.")
    return library.map(stored.basket, asked.k, exclude=never)


# --- pages -------------------------------------------------------------------------------------

_URL_PARTS = {"year": "years", "venue": "venue", "author": "author", "type": "type"}
"""The URL parameter of each facet."""
_FACET_NAMES = {"year": "Year", "venue": "Venue", "author": "Author", "type": "Type"}
_SORT_NAMES = {
    "best": "Best", "newest": "Newest", "oldest": "Oldest", "title": "Title", "cited": "Most cited",
}  # fmt: skip
_ROLES = {
    "centre": "this paper",
    "cited": "cited already",
    "citing": "cites it",
    "recommended": "recommended",
    "cited with": "cited together with these",
    "similar": "similar",
}
"""The roles of documents on a map, in the words of the legend."""


class LibraryUrl(BaseModel):
    """The URL parameters of the library page."""

    q: Annotated[str, Field(max_length=2000)] = ""
    years: Annotated[str, Field(max_length=20)] = ""
    venue: Names = Field(default=[])
    type: Names = Field(default=[])
    author: Names = Field(default=[])
    sort: Annotated[str, Field(max_length=20)] = "best"
    start: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    like: Annotated[list[Name], Field(max_length=MOST_LIKE)] = []


@pages.get("/c/{name}/library")
async def show_library(at: At, url: Annotated[LibraryUrl, Query()]) -> Response:
    """Show found documents, or papers similar to others; each state has its URL."""
    sort = url.sort if url.sort in SORTS else "best"
    given_options = url.model_dump(exclude={"q", "like", "sort"})
    asked = FindRequest.model_construct(words=url.q, sort=sort, **given_options)

    def search() -> tuple[FindResult, list[dict[str, Any]], str]:
        if url.like:
            library = at.collection.library
            given = [library.about(each, 1).row for each in url.like]
            return library.similar(url.like, PAGE_SIZE), given, ""
        try:
            return _find(at.collection, asked), [], ""
        except CitebedError as error:
            return FindResult((), 0), [], str(error)

    found, given, problem = await at.run(_with_404(search))
    if url.like:
        asked = FindRequest()
    query = {"q": asked.words, **asked.model_dump(exclude={"words", "k"})}

    def make_url(**changes: Any) -> str:
        """Return this URL with changes, without empty and default parameters."""
        defaults = {"sort": "best", "start": 0}
        parts = query | {"start": 0} | changes
        kept = {part: value for part, value in parts.items() if value != defaults.get(part)}
        kept = {part: value for part, value in kept.items() if value}
        return at.site.path("c", at.collection.name, "library", **kept)

    def make_facet_url(row: dict[str, Any]) -> str:
        """Return the URL that adds a facet's value, or removes it if it is chosen."""
        part = _URL_PARTS[row["facet"]]
        if part == "years":
            return make_url(years="" if row["chosen"] else row["value"])
        others = [each for each in query[part] if each.lower() != row["value"].lower()]
        return make_url(**{part: others if row["chosen"] else [*others, row["value"]]})

    facets, paging = [], {}
    if not url.like:
        for name in FACETS:
            rows = [row for row in found.facet_rows if row["facet"] == name]
            if len(rows) > 1 or any(row["chosen"] for row in rows):
                facets.append((_FACET_NAMES[name], rows))
        if found.start > 0:
            paging["before"] = make_url(start=max(0, found.start - PAGE_SIZE))
        if found.start + len(found) < found.total:
            paging["after"] = make_url(start=found.start + PAGE_SIZE)
    return at.page(
        "library", "library", found=found, problem=problem, asked=asked, like=given, facets=facets,
        make_url=make_url, make_facet_url=make_facet_url, sorts=_SORT_NAMES, paging=paging,
        format_authors=format_authors, count=count,
    )  # fmt: skip


@pages.get("/c/{name}/document")
async def show_document(at: At, doc: Annotated[str, Query(max_length=500)]) -> Response:
    """Show a document, the papers that cite it, and related documents."""
    about = await at.run(_with_404(lambda: at.collection.library.about(doc)))
    papers: dict[str, dict[str, Any]] = {}
    for row in about.cited_by:  # the citing sentences of some papers are unknown
        paper = papers.setdefault(row["paper_id"], {**row, "sentences": []})
        if row["sentence"]:
            paper["sentences"].append(row)

    def describe_together(row: dict[str, Any]) -> str:
        """Name the closest way in which a document is cited together with this one."""
        if row["sentences"]:
            return f"in {count(row['sentences'], 'sentence')}"
        if row["paragraphs"]:
            return f"in {count(row['paragraphs'], 'paragraph')}"
        return f"by {count(row['papers'], 'paper')}"

    return at.page(
        "document", "library", about=about, row=about.row, papers=list(papers.values()),
        format_authors=format_authors, display_name=display_name, count=count,
        together=describe_together,
    )  # fmt: skip


_Documents = Annotated[list[Annotated[str, Query(max_length=500)]], Query(max_length=MOST_LIKE)]


@pages.get("/c/{name}/map")
async def show_map(
    at: At,
    draft: Annotated[str, Query(max_length=100)] = "",
    doc: _Documents = [],  # noqa: B006 - not changed
) -> Response:
    """Show the map around a draft or documents; without either, the page opens the last draft."""

    def work() -> tuple[Map | None, str, str]:
        """Return the map or the reason why it failed, and the title of its centre."""
        asked = MapRequest.model_construct(draft=draft, doc=doc, text="", k=MAP_SIZE)
        try:
            drawn = _draw_map(at.collection, asked)
        except CitebedError as error:
            if doc:
                raise
            return None, str(error), "your draft"
        if not doc:
            return drawn, "", at.collection.drafts.draft(draft).name or "your draft"
        centre = [each for each in drawn.nodes if each["role"] == "centre"]
        first = centre[0]["title"] or centre[0]["doc_id"] if len(centre) == 1 else ""
        return drawn, "", first or f"{len(centre)} papers"

    drawn, problem, title = await at.run(_with_404(work)) if draft or doc else (None, "", "")
    nodes, edges = ([], []) if drawn is None else (_map_nodes(drawn), _map_edges(drawn))
    roles = {node["role"] for node in nodes}
    return at.page(
        "map", "map", drawn=drawn, nodes=nodes, problem=problem, title=title, draft_id=draft,
        docs=doc, roles=[role for role in _ROLES if role in roles], role_names=_ROLES, count=count,
        format_authors=format_authors, edges=edges, kinds={edge["kind"] for edge in edges},
    )  # fmt: skip


def _map_nodes(drawn: Map) -> list[dict[str, Any]]:
    """Return the documents of a map with a short name and the label of their group."""
    labels = {group["group"]: group["label"] for group in drawn.groups}
    nodes = []
    for node in drawn.nodes:
        names = [family_name(name) for name in node["authors"][:1]]
        short = " ".join(filter(None, (*names, str(node["year"] or "")))) or node["key"]
        nodes.append({**node, "short": short, "words": labels[node["group"]]})
    return nodes


def _map_edges(drawn: Map) -> list[dict[str, Any]]:
    """Return the relations of a map by the positions of their documents.

    For documents that are cited together with many others, only the most frequent pairs are drawn.
    """
    place = {node["doc_id"]: at for at, node in enumerate(drawn.nodes)}
    ties: Counter[int] = Counter()
    edges = []
    for edge in sorted(drawn.edges, key=lambda edge: -edge["weight"]):
        ends = place[edge["source"]], place[edge["target"]]
        if edge["kind"] == "cited together":
            if min(ties[end] for end in ends) >= _MOST_TIES:
                continue
            ties.update(ends)
        edges.append({**edge, "from": ends[0], "to": ends[1]})
    return edges
