"""Requests of a judge's page, in and out of order, and forged ones."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import polars as pl
import pytest
from sqlalchemy import select
from starlette.requests import Request
from starlette.responses import Response
from starlette.testclient import TestClient
from tests.unit.web.conftest import Judge, count, judged

from citebed.judging import Campaign
from citebed.judging.store.schema import events, judgements, people
from citebed.web import middleware
from citebed.web.middleware import SMALL


def _last(campaign: Campaign) -> Any:
    with campaign.reading() as tx:
        return tx.execute(select(judgements).order_by(judgements.c.id.desc())).first()


def test_a_judgement_is_saved_once_whatever_is_sent_again(campaign: Campaign, judge: Judge) -> None:
    before = judged(campaign)
    act = {"item": judge.items[0], "value": 1, "comment": " why  not ", "key": "the-same-act"}
    first, again = judge.send("judgement", **act), judge.send("judgement", **act)
    assert (first.status_code, first.json()["outcome"]) == (200, "new")
    assert again.json() == {"judgement": first.json()["judgement"], "outcome": "same"}
    row = _last(campaign)
    assert (row.value, row.comment, row.via, row.key) == (1, "why not", "web", "the-same-act")
    assert judged(campaign) == before + 1
    changed = judge.send("judgement", item=judge.items[0], value=None)
    assert changed.json()["outcome"] == "new"
    assert (_last(campaign).value, _last(campaign).supersedes) == (None, row.id)


def test_an_act_that_waited_longer_than_a_later_one_does_not_win(
    campaign: Campaign, judge: Judge
) -> None:
    judge.send("judgement", item=judge.items[0], value=0)
    hour = 3_600_000
    late = judge.send("judgement", item=judge.items[0], value=1, ago=hour)
    assert late.json()["outcome"] == "later"
    assert (_last(campaign).value, _last(campaign).outranked) == (1, True)
    item = pl.col("item_id") == judge.items[0]
    assert campaign.judgements.filter(item)["value"].to_list() == [0]
    soon = judge.send("judgement", item=judge.items[0], value=1, ago=20_000)
    assert soon.json()["outcome"] == "new"  # in order, but a slow line


def test_acts_of_one_browser_are_in_the_order_of_its_queue(
    campaign: Campaign, judge: Judge, author: Judge
) -> None:
    item, hour, day = judge.items[0], 3_600_000, 86_400_000
    phone = {"browser": "phone-0001"}
    one = judge.send("judgement", item=item, value=0, ago=hour, sequence=1, **phone)
    two = judge.send("judgement", item=item, value=1, ago=day, sequence=2, **phone)
    assert (one.json()["outcome"], two.json()["outcome"]) == ("new", "new")
    assert (_last(campaign).value, _last(campaign).sequence) == (1, 2)
    late = judge.send("judgement", item=item, value=0, sequence=0, **phone)
    assert late.json() == {"judgement": two.json()["judgement"], "outcome": "later"}
    assert _last(campaign).outranked
    # Another browser's act waited for a day: the wording that was given since stays.
    author.send("question", number=2, text="What is second?")
    said = author.send("question", number=2, text="What was second?", ago=day)
    assert said.json()["outcome"] == "later"
    assert campaign.questions["stated"].to_list()[1] == "What is second?"
    assert count(campaign, events, events.c.what == "outranked") == 1
    assert judge.send("judgement", item=item, value=0, sequence=-1, **phone).status_code == 422


def test_a_judgement_is_taken_back_and_all_of_it_stays_on_record(
    campaign: Campaign, judge: Judge
) -> None:
    item, before = judge.items[0], judged(campaign)
    judge.send("judgement", item=item, value=1, comment="sure", took=4_000)
    back = judge.send("judgement", item=item, value=None, withdrawn=True, took=500)
    assert back.json()["outcome"] == "new"
    assert judged(campaign) == before + 2
    assert campaign.judgements.filter(item_id=item).is_empty()
    judge.send("judgement", item=item, value=None, took=1_500)  # can't say is something else
    row = campaign.judgements.filter(item_id=item).row(0, named=True)
    assert (row["value"], row["seconds"]) == (None, 6.0)


def test_judgements_that_do_not_fit_are_refused(judge: Judge, other: Judge) -> None:
    answer = judge.send("judgement", item=judge.items[0], value=1, withdrawn=True)
    assert (answer.status_code, "has no value" in answer.json()["message"]) == (422, True)
    for grade in (2, 9):
        answer = judge.send("judgement", item=judge.items[0], value=grade)
        assert (answer.status_code, "not one of 0 to 1" in answer.json()["message"]) == (400, True)
    judge.send("judgement", item=judge.items[0], value=1, key="one-key-only")
    taken = other.send("judgement", item=other.items[0], value=1, key="one-key-only")
    assert (taken.status_code, taken.json()["message"]) == (
        400,
        "that key belongs to another judgement.",
    )


def test_questions_are_stated_and_graded(campaign: Campaign, author: Judge) -> None:
    made = author.send("question", number=2, text="What is  second?")
    assert made.status_code == 200
    items = made.json()["items"]
    assert len(items) == 6
    again = author.send("question", number=2, text="What is second?")
    assert again.json() == {**made.json(), "outcome": "same"}
    assert author.send("judgement", item=items["1"], value=4).status_code == 200
    assert author.send("judgement", item=items["1"], value=0).status_code == 400
    assert campaign.questions["stated"].to_list()[1] == "What is second?"
    assert author.send("question", number=3, text=" \u200b ").status_code == 400
    assert author.send("question", number=21, text="One too many?").status_code == 422


def test_a_list_of_phase_two_takes_no_questions(campaign: Campaign, judge: Judge) -> None:
    assert judge.send("question", number=1, text="What else?").status_code == 400
    assert campaign.questions.height == 4


def test_a_wording_is_approved_or_corrected(campaign: Campaign, judge: Judge) -> None:
    assert judge.send("approval", number=1, approved=True).status_code == 200
    assert judge.send("approval", number=1, approved=False, text="A better one").status_code == 200
    row = campaign.questions.row(0, named=True)
    assert (row["text"], row["kind"]) == ("A better one", "corrected")
    assert judge.send("approval", number=2, approved=True).status_code == 400


def test_a_second_judge_has_a_page_of_their_own_and_no_say_in_the_wording(
    client: TestClient, campaign: Campaign, judge: Judge
) -> None:
    query, wording = campaign.questions.row(0)[0], campaign.questions["text"][0]
    assert campaign.second_judge(query, "Zoe Yew", "zoe@example.org")
    second = Judge(client, campaign, -1)
    for said in ({"approved": True}, {"approved": False, "text": "Another question"}):
        response = second.send("approval", number=1, **said)
        assert response.status_code == 400
        assert "only its author" in response.json()["message"]
    assert campaign.question(query) == wording
    page, own = client.get(second.page).text, client.get(judge.page).text
    for of_author in ("Paper 1 on ranking", "Save wording", "did not cite"):
        assert of_author in own
        assert of_author not in page
    assert "second judge" in page
    assert "Paper 1 on ranking" not in client.get(f"{second.page}/papers").text
    assert second.send("judgement", item=second.items[0], value=1).status_code == 200


def test_opening_and_finishing_are_recorded_once(
    client: TestClient, campaign: Campaign, judge: Judge
) -> None:
    assert "Your judgements are recorded" not in client.get(judge.page).text
    # Mail scanners fetch every link: this does not count as opening.
    assert count(campaign, events, events.c.what == "opened") == 0
    for what in ("opened", "finished", "opened", "finished"):
        assert judge.send(what).status_code == 200
    state = {row["code"]: row["state"] for row in campaign.status().to_dicts()}
    assert state[judge.code] == "finished"
    assert count(campaign, events, events.c.what.in_(["opened", "finished"])) == 2
    assert "Your judgements are recorded" in client.get(judge.page).text


def test_opting_out(client: TestClient, campaign: Campaign, judge: Judge) -> None:
    response = client.post(f"{judge.page}/opt-out")
    assert response.status_code == 303
    assert "no more" in client.get(response.headers["location"]).text
    assert count(campaign, people, people.c.opted_out_at.is_not(None)) == 1


def test_the_page_of_papers(client: TestClient, judge: Judge, author: Judge) -> None:
    for one, links in ((judge, 12), (author, 5)):
        page = client.get(f"{one.page}/papers").text
        assert page.count('<a href="https://example.org/') == links
        assert page.count("Ada Bell, Ben Carr") == links


def test_the_page_resumes_with_what_was_said(client: TestClient, judge: Judge) -> None:
    judge.send("judgement", item=judge.items[3], value=None, comment="not mine")
    page = client.get(judge.page).text
    assert f'data-item="{judge.items[3]}" data-entry="4" data-value="u"' in page
    assert page.count(">saved</p>") == 1
    assert "not mine" in page
    marked = "<mark>ranks</mark> <mark>documents</mark> by <mark>probability</mark>"
    assert f"Study 37 {marked}, with weights of terms" in page


BAD: dict[str, Any] = {
    "no object": b"[]",
    "no JSON": b"{",
    "nothing": b"",
    "NUL": b'{"item": 1, "value": 1, "key": "12345678", "comment": "a\\u0000b"}',
    "half a pair": b'{"item": 1, "value": 1, "key": "12345678", "comment": "\\ud800"}',
    "half a pair as a key": b'{"item": 1, "value": 1, "key": "1234567\\udfff"}',
    "half a pair as a name": b'{"item": 1, "value": 1, "key": "12345678", "\\ud800": 1}',
    "large item": json.dumps({"item": 2**70, "value": 1, "key": "12345678"}).encode(),
    "large value": json.dumps({"item": 1, "value": 2**70, "key": "12345678"}).encode(),
    "endless number": b'{"item": ' + b"9" * 5000 + b', "value": 1, "key": "12345678"}',
    "fraction": b'{"item": 1.5, "value": 1, "key": "12345678"}',
    "not a number": b'{"item": NaN, "value": Infinity, "key": "12345678"}',
    "true": b'{"item": true, "value": true, "key": "12345678"}',
    "text": b'{"item": "1", "value": "1", "key": "12345678"}',
    "no key": b'{"item": 1, "value": 1}',
    "short key": b'{"item": 1, "value": 1, "key": "1"}',
    "SQL": b'{"item": 1, "value": 1, "key": "\'; DROP TABLE judgements; --"}',
    "long comment": json.dumps({"item": 1, "value": 1, "key": "12345678", "comment": "x" * 5000})
    .encode(),
    "deep": b'{"item": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    "no UTF-8": b'{"item": 1, "value": 1, "key": "\xff\xff\xff\xff\xff\xff\xff\xff"}',
}  # fmt: skip


def test_malformed_judgements_are_refused(
    client: TestClient, campaign: Campaign, judge: Judge
) -> None:
    before = judged(campaign)
    address = f"/cr/api/judge/{judge.token}/judgement"
    headers = {"Content-Type": "application/json"}
    for name, content in BAD.items():
        response = client.post(address, content=content, headers=headers)
        assert 400 <= response.status_code < 500, name
        assert response.json()["message"]
    assert judged(campaign) == before


def test_a_body_that_is_too_large(client: TestClient, judge: Judge) -> None:
    address = f"/cr/api/judge/{judge.token}/judgement"
    assert client.post(address, content=b"x" * (SMALL.largest + 1)).status_code == 413
    pieces = (b"x" * 1000 for _ in range(100))  # of a length that is not told before
    assert client.post(address, content=pieces).status_code == 413
    headers = {"Content-Length": "9" * 30}
    assert client.post(address, content=b"x", headers=headers).status_code == 413


@pytest.mark.parametrize("goes_away", [True, False])
def test_half_a_body_is_none(goes_away: bool) -> None:
    quick = middleware.SMALL._replace(seconds=0.05)
    sent: list[Any] = []
    parts = [{"type": "http.request", "body": b"text=half", "more_body": True}]

    async def receive() -> Any:
        if parts:
            return parts.pop()
        await asyncio.sleep(0 if goes_away else 60)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await Request(scope, receive).body()
        await Response("handed on")(scope, receive, send)

    async def refuse(_: Request, status: int, message: str) -> Response:
        return Response(message, status)

    guard = middleware.SecurityMiddleware(
        app, secure=False, address="", static="/static", limits=lambda _: quick, refuse=refuse
    )
    scope = {
        "type": "http", "method": "POST", "path": "/", "headers": [(b"content-length", b"100")],
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(middleware, "DRAIN_SECONDS", 0.05)
        asyncio.run(guard(scope, receive, send))
    assert [each["status"] for each in sent if "status" in each] == ([] if goes_away else [408])
    assert b"handed on" not in [each.get("body") for each in sent]


SQL = "'; DROP TABLE judgements; -- \" \\ %s {0} $1"


def test_sql_is_text(campaign: Campaign, judge: Judge, author: Judge) -> None:
    assert judge.send("judgement", item=judge.items[0], value=1, comment=SQL).status_code == 200
    assert _last(campaign).comment == SQL
    assert author.send("question", number=1, text=SQL).status_code == 200
    assert campaign.questions["stated"][0] == SQL
    assert judge.send("approval", number=1, approved=False, text=f"{SQL}!").status_code == 200
    assert campaign.questions["text"][0] == f"{SQL}!"
