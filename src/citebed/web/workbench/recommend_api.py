"""Recommending over HTTP: a text goes in, the rows that ``--json`` prints come out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from citebed.collection.filters import Filter, example_passage, filter_choices
from citebed.drafts.bibliography import with_libraries
from citebed.drafts.draft_store import StoredDraft
from citebed.drafts.reader import parse_draft
from citebed.drafts.records import Draft, Passage, Place, select_passage, select_sentence
from citebed.errors import CitebedError
from citebed.retrieval.index.analyser_choice import query_words
from citebed.retrieval.recommend.abstention import OF_THE_COMMAND, NothingToAsk
from citebed.retrieval.recommend.recommendations import Recommendations
from citebed.web.workbench.answers import ERRORS, described
from citebed.web.workbench.shelf import Shelved
from citebed.web.workbench.site import Here, OnShelf

router = APIRouter(tags=["recommend"])
MOST_ASKED = 100_000
"""So many characters of a text are asked with at once; what is longer is sent as a file."""
Text = Annotated[str, Field(max_length=MOST_ASKED)]
KeptText = Annotated[str, Field(max_length=1_000_000)]
Name = Annotated[str, Field(max_length=500)]
Names = Annotated[list[Name], Field(max_length=1000)]
Number = Annotated[int, Field(ge=1, le=10_000_000)]


class Sent(BaseModel):
    """What may be sent, and nothing else."""

    model_config = ConfigDict(extra="forbid")


class Asked(Sent):
    """What to recommend for, and how; as the options of ``citebed recommend``.

    A ``draft`` on the desk asks with its file or text unless a text is given, with its .bib files,
    and with what was judged for it. Of a text, ``line`` and ``column`` choose the sentence that
    stands there; of a draft's file, ``passage`` chooses one.
    """

    text: Text = ""
    k: Annotated[int, Field(ge=1, le=100)] | None = None
    each: Literal["text", "paragraph", "sentence"] = "text"
    draft: Name = ""
    line: Number | None = None
    column: Number = 1
    passage: Number | None = None
    before: Annotated[str, Field(max_length=10)] | None = None
    years: Annotated[str, Field(max_length=30)] = ""
    venues: Names = []
    types: Names = []
    in_bib: bool = False
    exclude: Names = []
    keep_cited: bool = False
    min_probability: Annotated[float, Field(ge=0, le=1)] | None = None


class RecommendedRow(BaseModel):
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
    """A passage that asked; ``wanted`` says that a citation is to come in it."""

    number: int
    text: str
    section: str
    line: int
    place: str
    wanted: bool


class Recommended(BaseModel):
    """What a text should cite, passage by passage, and what else there is to say; ``silent`` is
    how many passages got no answer."""

    rows: list[RecommendedRow]
    passages: list[Asking]
    notes: list[str]
    left_out: list[str]
    summary: str
    silent: int


@router.post(
    "/collections/{name}/recommend", response_model=None, responses=described(Recommended) | ERRORS
)
async def recommend(site: Here, shelved: OnShelf, request: Request, asked: Asked) -> JSONResponse:
    """The papers of a collection that a text should cite, best first, each with its reasons."""
    return JSONResponse(await site.turns.run(request, lambda: recommended(shelved, asked)))


def recommended(shelved: Shelved, asked: Asked) -> dict[str, Any]:
    """The answer of the one door, as JSON has it."""
    on_desk = shelved.desk.draft(asked.draft) if asked.draft else None
    draft = _draft_of(shelved, asked, on_desk)
    if not draft.passages:  # of which its notes tell
        return _shown(Recommendations((), silent=1), draft)
    is_one = asked.line is not None or asked.passage is not None
    try:
        with shelved.recommending() as recommender:
            found = recommender.recommend_for(
                draft, asked.k, each="paragraph" if is_one else asked.each, before=asked.before,
                keep_cited=asked.keep_cited, min_probability=asked.min_probability,
                **_which(asked, on_desk),
            )  # fmt: skip
    except NothingToAsk as error:  # half a word that is being typed is no mistake
        found = Recommendations((), notes=(str(error),), silent=1)
    return _shown(found, draft)


def _which(asked: Asked, on_desk: StoredDraft | None) -> dict[str, Any]:
    """Which documents may be answers, and what was said of some for the draft."""
    good, bad = (on_desk.judged_as(each) if on_desk else [] for each in (1, 0))
    return {
        "among": Filter(asked.years, tuple(asked.venues), tuple(asked.types)),
        "in_bib": asked.in_bib, "exclude": asked.exclude, "relevant": good, "nonrelevant": bad,
    }  # fmt: skip


def _draft_of(shelved: Shelved, asked: Asked, on_desk: StoredDraft | None) -> Draft:
    """What asks. A text is one, also where it looks like the name of a file."""
    read = None
    if on_desk is not None and not asked.text:
        read = shelved.desk.read_draft(on_desk.draft_id)
    draft = read or parse_draft(asked.text or _typed(on_desk, is_one=asked.line is not None))
    if on_desk is not None:
        draft = with_libraries(draft, shelved.desk.libraries(on_desk.draft_id))
    if asked.line is not None:
        return select_sentence(draft, asked.line, asked.column)
    return draft if asked.passage is None else select_passage(draft, asked.passage)


def _typed(on_desk: StoredDraft | None, *, is_one: bool) -> str:
    """What stands in a draft on the desk; of a very long one, only a sentence is asked with."""
    if on_desk is None:
        return ""
    return on_desk.text if is_one else askable(on_desk.text)


def askable(text: str) -> str:
    """A text that is kept, if it may be asked with as a whole."""
    if len(text) > MOST_ASKED:
        raise CitebedError(
            f"the draft's text is very long ({len(text):,} characters; expected up to "
            f"{MOST_ASKED:,}): send it as a file, or ask for the sentence at a line."
        )
    return text


def _shown(found: Recommendations, draft: Draft) -> dict[str, Any]:
    notes = [*draft.notes, *(note.removesuffix(OF_THE_COMMAND) for note in found.told)]
    return {
        "rows": found.rows, "passages": [passage_row(each) for each in found.passages],
        "notes": notes, "left_out": sorted(found.left_out), "summary": found.summary,
        "silent": found.silent,
    }  # fmt: skip


def passage_row(passage: Passage) -> dict[str, Any]:
    """A passage as pages show it."""
    return {
        "number": passage.number, "text": passage.text, "section": passage.section,
        "line": passage.line, "place": str(Place(passage.source, passage.line)),
        "wanted": bool(passage.wanted),
    }  # fmt: skip


# --- What a page asks beside ------------------------------------------------------------------


class AskedAbstract(Sent):
    """Of which document, and the text whose words are to be marked in it."""

    doc_id: Name
    text: KeptText = ""


class Piece(BaseModel):
    """A piece of a text; whether it is a word of the one that asked."""

    text: str
    marked: bool


class MarkedAbstract(BaseModel):
    """An abstract in pieces, in order."""

    doc_id: str
    pieces: list[Piece]


@router.post(
    "/collections/{name}/abstract",
    response_model=None,
    responses=described(MarkedAbstract) | ERRORS,
)
async def abstract(
    site: Here, shelved: OnShelf, request: Request, asked: AskedAbstract
) -> JSONResponse:
    """A document's abstract, in which the words are marked that it has in common with a text."""
    return JSONResponse(await site.turns.run(request, lambda: _marked(shelved, asked)))


