"""Pages for the steps of a campaign: invite, import returned forms, pool, judgements, results."""

from __future__ import annotations

import io
import re
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from citebed.errors import CitebedError
from citebed.judging.assignments import form_by_code, load_judge_list
from citebed.judging.campaign import Campaign
from citebed.judging.export import FILES
from citebed.judging.forms.sheet import Answers, Rating
from citebed.judging.mails import FORMS
from citebed.judging.organisers import Session, organiser_names, remove_organiser
from citebed.judging.pools import unpooled_questions
from citebed.judging.returns import MAX_BYTES, load_return, possible_charsets, return_text
from citebed.judging.settings import BINARY, CANNOT_SAY
from citebed.judging.status import restated_questions
from citebed.report.campaign import TITLES
from citebed.web.campaigns import auth
from citebed.web.campaigns.auth import Fields
from citebed.web.campaigns.site import MOST_QUESTIONS, CampaignSite, Here, Id, Text
from citebed.web.site import send_file
from citebed.wording import count

router = APIRouter()
MOST_ROWS = 500
"""Judgements per page."""
MOST_LINES = 3000
"""Lines of a returned file that a page shows."""


@router.get("/work", response_class=HTMLResponse)
def show_work(site: Here, session: auth.Organiser) -> HTMLResponse:
    """Show the steps of the work."""
    return _work(site, session)


def _work(site: CampaignSite, session: Session, *lines: str) -> HTMLResponse:
    campaign = site.campaign
    with campaign.reading() as tx:
        ready = unpooled_questions(tx)
    questions = campaign.questions.filter(pl.col("excluded").is_null())["query_id"].to_list()
    return site.page(
        "work",
        session=session,
        lines=lines,
        ways=FORMS,
        waiting=len(ready),
        queries=questions,
        size=campaign.settings.pool_size,
        outbox=campaign.outbox,
    )


@router.post("/work/invite", response_class=HTMLResponse)
def invite(site: Here, session: auth.Organiser, fields: auth.Checked) -> HTMLResponse:
    """Write invitations to everyone who is due, as the command does."""
    ways = [way for way in FORMS if f"way-{way}" in fields]
    if not ways:
        raise CitebedError("choose at least one kind of form.")
    written = site.campaign.invite(ways)
    return _work(site, session, f"{count(len(written), 'mail')} written to {site.campaign.outbox}.")


@router.post("/work/returns", response_class=HTMLResponse)
def take_in(site: Here, session: auth.Organiser, files: auth.Uploaded) -> HTMLResponse:
    """Import returned forms, as the command does."""
    if not files:
        raise CitebedError("choose the returned files.")
    lines = []
    for name, content in files:
        if len(content) > MAX_BYTES:
            lines.append(f"{name}: refused, it is larger than {MAX_BYTES >> 20} MB.")
            continue
        done = site.campaign.returned(name, content)
        lines += [f"{each.name}: {each.summary()}." for each in done]
    return _work(site, session, *lines)


@router.post("/work/pool", response_class=HTMLResponse)
def pool(site: Here, session: auth.Organiser, fields: auth.Checked) -> HTMLResponse:
    """Build the lists of phase two with the three models of the paper, as the command does."""
    size = auth.parse_number(fields.get("size", ""), "size", 1, 1000)
    made = site.campaign.pool(size=size, coupling="coupling" in fields)
    lines = [f"{each.summary()}." for each in made]
    return _work(site, session, f"Pooled {count(len(made), 'query')}.", *lines)


@router.post("/work/second", response_class=HTMLResponse)
def second(site: Here, session: auth.Organiser, fields: auth.Checked) -> HTMLResponse:
    """Assign a list to a second assessor, as the command does."""
    query, name, email = (fields.get(name, "").strip() for name in ("query", "name", "email"))
    if "@" not in email:
        raise CitebedError(f"'{email[:100]}' is not a mail address; expected name@host.")
    is_new = site.campaign.second_judge(query, name or email, email)
    message = "The next invitations include this assessor." if is_new else (
        "This assessor already has every document of that list.")  # fmt: skip
    return _work(site, session, message)


