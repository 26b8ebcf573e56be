"""Refused access: it is on record and changes nothing."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update
from starlette.testclient import TestClient
from tests.campaigns import copied, links, small_campaign, with_lists
from tests.unit.web.conftest import (
    NAME,
    PASSWORD,
    Desk,
    Judge,
    judged,
    log_in,
    refusals,
)

from citebed.judging import Campaign
from citebed.judging.assignments import make_token, renew_link, revoke_link
from citebed.judging.organisers import IDLE, LONGEST_SESSION, add_organiser
from citebed.judging.store.schema import forms, now, sessions
from citebed.pages import ready_script
from citebed.web.campaigns.app import create_app
from citebed.web.campaigns.auth import COOKIE

OWN_PAGES = ("/dashboard", "/reformulation", "/search", "/reformulation/query?query=p1-a1q1")
POSTS = ("/remind", "/links/revoke", "/links/renew", "/problems/settle", "/questions/exclude",
         "/reformulation/query", "/search", "/search/mark", "/logout")  # fmt: skip


@pytest.fixture
def campaign(made_once: Campaign, tmp_path: Path) -> Campaign:
    """Only in SQLite: tests of judges and organisers show who is let in by PostgreSQL."""
    return copied(made_once, tmp_path)


def _is_refused(client: TestClient, given: str, item: int) -> None:
    """A link opens none of a judge's pages, and saves nothing."""
    for page in (f"/cr/judge/{given}", f"/cr/judge/{given}/papers", f"/cr/judge/{given}/left"):
        response = client.get(page)
        assert response.status_code == 403
        assert "This link is not valid" in response.text
        assert "Ranking documents" not in response.text
    body = {"item": item, "value": 1, "key": "12345678"}
    assert client.post(f"/cr/api/judge/{given}/judgement", json=body).status_code == 403
    for what in ("opened", "finished"):
        act = {"key": "12345678"}
        assert client.post(f"/cr/api/judge/{given}/{what}", json=act).status_code == 403
    assert client.post(f"/cr/judge/{given}/opt-out").status_code == 403


def test_an_altered_link_is_refused(client: TestClient, campaign: Campaign, judge: Judge) -> None:
    before = judged(campaign)
    for at in (0, 5, 25, -1):
        letters = list(judge.token)
        letters[at] = "A" if letters[at] != "A" else "B"
        _is_refused(client, "".join(letters), judge.items[0])
    assert judged(campaign) == before
    assert set(refusals(campaign)) == {"forged, altered, expired or of another campaign"}
    for given in ("", ".", "%2e%2e", "a.b.c", "%00", "x" * 5000, "é.1.é", "%F0%9F"):
        assert client.get(f"/cr/judge/{given}").status_code in (403, 404, 307)


def test_a_link_of_another_campaign(
    client: TestClient, campaign: Campaign, judge: Judge, tmp_path: Path
) -> None:
    database = str(campaign.database.engine.url)
    other = with_lists(small_campaign(tmp_path, database=database, name="other"))
    _is_refused(client, next(iter(links(other).values())), judge.items[0])
    assert refusals(campaign) != []


def test_an_expired_link(client: TestClient, campaign: Campaign, judge: Judge) -> None:
    _is_refused(client, make_token(campaign, judge.code, now() - timedelta(1)), judge.items[0])
    with campaign.writing() as tx:  # the form may also end before its link does
        mine = forms.c.code == judge.code
        tx.execute(update(forms).where(mine).values(expires_at=now() - timedelta(1)))
    _is_refused(client, judge.token, judge.items[0])
    assert {"forged, altered, expired or of another campaign", "expired"} == set(refusals(campaign))


def test_a_revoked_link_and_the_one_that_replaces_it(
    client: TestClient, campaign: Campaign, judge: Judge
) -> None:
    assert judge.send("judgement", item=judge.items[0], value=1).status_code == 200
    revoke_link(campaign, judge.code)
    _is_refused(client, judge.token, judge.items[0])
    fresh = renew_link(campaign, judge.code).rpartition("/")[2]
    _is_refused(client, judge.token, judge.items[0])
    page = client.get(f"/cr/judge/{fresh}")
    assert page.status_code == 200
    assert 'data-value="1"' in page.text  # what was answered is still there
    assert {"revoked", "another link was given since"} == set(refusals(campaign))


def test_a_judge_who_posts_for_the_item_of_another(
    campaign: Campaign, judge: Judge, other: Judge
) -> None:
    before = judged(campaign)
    response = judge.send("judgement", item=other.items[0], value=1)
    assert (response.status_code, response.json()["message"]) == (
        400,
        "this document is not on your list.",
    )
    assert judged(campaign) == before
    assert refusals(campaign) == ["a document of another list"]


