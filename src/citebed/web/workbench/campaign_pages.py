"""The campaigns that are served beside the workbench: how each stands, and where its desks are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from citebed.errors import CitebedError
from citebed.web.workbench.site import Here

if TYPE_CHECKING:
    from citebed.judging.campaign import Campaign

router = APIRouter()
DESKS = (
    ("dashboard", "Dashboard"), ("reformulation", "Questions"), ("search", "Search desk"),
    ("judgements", "Judgements"), ("results", "Results"),
)  # fmt: skip
"""An organiser's pages: the last part of the address, and the name."""


@router.get("/campaigns")
async def campaigns(site: Here, request: Request) -> Response:
    """All campaigns, each with how far its forms are."""
    cards = await site.turns.run(request, lambda: [_card(each) for each in site.campaigns])
    only = next(iter(site.shelf)) if len(site.shelf) == 1 else None
    return site.page("campaigns", "campaigns", only, cards=cards, desks=DESKS)


def _card(campaign: Campaign) -> dict[str, Any]:
    """A campaign at a glance; of one whose database does not answer, why."""
    from citebed.report.campaign import campaign_counts

    facts: dict[str, Any] = {"name": campaign.name, "problem": "", "said": "", "forms": []}
    try:
        with campaign.reading() as tx:
            facts["said"] = campaign_counts(tx).partition(": ")[2]
        facts["title"] = campaign.settings.title
        facts["simulated"] = campaign.simulated
        states = campaign.status().group_by("phase", "state", maintain_order=True).len()
        facts["forms"] = states.sort("phase", maintain_order=True).rows()
        facts["problems"] = campaign.problems.height
    except CitebedError as error:
        facts["problem"] = str(error)
    return facts
