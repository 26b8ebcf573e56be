"""The desks: making questions into queries, searching by hand, and seeing where judges disagree."""

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
from citebed.web.campaigns.fields import Text
from citebed.web.campaigns.site import Here, Site

router = APIRouter()


@router.get("/reformulation", response_class=HTMLResponse)
def show_questions(site: Here, session: auth.Organiser, said: str = "") -> HTMLResponse:
    """All questions, stated and current text side by side."""
    rows = site.campaign.questions.to_dicts()
    for row in rows:
        row["changes"] = diff_words(row["stated"], row["text"])
    message = "The query is worded anew." if said == "worded" else ""
    return site.page("questions", session=session, rows=rows, message=message)


@router.get("/reformulation/query", response_class=HTMLResponse)
def show_question(site: Here, session: auth.Organiser, query: Text) -> HTMLResponse:
    """One question at the desk, with what the machine would change."""
    return _question(site, session, query)


def _question(
    site: Site, session: Session, query: str, problem: str = "", text: str = ""
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
def reword(site: Here, session: auth.Organiser, said: auth.Checked) -> Response:
    """Word a question anew."""
    query, text = said.get("query", ""), said.get("text", "")
    chosen = [name for name in CLASSES if f"class-{name}" in said]
    try:
        site.campaign.reformulate(query, text, *chosen, who=session.organiser)
    except CitebedError as error:
        return _question(site, session, query, str(error), text)
    return RedirectResponse(site.path("reformulation", said="worded"), 303)


@router.get("/search", response_class=HTMLResponse)
def show_search_desk(
    site: Here, session: auth.Organiser, query: Text = "", search: int = 0
) -> HTMLResponse:
    """The desk for manual search: the results of a search, the marks, the log."""
    rows = site.campaign.questions.to_dicts()
    if not query:
        return site.page("searches", session=session, rows=rows)
    return site.page("search", session=session, rows=rows, **_desk(site, query, search))


def _desk(site: Site, query: str, search: int) -> dict[str, Any]:
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
        "cited": dict.fromkeys(cited, "cited") | {each.doc_id: _said(each) for each in judged},
        "finds": sum(doc not in cited for doc in doc_ids),
        "judged": [(each, _said(each)) for each in judged],
        "marks": [(entries[doc], doc) for doc in chosen],
        "log": log,
    }


def _said(reference: JudgedReference) -> str:
    """What an author said of a reference, in a word or two."""
    if not reference.judged:
        return "not judged"
    return CANNOT_SAY if reference.value is None else f"grade {reference.value}"


@router.post("/search")
def search(site: Here, session: auth.Organiser, said: auth.Checked) -> Response:
    """Search, and put it on record with its results."""
    query, text = said.get("query", ""), said.get("text", "")
    number, _ = site.campaign.search(query, text, session.organiser)
    return RedirectResponse(site.path("search", query=query, search=number), 303)


@router.post("/search/mark")
def mark(request: Request, site: Here, session: auth.Organiser, said: auth.Checked) -> Response:
    """Mark a document as a candidate, or take the mark away."""
    query, doc_id = said.get("query", ""), said.get("doc_id", "")
    number, on = said.get("search", ""), said.get("on") == "1"
    of = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else None
    if on and of is None:
        raise CitebedError("say which search found the document.")
    site.campaign.mark(query, doc_id, search=of, who=session.organiser, on=on)
    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"marked": on})
    return RedirectResponse(site.path("search", query=query, search=of or 0), 303)


@router.get("/disagreements", response_class=HTMLResponse)
def show_disagreements(site: Here, session: auth.Organiser) -> HTMLResponse:
    """Papers that judges value differently, the query beside them, and who said what."""
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
