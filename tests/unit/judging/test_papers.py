"""Source papers of all forms, and what is wrong with them told with its line."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

import citebed
from citebed.errors import FormatError
from citebed.judging import Campaign
from citebed.judging.papers import Author, read_papers


def test_a_line_of_csv_is_a_paper_and_references_are_looked_up(
    demo: citebed.Workbench, papers: Path
) -> None:
    filters, judging, passages = read_papers(papers, demo)
    assert (filters.title, filters.online_on) == ("Filters That Age", date(2020, 1, 1))
    assert filters.authors[1] == Author("Ben Carr", "ben@example.org")
    assert passages.authors == (Author("Di O'Eff", "di@example.org"), Author("Ed Fay"))
    assert len(judging.references) == 44
    first = filters.references[1]
    assert first.doc_id == "allan1996incremental"
    assert first.entry.line() == (
        "James Allan (1996). Incremental Relevance Feedback for Information Filtering"
    )


def test_references_may_be_named_by_id_doi_or_title(
    demo: citebed.Workbench, tmp_path: Path
) -> None:
    text = (
        'paper_id,title,authors,references\np,T,A,"allan1998pilot; 10.1145/243199.243274; A Book"\n'
    )
    (paper,) = read_papers(_written(tmp_path / "p.csv", text), demo)
    assert [cited.doc_id for cited in paper.references] == [
        "allan1998pilot",
        "allan1996incremental",
        None,
    ]
    assert paper.references[2].entry.title == "A Book"


def _written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_bibtex_has_authors_and_addresses_in_one_order(
    demo: citebed.Workbench, tmp_path: Path
) -> None:
    text = r"""@inproceedings{demo-filters, author = {Bell, Ada and M{\"u}ller, Bo},
      title = {Filters That Age}, year = 2023, email = {ada@example.org, bo@example.org},
      online = {2024-02-03}}"""
    (paper,) = read_papers(_written(tmp_path / "p.bib", text), demo)
    assert paper.authors == (
        Author("Ada Bell", "ada@example.org"),
        Author("Bo Müller", "bo@example.org"),
    )
    assert paper.online_on == date(2024, 2, 3)
    assert len(paper.references) == 37


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("id,title\nx,y\n", 1, "expected paper_id"),
        ("paper_id;title\nx;y\n", 1, "with commas"),
        ("", 1, "columns: none; expected paper_id"),
        ("a\x00b\x85\x1e\rc,d\n", 1, "not valid CSV|expected paper_id"),
        ("paper_id,title\n", None, "no paper"),
        ("paper_id,title\na b,T\n", 2, "expected one word"),
        ("paper_id,title\nx,\n", 2, "has no title"),
        ("paper_id,title\nx,T\n", 2, "has no references"),
        ("paper_id,title,online,references\nx,T,soon,a\n", 2, "expected a date"),
        ("paper_id,title,authors,references\nx,T,Ada <ada@@x>,a\n", 2, "expected Name"),
        (f"paper_id,title,authors,references\nx,T,a@x {'(' * 9999},a\n", 2, "expected Name"),
        (
            "paper_id,title,authors,references\nx,T,A <a@x.org>; B <A@x.org>,a\n",
            2,
            "occurs twice",
        ),
        ("paper_id,title\nx,T,more\n", 2, "more cells"),
        ("paper_id,title,references\nx,T,a\nx,T,a\n", None, "occurs twice"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(
    demo: citebed.Workbench, tmp_path: Path, text: str, line: int | None, what: str
) -> None:
    with pytest.raises(FormatError, match=what) as caught:
        read_papers(_written(tmp_path / "p.csv", text), demo)
    assert caught.value.line == line


def test_papers_that_are_there_stay_as_they_are(campaign: Campaign, papers: Path) -> None:
    assert campaign.add_papers(papers) == 0
    papers.write_text(
        papers.read_text() + "new,New,Zoe <zoe@example.org>; Ada <ada@example.org>,\n"
    )
    with pytest.raises(FormatError, match="has no references"):
        campaign.add_papers(papers)
