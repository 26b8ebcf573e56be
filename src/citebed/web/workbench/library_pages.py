"""The pages of the library: what is found, a document, papers like these, and the map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from citebed.errors import CitebedError
from citebed.retrieval.library.about import About
from citebed.retrieval.library.facets import FACETS
from citebed.retrieval.library.finding import SORTS
from citebed.retrieval.library.found import Found
from citebed.retrieval.library.map import Map
from citebed.retrieval.recommend.wording import authors_of
from citebed.text.names import display_name, family_name
from citebed.web.workbench.library_api import (
    MOST_LIKE,
    Asked,
    AskedMap,
    drawn_around,
    found_in,
    known,
)
from citebed.web.workbench.recommend_api import Name, Names
from citebed.web.workbench.shelf import Shelved
from citebed.web.workbench.site import Here, OnShelf, path
from citebed.wording import count

router = APIRouter()
SHOWN, LIKE_THESE, ON_MAP = 25, 25, 60
_MOST_TIES = 2
_PARTS = {"year": "years", "venue": "venue", "author": "author", "type": "type"}
"""What a facet is called in an address."""
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
"""What a role is called for people."""
Short = Annotated[str, Query(max_length=100)]
Several = Annotated[list[Annotated[str, Query(max_length=500)]], Query(max_length=MOST_LIKE)]


class Looked(BaseModel):
    """What the address of the library says."""

    q: Annotated[str, Field(max_length=2000)] = ""
    years: Annotated[str, Field(max_length=20)] = ""
    venue: Names = []
    type: Names = []
    author: Names = []
    sort: Annotated[str, Field(max_length=20)] = "best"
    start: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    like: Annotated[list[Name], Field(max_length=MOST_LIKE)] = []

    @property
    def asked(self) -> Asked:
        """What is asked for; an order that there is not is the usual one."""
        return Asked.model_construct(
            words=self.q, years=self.years, venue=self.venue, type=self.type, author=self.author,
            start=self.start, k=SHOWN, sort=self.sort if self.sort in SORTS else "best",
        )  # fmt: skip


class Address:
    """The address of what is shown in the library, and those of what could be instead."""

    def __init__(self, name: str, asked: Asked) -> None:
        self._name = name
        self._query: dict[str, Any] = {
            "q": asked.words, "years": asked.years, "venue": asked.venue, "type": asked.type,
            "author": asked.author, "sort": asked.sort, "start": asked.start,
        }  # fmt: skip

    def __call__(self, **changed: Any) -> str:
        """The address with something else in it; what is empty or usual is left out."""
        query = self._query | {"start": 0} | changed
        usual = {"sort": "best", "start": 0}
        kept = {part: value for part, value in query.items() if value and value != usual.get(part)}
        return path("c", self._name, "library", **kept)

    def facet(self, row: dict[str, Any]) -> str:
        """The address where a value is chosen that was not, or not any more."""
        part = _PARTS[row["facet"]]
        if part == "years":
            return self(years="" if row["chosen"] else row["value"])
        others = [each for each in self._query[part] if each.lower() != row["value"].lower()]
        return self(**{part: others if row["chosen"] else [*others, row["value"]]})


@router.get("/c/{name}/library")
async def library(
    site: Here, shelved: OnShelf, request: Request, looked: Annotated[Looked, Query()]
) -> Response:
    """What is found, or papers like some; each state has an address."""
    if looked.like:
        return await _alike(site, shelved, request, looked.like)
    asked = looked.asked
    found, told = await site.turns.run(request, lambda: _or_told(lambda: found_in(shelved, asked)))
    address = Address(shelved.name, asked)
    return site.page(
        "library", "library", shelved, found=found, told=told, asked=asked, address=address,
        facets=_facets(found), sorts=_SORT_NAMES, pages=_around(found, address), like=(),
        authors_of=authors_of, count=count,
    )  # fmt: skip


async def _alike(site: Here, shelved: OnShelf, request: Request, like: list[str]) -> Response:
    def work() -> tuple[Found, list[dict[str, Any]]]:
        given = [shelved.library.about(each, 1).row for each in like]
        return shelved.library.similar(like, LIKE_THESE), given

    found, given = await site.turns.run(request, known(work))
    asked = Asked()
    return site.page(
        "library", "library", shelved, found=found, told="", asked=asked, like=given,
        address=Address(shelved.name, asked), facets=(), sorts=_SORT_NAMES, pages={},
        authors_of=authors_of, count=count,
    )  # fmt: skip


def _or_told(work: Callable[[], Found]) -> tuple[Found, str]:
    """What is found; where the question cannot be, nothing, and why."""
    try:
        return work(), ""
    except CitebedError as error:
        return Found((), 0), str(error)


def _facets(found: Found) -> list[tuple[str, list[dict[str, Any]]]]:
    """The facets that leave a choice, each with its rows."""
    groups = ((name, [row for row in found.facet_rows if row["facet"] == name]) for name in FACETS)
    return [
        (_FACET_NAMES[name], rows)
        for name, rows in groups
        if len(rows) > 1 or any(row["chosen"] for row in rows)
    ]


def _around(found: Found, address: Address) -> dict[str, str]:
    """The addresses of the pages before and after."""
    pages: dict[str, str] = {}
    if found.start > 0:
        pages["before"] = address(start=max(0, found.start - SHOWN))
    if found.start + len(found) < found.total:
        pages["after"] = address(start=found.start + SHOWN)
    return pages


# --- A document ---


@router.get("/c/{name}/document")
async def document(
    site: Here, shelved: OnShelf, request: Request, doc: Annotated[str, Query(max_length=500)]
) -> Response:
    """A document and what is around it."""
    about = await site.turns.run(request, known(lambda: shelved.library.about(doc)))
    return site.page(
        "document", "library", shelved, about=about, row=about.row, papers=_papers(about),
        authors_of=authors_of, display_name=display_name, count=count, together=_together,
    )  # fmt: skip


def _papers(about: About) -> list[dict[str, Any]]:
    """The papers that cite it, each with its sentences, of some of which there are none."""
    found: dict[str, dict[str, Any]] = {}
    for row in about.cited_by:
        paper = found.setdefault(row["paper_id"], {**row, "sentences": []})
        if row["sentence"]:
            paper["sentences"].append(row)
    return list(found.values())


def _together(row: dict[str, Any]) -> str:
    """How close something is cited together, in words: the closest that there is."""
    if row["sentences"]:
        return f"in {count(row['sentences'], 'sentence')}"
    if row["paragraphs"]:
        return f"in {count(row['paragraphs'], 'paragraph')}"
    return f"by {count(row['papers'], 'paper')}"


# --- The map ---


@router.get("/c/{name}/map")
async def draw(
    site: Here,
    shelved: OnShelf,
    request: Request,
    draft: Short = "",
    doc: Several = [],  # noqa: B006 - read only
) -> Response:
    """The map around a draft or documents; without either, the page finds the draft at hand."""
    drawn, told, title = None, "", ""
    if draft or doc:
        asked = AskedMap.model_construct(draft=draft, doc=doc, text="", k=ON_MAP)
        drawn, told, title = await site.turns.run(request, known(lambda: _drawn(shelved, asked)))
    shown = [] if drawn is None else _nodes(drawn)
    edges = [] if drawn is None else _edges(drawn)
    return site.page(
        "map", "map", shelved, drawn=drawn, nodes=shown, told=told, title=title, draft_id=draft,
        docs=doc, roles=_roles_of(shown), role_names=_ROLES, count=count, authors_of=authors_of,
        edges=edges, kinds={edge["kind"] for edge in edges},
    )  # fmt: skip


def _drawn(shelved: Shelved, asked: AskedMap) -> tuple[Map | None, str, str]:
    """A map, or why there is none; and what it is around, in words."""
    try:
        drawn = drawn_around(shelved, asked)
    except CitebedError as error:
        if asked.doc:
            raise
        return None, str(error), "your draft"
    if not asked.doc:
        return drawn, "", shelved.desk.draft(asked.draft).name or "your draft"
    centre = [node["title"] or node["doc_id"] for node in drawn.nodes if node["role"] == "centre"]
    return drawn, "", centre[0] if len(centre) == 1 else f"{len(centre)} papers"


def _nodes(drawn: Map) -> list[dict[str, Any]]:
    """Documents of a map with a short name, as one would cite them, and their group's words."""
    labels = {group["group"]: group["label"] for group in drawn.groups}
    return [{**node, "short": _short(node), "words": labels[node["group"]]} for node in drawn.nodes]


def _short(node: dict[str, Any]) -> str:
    names = [family_name(name) for name in node["authors"][:1]]
    return " ".join(filter(None, (*names, str(node["year"] or "")))) or node["key"]


def _edges(drawn: Map) -> list[dict[str, Any]]:
    """The ties of a map, by the places of their documents; of what is cited together with much
    else, the most frequent ones only."""
    place = {node["doc_id"]: at for at, node in enumerate(drawn.nodes)}
    tied: Counter[int] = Counter()
    found = []
    for edge in sorted(drawn.edges, key=lambda edge: -edge["weight"]):
        ends = place[edge["source"]], place[edge["target"]]
        if edge["kind"] == "cited together":
            if min(tied[end] for end in ends) >= _MOST_TIES:
                continue
            tied.update(ends)
        found.append({**edge, "from": ends[0], "to": ends[1]})
    return found


def _roles_of(nodes: Iterable[dict[str, Any]]) -> list[str]:
    there = {node["role"] for node in nodes}
    return [role for role in _ROLES if role in there]
