"""axe-core finds nothing on any page: of the workbench, of campaigns, of the review."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.browser.axe import violations
from tests.browser.served import Served
from tests.browser.test_review_page import PROGRAM
from tests.browser.workbench import InBrowser, served_workbench
from tests.campaigns import links
from tests.form_answers import random_sheet
from tests.paper_samples import review_folder
from tests.unit.judging.conftest import form_row

from citebed.judging.assignments import load_sheet
from citebed.judging.forms import html_form, text_form
from citebed.web.workbench.site import SECTIONS

LOOKS = [(1400, "light"), (1400, "dark"), (390, "light"), (390, "dark")]
TEXT = "Pseudo-relevance feedback adds terms from the documents found first to a query."
looks = pytest.mark.parametrize(("width", "scheme"), LOOKS)


@pytest.fixture(scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with served_workbench(tmp_path_factory.mktemp("axe")) as server:
        yield server


@pytest.fixture
def workbench(browser: Any, _server: Any) -> InBrowser:
    """The workbench in the browser."""
    return InBrowser(browser, _server)


@looks
def test_the_rooms_of_the_workbench(workbench: InBrowser, width: int, scheme: str) -> None:
    found = {}
    for room, _, _ in SECTIONS:
        workbench.room(room, width, scheme)
        found[room] = violations(workbench.browser)
    assert found == {room: [] for room in found}


@looks
def test_the_pages_of_no_room(workbench: InBrowser, width: int, scheme: str) -> None:
    workbench.room("recommend", width, scheme)
    found = {}
    for path in ("/?all=1", "/api/docs", "/login", "/no-such-page", "/c/none/recommend"):
        workbench.browser.visit(workbench.url(path), width, scheme)
        found[path] = violations(workbench.browser)
    assert found == {path: [] for path in found}


@looks
def test_recommendations_and_the_keys(workbench: InBrowser, width: int, scheme: str) -> None:
    workbench.room("recommend", width, scheme)
    browser = workbench.browser
    browser.one("#text").send_keys(TEXT)
    browser.until(lambda: browser.all("#results li"), "nothing is recommended")
    assert violations(browser) == []
    browser.one("#keys-button").click()
    assert violations(browser) == []


@looks
def test_a_campaign(served: Served, width: int, scheme: str) -> None:
    served.log_in()
    judges = [f"/judge/{list(links(served.campaign, phase).values())[8]}" for phase in (1, 2)]
    desks = ("/dashboard", "/reformulation", "/search", "/search?query=p1-a1q1", "/disagreements")
    found = {}
    for path in (*desks, "/login", "/judge/x", *judges, f"{judges[1]}/papers"):
        served.browser.visit(served.url(path), width, scheme)
        found[path] = violations(served.browser)
    assert found == {path: [] for path in found}


@looks
def test_problems_of_a_campaign(served: Served, width: int, scheme: str) -> None:
    """A file that is no form, and one that is read but for a line; no column is lost on a phone."""
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
        served.browser.visit(served.url(path), width, scheme)
        found[path] = violations(served.browser)
        if path == "/dashboard":
            wide = "return document.querySelectorAll('.stacks').length && [...document"
            wide += ".querySelectorAll('.box:has(.stacks)')].filter(x => x.scrollWidth > "
            assert served.browser.run(f"{wide}x.clientWidth + 1).length") == 0
            heads = served.browser.texts("h2")
            assert heads.index("Next") == 0
            assert "Read, with problems" in heads
    assert found == {path: [] for path in found}


@looks
@pytest.mark.parametrize("phase", [1, 2])
def test_the_form_of_a_mail(
    browser: Any, tmp_path: Path, phase: int, width: int, scheme: str
) -> None:
    page = tmp_path / "form.html"
    page.write_text(html_form.write(random_sheet(Random(1), phase)), "utf-8")
    browser.open(page, width, scheme)
    assert violations(browser) == []


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address at which two papers are reviewed."""
    folder = review_folder(tmp_path_factory.mktemp("review") / "papers", "p1", "p2")
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


@looks
def test_the_review(browser: Any, review: str, width: int, scheme: str) -> None:
    browser.visit(review, width, scheme)
    found = {"list": violations(browser)}
    with browser.arriving():
        browser.one(".card a").click()
    found["paper"] = violations(browser)
    assert found == {"list": [], "paper": []}


def test_what_is_wrong_is_found(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "wrong.html"
    page.write_text("<html data-ready><body><img src=x><input></body></html>", "utf-8")
    browser.open(page)
    assert {line.partition(" ")[0] for line in violations(browser)} >= {"image-alt", "label"}
