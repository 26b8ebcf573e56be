"""The table of checks and the function that runs them."""

from __future__ import annotations

import datetime
import re

import pytest
from tests.unit.collection.lint.kinds import Collect

from citebed.collection.lint import CHECKS, lint
from citebed.errors import UnknownName

CLEAN = """
@article{10.1145/1.1, title = {Ranking with probabilities}, author = {Robertson, Stephen},
  year = 1977, doi = {10.1145/1.1}, abstract = {Documents should be ranked by probability.}}
@article{10.1145/1.2, title = {Relevance weighting of search terms},
  author = {Sparck Jones, Karen}, year = 1976, doi = {https://doi.org/10.1145/1.2}}
"""
PAPER = """<doc><doi>10.1145/9.9</doi><title>On citing</title><year>2020</year>
<contexts><context id="01" section="intro"><s cites="1">Probabilities rank.</s></context></contexts>
<references><reference id="1">10.1145/1.1</reference></references></doc>"""
TODAY = datetime.date(2020, 6, 1)


def test_every_check_is_described() -> None:
    for name, check in CHECKS.items():
        assert name == check.name
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
        assert check.severity in ("error", "warning", "note")
        assert "\n" not in check.title
        assert check.mend.endswith(".")


def test_a_clean_collection_passes_everything(collect: Collect) -> None:
    findings = lint(collect({"a.bib": CLEAN, "paper.xml": PAPER}), today=TODAY)
    assert [finding.check.name for finding in findings] == list(CHECKS)
    assert [finding.check.name for finding in findings if not finding.passed] == []


def test_a_collection_of_documents_alone_passes(collect: Collect) -> None:
    assert all(finding.count == 0 for finding in lint(collect({"a.bib": CLEAN}), today=TODAY))


def test_chosen_checks_run_in_the_order_of_the_table(collect: Collect) -> None:
    names = ["markup-remains", "absent-documents"]
    findings = lint(collect({"a.bib": CLEAN}), names)
    assert [finding.check.name for finding in findings] == names[::-1]


def test_an_unknown_check_is_refused(collect: Collect) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'absent-queries'"):
        lint(collect({"a.bib": CLEAN}), ["absent-querys"])


def test_examples_are_cut_and_the_count_is_not(collect: Collect) -> None:
    entries = "".join(f"@misc{{k{n}, author={{A, B}}, year=2000}}\n" for n in range(7))
    collection = collect({"a.bib": entries})
    (finding,) = lint(collection, ["documents-without-title"])
    assert (finding.count, len(finding.examples)) == (7, 5)
    assert finding.examples[2]["id"] == "k2"
    assert str(finding.examples[2]["place"]).endswith("a.bib:3")
    (finding,) = lint(collection, ["documents-without-title"], examples=None)
    assert len(finding.examples) == 7
    (finding,) = lint(collection, ["documents-without-title"], examples=0)
    assert (finding.count, finding.examples) == (7, [])
