"""The organisers' pages: the dashboard and the two desks."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import insert, select, update
from starlette.testclient import TestClient
from tests.campaigns import save, small_campaign
from tests.unit.web.conftest import NAME, PASSWORD, Desk, Judge, count, log_in

from citebed.errors import CitebedError
from citebed.judging import Campaign
from citebed.judging.assignments import form_items
from citebed.judging.judgements import Source, Verdict
from citebed.judging.organisers import add_organiser, organiser_names, remove_organiser
from citebed.judging.responses import state_question
from citebed.judging.store.schema import (
    authorships,
    campaigns,
    events,
    forms,
    judgements,
    mails,
    marks,
    now,
    problems,
    returns,
    searches,
)
from citebed.retrieval.index.builder import write_index
from citebed.web.campaigns.app import create_app

QUERY = "p1-a1q1"


def _text(page: str) -> str:
    """Return the visible text of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_the_dashboard_shows_machine_judges(desk: Desk, campaign: Campaign, tmp_path: Path) -> None:
    assert "Machine judges" not in desk.get("/dashboard").text
    (tmp_path / "m.qrels").write_text(f"{QUERY} 0 d1 1\n{QUERY} 0 d2 9\n")
    campaign.judge(str(tmp_path / "m.qrels"))
    seen = _text(desk.get("/dashboard").text)
    assert "Judge Kind Judgements Can’t say Problems Tokens Seconds m qrels 1 0 1 0 0.0" in seen


def test_the_dashboard_says_that_a_form_has_pairs(desk: Desk, campaign: Campaign) -> None:
    assert "pairs" not in _text(desk.get("/dashboard").text)
    [made] = campaign.compare([QUERY], name="Zoe Zed", email="zoe@example.org")
    seen = _text(desk.get("/dashboard").text)
    assert "2, in pairs" in seen
    assert f"0 of {made.pairs} pairs" in seen


def test_the_dashboard_tells_how_far_everybody_is(desk: Desk, judge: Judge) -> None:
    judge.send("opened")
    seen = _text(desk.get("/dashboard").text)
    assert "Phase two 3 0 0 1 0 0 4" in seen  # three without a mail, one opened
    judge.send("judgement", item=judge.items[0], value=1)
    seen = _text(desk.get("/dashboard").text)
    assert "Phase two 3 0 0 0 1 0 4" in seen
    assert "1 of 12" in seen
    assert "21 current judgements" in seen
    assert "No two people have judged the same document" in seen


def test_links_are_revoked_and_renewed(desk: Desk, judge: Judge) -> None:
    assert desk.post("/links/revoke", code=judge.code).status_code == 303
    assert "revoked" in _text(desk.get("/dashboard").text)
    assert desk.client.get(judge.page).status_code == 403
    page = desk.post("/links/renew", code=judge.code)
    link = re.search(r'<code class="link">([^<]+)</code>', page.text)
    assert link is not None
    assert desk.client.get(link[1].removeprefix("http://localhost:8000")).status_code == 200
    assert desk.post("/links/revoke", code="nonsense").status_code == 400


def test_reminders_are_written_to_the_outbox_once(desk: Desk, campaign: Campaign) -> None:
    campaign.invite()
    with campaign.writing() as tx:
        tx.execute(update(mails).values(written_at=now() - timedelta(days=8)))
    page = _text(desk.post("/remind", days=7).text)
    written = count(campaign, mails, mails.c.kind == "reminder")
    assert f"{written} mails written to the outbox" in page
    assert written == len(list(campaign.outbox.glob("reminder-*.eml"))) == 4
    assert "0 mails written" in _text(desk.post("/remind", days=7).text)
    assert "4 reminders in the outbox" in page
    for days in ("", "x", "-1", "9" * 50, "٣"):
        assert desk.post("/remind", days=days).status_code == 400


def test_mails_that_went_wrong_are_shown(desk: Desk, campaign: Campaign) -> None:
    campaign.invite(["web"])
    with campaign.writing() as tx:
        first = mails.c.id == select(mails.c.id).limit(1).scalar_subquery()
        said = {"state": "failed", "attempts": 5, "error": "550 no such <user>"}
        tx.execute(update(mails).where(first).values(said))
    seen = _text(desk.get("/dashboard").text)
    assert "failed 5 550 no such <user>" in seen


