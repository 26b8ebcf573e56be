"""The collection page and the start page, for a user who has files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.workbench import InBrowser, WorkbenchServer

TITLE = "On the migration of arctic terns over frozen lakes"
BIB = (
    f"@article{{tern2019, title={{{TITLE}}}, author={{Maker, Ann}}, year={{2019}}, "
    "abstract={We follow arctic terns that migrate over frozen lakes.}}\n"
    "@article{tern2020, title={Frozen lakes}, author={Maker, Ben}, year={2020}}\n"
)
DROP = """
const [selector, files] = arguments;
const transfer = new DataTransfer();
for (const [name, text] of files) transfer.items.add(new File([text], name));
document.querySelector(selector).dispatchEvent(
  new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
"""


@pytest.fixture
def page(workbench: InBrowser) -> Iterator[InBrowser]:
    yield workbench
    assert not workbench.complaints()


def over(browser: Any, state: str) -> Any:
    """The latest job, once it is over."""
    browser.until(lambda: browser.all(".job[data-told]"), "the job does not end")
    job = browser.one(".job")
    assert job.get_attribute("data-state") == state, job.text
    return job


def test_files_are_imported_by_dropping_and_the_new_paper_is_found(page: InBrowser) -> None:
    browser = page.browser
    page.room("collection")
    assert "153 documents" in browser.one("#said").text
    browser.run(DROP, "#drop", [["terns.bib", BIB]])
    job = over(browser, "done")
    account = job.find_element("css selector", ".account").text
    assert "2 records" in account
    assert "155 documents" in account
    assert "indexed 155 documents" in account
    page.until(lambda: "155 documents" in browser.one("#said").text)
    page.until(lambda: "sources/terns.bib" in browser.one("#sources").text)
    page.reload()
    assert "Import terns.bib" in over(browser, "done").text
    page.room("recommend")
    browser.one("#text").send_keys("Terns migrate over frozen lakes in the arctic winter.")
    page.until(lambda: TITLE in browser.one("#results").text, "the new paper is not found")


def test_what_cannot_be_read_is_reported(page: InBrowser) -> None:
    page.room("collection", 390)
    page.browser.run(DROP, "#drop", [["notes.bib", "no bibliography"]])
    page.until(lambda: page.browser.one(".job").get_attribute("data-state") == "failed")
    assert "nothing was imported" in page.browser.one(".job").text
    assert page.browser.run("return document.documentElement.scrollWidth") <= 390


def test_what_is_wrong_is_reported_with_how_to_fix_it(page: InBrowser) -> None:
    page.room("collection")
    page.press("v")
    page.until(lambda: page.browser.all("#findings details"), "nothing was found out")
    for finding in page.browser.all(".finding"):
        assert "To fix it:" in finding.text
    page.until(lambda: page.browser.all("#statistics[aria-busy=false] table"))
    assert "Documents" in page.browser.texts("#statistics caption")


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[WorkbenchServer]:
    home = tmp_path / "home"
    home.mkdir()
    server = WorkbenchServer([], tmp_path / "state", home)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def test_the_front_door_leads_to_the_demo_and_makes_a_collection(
    browser: Any, empty: WorkbenchServer
) -> None:
    browser.visit(empty.address)
    assert "Which papers" in browser.one("h1").text
    browser.one("#demo").click()
    browser.until(lambda: "/c/demo-collection/recommend" in browser.driver.current_url)
    browser.until(lambda: browser.all("html[data-ready]"))
    browser.one("#text").send_keys("Relevance feedback expands a short query.")
    browser.until(lambda: browser.all("#results .result"), "nothing is recommended")
    browser.visit(f"http://127.0.0.1:{empty.port}/?all=1")
    assert "153 documents" in browser.one(".collections").text
    browser.run(DROP, "#drop", [["terns.bib", BIB]])
    browser.until(lambda: browser.one("#name").get_attribute("value") == "terns")
    browser.one("#new button").click()
    browser.until(lambda: "/c/terns/recommend" in browser.driver.current_url)
    browser.until(lambda: browser.all("html[data-ready]"))
    assert not browser.complaints()
