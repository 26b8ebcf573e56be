"""The page to recommend with, as somebody meets it who writes a paper."""

from __future__ import annotations

from tests.browser.workbench import InBrowser

TEXT = "When a query is short, pseudo-relevance feedback adds terms from the documents found first."


def test_papers_come_while_one_types(workbench: InBrowser) -> None:
    workbench.room("recommend")
    workbench.browser.one("#text").send_keys(TEXT)
    workbench.until(lambda: workbench.browser.all(".result"), "no papers")
    workbench.reload()
    workbench.until(lambda: workbench.browser.all(".result"), "no papers")
    assert workbench.browser.one("#text").get_attribute("value") == TEXT
    assert workbench.complaints() == []
