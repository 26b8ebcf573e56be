"""Campaigns beside the workbench: judges' links as before, desks at their addresses, one list."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient
from tests.routes import all_routes
from tests.unit.web.conftest import NAME, PASSWORD, Judge, csrf_in

from citebed.errors import CitebedError
from citebed.judging import Campaign
from citebed.judging.organisers import add_organiser
from citebed.web.access import LOCAL, Keys
from citebed.web.workbench.app import create_workbench
from citebed.web.workbench.open_collections import OpenCollections
from citebed.web.workbench.server import (
    OWN_PATHS,
    CampaignDispatcher,
    campaign_apps,
    check_campaign_names,
)

KEY = "the key of this test"
LET_IN = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture
def together(campaign: Campaign) -> Iterator[TestClient]:
    """Return a public workbench with a campaign, without a login."""
    keys = Keys(KEY, "a password of the workbench")
    workbench = create_workbench(
        OpenCollections([]), keys, hosts=frozenset(LOCAL), campaigns=[campaign]
    )
    app = CampaignDispatcher(workbench, campaign_apps([campaign]))
    with TestClient(app, base_url="http://127.0.0.1", follow_redirects=False) as client:
        yield client


def test_judges_come_by_their_links_and_need_no_password(
    together: TestClient, campaign: Campaign
) -> None:
    judge = Judge(together, campaign)
    assert together.get(judge.page).status_code == 200
    saved = judge.send("judgement", item=judge.items[0], value=1)
    assert saved.status_code == 200
    assert together.get("/cr/static/judge.js").status_code == 200
    assert together.get("/cr/judge/wrong").status_code == 403
    for own in ("/", "/campaigns", "/c/demo", "/crx", "/api/openapi.json"):
        assert together.get(own).status_code == 401  # the workbench is not theirs


def test_each_has_its_own_login(together: TestClient, campaign: Campaign) -> None:
    add_organiser(campaign.database, NAME, PASSWORD)
    csrf = csrf_in(together.get("/cr/login").text)
    said = {"csrf": csrf, "name": NAME, "password": PASSWORD}
    assert together.post("/cr/login", data=said).status_code == 303
    assert together.get("/cr/dashboard").status_code == 200
    assert together.get("/campaigns").status_code == 401
    keyed = together.get("/cr/reformulation", headers=LET_IN)
    together.cookies.clear()
    assert keyed.status_code == 200
    assert together.get("/cr/dashboard", headers=LET_IN).headers["location"] == "/cr/login"


def test_the_page_tells_how_each_stands(together: TestClient) -> None:
    page = together.get("/campaigns", headers=LET_IN).text
    assert 'href="/cr/dashboard"' in page
    assert " papers, " in page
    assert "Phase 2" in page
    assert "judgements" in page


def test_what_is_guarded_stays_so(together: TestClient) -> None:
    elsewhere = {"Origin": "https://elsewhere.example"}
    assert together.post("/cr/login", headers=elsewhere).status_code == 403
    large = {"Content-Length": str(1 << 20)}
    assert together.post("/cr/login", content=b"x" * (1 << 20), headers=large).status_code == 413
    assert "default-src 'self'" in together.get("/cr/login").headers["content-security-policy"]


def test_a_name_that_is_an_address_of_citebed_is_refused() -> None:
    for name in OWN_PATHS:
        with pytest.raises(CitebedError, match="Serve it separately"):
            check_campaign_names(["cr", name])
    with pytest.raises(CitebedError, match="two campaigns have the name 'cr'"):
        check_campaign_names(["cr", "other", "cr"])


def test_all_addresses_of_the_workbench_are_known(together: TestClient) -> None:
    """A page at another address would need to be among the names that campaigns cannot have."""
    paths = [path for path, _ in all_routes(together.app._workbench)]  # type: ignore[attr-defined]
    assert "/api/jobs" in paths
    assert {path.strip("/").partition("/")[0] for path in paths} - {""} <= OWN_PATHS


def test_several_campaigns_and_no_collection(campaign: Campaign) -> None:
    with TestClient(CampaignDispatcher(None, campaign_apps([campaign]))) as client:
        assert client.get("/cr/login").status_code == 200
        assert client.get("/other").status_code == 404
