"""Login of organisers, and the dashboard: progress, problems, and the next steps."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from citebed.errors import CitebedError
from citebed.judging.assignments import find_unassigned_lists, renew_link, revoke_link
from citebed.judging.organisers import (
    Session,
    begin_session,
    check_password,
    end_session,
    load_session,
)
from citebed.judging.pools import unpooled_questions
from citebed.judging.questions import (
    BY_HAND,
    all_questions,
    excluded_questions,
    exclusions_at_closing,
)
from citebed.judging.status import (
    STATES,
    mail_table,
    mails_in_outbox,
    open_problems,
    recent_events,
    restated_questions,
)
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.tables import agreement
from citebed.web.campaigns import auth
from citebed.web.campaigns.site import CampaignSite, Here, client_address
from citebed.wording import count

router = APIRouter()
ENDED = ("finished", "opted out", "revoked", "expired")
"""States of forms that need nothing more."""
RARE_STATES = ("no mail", "sending", "not sent", "opted out", "revoked", "expired")
"""States that the dashboard shows only if a form has them."""


@router.get("/login", response_class=HTMLResponse)
def show_login(request: Request, site: Here) -> Response:
    """Show the login form."""
    if load_session(site.campaign.database, request.cookies.get(auth.COOKIE)) is not None:
        return RedirectResponse(site.path("dashboard"), 303)
    return _login_page(request, site)


def _login_page(
    request: Request, site: CampaignSite, problem: str = "", status: int = 200
) -> HTMLResponse:
    # The secret ties a login form to its browser.
    secret = request.cookies.get(auth.LOGIN_COOKIE) or secrets.token_urlsafe(24)
    csrf = auth.login_token(site, secret)
    page = site.page("login", status, csrf=csrf, problem=problem)
    auth.set_cookie(site, page, auth.LOGIN_COOKIE, secret)
    return page


@router.post("/login", response_class=HTMLResponse)
def log_in(request: Request, site: Here, fields: auth.Posted) -> Response:
    """Begin a session with a new token."""
    auth.check_login_form(request, fields)
    database = site.campaign.database
    name, password = fields.get("name", ""), fields.get("password", "")
    with site.logging_in():
        organiser = check_password(database, name, password, client_address(request))
    if organiser is None:
        return _login_page(request, site, "Wrong name or password.", 401)
    if old := request.cookies.get(auth.COOKIE):
        end_session(database, old)
    response = RedirectResponse(site.path("dashboard"), 303)
    auth.set_cookie(site, response, auth.COOKIE, begin_session(database, organiser))
    response.delete_cookie(auth.LOGIN_COOKIE, path=site.prefix)
    return response


@router.post("/logout")
def log_out(request: Request, site: Here, _: auth.Checked) -> Response:
    """End the session."""
    end_session(site.campaign.database, request.cookies[auth.COOKIE])
    response = RedirectResponse(site.path("login"), 303)
    response.delete_cookie(auth.COOKIE, path=site.prefix)
    return response


@router.get("/", response_class=HTMLResponse)
@router.get("", response_class=HTMLResponse)
def enter(site: Here) -> Response:
    """Redirect to the dashboard."""
    return RedirectResponse(site.path("dashboard"), 303)


@router.get("/dashboard", response_class=HTMLResponse)
def show_dashboard(site: Here, session: auth.Organiser, said: str = "") -> HTMLResponse:
    """Show the state of the campaign."""
    return _dashboard(site, session, _MESSAGES.get(said, ""))


_MESSAGES = {
    "settled": "The problem is resolved.",
    "removed": "This organiser can no longer log in.",
    "revoked": "The link is revoked and no longer works. The answers are kept.",
    "aside": "The question is excluded.",
    "back": "The question is included again.",
}


def _dashboard(site: CampaignSite, session: Session, message: str, link: str = "") -> HTMLResponse:
    campaign = site.campaign
    forms = campaign.status().to_dicts()
    counted = Counter((form["state"], form["phase"]) for form in forms)
    states = [(state, [counted[state, phase] for phase in (1, 2)]) for state in STATES]
    with campaign.reading() as tx:
        mails = mail_table(tx).to_dicts()
        aside = excluded_questions(tx)
        due = exclusions_at_closing(tx)
        named = {row.id: row.query_id for row in all_questions(tx)}
        refusals = recent_events(tx, "refused")
        agreed = agreement(tx)
        problems = open_problems(tx).to_dicts()
        steps = next_steps(tx, forms, problems)
    return site.page(
        "dashboard",
        session=session,
        message=message,
        link=link,
        states=[row for row in states if any(row[1]) or row[0] not in RARE_STATES],
        forms=forms,
        mail_states=sorted(Counter((mail["kind"], mail["state"]) for mail in mails).items()),
        troubled=[mail for mail in mails if mail["error"] or mail["state"] == "sending"],
        aside=[(named[question], rules) for question, rules in aside.items()],
        due=[(named[question], reason) for question, reason in due.items()],
        history=campaign.exclusions.to_dicts(),
        by_hand=BY_HAND,
        queries=[query for question, query in named.items() if question not in aside],
        unread=_by_file(row for row in problems if not row["is_read"]),
        doubtful=_by_file(row for row in problems if row["is_read"]),
        steps=steps,
        refusals=refusals,
        agreed=agreed,
        machines=campaign.judges.to_dicts(),
        judgements=campaign.judgements.height,
    )


def next_steps(
    tx: Transaction, forms: list[dict[str, Any]], problems: list[dict[str, Any]]
) -> list[tuple[str, str, str]]:
    """Return what to do next, in order: a text, and the page and part that it links to."""
    queries, lists = len(unpooled_questions(tx)), len(find_unassigned_lists(tx))
    sending = mails_in_outbox(tx)
    unread = len({row["return_id"] for row in problems if not row["is_read"]})
    doubtful = len({row["return_id"] for row in problems if row["is_read"]})
    restated = len(restated_questions(tx))
    steps = [
        (not forms, "Invite the authors", "work", "#invite"),
        (sending, f"Send {count(sending, 'mail')} from the outbox", "dashboard", "#mails"),
        (unread, f"Look at {count(unread, 'unreadable file')}", "dashboard", "#problems"),
        (doubtful, f"Check {count(doubtful, 'file')} with unclear answers", "dashboard",
         "#doubtful"),
        (queries, f"Search by hand, then make lists for {count(queries, 'query')}", "work",
         "#pool"),
        (lists, f"Invite {count(lists, 'author')} to judge new lists", "work", "#invite"),
        (restated, f"Check {count(restated, 'question')} restated after judging", "results", ""),
    ]  # fmt: skip
    due = [(text, place, part) for is_due, text, place, part in steps if is_due]
    if all(form["state"] in ENDED for form in forms):
        return due or [("Export the judgements", "results", "")]
    return due or [("Wait for answers, or write reminders", "dashboard", "#mails")]


def _by_file(rows: Iterable[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Group problems by their file."""
    return [
        (problems[0]["file"], problems)
        for _, group in groupby(rows, key=lambda row: row["return_id"])
        for problems in [list(group)]
    ]


