"""One draft in two tabs, and on two servers: no text is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.browser.workbench import InBrowser, WorkbenchServer

import citebed
from citebed.drafts.draft_store import StoredDraft

FIRST = "Test collections are built by pooling the results of many systems."


class Tabs:
    """Tabs with the page to recommend with; one of them is in front."""

    def __init__(self, workbench: InBrowser) -> None:
        self.workbench, self.browser = workbench, workbench.browser
        self.until, self.driver = workbench.until, workbench.browser.driver
        self.names = [self.driver.current_window_handle]

    def open(self, address: str = "") -> None:
        """Open one more tab, in front."""
        self.driver.switch_to.new_window("tab")
        self.names.append(self.driver.current_window_handle)
        if address:
            self.browser.visit(address)
        else:
            self.workbench.room("recommend")

    def go_to(self, number: int) -> None:
        self.driver.switch_to.window(self.names[number])

    def close_others(self) -> None:
        for name in self.driver.window_handles:
            if name != self.names[0]:
                self.driver.switch_to.window(name)
                self.driver.close()
        self.go_to(0)

    @property
    def text(self) -> str:
        return str(self.browser.run("return document.getElementById('text').value"))

    def type(self, words: str) -> None:
        """Type at the end of the text, and do not wait until it is saved."""
        script = """
        const text = document.getElementById("text");
        text.value += arguments[0];
        text.dispatchEvent(new Event("input"));
        """
        self.browser.run(script, words)

    def wait_kept(self) -> None:
        self.until(lambda: self.browser.one("#kept").text == "saved", "not saved")

    def wait_asked(self) -> None:
        self.until(lambda: self.browser.all("#versions[open]"), "the page does not ask")

    def choose(self, which: str) -> None:
        self.browser.one(f"[data-version={which}]").click()
        self.until(lambda: not self.browser.all("#versions[open]"), "not chosen")
        self.wait_kept()

    def on_desk(self) -> list[StoredDraft]:
        desk = citebed.open(self.workbench.folder).desk
        return [desk.draft(each.draft_id) for each in desk.drafts()]

    def texts_on_desk(self) -> set[str]:
        return {each.text for each in self.on_desk()}


@pytest.fixture
def tabs(workbench: InBrowser) -> Iterator[Tabs]:
    """A tab with a draft that is saved, and another one with the same."""
    for each in citebed.open(workbench.folder).desk.drafts():
        citebed.open(workbench.folder).desk.remove(each.draft_id)
    made = Tabs(workbench)
    workbench.room("recommend")
    made.type(FIRST)
    made.wait_kept()
    made.open()
    assert made.text == FIRST
    yield made
    made.close_others()


@contextmanager
def unnoticed(tabs: Tabs, number: int) -> Iterator[None]:
    """Let a tab notice nothing of the others, as in another browser, until it saves."""
    tabs.go_to(number)
    script = """
    const real = window.realFetch = window.fetch;
    const away = () => Promise.reject(new Error("away"));
    window.fetch = (where, how) => how?.method === "GET" ? away() : real(where, how);
    """
    tabs.browser.run(script)
    yield
    tabs.go_to(number)


def test_a_tab_shows_what_another_tab_saved(tabs: Tabs) -> None:
    tabs.type(" One.")
    tabs.wait_kept()
    tabs.go_to(0)
    tabs.until(lambda: tabs.text == f"{FIRST} One.", "the first tab is not up to date")
    tabs.type(" Two.")
    tabs.wait_kept()
    tabs.go_to(1)
    tabs.until(lambda: tabs.text == f"{FIRST} One. Two.", "the second tab is not up to date")
    assert tabs.texts_on_desk() == {f"{FIRST} One. Two."}


@pytest.mark.parametrize("chosen", ["copy", "draft"])
def test_texts_of_two_tabs_are_both_shown_and_both_kept(tabs: Tabs, chosen: str) -> None:
    with unnoticed(tabs, 0):
        tabs.go_to(1)
        tabs.type(" <b>From the second tab.</b>")
        tabs.wait_kept()
    tabs.type(" From the first tab.")
    tabs.wait_asked()
    both = {f"{FIRST} From the first tab.", f"{FIRST} <b>From the second tab.</b>"}
    assert tabs.texts_on_desk() == both
    shown = tabs.browser.texts("#version-copy") + tabs.browser.texts("#version-draft")
    assert shown == [f"{FIRST} From the first tab.", f"{FIRST} <b>From the second tab.</b>"]
    assert tabs.browser.texts(".version-text mark")[0].strip() == "From the first tab."
    tabs.workbench.reload()  # it asks until somebody chooses
    tabs.wait_asked()
    tabs.choose(chosen)
    wanted = shown[0] if chosen == "copy" else shown[1]
    assert tabs.text == wanted
    assert tabs.texts_on_desk() == both
    tabs.type(" And on.")
    tabs.wait_kept()
    assert tabs.texts_on_desk() == (both - {wanted}) | {f"{wanted} And on."}
    tabs.go_to(1)
    tabs.until(lambda: tabs.text == f"{wanted} And on.", "the second tab is not up to date")


def test_a_tab_that_is_closed_while_it_types_loses_nothing(tabs: Tabs) -> None:
    with unnoticed(tabs, 0):
        tabs.go_to(1)
        tabs.type(" Second.")
        tabs.wait_kept()
    tabs.type(" First.")
    tabs.browser.leave()
    tabs.workbench.room("recommend")
    tabs.wait_asked()
    assert tabs.texts_on_desk() == {f"{FIRST} First.", f"{FIRST} Second."}
    tabs.choose("copy")
    assert tabs.text == f"{FIRST} First."


def test_what_two_tabs_typed_while_the_server_was_away_is_all_kept(tabs: Tabs) -> None:
    server = tabs.workbench.server
    server.stop()
    for number, words in ((0, " First."), (1, " Second.")):
        tabs.go_to(number)
        tabs.type(words)
    for number in (0, 1):
        tabs.go_to(number)
        tabs.browser.leave()
    server.start()
    tabs.workbench.room("recommend")
    tabs.wait_asked()
    both = {f"{FIRST} First.", f"{FIRST} Second."}
    assert tabs.texts_on_desk() == both
    tabs.choose("draft")
    assert tabs.texts_on_desk() == both


def test_new_drafts_of_two_tabs_are_two_drafts(workbench: InBrowser) -> None:
    tabs = Tabs(workbench)
    workbench.room("recommend")
    tabs.open()
    for number, words in ((0, "Of the first tab."), (1, "Of the second tab.")):
        tabs.go_to(number)
        tabs.type(words)
        tabs.wait_kept()
    assert {"Of the first tab.", "Of the second tab."} <= tabs.texts_on_desk()
    tabs.close_others()


def test_a_paper_that_is_cited_in_one_tab_does_not_bring_back_its_old_text(tabs: Tabs) -> None:
    with unnoticed(tabs, 0):
        tabs.go_to(1)
        tabs.type(" Second.")
        tabs.wait_kept()
    tabs.browser.run("window.fetch = window.realFetch")
    tabs.browser.one("[data-act=cite]").click()
    tabs.until(lambda: tabs.on_desk()[0].basket, "not cited")
    tabs.browser.leave()
    tabs.workbench.room("recommend")
    assert tabs.text == f"{FIRST} Second."
    assert tabs.texts_on_desk() == {f"{FIRST} Second."}


def test_two_servers_with_one_collection(tabs: Tabs, tmp_path: Path) -> None:
    other = WorkbenchServer([tabs.workbench.folder], tmp_path)
    other.start()
    try:
        draft = tabs.driver.current_url.split("?")[1]
        key = other.address.partition("key=")[2]
        with unnoticed(tabs, 1):
            tabs.open(f"http://127.0.0.1:{other.port}/c/demo/recommend?key={key}&{draft}")
            assert tabs.text == FIRST
            tabs.type(" On the other server.")
            tabs.wait_kept()
        tabs.type(" On this server.")
        tabs.wait_asked()
        both = {f"{FIRST} On the other server.", f"{FIRST} On this server."}
        assert tabs.texts_on_desk() == both
        tabs.choose("copy")
        assert tabs.texts_on_desk() == both
    finally:
        other.stop()


def test_the_choice_on_a_phone(tabs: Tabs) -> None:
    with unnoticed(tabs, 0):
        tabs.go_to(1)
        tabs.type("\nSecond. " * 40)
        tabs.wait_kept()
    size: dict[str, Any] = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    tabs.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    tabs.type("\nFirst. " * 40)
    tabs.wait_asked()
    assert tabs.browser.run("return document.documentElement.scrollWidth <= innerWidth")
    buttons = [each.rect for each in tabs.browser.all("[data-version]")]
    assert all(each["x"] >= 0 and each["x"] + each["width"] <= 390 for each in buttons)
    tabs.choose("draft")