def test_a_judge_sees_nothing_of_another_and_nothing_of_systems(
    client: TestClient, campaign: Campaign, judge: Judge, other: Judge
) -> None:
    judge.send("judgement", item=judge.items[0], value=1, comment="my secret thought")
    mine, theirs = client.get(judge.page).text, client.get(other.page).text
    assert "my secret thought" in mine
    assert "my secret thought" not in theirs
    assert "Ben Carr" in theirs
    for word in ("score", "rank=", "pool", "okapi", "manual"):
        assert word not in mine.lower().replace("ranking", "").replace("by probability", "")
    assert campaign.settings.contact in mine


def test_organisers_pages_and_forms_need_a_login(client: TestClient, campaign: Campaign) -> None:
    for page in OWN_PAGES:
        response = client.get(f"/cr{page}")
        assert (response.status_code, response.headers["location"]) == (303, "/cr/login")
    for path in POSTS:
        assert client.post(f"/cr{path}", data={"csrf": "x", "code": "x"}).status_code == 403
    assert refusals(campaign) == ["not logged in"] * len(OWN_PAGES + POSTS)


def test_a_form_without_its_token_is_refused(desk: Desk, campaign: Campaign, judge: Judge) -> None:
    fields = {"code": judge.code, "query": "p1-a1q1", "reason": "x", "text": "x"}
    for path in POSTS:
        assert desk.client.post(f"/cr{path}", data=fields).status_code == 403, path
    for csrf in ("", "wrong", "é"):
        assert desk.client.post("/cr/remind", data={**fields, "csrf": csrf}).status_code == 403
    assert refusals(campaign) == ["a form that is not from our page"] * (len(POSTS) + 3)
    assert campaign.exclusions.height == 0
    desk.get("/dashboard")  # the session goes on


def test_a_form_that_another_site_sends_is_refused(
    desk: Desk, campaign: Campaign, judge: Judge
) -> None:
    fields = {"csrf": desk.csrf, "code": judge.code}  # even with the token
    others: list[dict[str, str]] = [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.test"},
        {"Origin": "http://campaign.test.evil.test"},
    ]
    for headers in others:
        response = desk.client.post("/cr/links/revoke", data=fields, headers=headers)
        assert response.status_code == 403
    assert refusals(campaign) == ["sent by another site"] * len(others)
    assert desk.client.get(judge.page).status_code == 200


def test_forms_of_our_own_pages_come_through(desk: Desk, judge: Judge) -> None:
    fields = {"csrf": desk.csrf, "code": judge.code}
    for headers in ({"Sec-Fetch-Site": "same-origin", "Origin": "null"}, {"Origin": "null"}, {}):
        response = desk.client.post("/cr/links/revoke", data=fields, headers=headers)
        assert response.status_code == 303


def test_a_web_server_in_between_that_names_itself_as_the_host(
    client: TestClient, judge: Judge
) -> None:
    body = {"item": judge.items[0], "value": 1, "key": "12345678"}
    address = f"/cr/api/judge/{judge.token}/judgement"
    headers = {"Host": "127.0.0.1:8000", "Origin": "http://localhost:8000"}  # as the campaign says
    assert client.post(address, json=body, headers=headers).status_code == 200
    for evil in ("https://evil.test", "evil", "http://localhost:8000.evil.test"):
        headers["Origin"] = evil
        assert client.post(address, json=body, headers=headers).status_code == 403


def test_no_answer_sends_a_link_to_the_host_that_a_request_names(
    client: TestClient, judge: Judge
) -> None:
    for page, status in ((f"{judge.page}/", 200), ("/cr", 303), ("/cr/login/", 404)):
        response = client.get(page, headers={"Host": "evil.test"})
        assert response.status_code == status
        assert "evil.test" not in str(response.headers)


@pytest.mark.usefixtures("organiser")
def test_a_session_that_was_fixed_before_the_login(client: TestClient) -> None:
    client.cookies.set(COOKIE, "known-to-the-attacker", path="/cr")
    assert log_in(client).status_code == 303
    values = {cookie.value for cookie in client.cookies.jar if cookie.name == COOKIE}
    client.cookies.clear()
    client.cookies.set(COOKIE, "known-to-the-attacker", path="/cr")
    assert client.get("/cr/dashboard").status_code == 303
    assert values - {"known-to-the-attacker"}


