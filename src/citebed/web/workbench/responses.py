"""The responses of the API, as models for its description; the tests compare them with responses.

citebed does not validate its own responses, so the models only name fields and types.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, Field, create_model

from citebed.drafts.draft_store import DraftSummary, StoredDraft
from citebed.report.collection import CollectionState
from citebed.web.workbench.job_process import Outcome
from citebed.web.workbench.jobs import Job

Rows = list[dict[str, Any]]


def _model(name: str, about: str, base: Any = BaseModel, /, **fields: Any) -> Any:
    """Return a model of a response that always has these fields."""
    always: dict[str, Any] = {field: (kind, ...) for field, kind in fields.items()}
    return create_model(name, __doc__=about, __base__=base, **always)


def _list(model: Any) -> Any:
    return list[model]


class Problem(BaseModel):
    """The reason why a request failed, and what to do."""

    message: str


_STATUSES = {
    400: "the request failed; the message says why",
    401: "the key is missing or wrong",
    403: "the request came from another site, or not from a page of the workbench",
    404: "not found",
    408: "the request took too long to arrive",
    413: "the request is too large",
    421: "the server does not accept this host name",
    422: "a field is missing or invalid",
    429: "too many jobs are waiting",
    503: "too many requests at once; try again in a moment",
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text} for status, text in _STATUSES.items()
}


def answers(model: Any, status: int = 200, **more: Any) -> dict[str, Any]:
    """Describe a route's response by a model, without validating the response.

    Returns the arguments of the route's decorator.
    """
    responses = {status: _describe(model)} | ERRORS
    return {"response_model": None, "responses": responses, "status_code": status, **more}


def _describe(model: Any) -> dict[str, Any]:
    return {"model": model, "description": model.__doc__.partition("\n")[0]}


def answers_file(*media_types: str) -> dict[str, Any]:
    """Describe a route's response as a file; return the arguments of the route's decorator."""
    content = {each: {"schema": {"type": "string"}} for each in media_types}
    responses = {200: {"description": "the file", "content": content}} | ERRORS
    return {"response_model": None, "responses": responses}


# --- collections and jobs ----------------------------------------------------------------------

CollectionStatus = _model(
    "CollectionStatus", "The state of a collection.",
    collection=str, **get_type_hints(CollectionState), index_said=str, said=list[str],
)  # fmt: skip
CollectionList = _model(
    "CollectionList", "The state of every collection of this server.",
    rows=_list(CollectionStatus),
)  # fmt: skip
Statistics = _model(
    "Statistics",
    "Statistics of a collection and its index: rows as ``citebed stats --json`` prints them, and "
    "tables for people.",
    rows=Rows, tables=Rows, notes=list[str],
)  # fmt: skip
RowPage = _model("RowPage", "Rows, and the total number of rows.", rows=Rows, total=int)

_JOB = {name: kind for name, kind in get_type_hints(Job).items() if name != "outcome"}
JobRow = _model("JobRow", "A job and its progress.", **_JOB, summary=str)
JobDetails = _model(
    "JobDetails",
    "A job with its result: rows as ``--json`` prints them, lines for people, and notes.",
    JobRow, **get_type_hints(Outcome),
)  # fmt: skip
JobList = _model("JobList", "All jobs of this server, the latest first.", rows=_list(JobRow))

# --- library -----------------------------------------------------------------------------------

FoundRow = _model(
    "FoundRow", "A document, as ``citebed find --json`` prints it.",
    rank=int, doc_id=str, score=float, title=str, authors=list[str], year=int | None, venue=str,
    type=str, doi=str, key=str, cited=int, link=str,
)  # fmt: skip
FacetRow = _model(
    "FacetRow", "The number of found documents with a year, venue, author or type.",
    facet=Literal["year", "venue", "author", "type"], value=str, count=int, chosen=bool,
)  # fmt: skip
FoundDocuments = _model(
    "FoundDocuments", "A page of found documents, their total, and facets.",
    rows=_list(FoundRow), total=int, start=int, facets=_list(FacetRow), notes=list[str],
)  # fmt: skip
Mention = _model(
    "Mention", "A sentence in which a paper cites a document; empty if unknown.",
    paper_id=str, doc_id=str | None, by=str, year=int | None, section=str, sentence=str,
)  # fmt: skip
CitedRow = _model(
    "CitedRow", "A document that another document cites.", FoundRow,
    kind=Literal["cites", "linked"],
)  # fmt: skip
TogetherRow = _model(
    "TogetherRow",
    "A document that is cited together with another, with the numbers of places.", FoundRow,
    sentences=int, paragraphs=int, papers=int,
)  # fmt: skip
AboutDocument = _model(
    "AboutDocument", "A document with the papers that cite it, and related documents.",
    document=FoundRow, abstract=str, bibtex=str, cited_by=_list(Mention), cites=_list(CitedRow),
    cited_with=_list(TogetherRow), similar=_list(FoundRow),
)  # fmt: skip
Node = _model(
    "Node", "A document on a map; x and y are between 0 and 1.",
    doc_id=str, title=str, x=float, y=float, year=int | None,
    role=Literal["centre", "cited", "citing", "recommended", "cited with", "similar"],
    group=int, authors=list[str], venue=str, key=str, citations=int,
)  # fmt: skip
Group = _model(
    "Group", "Similar documents of a map; ``label`` is a phrase of their titles.",
    group=int, label=str, size=int, cited=int, x=float, y=float, doc_ids=list[str],
)  # fmt: skip
Edge = _model(
    "Edge", "A relation between two documents of a map.",
    source=str, target=str, kind=Literal["citation", "cited together", "similar"], weight=float,
)  # fmt: skip
MapResponse = _model(
    "MapResponse",
    "A map: documents, groups, relations, and the groups without a paper that the draft cites.",
    nodes=_list(Node), groups=_list(Group), edges=_list(Edge), gaps=_list(Group), notes=list[str],
)  # fmt: skip

# --- recommendations ---------------------------------------------------------------------------

PassageRow = _model(
    "PassageRow",
    "A passage that recommendations are for; ``wanted`` if it has a citation placeholder.",
    number=int, text=str, section=str, line=int, place=str, wanted=bool,
)  # fmt: skip
RecommendedRow = _model(
    "RecommendedRow", "A recommended document, as ``citebed recommend --json`` prints it.",
    rank=int, doc_id=str, score=float, title=str, authors=list[str], year=int | None, venue=str,
    doi=str, terms=list[str], sentence=str, passage=int, line=int, section=str, file=str,
    column=int, key=str, in_bib=bool, abstract_sentence=str, citing_sentences=list[str],
    cited_by=list[str], reprints=list[str], link=str, strength=str, probability=float | None,
    sure=str,
    reason=str,
)  # fmt: skip
RecommendResponse = _model(
    "RecommendResponse",
    "Recommendations by passage, and notes; ``silent`` is the number of passages without any.",
    rows=_list(RecommendedRow), passages=_list(PassageRow), notes=list[str], left_out=list[str],
    summary=str, silent=int,
)  # fmt: skip
Piece = _model(
    "Piece", "A piece of an abstract; ``marked`` if it is a word of the text.",
    text=str, marked=bool,
)  # fmt: skip
MarkedAbstract = _model(
    "MarkedAbstract", "An abstract in pieces, in order.", doc_id=str, pieces=_list(Piece)
)
Choice = _model(
    "Choice", "A value of a filter, and the number of documents that have it.",
    name=str, documents=int,
)  # fmt: skip
Choices = _model(
    "Choices", "Values of filters; ``years`` has the first and the last.",
    venues=_list(Choice), types=_list(Choice), years=list[int | None],
)  # fmt: skip
Example = _model(
    "Example", "A passage to try; empty if the collection has no text for one.", text=str
)

# --- drafts ------------------------------------------------------------------------------------

StoredDraftRow = _model(
    "StoredDraftRow",
    "A draft; ``file`` is the name of the file it was read from, if any.\n\n``version`` names its "
    "text; ``copies`` are drafts that keep a conflicting text of it.",
    **get_type_hints(StoredDraft),
)  # fmt: skip
Conflict = _model(
    "Conflict",
    "Two texts of one draft: ``draft`` has the one that was stored first, ``copy`` keeps yours.",
    message=str, draft=StoredDraftRow, copy_=Annotated[StoredDraftRow, Field(alias="copy")],
)  # fmt: skip
DRAFT_OR_CONFLICT = answers(StoredDraftRow)
DRAFT_OR_CONFLICT["responses"] = DRAFT_OR_CONFLICT["responses"] | {409: _describe(Conflict)}
DraftSummaryRow = _model(
    "DraftSummaryRow",
    "A draft in a list: its first words, and the number of papers in its basket.",
    **get_type_hints(DraftSummary),
)  # fmt: skip
DraftList = _model(
    "DraftList", "All drafts of a collection, the last changed first.",
    drafts=_list(DraftSummaryRow),
)  # fmt: skip
Removed = _model("Removed", "The id of a removed draft.", removed=str)
DraftPaper = _model(
    "DraftPaper", "A document of the basket, or with feedback; ``key`` is its citation key.",
    doc_id=str, key=str, in_bib=bool, title=str, authors=list[str], year=int | None, venue=str,
    doi=str, relevance=int | None,
)  # fmt: skip
DraftPapers = _model(
    "DraftPapers", "The papers in a draft's basket, and the papers with feedback.",
    basket=_list(DraftPaper), judged=_list(DraftPaper),
)  # fmt: skip
DraftPassage = _model(
    "DraftPassage",
    "A passage of a draft; ``silent`` is the reason why it gets no recommendations, if any.",
    PassageRow, silent=str,
)  # fmt: skip
DraftFiles = _model(
    "DraftFiles",
    "The content of a draft's files: its passages, the number of works it cites, and the names of "
    "its .bib files; ``file`` is empty without a draft file.",
    file=str, title=str, passages=_list(DraftPassage), cites=int, libraries=list[str],
    notes=list[str],
)  # fmt: skip

# --- experiments -------------------------------------------------------------------------------

ExperimentsResponse = _model(
    "ExperimentsResponse",
    "The collection's runs, judgements and query sets, and the known measures and models.",
    runs=Rows, judgements=Rows, query_sets=dict[str, int], measures=list[dict[str, str]],
    models=list[dict[str, str]], tests=list[str], corrections=list[str],
)  # fmt: skip
ResultRows = _model(
    "Rows", "Flat rows, as ``--json`` prints them, and notes on them.", rows=Rows, notes=list[str]
)
ScoresResponse = _model(
    "ScoresResponse", "Scores and comparisons, as rows and as tables for people.", ResultRows,
    comparisons=Rows, tables=Rows, refused=list[dict[str, str]],
)  # fmt: skip
UploadResponse = _model(
    "UploadResponse", "The stored files, and for each refused file the reason.",
    files=list[str], refused=list[dict[str, str]],
)  # fmt: skip
RunRemoved = _model("RunRemoved", "The run that was removed.", run=str)
