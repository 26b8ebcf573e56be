"""Pages of the workbench: the list of collections, their sections, campaigns, and the login."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException

from citebed.errors import CitebedError
from citebed.files.secret_files import address_block
from citebed.retrieval.recommend.citation_keys import CITATION_FORMATS
from citebed.web.site import parse_form
from citebed.web.workbench.collection import get_status
from citebed.web.workbench.site import WINDOW, At, Here, SiteContext

if TYPE_CHECKING:
    from citebed.judging.campaign import Campaign

router = APIRouter()
WRONG_PASSWORD_SECONDS = 1.0
"""Delay of the response to a wrong password."""
CAMPAIGN_PAGES = (
    ("dashboard", "Dashboard"), ("reformulation", "Questions"), ("search", "Manual search"),
    ("judgements", "Judgements"), ("results", "Results"),
)  # fmt: skip
"""The organisers' pages: the last part of the URL, and the name."""


@router.get("/")
async def show_front(here: Here, all: str = "") -> Response:
    """Redirect to the only collection, or list them; ``?all=1`` always lists them."""
    site = here.site
    if len(site.collections) == 1 and not all:
        only = next(iter(site.collections))
        return RedirectResponse(site.path("c", only.name, "recommend"), 303)

    def get_cards() -> list[dict[str, Any]]:
        cards = []
        for each in site.collections:
            try:
                cards.append({**get_status(site, each), "problem": ""})
            except CitebedError as error:
                cards.append({"collection": each.name, "problem": str(error)})
        return cards

    cards = await here.run(get_cards)
    return site.page("front", cards=cards, home=str(site.collections.home))


@router.get("/c/{name}")
async def show_first_section(at: At) -> Response:
    """Redirect to the first section of a collection."""
    return RedirectResponse(at.site.path("c", at.collection.name, "recommend"), 303)


@router.get("/c/{name}/recommend")
async def show_recommend(at: At) -> Response:
    """Show the page to recommend with; its script loads the draft that the URL names."""
    return at.page("recommend", "recommend", forms=CITATION_FORMATS)


@router.get("/c/{name}/collection")
async def show_collection(at: At) -> Response:
    """Show the content and the sources of a collection, and a form to import."""
    state = await at.run(lambda: get_status(at.site, at.collection))
    return at.page("collection", "collection", state=state, folder=at.collection.folder)


@router.get("/campaigns")
async def show_campaigns(here: Here) -> Response:
    """List the campaigns with the states of their forms."""
    site = here.site
    cards = await here.run(lambda: [_describe_campaign(each) for each in site.campaigns])
    only = next(iter(site.collections)) if len(site.collections) == 1 else None
    return site.page(
        "campaigns", at="campaigns", collection=only, cards=cards, pages=CAMPAIGN_PAGES
    )


def _describe_campaign(campaign: Campaign) -> dict[str, Any]:
    """Return a campaign's counts, or the error of its database."""
    from citebed.report.campaign import campaign_counts

    facts: dict[str, Any] = {"name": campaign.name, "problem": "", "counts": "", "forms": []}
    try:
        with campaign.reading() as tx:
            facts["counts"] = campaign_counts(tx).partition(": ")[2]
        facts["title"] = campaign.settings.title
        facts["simulated"] = campaign.simulated
        states = campaign.status().group_by("phase", "state", maintain_order=True).len()
        facts["forms"] = states.sort("phase", maintain_order=True).rows()
        facts["problems"] = campaign.problems.height
    except CitebedError as error:
        facts["problem"] = str(error)
    return facts


# --- login -------------------------------------------------------------------------------------


@router.get("/login")
async def show_login(here: Here, next: str = "/") -> Response:
    """Show the login form."""
    return _show_login(here, _check_local(next))


@router.post("/login")
async def log_in(here: Here) -> Response:
    """Log in with the password; an attempt counts before the password is checked."""
    site, request = here.site, here.request
    try:
        form = await parse_form(request, 0, 5)
    except (HTTPException, OSError):
        raise
    except Exception:  # parsers raise many types
        message = "invalid form submission. Reload the page and try again."
        raise HTTPException(400, message) from None
    fields = {name: value for name, value in form.multi_items() if isinstance(value, str)}
    target = _check_local(fields.get("next", "/"))
    address = address_block(request.client.host if request.client else "")
    throttle = site.wrong_passwords
    if throttle.is_full(address) or site.logins.locked():
        problem = "Too many wrong passwords. Try again in 15 minutes."
        response = _show_login(here, target, problem, 429)
        response.headers["Retry-After"] = f"{WINDOW:.0f}"
        return response
    throttle.add(address)
    if not site.keys.is_password(fields.get("password", "")):
        async with site.logins:
            await asyncio.sleep(WRONG_PASSWORD_SECONDS)
        return _show_login(here, target, "Wrong password.", 403)
    throttle.clear(address)
    response = RedirectResponse(target, 303)
    site.keys.set_cookie(request, response)
    return response


@router.post("/logout")
async def log_out(here: Here) -> Response:
    """Delete the cookie of a browser."""
    response = Response(status_code=204)
    keys = here.site.keys
    name = keys.cookie_name(here.request)
    response.delete_cookie(name, secure=keys.secure, httponly=True, samesite="lax")
    return response


def _show_login(here: SiteContext, target: str, problem: str = "", status: int = 200) -> Response:
    return here.site.stranger_page("login", status, next=target, problem=problem)


def _check_local(address: str) -> str:
    """Return a path on this site, or "/" for an address that browsers might read otherwise."""
    is_ours = address.startswith("/") and not address.startswith("//") and address.isprintable()
    return address if is_ours and "\\" not in address else "/"
