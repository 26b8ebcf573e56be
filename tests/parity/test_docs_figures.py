"""Figures in the docs equal the output of their commands on real data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from citebed.cli.app import main

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("least", [1, 2])
@pytest.mark.parametrize("own", ["", " --not-own-paper"])
def test_co_citations_of_acm_cr(
    acm_cr: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], least: int, own: str
) -> None:
    page = (DOCS / "judgements.md").read_text("utf-8")
    stated = re.search(rf"^\| `--at-least {least}{own}` \| (.*) \|$", page, re.MULTILINE)
    assert stated is not None
    words = ["--cocited", str(acm_cr), "--at-least", str(least), *own.split()]
    qrels = str(acm_cr / "qrels" / "paragraphs.qrels")
    assert main(["qrels", "expand", qrels, *words, "-o", str(tmp_path / "co.qrels")]) == 0
    told = "".join(capsys.readouterr())
    new, queries = re.search(r"wrote ([\d,]+) judgements of (\d+) queries", told).groups()
    known = re.search(r"co-citations?, ([\d,]+) already judged, 0 excluded", told)[1]  # type: ignore[index]
    reached = int(new.replace(",", "")) + int(known)
    assert stated[1] == f"{new} | {queries} | {known} of {reached:,}"
    cited = re.search(r"50 reference lists with (\d+) citations", told)[1]  # type: ignore[index]
    assert f"(50 papers, {cited} citations of documents" in page
