"""A paper confirmed in a browser: by keyboard and mouse, with the page left in the middle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from tests.browser.served import served_review
from tests.paper_samples import INTRODUCTION

from citebed.collection import import_sources
from citebed.collection.collection import Collection
from citebed.papers.decisions import Merge
from citebed.papers.review import Review


class Reviewing:
    """A review that is served, with a browser in front of it."""

    def __init__(self, browser: Any, folder: Path, address: str) -> None:
        self.browser, self.folder, self.address = browser, folder, address
        self.home = address.partition("?")[0]

    def open(self, stem: str, width: int = 1400, scheme: str = "light") -> None:
        """Open a paper's page."""
        self.browser.visit(self.address, width, scheme)
        self.browser.visit(f"{self.home}papers/{stem}", width, scheme)

    def press(self, *keys: str) -> None:
        """Press keys, and wait until what they do is saved."""
        for key in keys:
            ActionChains(self.browser.driver).send_keys(key).perform()
        self.browser.until(lambda: self.browser.texts("#saving") == ["All saved"], "not saved")

    def until_at(self, item: str) -> None:
        """Until an item is the current one."""
        self.browser.until(lambda: self.at() == item, f"not at {item} but {self.at()}")

    def at(self) -> str | None:
        """The current item, which has the focus."""
        found = self.browser.run("return document.querySelector('.item.current')?.dataset.item")
        return found or None

    def cites(self, item: str) -> list[str]:
        """Return the citations of a sentence, as the page shows them."""
        return self.browser.texts(f".item[data-item='{item}'] .chip b")

    def steps(self, stem: str) -> list[str]:
        """The kinds of the steps on the disk."""
        return [step.kind for step in Review(self.folder).decisions(stem).steps]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder with papers, and the address at which it is served."""
    names = ("p1", "p2", "p3", "p4", "p5")
    folder = tmp_path_factory.mktemp("review") / "papers"
    with served_review(folder, *names) as address:
        yield folder, address


@pytest.fixture
def reviewing(browser: Any, served: tuple[Path, str]) -> Reviewing:
    """The review in the browser."""
    return Reviewing(browser, *served)


def test_a_paper_from_its_first_doubt_to_its_import(reviewing: Reviewing, tmp_path: Path) -> None:
    browser = reviewing.browser
    browser.visit(reviewing.address, 1400)
    assert len(browser.all(".card")) == 5
    with browser.arriving():
        browser.one(".card a").click()
    reviewing.until_at("c2.2")
    assert browser.texts("#progress") == ["4 of 4 left to check"]

    ActionChains(browser.driver).send_keys("c").perform()  # the marker that means another entry
    browser.until(lambda: browser.run("return document.activeElement.dataset.marker") == "0")
    reviewing.press("4", Keys.ENTER)
    browser.until(lambda: reviewing.cites("c2.2") == ["4"], "the marker is not mended")
    reviewing.press(Keys.ENTER)
    reviewing.until_at("c3")
    reviewing.press(Keys.ARROW_UP)
    reviewing.until_at("c2.2")
    assert len(browser.all(".paragraph")) == 6
    reviewing.press("M")
    browser.until(lambda: len(browser.all(".paragraph")) == 5, "the paragraphs are not merged")

    with browser.arriving():
        browser.driver.refresh()
    reviewing.until_at("r5")
    assert reviewing.cites("c2.2") == ["4"]
    assert len(browser.all(".paragraph")) == 5
    reviewing.press("2")
    reviewing.until_at("r9")
    reviewing.press("A")
    browser.until(lambda: browser.one("#done").is_displayed(), "the paper is not confirmed")
    assert reviewing.steps("p1") == ["marker", "accept", "merge", "reference", "finish"]

    browser.visit(reviewing.home, 1400)
    browser.one("#export").click()
    browser.until(lambda: "Written: 5 papers" in browser.one("#exported").text, "not written")
    assert Review(reviewing.folder).decisions("p1").seconds > 0
    assert browser.complaints() == []
    _is_read_back(reviewing.folder, tmp_path)


def _is_read_back(folder: Path, tmp_path: Path) -> None:
    sources = [folder / "p1.xml", folder / "p1.dois"]
    import_sources(tmp_path / "mine", sources)
    (paper,) = Collection(tmp_path / "mine").iter_papers()
    texts = [" ".join(each.text for each in context.sentences) for context in paper.contexts]
    assert len(texts) == 5
    assert texts[0] == INTRODUCTION[0]
    cites = [sentence.cites for sentence in paper.contexts[1].sentences]
    assert cites == [(), ("4",), ("5", "6")]
    dois = {each.ref_id: each.doi for each in paper.references}
    assert dois["5"] == "10.5555/weeks"


def test_a_text_is_edited_and_what_was_typed_outlives_a_reload(reviewing: Reviewing) -> None:
    reviewing.open("p2")
    browser = reviewing.browser
    reviewing.until_at("c2.2")
    reviewing.press("e")
    field = browser.one("form.editing textarea")
    field.clear()
    field.send_keys("Somebody showed that words matter [4].")
    with browser.arriving():
        browser.driver.refresh()
    field = browser.one("form.editing textarea")
    assert field.get_attribute("value") == "Somebody showed that words matter [4]."
    field.send_keys(" And more [4].", Keys.ENTER)
    text = "Somebody showed that words matter [4]. And more [4]."
    browser.until(lambda: browser.texts("[data-item='c2.2'] .text") == [text], "not saved")
    reviewing.press("e")
    area = browser.one("form.editing textarea")
    browser.run(
        "arguments[0].setSelectionRange(arguments[1], arguments[1])", area, text.index(" And")
    )
    area.send_keys(Keys.CONTROL + Keys.ENTER)
    browser.until(lambda: len(browser.all("div.sentence[data-item^='c2.2']")) == 2, "not split")
    assert browser.texts("[data-item^='c2.2'] .text")[1] == "And more [4]."
    reviewing.press("J")
    browser.until(lambda: len(browser.all("div.sentence[data-item^='c2.2']")) == 1, "not joined")
    reviewing.press("z", "z", "z")
    browser.until(lambda: reviewing.steps("p2") == [], "not taken back")
    reviewing.until_at("c2.2")
    reviewing.press("D")
    browser.until(lambda: browser.all(".paragraph.dropped"), "not dropped")
    reviewing.press("z")
    browser.until(lambda: not browser.all(".paragraph.dropped"), "not taken in again")
    assert browser.complaints() == []


def test_a_paragraph_is_inserted_and_what_was_typed_is_saved_when_one_goes_elsewhere(
    reviewing: Reviewing,
) -> None:
    reviewing.open("p3")
    browser = reviewing.browser
    reviewing.until_at("c2.2")
    ActionChains(browser.driver).send_keys("I").perform()
    browser.until(lambda: browser.all("form.adding"), "nothing to write in")
    box = browser.one("rect[data-item='c4.1']")
    drag = ActionChains(browser.driver).move_to_element_with_offset(box, -130, -6)
    drag.click_and_hold().move_by_offset(300, 12).release().perform()
    area = browser.one("form.adding textarea")
    browser.until(lambda: "We therefore build" in area.get_attribute("value"), "no text is taken")
    area.clear()
    area.send_keys("A paragraph that was missed [7].")
    with browser.arriving():
        browser.driver.refresh()
    browser.one("form.adding textarea").send_keys(Keys.ENTER)
    reviewing.until_at("c+1.1")
    assert reviewing.cites("c+1.1") == ["7"]
    reviewing.press("e")
    browser.one("form.editing textarea").send_keys(" So be it.")
    browser.one(".item[data-item='c1.1']").click()
    reviewing.until_at("c1.1")
    text = "A paragraph that was missed [7]. So be it."
    assert browser.texts("[data-item='c+1.1'] .text") == [text]
    reviewing.press("z", "z")
    browser.until(lambda: reviewing.steps("p3") == [], "not taken back")
    assert browser.complaints() == []


def test_a_box_leads_to_its_sentence_and_a_sentence_to_its_box(reviewing: Reviewing) -> None:
    reviewing.open("p3")
    browser = reviewing.browser
    browser.until(
        lambda: browser.run("return document.querySelector('.page img').naturalWidth > 0"),
        "no picture",
    )
    browser.run(
        "document.querySelector(`rect[data-item='c5.2']`)"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    reviewing.until_at("c5.2")
    browser.one(".item[data-item='r3']").click()
    reviewing.until_at("r3")
    assert {each.get_attribute("data-item") for each in browser.all("rect.current")} == {"r3"}
    seen = browser.run(
        "const box = document.querySelector('rect.current').getBoundingClientRect();"
        "const pane = document.getElementById('pages').getBoundingClientRect();"
        "return box.top >= pane.top && box.bottom <= pane.bottom"
    )
    assert seen


def test_two_windows_tell_of_each_other(reviewing: Reviewing) -> None:
    reviewing.open("p4")
    browser = reviewing.browser
    reviewing.until_at("c2.2")
    Review(reviewing.folder).decide("p4", Merge(item="c2"), 0)
    ActionChains(browser.driver).send_keys(Keys.ENTER).perform()
    browser.until(lambda: browser.one("#alert").is_displayed(), "nothing is told")
    assert "changed elsewhere" in browser.one("#alert").text
    assert len(browser.all(".paragraph")) == 5
    reviewing.press(Keys.ENTER)
    browser.until(lambda: not browser.one("#alert").is_displayed(), "still told")
    assert reviewing.steps("p4") == ["merge", "accept"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_cut_off(reviewing: Reviewing, scheme: str) -> None:
    reviewing.open("p5", 390, scheme)
    browser = reviewing.browser
    reviewing.until_at("c2.2")
    wide = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    outside = browser.run(
        "return [...document.querySelectorAll('#annotation *, .thumbs *, .bar *')]"
        ".filter(x => x.checkVisibility() && !x.closest('.hide, .chip, .where')"
        " && x.getBoundingClientRect().right > innerWidth + 1).map(x => x.outerHTML.slice(0, 80))"
    )
    assert outside == []
    browser.one(".thumbs [data-do=next]").click()
    reviewing.until_at("c3")
    browser.one(".thumbs [data-do=previous]").click()
    reviewing.until_at("c2.2")
    assert browser.complaints() == []


def test_keys_are_shown_and_every_control_has_a_name(reviewing: Reviewing) -> None:
    reviewing.open("p5")
    browser = reviewing.browser
    reviewing.until_at("c2.2")
    ActionChains(browser.driver).send_keys("?").perform()
    browser.until(lambda: browser.one("#help").is_displayed(), "no help")
    ActionChains(browser.driver).send_keys(Keys.ESCAPE).perform()
    browser.until(lambda: not browser.one("#help").is_displayed(), "help stays")
    nameless = browser.run(
        "return [...document.querySelectorAll('button, input, textarea, a')]"
        ".filter(x => !(x.textContent.trim() || x.ariaLabel || x.labels?.length))"
        ".map(x => x.outerHTML)"
    )
    assert nameless == []
