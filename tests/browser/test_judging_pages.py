"""The pages of a campaign as judges and organisers meet them, with a server that goes away."""

from __future__ import annotations

from datetime import timedelta

import pytest
from selenium.webdriver.common.keys import Keys
from sqlalchemy import select
from tests.browser.served import Served
from tests.campaigns import links, listed_items

from citebed.judging.assignments import make_token
from citebed.judging.store.schema import judgements, now


def test_a_whole_list_by_keyboard_with_the_server_lost_in_the_middle(served: Served) -> None:
    code = served.open_list(0)
    keys = "21u2211u2121"
    wanted = [{"2": 1, "1": 0, "u": None}[key] for key in keys]
    served.press(*keys[:5])
    served.wait_saved()
    assert served.values(code)[:6] == [*wanted[:5], "nothing"]
    port = served.servers.port
    served.servers.kill()
    served.press(*keys[5:])
    served.until(lambda: "7 not saved yet" in served.saving(), "nothing is kept")
    assert served.browser.one("#progress").text == "12 of 12 judged"
    assert served.values(code)[5:] == ["nothing"] * 7
    served.servers.start(port)
    served.wait_saved()
    assert served.values(code) == wanted
    qrels = served.campaign.qrels("j2").table.filter(query_id="p1-a1q1")
    assert sorted(qrels["relevance"]) == sorted(value for value in wanted if value is not None)
    served.browser.one("#finish").click()
    served.until(lambda: "Thank you" in served.browser.one("#finished").text, "not finished")
    states = {row["code"]: row["state"] for row in served.campaign.status().to_dicts()}
    assert states[code] == "finished"
    said = [line for line in served.browser.complaints() if "ERR_CONNECTION_REFUSED" not in line]
    assert said == []


def test_what_was_not_saved_outlives_the_window(served: Served) -> None:
    code = served.open_list(1)
    served.press("2")
    served.wait_saved()
    port = served.servers.port
    served.servers.kill()
    served.press("1", "2", "1")  # the second time paper 2 is changed below
    served.press("p", "p", "p", "2")
    served.until(lambda: "4 not saved yet" in served.saving(), "nothing is kept")
    served.browser.leave()
    served.servers.start(port)
    served.open_list(1)
    served.wait_saved()
    assert served.values(code)[:5] == [1, 1, 1, 0, "nothing"]
    assert served.browser.one(".paper.current .number").text == "5"  # where one stopped
    table = served.campaign.judgements.filter(judge="Judge O'1", phase=2)
    assert table.height == 4


def test_a_click_is_confirmed_and_a_comment_is_saved(served: Served) -> None:
    code = served.open_list(2)
    browser = served.browser
    browser.one("[data-view=list]").click()
    browser.one(".paper.current .choices [data-value='0']").click()
    served.until(lambda: browser.one(".paper.current .status").text == "saved", "not confirmed")
    browser.one("[data-view=single]").click()
    assert served.values(code)[0] == 0
    served.press("e")
    served.press("1 is in my comment", Keys.ESCAPE)
    served.wait_saved()
    row = served.campaign.judgements.filter(comment="1 is in my comment")
    assert row["value"].to_list() == [0]
    served.press("n")
    assert browser.one(".paper.current .number").text == "2"
    assert [paper.is_displayed() for paper in browser.all(".paper")] == [False, True] + [False] * 10
    served.press("l")
    assert all(paper.is_displayed() for paper in browser.all(".paper"))
    served.press("l")


def test_keys_are_for_the_paper_in_which_one_is(served: Served) -> None:
    code = served.open_list(2)
    browser = served.browser
    before = served.values(code)
    browser.one("[data-view=list]").click()
    browser.run("document.querySelectorAll('.paper')[6].querySelector('summary').focus()")
    served.press("2")
    served.wait_saved()
    assert served.values(code) == [*before[:6], 1, *before[7:]]
    served.press(Keys.TAB)  # goes on in the next paper
    assert browser.run("return document.activeElement.closest('.paper').dataset.entry") == "8"
    browser.one("[data-view=single]").click()
    served.press("n")
    assert browser.run("return document.activeElement.dataset.entry") == "9"


