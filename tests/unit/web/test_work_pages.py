"""The organisers' work on the web: each page does what the verb does, for organisers only."""

from __future__ import annotations

import errno
import io
import os
import re
import tempfile
import zipfile
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.unit.web.conftest import Desk, Judge, count, refusals
from tests.unit.web.test_organiser_pages import QUERY, _text

from citebed.cli.app import main
from citebed.judging import Campaign
from citebed.judging.assignments import load_sheet
from citebed.judging.forms import text_form
from citebed.judging.organisers import add_organiser, organiser_names
from citebed.judging.store.schema import events, forms, judgements, mails, problems, returns
from citebed.retrieval.index.builder import write_index
from citebed.web import middleware
from citebed.web.campaigns import app

Files = list[tuple[str, tuple[str, bytes]]]


def _form(campaign: Campaign, number: int = 2, grade: str = "9") -> bytes:
    """Form 2 is Ben's, of phase one; all grades but the first cannot be read."""
    with campaign.reading() as tx:
        form = tx.execute(select(forms).where(forms.c.id == number)).one()
        text = text_form.write(load_sheet(tx, form))
    text = text.replace("QUESTION 1:", "QUESTION 1: How do readers weigh terms?")
    text = text.replace("Q1: [ ]", f"Q1: [{grade}]").replace(f"[{grade}]", "[4]", 1)
    # A date that is to come is now: the mail is newer than what Ben clicked.
    return f"Date: Thu, 01 Jan 2099 10:00:00 +0000\n\n{text}".encode()


def _send(desk: Desk, *files: tuple[str, bytes], csrf: str | None = None) -> tuple[int, str]:
    given: Files = [("files", each) for each in files]
    data = {"csrf": desk.csrf if csrf is None else csrf}
    answer = desk.client.post("/cr/work/returns", data=data, files=given)
    return answer.status_code, _text(answer.text)


def test_files_are_taken_in_as_the_verb_does(desk: Desk, campaign: Campaign) -> None:
    status, seen = _send(desk, ("ben.eml", _form(campaign)), ("no.txt", b"I am on holiday."))
    assert status == 200
    assert "ben.eml: read in part, 1 question, 1 new judgement." in seen
    assert "no.txt: refused." in seen
    assert campaign.problems["file"].to_list() == ["ben.eml"] * 5 + ["no.txt"]
    assert "ben.eml: known already." in _send(desk, ("ben.eml", _form(campaign)))[1]
    assert campaign.judgements.filter(query_id="p2-a1q1")["value"].to_list() == [4, 3, 3, 3, 3]