def _marked(shelved: Shelved, asked: AskedAbstract) -> dict[str, Any]:
    collection = shelved.workbench
    whole = collection.document(asked.doc_id).abstract or ""
    pieces = query_words(collection).mark(whole, asked.text)
    rows = [{"text": text, "marked": is_word} for text, is_word in pieces]
    return {"doc_id": asked.doc_id, "pieces": rows}


class Choice(BaseModel):
    """A value that documents have, and how many have it."""

    name: str
    documents: int


class Choices(BaseModel):
    """What documents can be chosen by; ``years`` are the first and the last."""

    venues: list[Choice]
    types: list[Choice]
    years: list[int | None]


@router.get(
    "/collections/{name}/choices", response_model=None, responses=described(Choices) | ERRORS
)
async def choices_of(site: Here, shelved: OnShelf, request: Request) -> JSONResponse:
    """The venues and types that most documents have, and the years there are."""
    work = lambda: filter_choices(shelved.workbench.scan_documents())  # noqa: E731
    return JSONResponse(await site.turns.run(request, work))


class Example(BaseModel):
    """A passage to try recommending with; empty if the collection has no text for one."""

    text: str


@router.get(
    "/collections/{name}/example", response_model=None, responses=described(Example) | ERRORS
)
async def example(site: Here, shelved: OnShelf, request: Request) -> JSONResponse:
    """A passage on a subject of the collection, to try recommending with."""
    text = await site.turns.run(
        request, lambda: example_passage(shelved.workbench.scan_documents())
    )
    return JSONResponse({"text": text})
