"""What could not be read: the file as it came, an answer entered for its author, and settling."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from citebed.errors import CitebedError
from citebed.judging.assignments import JudgeList, form_by_code, load_judge_list
from citebed.judging.campaign import Campaign
from citebed.judging.forms.sheet import Answers, Rating
from citebed.judging.organisers import Session
from citebed.judging.returns import load_return, possible_charsets, return_text
from citebed.judging.store.campaign_store import Transaction
from citebed.web.campaigns import auth
from citebed.web.campaigns.fields import MOST_QUESTIONS, Id, Text
from citebed.web.campaigns.site import Fields, Here, Site
from citebed.wording import count

router = APIRouter(prefix="/problems")
MOST_LINES = 3000
"""Lines of a file that a page shows; the file itself has all."""


@router.get("/return", response_class=HTMLResponse)
def show_return(site: Here, session: auth.Organiser, number: Id, code: Text = "") -> HTMLResponse:
    """A return with its problems, and the form to answer for its author."""
    return _page(site, session, number, code)


def _page(
    site: Site, session: Session, number: int, code: str, message: str = "", problem: str = ""
) -> HTMLResponse:
    campaign = site.campaign
    mine = [row for row in campaign.problems.to_dicts() if row["return_id"] == number]
    with campaign.reading() as tx:
        came = load_return(tx, number)
        lines = return_text(tx, came).split("\n")
        listed = _listed(tx, code or came.code or "")
    return site.page(
        "return",
        400 if problem else 200,
        session=session,
        came=came,
        lines=list(enumerate(lines[:MOST_LINES], 1)) if lines != [""] else [],
        more=len(lines) > MOST_LINES,
        marked={row["line"] for row in mine},
        problems=mine,
        forms=campaign.status().to_dicts(),
        listed=listed,
        choices=listed.sheet.choices if listed else [],
        next_question=min(MOST_QUESTIONS, 1 + max((q.number for q in listed.questions), default=0))
        if listed
        else 0,
        charsets=possible_charsets(came),
        message=message,
        problem=problem,
    )


def _listed(tx: Transaction, code: str) -> JudgeList | None:
    form = form_by_code(tx, code) if code else None
    if form is None:
        return None
    return load_judge_list(tx, form, lambda _: "")


@router.get("/file")
def fetch_file(site: Here, _: auth.Organiser, number: Id) -> Response:
    """The file as it came, to be saved and not shown: it may be anything."""
    campaign = site.campaign
    with campaign.reading() as tx:
        came = load_return(tx, number)
    name = re.sub(r"[^\w.-]+", "_", came.name, flags=re.ASCII)[-80:] or "return"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(came.content, media_type="application/octet-stream", headers=headers)


@router.post("/answer", response_class=HTMLResponse)
def answer(site: Here, session: auth.Organiser, said: auth.Checked) -> HTMLResponse:
    """Enter an author's answers, and settle the return's problems where that is asked for."""
    number = auth.number(said.get("return", ""), "return", 1, 2**31 - 1)
    code = said.get("code", "")
    try:
        recorded = site.campaign.enter(_answers(code, said), session.organiser, number)
    except CitebedError as error:
        return _page(site, session, number, code, problem=str(error))
    message = f"Entered: {count(recorded.questions, 'question')}, "
    message += f"{count(recorded.judgements, 'new judgement')}."
    if "settle" in said:
        _settle(site.campaign, number, session)
        message += " Its problems are settled."
    return _page(site, session, number, code, message=message)


def _answers(code: str, said: Fields) -> Answers:
    """The fields of the page: ``question-1``, ``said-1-3``, ``comment-1-3``, ``better-1`` …"""
    answers = Answers(code)
    for name, value in said.items():
        place = re.fullmatch(r"(question|said|approved|better)-(\d{1,3})(?:-(\d{1,5}))?", name)
        if place is None or not value.strip():
            continue
        query, paper = int(place[2]), int(place[3] or 0)
        if place[1] == "question":
            answers.questions[query] = value
        elif place[1] == "said":
            comment = said.get(f"comment-{query}-{paper}", "")
            # What was left as the page showed it may have been changed by its author meanwhile.
            if f"{value} {comment}" != said.get(f"was-{query}-{paper}"):
                answers.ratings[query, paper] = Rating(_value(value), comment)
        else:
            answers.approved[query] = value if place[1] == "better" else True
    return answers


def _value(text: str) -> int | None:
    return None if text == "u" else auth.number(text, "judgement", 0, 9)


@router.post("/settle")
def settle(site: Here, session: auth.Organiser, said: auth.Checked) -> Response:
    """Somebody has looked at what could not be read: one problem, or all of a return."""
    if "return" in said:
        number = auth.number(said["return"], "return", 1, 2**31 - 1)
        _settle(site.campaign, number, session)
    else:
        problem = auth.number(said.get("problem", ""), "problem", 1, 2**31 - 1)
        site.campaign.settle(problem, who=session.organiser)
    return RedirectResponse(site.path("dashboard", said="settled"), 303)


def _settle(campaign: Campaign, number: int, session: Session) -> None:
    rows: list[dict[str, Any]] = campaign.problems.to_dicts()
    mine = [row["problem"] for row in rows if row["return_id"] == number]
    campaign.settle(*mine, who=session.organiser)


@router.post("/again", response_class=HTMLResponse)
def read_again(site: Here, session: auth.Organiser, said: auth.Checked) -> HTMLResponse:
    """Read a stored return anew, as ``returns --again`` does."""
    number = auth.number(said.get("return", ""), "return", 1, 2**31 - 1)
    done = site.campaign.read_again(number, said.get("charset", ""))
    outcomes = "; ".join(f"{each.name}: {each.summary()}" for each in done)
    return _page(site, session, number, "", message=f"Read anew. {outcomes}")