@router.post("/work/compare", response_class=HTMLResponse)
def compare(site: Here, session: auth.Organiser, fields: auth.Checked) -> HTMLResponse:
    """Assign papers in pairs to an author or a second assessor, as the command does."""
    query, name, email = (fields.get(name, "").strip() for name in ("query", "name", "email"))
    per_paper = auth.parse_number(fields.get("per_paper", ""), "comparisons", 2, 1000)
    queries = [query] if query else []
    made = site.campaign.compare(queries, name=name, email=email, per_paper=per_paper)
    lines = [f"{each.summary()}." for each in made] or ["There are no papers to compare."]
    return _work(site, session, *lines)


@router.get("/judgements", response_class=HTMLResponse)
def show_judgements(
    site: Here, session: auth.Organiser, query: Text = "", judge: Text = "", comments: Text = ""
) -> HTMLResponse:
    """Show all judgements and comments."""
    table = site.campaign.judgements
    rows = [
        row
        for row in table.to_dicts()
        if (not query or row["query_id"] == query)
        and (not judge or row["judge"] == judge)
        and (not comments or row["comment"])
    ]
    shown = rows[:MOST_ROWS]
    titles = site.entries({row["doc_id"] for row in shown if row["doc_id"]})
    for row in shown:
        value = row["value"]
        if value is None:
            row["said"] = CANNOT_SAY
        elif row["phase"] == 2:
            row["said"] = BINARY[value]
        else:
            meaning = site.campaign.settings.grades[value - 1].partition(":")[0]
            row["said"] = f"{value}: {meaning}"
        row["title"] = titles[row["doc_id"]].title if row["doc_id"] else "not in the collection"
    return site.page(
        "judgements",
        session=session,
        rows=shown,
        number=len(rows),
        queries=sorted(set(table["query_id"])),
        judges=sorted(set(table["judge"])),
        chosen={"query": query, "judge": judge, "comments": comments},
    )


@router.get("/results", response_class=HTMLResponse)
def show_results(site: Here, session: auth.Organiser) -> HTMLResponse:
    """Show the tables of the paper, and the export."""
    tables = site.campaign.tables()
    with site.campaign.reading() as tx:
        restated = restated_questions(tx)
    return site.page(
        "results",
        restated=[each.warning() for each in restated],
        session=session,
        tables=[(TITLES.get(name, name), table.drop("simulated", strict=False))
                for name, table in tables.items()],
        files=list(FILES.values()),
    )  # fmt: skip


@router.post("/results/export")
def export(site: Here, _: auth.Organiser, fields: auth.Checked) -> Response:
    """Return the files of ``campaign export`` as one archive."""
    campaign = site.campaign
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as place:
        done = campaign.export(Path(place) / campaign.name, graded="graded" in fields)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(done.folder.rglob("*")):
                archive.write(path, path.relative_to(place))
    name = f"{campaign.name}-{done.version[:12]}.zip"
    return send_file(packed.getvalue(), name, "application/zip")


@router.get("/organisers", response_class=HTMLResponse)
def show_organisers(site: Here, session: auth.Organiser) -> HTMLResponse:
    """List the organisers."""
    names = organiser_names(site.campaign.database)
    return site.page("organisers", session=session, names=names)


@router.post("/organisers/remove")
def remove(site: Here, session: auth.Organiser, fields: auth.Checked) -> Response:
    """Remove an organiser, but not oneself."""
    name = fields.get("name", "")
    if name == session.organiser:
        raise CitebedError("you cannot remove yourself. Ask another organiser.")
    remove_organiser(site.campaign.database, name)
    return RedirectResponse(site.path("organisers"), 303)


# --- returned files that citebed could not read completely ---------------------------------------


@router.get("/problems/return", response_class=HTMLResponse)
def show_return(site: Here, session: auth.Organiser, number: Id, code: Text = "") -> HTMLResponse:
    """Show a returned file with its problems, and a form to enter the answers by hand."""
    return _return_page(site, session, number, code)