def test_problems_are_settled(desk: Desk, campaign: Campaign) -> None:
    row = {"campaign_id": campaign.id, "sha256": "0", "name": "reply.txt", "content": b""}
    with campaign.writing() as tx:
        made = insert(returns).values(**row, answered_at=now(), received_at=now())
        number = tx.execute(made.returning(returns.c.id)).scalar_one()
        tx.execute(insert(problems).values(return_id=number, line=7, what="two marks"))
    assert "reply.txt What Line Actions two marks 7" in _text(desk.get("/dashboard").text)
    problem = campaign.problems["problem"][0]
    assert desk.post("/problems/settle", problem=problem).status_code == 303
    assert "reply.txt" not in desk.get("/dashboard").text
    with campaign.reading() as tx:
        assert tx.scalar(select(problems.c.settled_by)) == NAME
    for wrong in ("", "x", problem + 1, 2**64):
        assert desk.post("/problems/settle", problem=wrong).status_code == 400


def test_phase_one_is_closed_on_the_dashboard_which_shows_before_what_goes(
    desk: Desk, campaign: Campaign
) -> None:
    with campaign.writing() as tx:  # the author of the second paper is one of the first too
        rows = [{"paper_id": 1, "person_id": 2, "position": 2}]
        tx.execute(insert(authorships), rows)
        row = {
            "campaign_id": campaign.id,
            "code": "CODE",
            "phase": 1,
            "person_id": 2,
            "paper_id": 1,
        }
        row |= {"paper_id": 1, "round": 1, "content": {}, "made_at": now(), "expires_at": now()}
        tx.execute(insert(forms).values(row))
        form = tx.execute(select(forms).where(forms.c.code == "CODE")).one()
        source = Source(2, form.id, "text", now())
        state_question(tx, form, 1, "What do co-authors ask?", source)
        item = form_items(tx, form)[1, 1]
        save(tx, source, Verdict(item, 3))
    page = desk.get("/dashboard").text
    assert "Closing phase one also sets aside this question of a co-author" in page
    assert campaign.questions["excluded"].null_count() == 5
    told = desk.post("/phase-one/close").text
    assert "1 question of co-authors excluded" in told
    assert "the first author of p1 answered too" in told
    assert "Close phase one" not in told
    assert campaign.questions["excluded"].null_count() == 4


def test_questions_are_set_aside_and_taken_back(desk: Desk, campaign: Campaign) -> None:
    assert desk.post("/questions/exclude", query=QUERY, reason=" ").status_code == 400
    assert desk.post("/questions/exclude", query="no such", reason="x").status_code == 400
    assert desk.post("/questions/exclude", query=QUERY, reason="too wide").status_code == 303
    assert f"{QUERY} set aside by the organiser too wide" in _text(desk.get("/dashboard").text)
    assert desk.post("/questions/exclude", query=QUERY, lift="1").status_code == 303
    assert campaign.exclusions["lifted"].to_list() == [False, True]
    assert "No question is set aside" in desk.get("/dashboard").text


def test_agreement_is_reported_where_documents_are_judged_twice(
    desk: Desk, campaign: Campaign, judge: Judge
) -> None:
    for item in judge.items:
        judge.send("judgement", item=item, value=item % 2)
    with campaign.writing() as tx:  # a second judge of the same list
        row = tx.execute(select(forms).where(forms.c.code == judge.code)).one()
        for at, item in enumerate(judge.items):
            said = {"item_id": item, "person_id": row.person_id + 1, "value": (item + (at > 9)) % 2}
            said |= {"comment": "", "via": "web", "form_id": row.id, "key": f"second {item}"}
            tx.execute(insert(judgements).values(**said, answered_at=now(), recorded_at=now()))
    seen = _text(desk.get("/dashboard").text)
    assert "2 raw 0.833" in seen
    assert "2 kappa 0.667" in seen
    assert "alpha" in seen


