"""API for recommendations: a text comes in, the rows of ``citebed recommend --json`` go out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field

from citebed.collection.filters import Filter, example_passage, filter_choices
from citebed.drafts.bibliography import with_libraries
from citebed.drafts.reader import parse_draft
from citebed.drafts.records import select_passage, select_sentence
from citebed.retrieval.index.analyser_choice import query_words
from citebed.retrieval.recommend.recommendations import Recommendations
from citebed.retrieval.recommend.skipped_passages import COMMAND_HINT, PassageSkipped
from citebed.web.workbench import responses
from citebed.web.workbench.drafts import MOST_ASKED, passage_row, read_stored_draft
from citebed.web.workbench.open_collections import OpenCollection
from citebed.web.workbench.responses import answers
from citebed.web.workbench.site import At, LongText, Name, Names, StrictRequest, computed

router = APIRouter(tags=["recommend"])
Text = Annotated[str, Field(max_length=MOST_ASKED)]
Number = Annotated[int, Field(ge=1, le=10_000_000)]


class RecommendRequest(StrictRequest):
    """A text or a draft to recommend for, with the options of ``citebed recommend``.

    A stored ``draft`` contributes its .bib files and its feedback, and its file or text unless a
    ``text`` is given. ``line`` and ``column`` select the sentence at that place of a text;
    ``passage`` selects a passage of a draft's file.
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
    venues: Names = Field(default=[])
    types: Names = Field(default=[])
    in_bib: bool = False
    exclude: Names = Field(default=[])
    keep_cited: bool = False
    min_probability: Annotated[float, Field(ge=0, le=1)] | None = None


@router.post("/collections/{name}/recommend", **answers(responses.RecommendResponse))
@computed
def recommend(at: At, asked: RecommendRequest) -> dict[str, Any]:
    """Recommend papers of the collection that a text should cite, best first, with evidence."""
    return compute_recommendations(at.collection, asked)


def compute_recommendations(collection: OpenCollection, asked: RecommendRequest) -> dict[str, Any]:
    """Return the response to a recommend request."""
    stored = collection.drafts.draft(asked.draft) if asked.draft else None
    if stored is None or asked.text:  # a text that looks like a file name is a text
        draft = parse_draft(asked.text)
        if stored is not None:
            draft = with_libraries(draft, collection.drafts.libraries(stored.draft_id))
    else:
        draft = read_stored_draft(collection, stored, needs_all=asked.line is None)
    if asked.line is not None:
        draft = select_sentence(draft, asked.line, asked.column)
    elif asked.passage is not None:
        draft = select_passage(draft, asked.passage)
    is_one = asked.line is not None or asked.passage is not None
    good, bad = (stored.judged_as(each) if stored else [] for each in (1, 0))
    found = Recommendations((), skipped=1)
    try:
        if draft.passages:
            with collection.recommending() as recommender:
                found = recommender.recommend_for(
                    draft, asked.k, each="paragraph" if is_one else asked.each,
                    before=asked.before, keep_cited=asked.keep_cited,
                    min_probability=asked.min_probability, in_bib=asked.in_bib,
                    among=Filter(asked.years, tuple(asked.venues), tuple(asked.types)),
                    exclude=asked.exclude, relevant=good, nonrelevant=bad,
                )  # fmt: skip
    except PassageSkipped as error:  # the first letters of a word are not an error
        found = Recommendations((), notes=(str(error),), skipped=1)
    notes = [*draft.notes, *(note.removesuffix(COMMAND_HINT) for note in found.all_notes)]
    return {
        "rows": found.rows, "passages": [passage_row(each) for each in found.passages],
        "notes": notes, "left_out": sorted(found.left_out), "summary": found.summary,
        "silent": found.skipped,
    }  # fmt: skip


# --- abstracts, filters and an example for the page --------------------------------------------


class AbstractRequest(StrictRequest):
    """A document, and the text whose words to mark in its abstract."""

    doc_id: Name
    text: LongText = ""


@router.post("/collections/{name}/abstract", **answers(responses.MarkedAbstract))
@computed
def get_abstract(at: At, asked: AbstractRequest) -> dict[str, Any]:
    """Return a document's abstract, with the words marked that it shares with a text."""
    workbench = at.collection.workbench
    abstract = workbench.document(asked.doc_id).abstract or ""
    pieces = query_words(workbench).mark(abstract, asked.text)
    rows = [{"text": text, "marked": is_word} for text, is_word in pieces]
    return {"doc_id": asked.doc_id, "pieces": rows}


@router.get("/collections/{name}/choices", **answers(responses.Choices))
@computed
def get_choices(at: At) -> dict[str, Any]:
    """Return the most frequent venues and types, and the range of years."""
    return filter_choices(at.collection.workbench.scan_documents())


@router.get("/collections/{name}/example", **answers(responses.Example))
@computed
def get_example(at: At) -> dict[str, Any]:
    """Return a passage on a subject of the collection, to try recommendations."""
    return {"text": example_passage(at.collection.workbench.scan_documents())}