def test_a_full_disk_is_reported_without_its_place(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.SpooledTemporaryFile.rollover", fail)
    status, seen = _send(desk, ("a.txt", b"x" * (2 << 20)))
    assert status == 503
    assert "cannot read its data at the moment" in seen
    assert tempfile.gettempdir() not in seen
    assert f"{tempfile.gettempdir()}: No space left on device" in caplog.text


def test_nobody_else_can_send_files_and_nobody_too_much(
    desk: Desk, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _send(desk, ("a.txt", b"x"), csrf="")[0] == 403
    monkeypatch.setattr(app, "UPLOAD", middleware.UPLOAD._replace(largest=200_000))
    status, seen = _send(desk, ("a.txt", b"x" * 250_000))
    assert status == 413
    assert "or fewer files" in seen
    assert desk.post("/work/returns", other="field").status_code == 400
    desk.client.cookies.clear()
    assert _send(desk, ("a.txt", b"x" * 100_000))[0] == 403
    assert refusals(campaign)[-1] == "not logged in"
    assert count(campaign, returns) == 0


def test_an_answer_is_entered_for_an_author_and_the_file_is_settled(
    desk: Desk, campaign: Campaign
) -> None:
    _send(desk, ("ben.eml", _form(campaign)))
    page = desk.get("/dashboard").text
    assert "settle all 5" in page
    (link,) = set(re.findall(r"/cr/problems/return\?number=\d+", page))
    page = desk.client.get(link).text
    # The form is recognised, its lines with problems are marked, and stored values are shown.
    assert "Enter for Ben Carr" in page
    assert page.count('class="marked"') == 5
    assert page.count('<option value="3" selected') == 4
    code = re.findall(r'name="code" value="([^"]+)"', page)[0]
    # Unchanged values are not entered: the author may have changed them since.
    entry = {"return": "1", "code": code, "said-1-4": "1", "was-1-4": "1 ", "comment-1-4": ""}
    entry |= {"said-1-2": "2", "comment-1-2": "by phone", "was-1-2": "3 "}
    entry |= {"said-1-6": "u", "said-1-3": "3", "question-2": "What else?", "said-2-1": "4"}
    done = desk.post("/problems/answer", **entry, settle="on")
    assert "Entered: 1 question, 3 new judgements. Its problems are resolved." in _text(done.text)
    mine = campaign.judgements.filter(via="organiser")
    said = mine.select("query_id", "judge", "value", "comment").rows()
    assert said == [
        ("p2-a1q1", "Ben Carr", 2, "by phone"),
        ("p2-a1q1", "Ben Carr", None, ""),
        ("p2-a1q2", "Ben Carr", 4, ""),
    ]
    assert campaign.problems.is_empty()
    with campaign.reading() as tx:
        noted = tx.execute(select(events).where(events.c.what == "entered")).one()
        by = set(tx.scalars(select(problems.c.settled_by)))
    assert (noted.who, by) == ("Olga", {"Olga"})


def test_entries_that_do_not_fit_are_refused(desk: Desk, campaign: Campaign) -> None:
    _send(desk, ("ben.eml", _form(campaign)))
    before = count(campaign, judgements)
    code = campaign.status().filter(judge="Ben Carr", phase=1)["code"][0]
    entry = {"return": "1", "code": code, "said-1-1": "1", "settle": "on"}
    for wrong, message in (
        ({"said-1-2": "7"}, "7 is not one of 1 to 4"),
        ({"said-1-99": "2"}, "no such question or paper"),
        ({"said-1-2": "x"}, "give a number"),
        ({"code": "NONE"}, "there is no form"),
        ({"return": "99"}, "unknown return 99"),
    ):
        answer = desk.post("/problems/answer", **entry | wrong)
        assert answer.status_code == 400
        assert message in _text(answer.text)
    assert count(campaign, judgements) == before
    assert campaign.problems.height == 5


def test_all_problems_of_a_file_are_settled_at_once(desk: Desk, campaign: Campaign) -> None:
    _send(desk, ("ben.eml", _form(campaign)), ("no.txt", b"I am on holiday."))
    assert desk.post("/problems/settle", **{"return": "1"}).status_code == 303
    assert campaign.problems["file"].to_list() == ["no.txt"]
    assert desk.post("/problems/settle", problem="999").status_code == 400
    (left,) = campaign.problems["problem"]
    assert desk.post("/problems/settle", problem=str(left)).status_code == 303
    assert campaign.problems.is_empty()


def test_a_stored_return_is_read_again_and_saved(desk: Desk, campaign: Campaign) -> None:
    content = _form(campaign)
    _send(desk, ('../x"y\n.eml', content))
    seen = _text(desk.post("/problems/again", **{"return": "1"}).text)
    assert "read in part" in seen
    assert campaign.problems.height == 5
    saved = desk.get("/problems/file", number=1)
    assert saved.content == content.partition(b"\n\n")[2]
    disposition = saved.headers["content-disposition"]
    assert re.fullmatch(r'attachment; filename="[\w.-]+"', disposition)
    assert saved.headers["content-type"] == "application/octet-stream"


def test_judgements_and_comments_are_seen(desk: Desk, judge: Judge) -> None:
    judge.send("judgement", item=judge.items[0], value=1, comment="<i>well</i> known")
    page = desk.get("/judgements")
    assert "21 judgements" in _text(page.text)
    assert "&lt;i&gt;well&lt;/i&gt; known" in page.text
    assert _text(page.text).count("3: important") == 20
    only = _text(desk.get("/judgements", comments="1").text)
    assert "1 judgement," in only
    assert "relevant <i>well</i> known p1-a1q1 phase two Ada Bell its author" in only
    assert "5 judgements" in _text(desk.get("/judgements", query="p2-a1q1").text)
    assert "6 judgements" in _text(desk.get("/judgements", judge="Ada Bell").text)


def test_inviting_and_second_judges(desk: Desk, campaign: Campaign) -> None:
    second = {"query": QUERY, "name": "Zoe Zed", "email": "zoe@example.org"}
    assert "next invitations" in desk.post("/work/second", **second).text
    assert "already has every document of that list" in desk.post("/work/second", **second).text
    assert desk.post("/work/second", **second | {"email": "zoe"}).status_code == 400
    seen = _text(desk.post("/work/invite", **{"way-text": "on"}).text)
    assert "9 mails written" in seen  # four authors in two phases, and Zoe
    assert count(campaign, mails) == 9
    assert "0 mails written" in _text(desk.post("/work/invite", **{"way-text": "on"}).text)
    assert desk.post("/work/invite").status_code == 400


def test_comparing_papers_in_pairs(desk: Desk) -> None:
    zoe = {"query": QUERY, "per_paper": "4", "name": "Zoe <b>", "email": "zoe@example.org"}
    seen = desk.post("/work/compare", **zoe).text
    assert "pairs of 12 papers for Zoe &lt;b&gt;." in seen
    assert "no papers to compare" in desk.post("/work/compare", **zoe).text
    everybody = zoe | {"query": "", "name": "", "email": ""}
    assert _text(desk.post("/work/compare", **everybody).text).count("24 pairs of 12 papers") == 4
    assert desk.post("/work/compare", **everybody | {"per_paper": "5"}).status_code == 400
    assert desk.post("/work/compare", **everybody | {"per_paper": "x"}).status_code == 400
    assert "Strengths" not in desk.get("/results").text


def test_pooling(desk: Desk, campaign: Campaign) -> None:
    write_index(Path(campaign.settings.collection))
    assert "0 queries wait" in _text(desk.get("/work").text)
    campaign.reformulate(QUERY, "ranking by probability", "filler")
    assert "1 query waits" in _text(desk.get("/work").text)
    seen = _text(desk.post("/work/pool", size="4").text)
    assert "Pooled 1 query." in seen
    assert f"{QUERY}: " in seen
    assert desk.post("/work/pool", size="0").status_code == 400


def test_tables_and_export_are_those_of_the_verbs(
    desk: Desk, campaign: Campaign, tmp_path: Path
) -> None:
    seen = _text(desk.get("/results").text)
    assert "1 queries left (All Phase One) 4" in seen
    assert "TREC Robust 50 131.20 624.74" in seen
    answer = desk.post("/results/export", graded="on")
    assert answer.headers["content-type"] == "application/zip"
    done = campaign.export(tmp_path / "out" / "cr", graded=True)
    wanted = {
        str(path.relative_to(tmp_path / "out")): path.read_bytes()
        for path in done.folder.iterdir()
        if path.name != "CHANGELOG.md"
    }
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    assert done.version[:12] in answer.headers["content-disposition"]
    assert {name: found.get(name) for name in wanted} == wanted


def test_organisers_are_listed_and_removed(desk: Desk, campaign: Campaign) -> None:
    add_organiser(campaign.database, "Ursula <b>", "another long one")
    assert "Ursula &lt;b&gt;" in desk.get("/organisers").text
    assert desk.post("/organisers/remove", name="Olga").status_code == 400
    assert desk.post("/organisers/remove", name="Nobody").status_code == 400
    assert desk.post("/organisers/remove", name="Ursula <b>").status_code == 303
    assert organiser_names(campaign.database) == ["Olga"]


OWN_FORMS = ("/work/invite", "/work/returns", "/work/pool", "/work/second", "/work/compare",
             "/results/export", "/organisers/remove", "/problems/answer", "/problems/settle",
             "/problems/again")  # fmt: skip
OWN_PAGES = ("/work", "/judgements", "/results", "/organisers", "/problems/return?number=1",
             "/problems/file?number=1")  # fmt: skip


def test_forms_need_a_token_and_a_login_and_pages_a_login(desk: Desk) -> None:
    for path in OWN_FORMS:
        assert desk.client.post(f"/cr{path}", data={"csrf": "x", "return": "1"}).status_code == 403
    desk.client.cookies.clear()
    for path in OWN_FORMS:
        assert desk.client.post(f"/cr{path}", data={"csrf": desk.csrf}).status_code == 403
    for path in OWN_PAGES:
        answer = desk.client.get(f"/cr{path}")
        assert (answer.status_code, answer.headers["location"]) == (303, "/cr/login")


def test_the_command_line_settles_and_removes_too(
    desk: Desk, campaign: Campaign, capsys: pytest.CaptureFixture[str]
) -> None:
    _send(desk, ("ben.eml", _form(campaign)), ("no.txt", b"I am on holiday."))
    folder = campaign.folder
    folder.mkdir(exist_ok=True)
    place = campaign.database.engine.url.render_as_string(hide_password=False)
    (folder / "campaign.toml").write_text(f'name = "cr"\ndatabase = "{place}"\n')
    assert main(["campaign", "problems", str(folder), "--settle", "ben.eml"]) == 0
    assert "settled 5 problems" in capsys.readouterr().err
    assert main(["campaign", "problems", str(folder), "--settle", "none.txt"]) == 1
    assert main(["campaign", "organisers", str(folder)]) == 0
    assert capsys.readouterr().out.endswith("Olga\n")
    assert main(["campaign", "organiser", str(folder), "Olga", "--remove"]) == 0
    assert organiser_names(campaign.database) == []