def test_the_reformulation_desk(desk: Desk, campaign: Campaign) -> None:
    assert QUERY in desk.get("/reformulation").text
    page = desk.get("/reformulation/query", query=QUERY)
    assert "How can we rank documents" in page.text
    new = "ranking documents by the probability of relevance"
    fields = {"query": QUERY, "text": new, "class-filler": "1", "class-typo": "1"}
    assert desk.post("/reformulation/query", **fields).status_code == 303
    row = campaign.questions.row(0, named=True)
    assert (row["text"], row["classes"]) == (new, ["typo", "filler"])
    listed = desk.get("/reformulation").text
    assert "<del>How can we rank" in listed
    assert "<ins>" in listed
    assert f"reformulated by {NAME}" in _text(desk.get("/reformulation/query", query=QUERY).text)


def test_bad_wordings_and_unknown_queries_are_refused(desk: Desk) -> None:
    for fields, message in (
        ({"text": "new", "query": QUERY}, "give at least one class"),
        ({"text": " ", "query": QUERY, "class-typo": "1"}, "1 to 4,000 characters"),
        ({"text": "x" * 5000, "query": QUERY, "class-typo": "1"}, "1 to 4,000 characters"),
    ):
        page = desk.post("/reformulation/query", **fields)
        assert page.status_code == 400
        assert message in _text(page.text)
    for path in ("/reformulation/query", "/search"):
        for query in ("no such", "'; DROP TABLE x; --", "x" * 3000):
            response = desk.client.get(f"/cr{path}", params={"query": query})
            assert response.status_code == 400
            assert "unknown query" in response.text
        assert desk.client.get(f"/cr{path}", params={"query": "a\0b"}).status_code == 422


def test_the_search_desk_keeps_everything(desk: Desk, campaign: Campaign) -> None:
    write_index(Path(campaign.settings.collection))
    first = desk.post("/search", query=QUERY, text="weights of terms")
    assert first.status_code == 303
    page = desk.client.get(first.headers["location"])
    assert "Ranking documents in study" in page.text
    found = re.findall(r'name="doc_id" value="([^"]+)"', page.text)
    mark = {"query": QUERY, "doc_id": found[2], "search": "1", "on": "1"}
    assert desk.post("/search/mark", **mark).status_code == 303
    asked = {"Accept": "application/json"}
    data = {"csrf": desk.csrf, **mark, "on": "0", "search": ""}
    off = desk.client.post("/cr/search/mark", data=data, headers=asked)
    assert off.json() == {"marked": False}
    assert desk.post("/search/mark", **mark | {"doc_id": found[0]}).status_code == 303
    seen = _text(desk.get("/search", query=QUERY).text)
    assert "30 found, 2 marked" in seen
    assert (count(campaign, searches), count(campaign, marks)) == (1, 3)
    assert desk.post("/search", query=QUERY, text=" ").status_code == 400
    for wrong in ({"doc_id": "not found"}, {"search": "99"}, {"search": ""}, {"search": "9" * 40}):
        assert desk.post("/search/mark", **mark | wrong).status_code == 400
    assert count(campaign, marks) == 3


def test_the_search_desk_shows_phase_one_and_offers_nothing_that_is_cited(
    desk: Desk, campaign: Campaign
) -> None:
    """Paper 1 cites d1 to d5, all of grade 3, and a book that its author did not judge."""
    write_index(Path(campaign.settings.collection))
    with campaign.writing() as tx:
        form = tx.execute(select(forms).where(forms.c.id == 1)).one()
        source = Source(form.person_id, form.id, "web", now())
        first, second = list(form_items(tx, form).values())[:2]
        save(tx, source, Verdict(first, 4, "<b>the</b> one"))
        save(tx, source, Verdict(second, None))
    page = desk.client.get(desk.post("/search", query=QUERY, text="study 1").headers["location"])
    offered = re.findall(r'name="doc_id" value="([^"]+)"', page.text)
    assert len(offered) == 30
    assert not set(offered) & {"d1", "d2", "d3", "d4", "d5", "p1"}
    assert "30 results" in _text(page.text)
    assert "30 found, 0 marked" in _text(page.text)
    # These words find d5 too: it appears with its judgement.
    known = [_text(each) for each in re.findall(r'<li class="known">.*', page.text)]
    assert "grade 3 Ranking documents in study 5 1975" in known
    judged = _text(page.text[page.text.index("References, as graded in phase one") :])
    said = re.findall(r"grade \d|can't say|not judged", judged)
    assert said == ["grade 4", "grade 3", "grade 3", "grade 3", "can't say", "not judged"]
    assert "<b>the</b> one" in judged
    assert "A book elsewhere not in the collection" in judged
    with campaign.writing() as tx:  # d3 is left empty
        third = list(form_items(tx, form).values())[2]
        save(tx, source, Verdict(third, None, withdrawn=True))
    _, hits = campaign.search(QUERY, "ranking documents in study", k=40)
    assert {hit.doc_id for hit in hits if hit.cited} == {"d1", "d2", "d3", "d4", "d5"}
    assert {hit.doc_id for hit in hits if hit.judged} == {"d1", "d2", "d4", "d5"}


