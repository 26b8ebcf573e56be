"""The verbs of a campaign as pages: asking, taking in, pooling; judgements, tables, organisers."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from citebed.errors import CitebedError
from citebed.judging.export import FILES
from citebed.judging.mails import FORMS
from citebed.judging.organisers import Session, organiser_names, remove_organiser
from citebed.judging.pools import unpooled_questions
from citebed.judging.returns import MAX_BYTES
from citebed.judging.settings import BINARY, CANNOT_SAY
from citebed.judging.status import restated_questions
from citebed.report.campaign import TITLES
from citebed.web.campaigns import auth
from citebed.web.campaigns.fields import Text
from citebed.web.campaigns.site import Here, Site
from citebed.wording import count

router = APIRouter()
MOST_ROWS = 500
"""Judgements on one page."""


@router.get("/work", response_class=HTMLResponse)
def show_work(site: Here, session: auth.Organiser) -> HTMLResponse:
    """The steps of the work."""
    return _work(site, session)


def _work(site: Site, session: Session, *lines: str) -> HTMLResponse:
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
def invite(site: Here, session: auth.Organiser, said: auth.Checked) -> HTMLResponse:
    """Write to everybody who is due, as the verb does; nobody twice."""
    ways = [way for way in FORMS if f"way-{way}" in said]
    if not ways:
        raise CitebedError("choose at least one kind of form.")
    written = site.campaign.invite(ways)
    return _work(site, session, f"{count(len(written), 'mail')} written to {site.campaign.outbox}.")


@router.post("/work/returns", response_class=HTMLResponse)
def take_in(site: Here, session: auth.Organiser, files: auth.Uploaded) -> HTMLResponse:
    """Take in what came back, as the verb does."""
    if not files:
        raise CitebedError("choose the files that came back.")
    lines = []
    for name, content in files:
        if len(content) > MAX_BYTES:
            lines.append(f"{name}: refused, it is larger than {MAX_BYTES >> 20} MB.")
            continue
        done = site.campaign.returned(name, content)
        lines += [f"{each.name}: {each.summary()}." for each in done]
    return _work(site, session, *lines)


@router.post("/work/pool", response_class=HTMLResponse)
def pool(site: Here, session: auth.Organiser, said: auth.Checked) -> HTMLResponse:
    """Make the lists of phase two with the three models of the paper, as the verb does."""
    size = auth.number(said.get("size", ""), "size", 1, 1000)
    made = site.campaign.pool(size=size, coupling="coupling" in said)
    lines = [f"{each.summary()}." for each in made]
    return _work(site, session, f"Pooled {count(len(made), 'query')}.", *lines)


@router.post("/work/second", response_class=HTMLResponse)
def second(site: Here, session: auth.Organiser, said: auth.Checked) -> HTMLResponse:
    """Have a list judged by somebody else too, as the verb does."""
    query, name, email = (said.get(field, "").strip() for field in ("query", "name", "email"))
    if "@" not in email:
        raise CitebedError(f"'{email[:100]}' is not a mail address; expected name@host.")
    is_new = site.campaign.second_judge(query, name or email, email)
    message = "They are asked with the next invitations." if is_new else (
        "There is nothing on that list that they were not asked about.")  # fmt: skip
    return _work(site, session, message)


@router.get("/judgements", response_class=HTMLResponse)
def show_judgements(
    site: Here, session: auth.Organiser, query: Text = "", judge: Text = "", comments: Text = ""
) -> HTMLResponse:
    """Who judged what, and what they wrote beside it."""
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
        row["said"] = _said(site, row)
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


def _said(site: Site, row: dict[str, Any]) -> str:
    value = row["value"]
    if value is None:
        return CANNOT_SAY
    if row["phase"] == 2:
        return BINARY[value]
    return f"{value}: {site.campaign.settings.grades[value - 1].partition(':')[0]}"


@router.get("/results", response_class=HTMLResponse)
def show_results(site: Here, session: auth.Organiser) -> HTMLResponse:
    """The tables of the paper, and the door to the export."""
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
def export(site: Here, _: auth.Organiser, said: auth.Checked) -> Response:
    """What ``campaign export`` writes into a folder, as one archive."""
    campaign = site.campaign
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as place:
        done = campaign.export(Path(place) / campaign.name, graded="graded" in said)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(done.folder.rglob("*")):
                archive.write(path, path.relative_to(place))
    name = f"{campaign.name}-{done.version[:12]}.zip"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(packed.getvalue(), media_type="application/zip", headers=headers)


@router.get("/organisers", response_class=HTMLResponse)
def show_organisers(site: Here, session: auth.Organiser) -> HTMLResponse:
    """Who may log in."""
    names = organiser_names(site.campaign.database)
    return site.page("organisers", session=session, names=names)


@router.post("/organisers/remove")
def remove(site: Here, session: auth.Organiser, said: auth.Checked) -> Response:
    """Let somebody in no longer; nobody can shut themselves out by a slip."""
    name = said.get("name", "")
    if name == session.organiser:
        raise CitebedError("you cannot remove yourself: let another organiser do it.")
    remove_organiser(site.campaign.database, name)
    return RedirectResponse(site.path("organisers"), 303)