def test_a_clock_that_is_set_while_judgements_wait(served: Served) -> None:
    code = served.open_list(2)
    browser = served.browser
    before = served.values(code)
    browser.run("window.clock = Date.now; document.querySelectorAll('.paper')[9].focus()")
    browser.one("[data-view=list]").click()
    port = served.servers.port
    served.servers.kill()
    for key, days in (("2", 0), ("1", -1), ("u", -800), ("2", 800), ("1", -800)):
        browser.run(f"Date.now = () => window.clock() + {days} * 86400000")
        browser.run("document.querySelectorAll('.paper')[9].click()")
        served.press(key)
    browser.run("document.querySelectorAll('.paper')[10].click()")
    served.press("2")
    browser.run("Date.now = window.clock")
    served.until(lambda: "6 not saved yet" in served.saving(), "nothing is kept")
    served.restart(port)
    served.wait_saved()
    assert served.values(code) == [*before[:9], 0, 1, before[11]]
    # With nothing waiting, and in a new window, what is done later is the later act all the same.
    served.open_list(2)
    browser.run("Date.now = () => window.performance.timeOrigin - 86400000")
    browser.run("document.querySelectorAll('.paper')[9].click()")
    served.press("2")
    served.wait_saved()
    assert served.values(code)[9] == 1
    item = listed_items(served.campaign, code)[9]
    with served.campaign.reading() as tx:
        mine = (judgements.c.item_id == item) & judgements.c.browser.is_not(None)
        acts = tx.execute(select(judgements).where(mine).order_by(judgements.c.id)).all()
    assert len(acts) == 6
    assert len({act.browser for act in acts}) == 1
    numbers = [act.sequence for act in acts]
    assert numbers == sorted(set(numbers))


def test_a_wording_that_was_typed_and_not_sent(served: Served) -> None:
    served.open_list(7)
    browser = served.browser
    browser.one(".correction summary").click()
    browser.one(".better").clear()
    browser.one(".correct").click()
    assert browser.one(".wording .status").text == "write the wording first"
    browser.one(".better").send_keys("How is a ranking made?")
    browser.leave()
    served.open_list(7)
    assert browser.one(".better").get_property("value") == "How is a ranking made?"
    assert "not saved yet" in browser.one(".wording .status").text
    browser.one("#finish").click()
    served.until(lambda: "Thank you" in browser.one("#finished").text, "not finished")
    served.wait_saved()
    row = served.campaign.questions.filter(query_id="p8-a1q1").row(0, named=True)
    assert (row["text"], row["kind"]) == ("How is a ranking made?", "corrected")
    served.open_list(7)
    assert browser.one(".wording .status").text == "saved: your wording"


def test_on_a_phone_answers_are_in_reach_and_comments_have_room(served: Served) -> None:
    served.open_list(8, width=360)
    browser = served.browser
    browser.one("[data-view=single]").click()
    abstract = "for (const each of document.querySelectorAll('.abstract p')) each.textContent += "
    browser.run(abstract + "' and so on'.repeat(300); document.querySelector('#next').click()")
    for wanted in (".paper.current .choices", ".steps"):
        low = browser.run(
            "return document.querySelector(arguments[0]).getBoundingClientRect().bottom", wanted
        )
        assert 0 < low <= browser.run("return innerHeight"), wanted
    served.press("e")
    served.press("not judged yet", Keys.ESCAPE)
    served.until(lambda: "stored" in browser.one(".paper.current .status").text, "not stored")
    room = "return document.querySelector('.paper.current .comment textarea').offsetWidth"
    assert browser.run(room) > 250


def test_a_wording_is_corrected(served: Served) -> None:
    served.open_list(3)
    browser = served.browser
    browser.one(".correction summary").click()
    box = browser.one(".better")
    box.clear()
    box.send_keys("How are documents ranked by probability?")
    browser.one(".correct").click()
    served.wait_saved()
    row = served.campaign.questions.filter(query_id="p4-a1q1").row(0, named=True)
    assert (row["text"], row["kind"]) == ("How are documents ranked by probability?", "corrected")


def test_phase_one_by_keyboard(served: Served) -> None:
    code = served.open_list(4, phase=1)
    browser = served.browser
    before = served.values(code)
    browser.one("#add").click()
    served.press("What is a second question?")
    browser.all(".question")[1].find_element("css selector", ".state").click()
    served.until(lambda: browser.all(".question:nth-child(2) .paper.current"), "no list")
    served.press("4", "3", "2", "1", "u", "u")
    served.wait_saved()
    assert served.values(code) == [*before, 4, 3, 2, 1, None, None]
    assert "What is a second question?" in served.campaign.questions["stated"].to_list()
    assert browser.one("#progress").text == "11 of 12 judged"


def test_a_refused_link_keeps_what_could_not_be_saved(served: Served) -> None:
    from citebed.judging.assignments import renew_link, revoke_link

    code = served.open_list(5)
    revoke_link(served.campaign, code)
    served.press("2")
    served.until(lambda: "1 stored here" in served.saving(), "no warning")
    assert "is not valid" in served.browser.one("#trouble").text
    renew_link(served.campaign, code)
    served.open_list(5)
    served.wait_saved()
    assert served.values(code)[0] == 1