def test_a_simulated_campaign_says_so_on_every_page(tmp_path: Path) -> None:
    campaign = small_campaign(tmp_path)
    with campaign.writing() as tx:
        tx.execute(update(campaigns).values(simulated=True))
    campaign = Campaign(campaign.database, campaign.name, campaign.folder)
    add_organiser(campaign.database, NAME, PASSWORD)
    with TestClient(create_app(campaign, secure=False), follow_redirects=False) as client:
        judge = Judge(client, campaign, phase=1)
        pages = [client.get(path).text for path in (judge.page, f"{judge.page}/papers", "/cr/login",
                                                    "/cr/judge/x", "/cr/nothing")]  # fmt: skip
        log_in(client)
        desk = Desk(client)
        pages += [desk.get(path).text for path in ("/dashboard", "/reformulation", "/search")]
    assert ["Simulated campaign" in page for page in pages] == [True] * 8


def test_strange_forms_are_refused(desk: Desk) -> None:
    client, csrf = desk.client, desk.csrf
    nul = client.post("/cr/links/revoke", data={"csrf": csrf, "code": "a\0b"})
    assert nul.status_code == 400
    file = client.post("/cr/links/revoke", data={"csrf": csrf}, files={"code": b"x"})
    assert file.status_code == 400
    broken = {"Content-Type": "multipart/form-data; boundary=x"}
    for content in (b"--x\r\nbad", b"--x\r\n\r\n\r\n--x--", b"\xff" * 100):
        response = client.post("/cr/remind", content=content, headers=broken)
        assert response.status_code in (400, 403)
    many = client.post("/cr/remind", data={f"f{n}": "x" for n in range(500)})
    assert many.status_code in (400, 403)
    json = client.post("/cr/remind", json={"csrf": csrf})
    assert json.status_code == 403
    assert client.get("/cr/dashboard", params={"said": "<b>"}).status_code == 200
    assert client.put("/cr/dashboard").status_code == 405
    assert client.get("/").status_code == 404


def test_organisers_are_added_and_removed(campaign: Campaign, client: TestClient) -> None:
    add_organiser(campaign.database, " Olga  ", PASSWORD)
    assert organiser_names(campaign.database) == ["Olga"]
    for name, word in (("", PASSWORD), ("Olga", "short"), ("Olga", "x" * 2000)):
        with pytest.raises(CitebedError):
            add_organiser(campaign.database, name, word)
    assert log_in(client).status_code == 303
    remove_organiser(campaign.database, "Olga")
    assert client.get("/cr/dashboard").status_code == 303
    with pytest.raises(CitebedError, match="no organiser"):
        remove_organiser(campaign.database, "Olga")
    assert count(campaign, events, events.c.what == "refused") == 1


def test_disagreements_have_a_page(campaign: Campaign, judge: Judge, desk: Desk) -> None:
    assert "No two judges disagree on a paper" in desk.get("/disagreements").text
    judge.send("judgement", item=judge.items[0], value=1, comment="<b>mine</b>", took=61_000)
    with campaign.writing() as tx:
        form = tx.execute(select(forms).where(forms.c.phase == 2)).first()
        assert form is not None
        person = next(p for p in (1, 2, 3) if p != form.person_id)
        source = Source(person, form.id, "web", now())
        save(tx, source, Verdict(judge.items[0], 0))
    page = desk.get("/disagreements").text
    assert "✓ relevant" in page
    assert ">not relevant" in page
    assert "&lt;b&gt;mine&lt;/b&gt;" in page
    assert "61 s" in page
    assert "<mark>Ranking</mark> <mark>documents</mark>" in page
