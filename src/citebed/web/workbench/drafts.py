"""API for drafts: their texts and files, their baskets, and feedback on recommended papers."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import Field

from citebed.drafts.bibliography import with_libraries
from citebed.drafts.draft_store import DraftConflict, StoredDraft
from citebed.drafts.reader import parse_draft
from citebed.drafts.records import Draft, Passage, Place
from citebed.drafts.uploads import read_uploads
from citebed.errors import CitebedError
from citebed.retrieval.recommend.citation_keys import (
    CITATION_FORMATS,
    CitationItem,
    citation_items,
    format_citations,
)
from citebed.web.site import send_file
from citebed.web.workbench import responses
from citebed.web.workbench.open_collections import OpenCollection
from citebed.web.workbench.responses import answers, answers_file
from citebed.web.workbench.site import (
    TAKES_FILES,
    At,
    CollectionContext,
    LongText,
    Name,
    StrictRequest,
    computed,
    received_files,
)

router = APIRouter(tags=["drafts"])
MOST_ASKED = 100_000
"""Characters of a text in one recommend request; longer texts are sent as files."""
READING_SECONDS = 180.0
"""Time limit for reading files: a long PDF takes a while."""
_DRAFTS = "/collections/{name}/drafts"
_DRAFT = f"{_DRAFTS}/{{draft_id}}"
_FILES = f"{_DRAFT}/files"
Version = Annotated[str, Field(max_length=80)]


class DraftChange(StrictRequest):
    """The text or the name of a draft; a field that you leave out stays as it is.

    To change a text, send the draft's ``version`` as ``base``. A page that saves often sends its
    name as ``writer`` and counts its saves in ``number``: a save that arrives late changes nothing.
    """

    text: LongText | None = None
    name: Annotated[str, Field(max_length=200)] | None = None
    base: Version | None = None
    writer: Annotated[str, Field(max_length=40)] = ""
    number: Annotated[int, Field(ge=0, le=1 << 53)] = 0


class VersionChoice(StrictRequest):
    """The text to continue with after a conflict: the draft's own or the copy's. ``base`` is the
    version of the draft that the author saw."""

    copy_id: Name
    chosen: Literal["draft", "copy"]
    base: Version


class BasketChange(StrictRequest):
    """Adds a document to the basket, or removes it."""

    doc_id: Name
    taken: bool = True


class Feedback(StrictRequest):
    """Feedback on a document for a passage of the draft: good (1) or not (0); null removes it."""

    doc_id: Name
    relevance: Literal[0, 1] | None
    text: LongText = ""


@router.get(_DRAFTS, **answers(responses.DraftList))
async def list_drafts(at: At) -> JSONResponse:
    """List all drafts."""
    found = await at.save(lambda: at.collection.drafts.drafts())  # noqa: PLW0108 - opened then
    return JSONResponse({"drafts": [each._asdict() for each in found]})


@router.post(_DRAFTS, **answers(responses.StoredDraftRow))
async def create_draft(at: At, asked: DraftChange) -> JSONResponse:
    """Create a draft."""
    return await _save(at, lambda: at.collection.drafts.new(asked.text or "", asked.name or ""))


@router.get(_DRAFT, **answers(responses.StoredDraftRow))
async def get_draft(at: At, draft_id: str) -> JSONResponse:
    """Return a draft, with its basket and feedback."""
    return await _save(at, lambda: at.collection.drafts.draft(draft_id))


@router.put(_DRAFT, **responses.DRAFT_OR_CONFLICT)
async def change_draft(at: At, draft_id: str, asked: DraftChange) -> JSONResponse:
    """Store a draft's text or name, unless another save changed the version it is based on."""
    return await _save(at, lambda: at.collection.drafts.write(draft_id, **asked.model_dump()))


