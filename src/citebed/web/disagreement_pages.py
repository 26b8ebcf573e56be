"""Where judges disagree: the organiser's list for looking at papers again."""

from __future__ import annotations

from itertools import groupby

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from citebed.web import auth as doors
from citebed.web.site import site_of

router = APIRouter()


@router.get("/disagreements", response_class=HTMLResponse)
def show_disagreements(request: Request, session: doors.Organiser) -> HTMLResponse:
    """Papers that judges value differently, the query beside them, and who said what."""
    site = site_of(request)
    rows = site.campaign.disagreements.to_dicts()
    texts = dict(site.campaign.questions.select("query_id", "text").iter_rows())
    entries = site.entries({row["doc_id"] for row in rows})
    found = [
        (query, texts[query], entries[doc_id], site.abstracts(doc_id), list(said))
        for (query, doc_id, _), said in groupby(
            rows, key=lambda row: (row["query_id"], row["doc_id"], row["phase"])
        )
    ]
    return site.page("disagreements", session=session, found=found, words=site.query_words)
