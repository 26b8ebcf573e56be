"""Pages for organisers: reword questions, search by hand, and see disagreements."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from citebed.errors import CitebedError
from citebed.judging.organisers import Session
from citebed.judging.questions import (
    CLASSES,
    current_wording,
    diff_words,
    load_question,
    wording_history,
)
from citebed.judging.searches import (
    JudgedReference,
    excluded_documents,
    judged_references,
    marked_documents,
    past_searches,
)
from citebed.judging.settings import CANNOT_SAY
from citebed.web.campaigns import auth
from citebed.web.campaigns.site import CampaignSite, Here, Text

router = APIRouter()


@router.get("/reformulation", response_class=HTMLResponse)
def show_questions(site: Here, session: auth.Organiser, said: str = "") -> HTMLResponse:
    """Show all questions, the stated and the current text side by side."""
    rows = site.campaign.questions.to_dicts()
    for row in rows:
        row["changes"] = diff_words(row["stated"], row["text"])
    message = "The query has a new wording." if said == "worded" else ""
    return site.page("questions", session=session, rows=rows, message=message)


@router.get("/reformulation/query", response_class=HTMLResponse)
def show_question(site: Here, session: auth.Organiser, query: Text) -> HTMLResponse:
    """Show a question with suggested changes."""
    return _question(site, session, query)


def _question(
    site: CampaignSite, session: Session, query: str, problem: str = "", text: str = ""
) -> HTMLResponse:
    campaign = site.campaign
    with campaign.reading() as tx:
        row = load_question(tx, query)
        stated = current_wording(tx, row.id, "stated").text
        history = wording_history(tx, row.id)
    now = history[-1]
    return site.page(
        "reformulation",
        400 if problem else 200,
        session=session,
        question=row,
        stated=stated,
        now=now,
        text=text or now.text,
        history=history,
        changes=diff_words(stated, now.text),
        suggestions=campaign.suggestions(query),
        classes=CLASSES,
        problem=problem,
    )


@router.post("/reformulation/query", response_class=HTMLResponse)
def reword(site: Here, session: auth.Organiser, fields: auth.Checked) -> Response:
    """Save a new wording of a question."""
    query, text = fields.get("query", ""), fields.get("text", "")
    chosen = [name for name in CLASSES if f"class-{name}" in fields]
    try:
        site.campaign.reformulate(query, text, *chosen, who=session.organiser)
    except CitebedError as error:
        return _question(site, session, query, str(error), text)
    return RedirectResponse(site.path("reformulation", said="worded"), 303)


@router.get("/search", response_class=HTMLResponse)
def show_search_desk(
    site: Here, session: auth.Organiser, query: Text = "", search: int = 0
) -> HTMLResponse:
    """Show the page for manual search: the results of a search, the marks, the log."""
    rows = site.campaign.questions.to_dicts()
    if not query:
        return site.page("searches", session=session, rows=rows)
    return site.page("search", session=session, rows=rows, **_search_content(site, query, search))


def _search_content(site: CampaignSite, query: str, search: int) -> dict[str, Any]:
    campaign = site.campaign
    with campaign.reading() as tx:
        question = load_question(tx, query)
        text = current_wording(tx, question.id).text
        chosen = marked_documents(tx, question.id)
        log = past_searches(tx, question.id)
        judged = judged_references(tx, question)
        cited = excluded_documents(tx, question)
    shown = next((each for each in log if each.search == search), log[-1] if log else None)
    doc_ids = shown.doc_ids if shown else ()
    entries = site.entries([*doc_ids, *chosen])
    return {
        "question": question,
        "text": shown.text if shown else text,
        "wording": text,
        "shown": shown,
        "words": site.query_words,
        "hits": [(entries[doc], site.abstracts(doc), doc, doc in chosen) for doc in doc_ids],
        "cited": dict.fromkeys(cited, "cited") | {each.doc_id: _grade(each) for each in judged},
        "finds": sum(doc not in cited for doc in doc_ids),
        "judged": [(each, _grade(each)) for each in judged],
        "marks": [(entries[doc], doc) for doc in chosen],
        "log": log,
    }


def _grade(reference: JudgedReference) -> str:
    """Describe the grade of a reference."""
    if not reference.judged:
        return "not judged"
    return CANNOT_SAY if reference.value is None else f"grade {reference.value}"


@router.post("/search")
def search(site: Here, session: auth.Organiser, fields: auth.Checked) -> Response:
    """Search, and record the search with its results."""
    query, text = fields.get("query", ""), fields.get("text", "")
    number, _ = site.campaign.search(query, text, session.organiser)
    return RedirectResponse(site.path("search", query=query, search=number), 303)


@router.post("/search/mark")
def mark(request: Request, site: Here, session: auth.Organiser, fields: auth.Checked) -> Response:
    """Mark a document as a candidate, or remove the mark."""
    query, doc_id = fields.get("query", ""), fields.get("doc_id", "")
    number, on = fields.get("search", ""), fields.get("on") == "1"
    is_number = number.isascii() and number.isdigit() and len(number) < 10
    found_by = int(number) if is_number else None
    if on and found_by is None:
        raise CitebedError("give the search that found the document.")
    site.campaign.mark(query, doc_id, search=found_by, who=session.organiser, on=on)
    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"marked": on})
    return RedirectResponse(site.path("search", query=query, search=found_by or 0), 303)


@router.get("/disagreements", response_class=HTMLResponse)
def show_disagreements(site: Here, session: auth.Organiser) -> HTMLResponse:
    """Show papers that assessors judge differently, with the query and all judgements."""
    rows = site.campaign.disagreements.to_dicts()
    texts = dict(site.campaign.questions.select("query_id", "text").iter_rows())
    entries = site.entries({row["doc_id"] for row in rows})
    disputed = [
        (query, texts[query], entries[doc_id], site.abstracts(doc_id), list(judgements))
        for (query, doc_id, _), judgements in groupby(
            rows, key=lambda row: (row["query_id"], row["doc_id"], row["phase"])
        )
    ]
    return site.page("disagreements", session=session, disputed=disputed, words=site.query_words)