@router.post(f"{_DRAFT}/versions", **responses.DRAFT_OR_CONFLICT)
async def choose_version(at: At, draft_id: str, asked: VersionChoice) -> JSONResponse:
    """Choose one of two conflicting texts; the other stays, as a draft of its own."""
    is_copy = asked.chosen == "copy"
    return await _save(
        at,
        lambda: at.collection.drafts.choose(draft_id, asked.copy_id, copy=is_copy, base=asked.base),
    )


@router.delete(_DRAFT, **answers(responses.Removed))
async def remove_draft(at: At, draft_id: str) -> JSONResponse:
    """Remove a draft, with its basket and feedback."""
    await at.save(lambda: at.collection.drafts.remove(draft_id))
    return JSONResponse({"removed": draft_id})


@router.post(f"{_DRAFT}/basket", **answers(responses.StoredDraftRow))
async def change_basket(at: At, draft_id: str, asked: BasketChange) -> JSONResponse:
    """Add a document to a draft's basket, or remove it."""
    return await _save(
        at, lambda: at.collection.drafts.cite(draft_id, asked.doc_id, taken=asked.taken)
    )


@router.post(f"{_DRAFT}/judgements", **answers(responses.StoredDraftRow))
async def give_feedback(at: At, draft_id: str, asked: Feedback) -> JSONResponse:
    """Store your feedback on a document for a draft."""
    return await _save(
        at,
        lambda: at.collection.drafts.judge(draft_id, asked.doc_id, asked.relevance, asked.text),
    )


async def _save(at: CollectionContext, work: Callable[[], StoredDraft]) -> JSONResponse:
    """Respond with a draft, or with both texts after a conflict."""
    try:
        return JSONResponse((await at.save(work))._asdict())
    except DraftConflict as error:
        both = {"draft": error.draft._asdict(), "copy": error.copy._asdict()}
        return JSONResponse({"message": str(error), **both}, 409)


# --- the papers of a draft, and the feedback as a test collection -------------------------------


@router.get(f"{_DRAFT}/papers", **answers(responses.DraftPapers))
@computed
def get_papers(at: At, draft_id: str) -> dict[str, Any]:
    """Return the papers in a draft's basket, and the papers with feedback."""
    draft = at.collection.drafts.draft(draft_id)
    cites = _get_cites(at.collection, draft, [*draft.basket, *draft.judged])
    rows = {
        each.document.doc_id: {**each.row, "relevance": draft.judged.get(each.document.doc_id)}
        for each in cites
    }
    parts = {"basket": draft.basket, "judged": draft.judged}
    return {part: [rows[each] for each in ids if each in rows] for part, ids in parts.items()}


def _get_cites(
    collection: OpenCollection, draft: StoredDraft, doc_ids: list[str]
) -> list[CitationItem]:
    """Return documents with the citation keys of the draft's own libraries."""
    read = collection.drafts.read_draft(draft.draft_id) or Draft(())
    libraries = dict.fromkeys((*collection.drafts.libraries(draft.draft_id), *read.library))
    return citation_items(collection.workbench, doc_ids, list(libraries), [read])


Form = Literal["bibtex", "ris", "csl-json", "keys"]


@router.get(
    f"{_DRAFT}/export",
    **answers_file(*(form.media_type for form in CITATION_FORMATS.values())),
)
async def export_basket(at: At, draft_id: str, form: Form = "bibtex") -> Response:
    """Download a draft's basket: BibTeX, RIS, CSL-JSON, or the ``\\cite{…}`` to type."""

    def work() -> tuple[str, str]:
        draft = at.collection.drafts.draft(draft_id)
        text = format_citations(form, _get_cites(at.collection, draft, list(draft.basket)))
        name = re.sub(r"[^A-Za-z0-9]+", "-", draft.name).strip("-").lower()[:60]
        return name or "basket", text

    name, text = await at.run(work)
    chosen = CITATION_FORMATS[form]
    data = text.encode("utf-8", "replace")
    return send_file(data, f"{name}.{chosen.ending}", chosen.media_type)