def test_a_session_after_its_logout(desk: Desk, campaign: Campaign) -> None:
    stolen = desk.client.cookies[COOKIE]
    assert desk.post("/logout").status_code == 303
    assert COOKIE not in desk.client.cookies
    desk.client.cookies.set(COOKIE, stolen, path="/cr")
    assert desk.client.get("/cr/dashboard").status_code == 303
    assert desk.post("/remind", days=0).status_code == 403
    assert refusals(campaign) == ["not logged in", "not logged in"]


def test_the_database_has_no_token_of_a_session(desk: Desk, campaign: Campaign) -> None:
    with campaign.reading() as tx:
        row = tx.execute(select(sessions)).one()
    assert desk.client.cookies[COOKIE] not in [str(value) for value in row]


@pytest.mark.parametrize("by", ["created_at", "expires_at"])
def test_a_session_ends_when_it_is_too_old(desk: Desk, campaign: Campaign, by: str) -> None:
    past = {"created_at": now() - LONGEST_SESSION, "expires_at": now()}[by]
    with campaign.writing() as tx:
        tx.execute(update(sessions).values({by: past}))
    assert desk.client.get("/cr/dashboard").status_code == 303


def test_a_session_in_use_goes_on(desk: Desk, campaign: Campaign) -> None:
    soon = now() + IDLE / 4
    with campaign.writing() as tx:
        tx.execute(update(sessions).values(expires_at=soon))
    desk.get("/dashboard")
    with campaign.reading() as tx:
        assert tx.scalar(select(sessions.c.expires_at)) > soon


def test_another_password_ends_all_sessions(desk: Desk, campaign: Campaign) -> None:
    add_organiser(campaign.database, NAME, "a wholly new one")
    assert desk.client.get("/cr/dashboard").status_code == 303


@pytest.mark.usefixtures("organiser")
def test_a_login_form_from_elsewhere_is_refused(client: TestClient) -> None:
    client.get("/cr/login")
    for csrf in ("", "0" * 64):
        data = {"csrf": csrf, "name": NAME, "password": PASSWORD}
        assert client.post("/cr/login", data=data).status_code == 403
    assert COOKIE not in client.cookies


HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-frame-options": "DENY",
}


def test_every_answer_has_its_headers(client: TestClient, judge: Judge) -> None:
    answers = [client.get(judge.page), client.get("/cr/login"), client.get("/elsewhere"),
               client.get("/cr/judge/x"), judge.send("judgement", item=1)]  # fmt: skip
    for answer in answers:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'self';")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "strict-transport-security" not in answer.headers
    script = client.get("/cr/static/judge.js")
    assert (script.status_code, script.headers["cache-control"]) == (200, "no-cache")


@pytest.mark.usefixtures("organiser")
def test_cookies_over_https(campaign: Campaign) -> None:
    app = create_app(campaign, secure=True)
    with TestClient(app, base_url="https://c.test", follow_redirects=False) as client:
        response = log_in(client)
    cookies = [value for value in response.headers.get_list("set-cookie") if COOKIE in value]
    assert len(cookies) == 1
    for part in ("HttpOnly", "SameSite=lax", "Secure", "Path=/cr"):
        assert part in cookies[0]
    assert response.headers["strict-transport-security"].startswith("max-age=")


def test_nothing_runs_in_a_page(client: TestClient, judge: Judge, desk: Desk) -> None:
    for page in (client.get(judge.page), *(desk.get(path.partition("?")[0]) for path in
                 ("/dashboard", "/reformulation", "/search"))):  # fmt: skip
        before, first, rest = page.text.partition(f"<script>{ready_script()}</script>")
        assert first  # the one that the policy knows by its hash
        assert "<script>" not in before + rest
        assert " onclick" not in page.text
        assert "style=" not in page.text
        assert "//" not in "".join(part.partition('"')[0] for part in page.text.split('src="')[1:])


def test_what_people_typed_is_shown_as_text(tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>\"'{{ 7*7 }}"
    campaign = with_lists(small_campaign(tmp_path, ["Eve {{ 7*7 }} & Sons'", "B"]))
    add_organiser(campaign.database, NAME, PASSWORD)
    with TestClient(create_app(campaign, secure=False), follow_redirects=False) as client:
        judge = Judge(client, campaign)
        done = [
            judge.send("judgement", item=judge.items[0], value=1, comment=evil),
            judge.send("approval", number=1, approved=False, text=evil),
            log_in(client),
        ]
        assert [each.status_code for each in done] == [200, 200, 303]
        desk = Desk(client)
        pages = [client.get(judge.page), desk.get("/dashboard"), desk.get("/reformulation"),
                 desk.get("/reformulation/query", query="p1-a1q1"),
                 desk.get("/search", query="p1-a1q1")]  # fmt: skip
    for page in pages:
        assert "<img" not in page.text
        assert "{{ 7*7 }}" in page.text