def _back(site: CampaignSite, said: str) -> Response:
    return RedirectResponse(site.path("dashboard", said=said), 303)


@router.post("/remind", response_class=HTMLResponse)
def remind(site: Here, session: auth.Organiser, fields: auth.Checked) -> HTMLResponse:
    """Write reminders into the outbox; a second click writes no reminder twice."""
    days = auth.parse_number(fields.get("days", "7"), "days", 0, 365)
    written = site.campaign.remind(after_days=days)
    message = f"{count(len(written), 'mail')} written to the outbox ({site.campaign.outbox})."
    return _dashboard(site, session, message)


@router.post("/links/revoke")
def revoke(site: Here, session: auth.Organiser, fields: auth.Checked) -> Response:
    """Revoke an assessor's link."""
    revoke_link(site.campaign, fields.get("code", ""), session.organiser)
    return _back(site, "revoked")


@router.post("/links/renew", response_class=HTMLResponse)
def renew(site: Here, session: auth.Organiser, fields: auth.Checked) -> HTMLResponse:
    """Show a new link for an assessor."""
    link = renew_link(site.campaign, fields.get("code", ""), session.organiser)
    return _dashboard(site, session, "The new link; earlier links no longer work:", link)


@router.post("/questions/exclude")
def exclude(site: Here, fields: auth.Checked) -> Response:
    """Exclude a question with a reason, or include it again."""
    lift, reason = "lift" in fields, fields.get("reason", "").strip()
    if not reason and not lift:
        raise CitebedError("give the reason for excluding the question.")
    site.campaign.exclude(fields.get("query", ""), reason or "taken back", lift=lift)
    return _back(site, "back" if lift else "aside")


@router.post("/phase-one/close", response_class=HTMLResponse)
def close(site: Here, session: auth.Organiser, _: auth.Checked) -> HTMLResponse:
    """Close phase one, as the command does."""
    number = site.campaign.close_phase_one(session.organiser)
    message = f"Phase one is closed: {count(number, 'question')} of co-authors excluded."
    return _dashboard(site, session, message)
