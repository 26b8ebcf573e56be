"""axe-core finds nothing on any page: of the workbench, of campaigns, of the review."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.browser.axe import check, violations
from tests.browser.served import Served
from tests.browser.workbench import InBrowser
from tests.campaigns import links
from tests.form_answers import random_sheet
from tests.unit.judging.conftest import form_row

from citebed.judging.assignments import load_sheet
from citebed.judging.forms import html_form, text_form
from citebed.web.workbench.site import SECTIONS

TEXT = "Pseudo-relevance feedback adds terms from the documents found first to a query."
widths = pytest.mark.parametrize("width", [1400, 390])


@widths
def test_the_workbench(workbench: InBrowser, width: int) -> None:
    browser, found = workbench.browser, {}
    for room, _, _ in SECTIONS:
        workbench.room(room, width)
        found[room] = check(browser, width)
    for path in ("/?all=1", "/api/docs", "/login", "/no-such-page", "/c/none/recommend"):
        browser.visit(workbench.url(path), width)
        found[path] = check(browser, width)
    workbench.room("recommend", width)
    browser.one("#text").send_keys(TEXT)
    browser.until(lambda: browser.all("#results li"), "nothing is recommended")
    found["recommendations"] = check(browser, width)
    browser.one("#keys-button").click()
    found["keys"] = check(browser, width)
    assert found == {page: [] for page in found}


@widths
def test_a_campaign(served: Served, width: int) -> None:
    served.log_in()
    judges = [f"/judge/{list(links(served.campaign, phase).values())[8]}" for phase in (1, 2)]
    desks = ("/dashboard", "/reformulation", "/search", "/search?query=p1-a1q1", "/disagreements")
    found = {}
    for path in (*desks, "/login", "/judge/x", *judges, f"{judges[1]}/papers"):
        served.browser.visit(served.url(path), width)
        found[path] = check(served.browser, width)
    assert found == {path: [] for path in found}


@widths
def test_problems_of_a_campaign(served: Served, width: int) -> None:
    """One file is not a form, another has an unreadable line; a phone shows every column."""
    served.campaign.returned("none.txt", b"I am on holiday.")
    with served.campaign.reading() as tx:
        code, sheet = (form := form_row(tx, 1)).code, load_sheet(tx, form)
    long = b"\n".join(b"> a long line that was quoted " * 4 for _ in range(200))
    text = text_form.write(sheet).replace("Q1: [ ]", "Q1: [ 9 ]", 1).encode() + long
    served.campaign.returned("form.txt", text)
    assert served.campaign.problems["is_read"].unique().sort().to_list() == [False, True], code
    numbers = served.campaign.problems["return_id"].unique().to_list()
    served.campaign.exclude("p2-a1q1", "for a test", lift=width == 390)
    served.log_in()
    paths = ("/dashboard", "/results", "/work", *(f"/problems/return?number={n}" for n in numbers))
    found = {}
    for path in paths:
        served.browser.visit(served.url(path), width)
        found[path] = check(served.browser, width)
        if path == "/dashboard":
            wide = "return document.querySelectorAll('.stacks').length && [...document"
            wide += ".querySelectorAll('.box:has(.stacks)')].filter(x => x.scrollWidth > "
            assert served.browser.run(f"{wide}x.clientWidth + 1).length") == 0
            heads = served.browser.texts("h2")
            assert heads.index("Next") == 0
            assert "Read, with problems" in heads
    assert found == {path: [] for path in found}


@widths
@pytest.mark.parametrize("phase", [1, 2])
def test_the_form_of_a_mail(browser: Any, tmp_path: Path, phase: int, width: int) -> None:
    page = tmp_path / "form.html"
    page.write_text(html_form.write(random_sheet(Random(1), phase)), "utf-8")
    browser.open(page, width)
    assert check(browser, width) == []


@widths
def test_the_review(browser: Any, review: str, width: int) -> None:
    browser.visit(review, width)
    found = {"list": check(browser, width)}
    with browser.arriving():
        browser.one(".card a").click()
    found["paper"] = check(browser, width)
    assert found == {"list": [], "paper": []}


def test_what_is_wrong_is_found(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "wrong.html"
    page.write_text("<html data-ready><body><img src=x><input></body></html>", "utf-8")
    browser.open(page)
    assert {line.partition(" ")[0] for line in violations(browser)} >= {"image-alt", "label"}
