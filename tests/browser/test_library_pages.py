"""The library and the map: with a mouse, with keys, on a phone."""

from __future__ import annotations

import itertools
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from tests.browser.axe import check
from tests.browser.workbench import InBrowser

import citebed

TEXT = (
    "Pseudo-relevance feedback adds terms from the documents that were found first.\n\n"
    "Test collections are built by pooling, and judges do not always agree.\n\n"
    "Language models rank documents by how likely they generate the query."
)


@pytest.fixture
def most_cited(workbench: InBrowser) -> dict[str, Any]:
    row: dict[str, Any] = citebed.open(workbench.folder).find(sort="cited", k=1).rows[0]
    return row


def address(workbench: InBrowser) -> tuple[str, dict[str, list[str]]]:
    parts = urlsplit(workbench.browser.driver.current_url)
    return parts.path, parse_qs(parts.query)


def found(workbench: InBrowser) -> int:
    words = workbench.browser.one("#found-title").text
    return int(re.sub(r"\D", "", words.split()[0]) or 0)


def follow(workbench: InBrowser, selector: str) -> None:
    with workbench.browser.arriving():
        workbench.browser.one(selector).click()


# --- The library --------------------------------------------------------------------------------


def test_search_choose_and_go_back(workbench: InBrowser) -> None:
    browser = workbench.browser
    workbench.room("library")
    every = found(workbench)
    workbench.press("/")
    with browser.arriving():
        workbench.press("feedback", Keys.ENTER)
    assert address(workbench) == ("/c/demo/library", {"q": ["feedback"]})
    some = found(workbench)
    assert 0 < some < every
    number = int(browser.one(".facets a .amount").text)
    follow(workbench, ".facets a")
    assert found(workbench) == number
    follow(workbench, ".facets a.chosen")
    assert found(workbench) == some
    browser.driver.back()
    workbench.until(lambda: found(workbench) == number, "not what was chosen before")
    assert workbench.complaints() == []


def test_what_is_cited_stays_cited(workbench: InBrowser) -> None:
    browser = workbench.browser
    workbench.room("library", q="feedback")
    workbench.press("j", "j", "c")
    pressed = ".paper-card:nth-child(2) .cite[aria-pressed=true]"
    workbench.until(lambda: browser.all(pressed), "the second is not cited")
    assert browser.one(pressed).text == "Cited"
    workbench.reload()
    assert len(browser.all(".cite[aria-pressed=true]")) == 1
    browser.one(pressed).click()
    workbench.until(lambda: not browser.all(".cite[aria-pressed=true]"), "it is still cited")
    assert workbench.complaints() == []


def test_papers_like_these(workbench: InBrowser) -> None:
    browser = workbench.browser
    workbench.room("library", q="feedback")
    assert not browser.one("[data-like]").is_enabled()
    for number in (1, 3):
        browser.one(f".paper-card:nth-child({number}) [name=like]").click()
    assert browser.one("[data-selected]").text == "2 selected"
    follow(workbench, "[data-like]")
    assert len(address(workbench)[1]["like"]) == 2
    assert "these 2" in browser.one("#found-title").text
    assert browser.all(".paper-card")


def test_a_document_and_what_is_around_it(workbench: InBrowser, most_cited: dict[str, Any]) -> None:
    browser = workbench.browser
    workbench.room("document", doc=most_cited["doc_id"])
    assert browser.one("h1").text == most_cited["title"]
    assert browser.all(".citing blockquote")
    assert "papers" in browser.one("#by-title").text
    workbench.press("c")
    workbench.until(lambda: browser.all(".cite[aria-pressed=true]"), "not cited")
    title = browser.one("[aria-labelledby=with-title] a").text
    follow(workbench, "[aria-labelledby=with-title] a")
    assert browser.one("h1").text == title
    follow(workbench, ".who a")
    assert "author" in address(workbench)[1]
    assert workbench.complaints() == []


# --- The map ------------------------------------------------------------------------------------


def at_hand(workbench: InBrowser) -> tuple[str, float, float]:
    """The paper that has the focus: its id and where it is drawn."""
    node = workbench.browser.run(
        "const box = document.activeElement.querySelector('.hit').getBoundingClientRect();"
        "return [document.activeElement.dataset.doc, box.x, box.y]"
    )
    return node[0], node[1], node[2]


