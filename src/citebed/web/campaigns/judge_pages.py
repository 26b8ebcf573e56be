"""A judge's pages: the list, the papers on it, and the wish not to be written to again."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup

from citebed.judging.assignments import has_event, load_judge_list, load_sheet, open_link
from citebed.judging.responses import opt_out
from citebed.judging.settings import guidelines_html
from citebed.web.campaigns.fields import MOST_QUESTIONS
from citebed.web.campaigns.site import Here

router = APIRouter(prefix="/judge/{token}")


@router.get("/", response_class=HTMLResponse)
@router.get("", response_class=HTMLResponse)
def show_list(site: Here, token: str) -> HTMLResponse:
    """What a judge is asked, with what they answered so far."""
    with site.campaign.reading() as tx:
        form = open_link(tx, token)
        listed = load_judge_list(tx, form, site.abstracts)
        is_finished = has_event(tx, form, "finished")
    return site.page(
        "judge",
        token=token,
        listed=listed,
        sheet=listed.sheet,
        is_finished=is_finished,
        choices=site.campaign.settings.choices(form.phase),
        most_questions=MOST_QUESTIONS,
        words=site.query_words,
        guidelines=Markup(guidelines_html(site.campaign.settings.guidelines)),
    )


@router.get("/papers", response_class=HTMLResponse)
def show_papers(site: Here, token: str) -> HTMLResponse:
    """Title, authors and a link of each paper."""
    with site.campaign.reading() as tx:
        form = open_link(tx, token)
        sheet = load_sheet(tx, form)
    return site.page("papers", token=token, sheet=sheet)


@router.post("/opt-out")
async def leave(site: Here, token: str) -> RedirectResponse:
    """Write to this person no more."""
    await site.write(lambda tx: opt_out(tx, open_link(tx, token).person_id))
    return RedirectResponse(site.path("judge", token, "left"), 303)


@router.get("/left", response_class=HTMLResponse)
def show_left(site: Here, token: str) -> HTMLResponse:
    """That nobody will write again."""
    with site.campaign.reading() as tx:
        open_link(tx, token)
    message = "We will not write to you again. What you answered stays; thank you for it."
    return site.page("message", heading="You will hear no more from us", message=message)