def _return_page(
    site: CampaignSite,
    session: Session,
    number: int,
    code: str,
    message: str = "",
    problem: str = "",
) -> HTMLResponse:
    campaign = site.campaign
    mine = [row for row in campaign.problems.to_dicts() if row["return_id"] == number]
    with campaign.reading() as tx:
        came = load_return(tx, number)
        lines = return_text(tx, came).split("\n")
        form = form_by_code(tx, code or came.code or "") if code or came.code else None
        listed = load_judge_list(tx, form, lambda _: "") if form else None
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


@router.get("/problems/file")
def fetch_file(site: Here, _: auth.Organiser, number: Id) -> Response:
    """Return the original file as a download, because it may contain anything."""
    campaign = site.campaign
    with campaign.reading() as tx:
        came = load_return(tx, number)
    name = re.sub(r"[^\w.-]+", "_", came.name, flags=re.ASCII)[-80:] or "return"
    return send_file(came.content, name, "application/octet-stream")


@router.post("/problems/answer", response_class=HTMLResponse)
def answer(site: Here, session: auth.Organiser, fields: auth.Checked) -> HTMLResponse:
    """Enter an author's answers, and resolve the problems of the file if requested."""
    number = auth.parse_number(fields.get("return", ""), "return", 1, 2**31 - 1)
    code = fields.get("code", "")
    try:
        recorded = site.campaign.enter(_answers(code, fields), session.organiser, number)
    except CitebedError as error:
        return _return_page(site, session, number, code, problem=str(error))
    message = f"Entered: {count(recorded.questions, 'question')}, "
    message += f"{count(recorded.judgements, 'new judgement')}."
    if "settle" in fields:
        _settle(site.campaign, number, session)
        message += " Its problems are resolved."
    return _return_page(site, session, number, code, message=message)


def _answers(code: str, fields: Fields) -> Answers:
    """Read the fields ``question-1``, ``said-1-3``, ``comment-1-3``, ``better-1`` …"""
    answers = Answers(code)
    for name, value in fields.items():
        place = re.fullmatch(r"(question|said|approved|better)-(\d{1,3})(?:-(\d{1,5}))?", name)
        if place is None or not value.strip():
            continue
        query, paper = int(place[2]), int(place[3] or 0)
        if place[1] == "question":
            answers.questions[query] = value
        elif place[1] == "said":
            comment = fields.get(f"comment-{query}-{paper}", "")
            # Skip unchanged fields: their author may have changed the answer in the meantime.
            if f"{value} {comment}" != fields.get(f"was-{query}-{paper}"):
                grade = None if value == "u" else auth.parse_number(value, "judgement", 0, 9)
                answers.ratings[query, paper] = Rating(grade, comment)
        else:
            answers.approved[query] = value if place[1] == "better" else True
    return answers


@router.post("/problems/settle")
def settle(site: Here, session: auth.Organiser, fields: auth.Checked) -> Response:
    """Resolve a problem, or all problems of a returned file."""
    if "return" in fields:
        number = auth.parse_number(fields["return"], "return", 1, 2**31 - 1)
        _settle(site.campaign, number, session)
    else:
        problem = auth.parse_number(fields.get("problem", ""), "problem", 1, 2**31 - 1)
        site.campaign.settle(problem, who=session.organiser)
    return RedirectResponse(site.path("dashboard", said="settled"), 303)


def _settle(campaign: Campaign, number: int, session: Session) -> None:
    rows: list[dict[str, Any]] = campaign.problems.to_dicts()
    mine = [row["problem"] for row in rows if row["return_id"] == number]
    campaign.settle(*mine, who=session.organiser)


@router.post("/problems/again", response_class=HTMLResponse)
def read_again(site: Here, session: auth.Organiser, fields: auth.Checked) -> HTMLResponse:
    """Read a stored file again, as ``returns --again`` does."""
    number = auth.parse_number(fields.get("return", ""), "return", 1, 2**31 - 1)
    done = site.campaign.read_again(number, fields.get("charset", ""))
    outcomes = "; ".join(f"{each.name}: {each.summary()}" for each in done)
    return _return_page(site, session, number, "", message=f"Read again. {outcomes}")
