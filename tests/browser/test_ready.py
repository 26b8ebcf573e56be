"""Every page says when it listens, and does then what was pressed before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.browser.served import Served
from tests.campaigns import links
from tests.form_answers import random_sheet

from citebed.judging.forms import html_form
from citebed.report.page import render

# What the page says of itself while it is read, and the keys that come when it is read but no
# script of its own has run: scripts that wait for the page run after this moment.
_EARLY = """
window.seen = [];
document.addEventListener("readystatechange", () => {
  if (document.readyState !== "interactive") return;
  const page = document.documentElement;
  window.seen.push(page.getAttribute("aria-busy"), page.dataset.ready ?? null);
  const act = arguments_given;
  for (const key of act.keys ?? []) {
    document.body.dispatchEvent(
      new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  }
  if (act.click) document.querySelector(act.click).click();
});
"""


@contextmanager
def early(browser: Any, act: str = "{}") -> Iterator[None]:
    """Every page that is opened meanwhile is acted upon before its script runs."""
    script = {"source": _EARLY.replace("arguments_given", act)}
    added = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", script)
    try:
        yield
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


def says_when_ready(browser: Any) -> bool:
    """That the page was busy first, is not any more, and says that it is ready."""
    now = browser.run(
        "const page = document.documentElement;"
        "return [...window.seen, page.getAttribute('aria-busy'), page.dataset.ready ?? null]"
    )
    return bool(now == ["true", None, None, ""])


PAGES = (
    "/login",
    "/dashboard",
    "/reformulation",
    "/reformulation/query?query=p1-a1q1",
    "/search",
    "/search?query=p1-a1q1",
    "/disagreements",
    "/judge/x",
)


def test_every_page_of_a_campaign(served: Served) -> None:
    served.log_in()
    lists = [f"/judge/{list(links(served.campaign, phase).values())[8]}" for phase in (1, 2)]
    with early(served.browser):
        for page in (*PAGES, *lists, f"{lists[1]}/papers"):
            served.browser.visit(served.url(page))
            assert says_when_ready(served.browser), page


@pytest.mark.parametrize("phase", [1, 2])
def test_the_form(browser: Any, tmp_path: Path, phase: int) -> None:
    page = tmp_path / "form.html"
    page.write_text(html_form.write(random_sheet(Random(7), phase)), "utf-8")
    with early(browser):
        browser.open(page)
        assert says_when_ready(browser)
    assert browser.complaints() == []


def test_the_form_takes_nothing_before_it_has_what_was_kept() -> None:
    """Else what is typed while the page is read would be written over."""
    page = html_form.write(random_sheet(Random(7), 1))
    assert "<main inert>" in page
    assert "<footer inert>" in page


def test_a_report(browser: Any, tmp_path: Path) -> None:
    """Their script is at the end: it has run when the page is loaded."""
    page = tmp_path / "report.html"
    names = {"libraries": ["numpy"], "title": "t", "command": "c", "facts": []}
    page.write_text(render("page.html.j2", {}, ["tables.js"], **names), "utf-8")
    browser.open(page)
    assert browser.run("return document.documentElement.getAttribute('aria-busy')") is None
    text = page.read_text("utf-8")
    assert text.index("aria-busy") < text.index("<body>") < text.rindex("citebedReady()")
    assert browser.complaints() == []


def test_keys_pressed_before_a_list_listens_judge(served: Served) -> None:
    with early(served.browser, '{keys: ["2", "1", "n", "2"]}'):
        code = served.open_list(0)
        served.wait_saved()
    assert served.values(code)[:5] == [1, 0, "nothing", 1, "nothing"]
    assert served.browser.one(".paper.current .number").text == "5"


def test_a_button_pressed_before_a_list_listens_judges(served: Served) -> None:
    with early(served.browser, """{click: ".paper .choices [data-value='0']"}"""):
        code = served.open_list(1)
        served.wait_saved()
    assert served.values(code)[:2] == [0, "nothing"]


def test_what_is_typed_after_an_early_key_goes_where_it_led(served: Served) -> None:
    with early(served.browser, '{keys: ["e", "1", " ", "0", "z"]}'):
        code = served.open_list(2)
    comment = "return document.querySelector('.paper.current .comment textarea').value"
    assert served.browser.run(comment) == "1 0z"
    assert set(served.values(code)) == {"nothing"}
    served.log_in()
    with early(served.browser, '{keys: ["/", "x"]}'):
        served.browser.visit(served.url("/search?query=p1-a1q1"))
    words = served.browser.one("#searching [name=text]").get_property("value")
    assert "x" in words