@router.get("/collections/{name}/desk/qrels", **answers_file("text/plain"))
async def export_qrels(at: At) -> Response:
    """Download the feedback on all drafts as judgements in TREC's format."""
    data = await at.run(lambda: _export(lambda path: at.collection.drafts.export(qrels=path)))
    return send_file(data, "desk.qrels", "text/plain")


@router.get("/collections/{name}/desk/queries", **answers_file("application/x-ndjson"))
async def export_queries(at: At) -> Response:
    """Download the passages with feedback as queries, one JSON object per line."""
    data = await at.run(lambda: _export(lambda path: at.collection.drafts.export(queries=path)))
    return send_file(data, "desk.jsonl", "application/x-ndjson")


def _export(write: Callable[[Path], object]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="citebed-desk-") as folder:
        path = Path(folder) / "desk.txt"
        write(path)
        return path.read_bytes()


# --- the files of a draft ----------------------------------------------------------------------


@router.post(_FILES, **answers(responses.DraftFiles), **TAKES_FILES)
async def send_files(at: At, draft_id: str) -> JSONResponse:
    """Read files for a draft: LaTeX (with its folder, or a .zip of it), Markdown, plain text, Word,
    OpenDocument, a notebook, Typst, reStructuredText, a PDF; and the author's .bib files."""
    async with received_files(at.request) as (files, _):
        sent = [(file.filename or "", await file.read()) for file in files]

    def work() -> dict[str, Any]:
        at.collection.drafts.draft(draft_id)  # raises an error before anything is read
        found = read_uploads(sent)
        at.collection.drafts.put_files(draft_id, found.draft, found.libraries)
        return _describe_files(at.collection, draft_id, found.notes)

    return await at.json(work, READING_SECONDS)


@router.get(_FILES, **answers(responses.DraftFiles))
@computed
def get_files(at: At, draft_id: str) -> dict[str, Any]:
    """Return the content of a draft's files."""
    return _describe_files(at.collection, draft_id)


@router.delete(_FILES, **answers(responses.StoredDraftRow))
@computed
def remove_file(at: At, draft_id: str, file: str) -> dict[str, Any]:
    """Remove a file of a draft, by its name."""
    return at.collection.drafts.remove_file(draft_id, file)._asdict()


def _describe_files(
    collection: OpenCollection, draft_id: str, notes: tuple[str, ...] = ()
) -> dict[str, Any]:
    libraries = collection.drafts.draft(draft_id).libraries
    read = collection.drafts.read_draft(draft_id) or Draft(())
    passages = [{**passage_row(each), "silent": each.silent} for each in read.passages]
    cited = read.cited
    return {
        "file": read.file, "title": read.title, "passages": passages,
        "cites": len(cited.entries) or len(cited.keys) + len(cited.dois) + len(cited.authored),
        "libraries": list(libraries), "notes": [*notes, *read.notes],
    }  # fmt: skip


def passage_row(passage: Passage) -> dict[str, Any]:
    """Return a passage as pages show it."""
    return {
        "number": passage.number, "text": passage.text, "section": passage.section,
        "line": passage.line, "place": str(Place(passage.source, passage.line)),
        "wanted": bool(passage.wanted),
    }  # fmt: skip


def read_stored_draft(
    collection: OpenCollection, stored: StoredDraft, *, needs_all: bool = True
) -> Draft:
    """Return a draft's passages from its file or its typed text, with its libraries.

    Raise an error for a very long text if the request ``needs_all`` of it.
    """
    drafts = collection.drafts
    draft = drafts.read_draft(stored.draft_id)
    if draft is None:
        if needs_all and len(stored.text) > MOST_ASKED:
            raise CitebedError(
                f"the draft's text is very long ({len(stored.text):,} characters; the limit is "
                f"{MOST_ASKED:,}). Send it as a file, or choose a sentence by 'line' and 'column'."
            )
        draft = parse_draft(stored.text)
    return with_libraries(draft, drafts.libraries(stored.draft_id))