def test_a_map_is_walked_by_keys(workbench: InBrowser, most_cited: dict[str, Any]) -> None:
    browser = workbench.browser
    workbench.room("map", doc=most_cited["doc_id"])
    browser.run("document.querySelector('#map .node').focus()")
    start = at_hand(workbench)
    assert start[0] == most_cited["doc_id"]
    seen = {start[0]}
    for key, axis, sign in (
        (Keys.ARROW_RIGHT, 1, 1), (Keys.ARROW_LEFT, 1, -1), (Keys.ARROW_DOWN, 2, 1),
        (Keys.ARROW_UP, 2, -1),
    ):  # fmt: skip
        before = at_hand(workbench)
        workbench.press(key)
        now = at_hand(workbench)
        assert now == before or (now[axis] - before[axis]) * sign > 0
        seen.add(now[0])
    assert len(seen) > 2
    title = browser.one("#details h2").text
    assert title == browser.run(
        "return document.querySelector(`.as-list li[data-doc='${CSS.escape("
        "document.activeElement.dataset.doc)}'] a`).textContent"
    )
    with browser.arriving():
        workbench.press(Keys.ENTER)
    assert address(workbench)[0] == "/c/demo/document"
    assert browser.one("h1").text == title
    assert workbench.complaints() == []


_COVERED = """
const all = (selector) => [...document.querySelectorAll(selector)];
const box = (element) => element.getBoundingClientRect();
const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
const names = all(".group-label:not(.off), .short:not(.off)");
const covered = [];
for (const name of names) {
  for (const node of all(".node")) {
    const isOwn = node.contains(name);
    if (!isOwn && meet(box(name), box(node.querySelector(".mark")))) covered.push(node.dataset.doc);
  }
  for (const other of names) {
    if (other !== name && meet(box(name), box(other))) covered.push(other.textContent);
  }
}
return [names.length, covered];
"""


@pytest.mark.parametrize("looks", [{}, {"by": "year"}, {"by": "year", "size": "cited"}])
@pytest.mark.parametrize("width", [1280, 390])
def test_names_cover_no_paper(
    workbench: InBrowser, most_cited: dict[str, Any], width: int, looks: dict[str, str]
) -> None:
    browser = workbench.browser
    workbench.room("map", width, doc=most_cited["doc_id"], **looks)
    for key in ("", "+", "f"):
        if key:
            workbench.press(key)
        shown, covered = browser.run(_COVERED)
        assert shown > 5
        assert covered == []


def test_papers_lie_by_year_and_are_larger_if_cited_more(
    workbench: InBrowser, most_cited: dict[str, Any]
) -> None:
    browser = workbench.browser
    workbench.room("map", doc=most_cited["doc_id"])
    for name in ("by][value=year", "size"):
        browser.run(f"document.querySelector('[name={name}]').click()")
    seen = browser.run(
        "return [...document.querySelectorAll('#map .node')].map((node) => { "
        "const box = node.querySelector('.mark').getBoundingClientRect(); "
        "return [+node.dataset.year, box.x + box.width / 2, +node.dataset.citations, "
        "node.getAttribute('class').includes('similar') ? box.width : 0]; })"
    )
    dated = sorted((year, x) for year, x, _, _ in seen if year)
    assert all(b[1] - a[1] > -1 for a, b in itertools.pairwise(dated))
    sized = sorted((cited, width) for _, _, cited, width in seen if width)
    assert all(b[1] - a[1] > -0.5 for a, b in itertools.pairwise(sized))
    assert sized[-1][1] > sized[0][1] * 1.2
    where = browser.driver.current_url
    assert "by=year" in where
    assert "size=cited" in where
    workbench.reload()
    assert browser.all("#years text")