def test_the_list_of_another_an_expired_and_a_forged_link(served: Served) -> None:
    codes = list(links(served.campaign).items())
    (mine, my_token), (theirs, their_token) = codes[6], codes[7]
    expired = make_token(served.campaign, mine, now() - timedelta(minutes=1))
    forged = my_token[:-4] + "AAAA"
    mixed = their_token.replace(theirs, mine)  # my form, signed for another
    for given in (expired, forged, mixed):
        served.browser.visit(served.url(f"/judge/{given}"))
        assert served.browser.one("h1").text == "Invalid link"
        assert served.browser.all(".paper") == []
    served.open_list(6)
    item = listed_items(served.campaign, theirs)[0]
    answer = served.browser.run(
        """const [item, page] = [arguments[0], document.getElementById('judge')];
        const body = JSON.stringify({item, value: 1, key: 'a-forged-key'});
        const headers = {'Content-Type': 'application/json'};
        const request = new XMLHttpRequest();
        request.open('POST', `${page.dataset.api}/judgement`, false);
        request.setRequestHeader('Content-Type', 'application/json');
        request.send(body);
        return [request.status, JSON.parse(request.response).message];""",
        item,
    )
    assert answer == [400, "this document is not on your list."]
    assert set(served.values(theirs)) == {"nothing"}


def test_the_desks_by_keyboard(served: Served) -> None:
    served.log_in()
    browser = served.browser
    browser.visit(served.url("/search?query=p9-a1q1"))
    browser.one("#searching [name=text]").clear()
    served.press(Keys.ESCAPE, "/")
    with browser.arriving():
        served.press("weights of terms", Keys.ENTER)
    assert browser.all(".hit")
    served.press("n", "n", "m")
    served.until(lambda: len(browser.all(".hit.marked")) == 1, "not marked")
    served.until(lambda: len(browser.all(".marks li")) == 1, "not listed")
    assert "1 marked" in browser.one(".log").text
    browser.visit(served.url("/search?query=p9-a1q1"))
    assert len(browser.all(".hit.marked")) == 1
    served.press("n", "n", "m")
    served.until(lambda: not browser.all(".hit.marked, .marks li"), "still marked")
    browser.run("document.querySelectorAll('.hit')[3].querySelector('summary').focus()")
    served.press("m")  # the one in which one is
    fourth = "return document.querySelectorAll('.hit')[3].classList.contains('marked')"
    served.until(lambda: browser.run(fourth), "another was marked")
    served.press("z")
    served.until(lambda: not browser.all(".hit.marked"), "not undone")
    served.press("z")  # what was marked, and unmarked, before this page was opened stays
    served.until(lambda: len(browser.all(".hit.marked")) == 1, "the first change was not undone")
    assert browser.complaints() == []


def test_a_suggestion_is_accepted_by_a_click(served: Served) -> None:
    served.log_in()
    served.campaign.reformulate("p10-a1q1", "We present a novel method for ranking of docs", "typo")
    browser = served.browser
    browser.visit(served.url("/reformulation/query?query=p10-a1q1"))
    for button in browser.all(".accept"):
        button.click()
    text = browser.one("[name=text]").get_property("value")
    assert "novel" not in text
    assert text.endswith("ranking of docs")
    assert browser.one("[name=class-filler]").is_selected()
    with browser.arriving():
        browser.one("#wording .strong").click()
    assert browser.all(".message")
    row = served.campaign.questions.filter(query_id="p10-a1q1").row(0, named=True)
    assert (row["text"], row["classes"]) == (text.strip(), ["filler"])
    assert browser.complaints() == []


PAGES = (
    "judge",
    "papers",
    "phase one",
    "/dashboard",
    "/reformulation",
    "/reformulation/query?query=p1-a1q1",
    "/search",
    "/search?query=p1-a1q1",
    "/disagreements",
    "/work",
    "/judgements",
    "/results",
    "/organisers",
    "/problems/return?number=1",
    "/judge/x",
)


@pytest.mark.parametrize("width", [1280, 360])
def test_every_page_fits_and_nothing_is_refused(served: Served, width: int) -> None:
    served.log_in()
    served.campaign.returned("holiday.txt", b"I am on holiday. " * 50)
    browser = served.browser
    first, second = ((list(links(served.campaign, phase).values())[8]) for phase in (1, 2))
    places = {"judge": f"/judge/{second}", "papers": f"/judge/{second}/papers",
              "phase one": f"/judge/{first}"}  # fmt: skip
    for page in PAGES:
        browser.visit(served.url(places.get(page, page)), width)
        assert browser.run("return document.documentElement.scrollWidth") <= width, page
        refused = [line for line in browser.complaints() if "403 (Forbidden)" not in line]
        assert refused == [], page
        small = browser.run(
            """return [...document.querySelectorAll('.choices button, .steps button')]
            .filter((x) => x.offsetParent && x.offsetHeight < 40).length"""
        )
        assert small == 0, page
    browser.visit(served.url("/dashboard"))
    with browser.arriving():
        browser.one(".top button").click()
    assert "/login" in browser.driver.current_url
    browser.visit(served.url("/dashboard"))
    assert "/login" in browser.driver.current_url
