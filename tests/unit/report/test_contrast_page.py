"""A contrast as a page: what it shows, and that names of strangers do nothing in it."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import html

from citebed.evaluation.contrasts.contrast import Contrast, contrast
from citebed.report.contrast_page import contrast_page
from citebed.runs.reader import as_qrels


@pytest.fixture(scope="module")
def found() -> Contrast:
    before = {"q1": {"a": 1}, "q2": {"x": 1}}
    after = {"q1": {"a": 1, "b": 1}, "q2": {"x": 1, "y": 1}}
    run = {"q1": {"a": 3.0, "c": 2.0, "b": 1.0}, "q2": {"y": 1.0}}
    runs = {"one": run, "two <b>": {**run, "q2": {"x": 1.0}}}
    return contrast(as_qrels(before, "J1"), as_qrels(after, "<i>J1+2"), runs, ["AP", "GMAP"])


def test_every_section_has_something_in_it(found: Contrast) -> None:
    page: Any = html.fromstring(contrast_page(found, "citebed contrast"))
    sections = page.xpath("//main/section")
    assert [each.get("id") for each in sections] == [
        "judgements", "changes", "correlations", "conclusions", "movers", "ledger",
    ]  # fmt: skip
    for each in sections:
        assert each.xpath(".//table | .//li")
    assert page.xpath("//h1")[0].text_content() == "J1 and <i>J1+2: 2 runs"
    assert not page.xpath("//b | //i")
    assert not page.xpath("//p[@class='back']")


def test_where_it_is_served_it_leads_back(found: Contrast) -> None:
    back = ("/c/a/experiments?run=<x>&m=AP", "Experiments")
    page: Any = html.fromstring(contrast_page(found, "citebed contrast", "A title", back))
    (link,) = page.xpath("//p[@class='back']/a")
    assert link.get("href") == back[0]
    assert page.xpath("//h1")[0].text_content() == "A title"