def test_nearer_farther_and_out_of_the_map(
    workbench: InBrowser, most_cited: dict[str, Any]
) -> None:
    browser = workbench.browser
    workbench.room("map", doc=most_cited["doc_id"])
    places = "return [...document.querySelectorAll('.node')].map(n => n.getAttribute('transform'))"
    before = browser.run(places)
    browser.run("document.querySelector('#map .node').focus()")
    workbench.press("+")
    assert browser.run(places) != before
    workbench.press("f")
    assert browser.run(places) == before
    browser.one("[data-zoom=in]").click()
    nearer = browser.run(places)
    assert nearer != before
    drag = ActionChains(browser.driver)
    drag.click_and_hold(browser.one("#map")).move_by_offset(60, 40).release().perform()
    assert browser.run(places) != nearer
    assert address(workbench)[0] == "/c/demo/map"  # the end of a move is no click
    browser.run("document.querySelector('#map .node').focus()")
    workbench.press(Keys.TAB)
    assert not browser.run("return document.activeElement.closest('#map')")


def test_a_click_tells_and_a_second_one_opens(
    workbench: InBrowser, most_cited: dict[str, Any]
) -> None:
    browser = workbench.browser
    workbench.room("map", doc=most_cited["doc_id"])
    node = browser.one("#map .node:nth-child(2) .hit")
    ActionChains(browser.driver).click(node).perform()
    title = browser.one("#details h2").text
    assert title != most_cited["title"]
    with browser.arriving():
        ActionChains(browser.driver).click(node).perform()
    assert browser.one("h1").text == title


def test_what_a_draft_leaves_out(workbench: InBrowser) -> None:
    browser = workbench.browser
    workbench.room("recommend")
    browser.one("#text").send_keys(TEXT)
    draft = "return localStorage.getItem('citebed-draft-demo')"
    workbench.until(lambda: browser.all(".result"), "no papers")
    made = browser.run(draft)
    kept = f"return fetch('/api/collections/demo/drafts/{made}').then(x => x.json())"
    workbench.until(lambda: browser.run(kept)["text"] == TEXT, "the draft is not kept")
    workbench.room("map")  # the draft at hand is found, and in the address
    workbench.until(lambda: browser.all("#gaps-title"), "no map of the draft")
    assert address(workbench)[1]["draft"] == [made]
    before = len(browser.all("[data-gap]"))
    assert before
    browser.one("[data-gap]").click()
    docs = {node.get_attribute("data-doc") for node in browser.all(".node.in-gap")}
    assert browser.run("return document.activeElement.dataset.doc") in docs
    browser.one("#details [data-cite]").click()
    workbench.until(lambda: browser.all("#details [aria-pressed=true]"), "not cited")
    workbench.reload()
    assert browser.all(".node.cited")
    assert workbench.complaints() == []


@pytest.mark.parametrize("room", ["library", "document", "map"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(
    workbench: InBrowser, most_cited: dict[str, Any], room: str, scheme: str
) -> None:
    query = {"q": "feedback"} if room == "library" else {"doc": most_cited["doc_id"]}
    workbench.room(room, width=390, scheme=scheme, **query)
    assert workbench.browser.run("return document.documentElement.scrollWidth") <= 390
    small = workbench.browser.run(
        "return [...document.querySelectorAll('main button, main input[type=search]')]"
        ".filter(x => x.offsetParent && x.getBoundingClientRect().height < 32).length"
    )
    assert small == 0


@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_nothing(workbench: InBrowser, most_cited: dict[str, Any], width: int) -> None:
    browser, doc = workbench.browser, most_cited["doc_id"]
    workbench.room("library", width, q="feedback", years="1990-2009")
    workbench.press("j", "m", "c")
    workbench.until(lambda: browser.all(".cite[aria-pressed=true]"), "not cited")
    found = {"library": check(browser, width)}
    browser.one(".cite[aria-pressed=true]").click()
    workbench.until(lambda: not browser.all(".cite[aria-pressed=true]"), "it is still cited")
    workbench.room("library", width, like=[doc])
    found["alike"] = check(browser, width)
    workbench.room("document", width, doc=doc)
    found["document"] = check(browser, width)
    workbench.room("map", width, doc=doc)
    browser.run("document.querySelector('#map .node').focus()")
    workbench.press(Keys.ARROW_RIGHT)
    browser.one(".as-list summary").click()
    found["map"] = check(browser, width)
    assert found == {page: [] for page in found}
