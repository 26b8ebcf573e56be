"""The statistics of a collection as tables for a terminal."""

from __future__ import annotations

import dataclasses

import pytest

from citebed.collection.statistics import MEANS, CollectionStatistics, Number
from citebed.report.collection import short_name, statistics_text

LONG = "International Conference on the Theory of Everything and All the Rest of It in General"


def numbers(**counts: float | None) -> dict[str, Number]:
    return {name.replace("_", " "): Number(value) for name, value in counts.items()}


def spread(what: str, mean: float, least: int, most: int) -> dict[str, Number]:
    return {
        f"{what}, {name}": Number(value)
        for name, value in (("mean", mean), ("least", least), ("most", most))
    }


def means(part: str, count: int, *values: float | None) -> dict[str, Number]:
    named = zip(MEANS, values, strict=True)
    return {
        part: Number(count),
        **{f"{mean} per passage, {part}": Number(value) for mean, value in named},
    }


EMPTY = CollectionStatistics(
    "nothing",
    {
        "documents": numbers(count=0, with_abstract=0, words_per_abstract=None, venues=0),
        "import": numbers(files=1, records=0, merged=0),
    },
)
FULL = CollectionStatistics(
    "full",
    {
        "documents": numbers(
            count=20000,
            with_abstract=18100,
            with_DOI=20000,
            with_language=1,
            with_year=19999,
            words_per_abstract=149.93,
            venues=1250,
        ),
        "types": numbers(article=20000),
        "languages": numbers(de=1),
        "venues": {LONG: Number(12345), "[bold]J. of Marks[/bold]": Number(7)},
        "paragraphs": {
            **means("all", 2, 145.63, 1813.3, 4.7, 5.07),
            **means("citing", 2, 145.63, 1813.3, 4.7, 5.07),
            **means("usable", 0, None, None, None, None),
            "pairs": Number(0),
        },
        "references": {
            **numbers(papers=2, count=79, found=40),
            "coverage, mean of papers": Number(0.507),
            **spread("per paper", 31.82, 8, 71),
            **spread("found per paper", 15.86, 1, 37),
        },
        "unfound": {"URL only": Number(39)},
        "query set topics": {
            **numbers(queries=225, judged_queries=225, judged_pairs=1837, relevant_pairs=1612),
            **spread("relevant per query", 7.16, 1, 39),
        },
        "grades topics": {"0": Number(225), "1": Number(1612)},
        "links": numbers(cites=4321),
        "import": numbers(files=1005, records=20300, merged=289),
        "formats": numbers(bibtex=903),
        "set aside": numbers(front_matter=11),
        "problems": numbers(mended=4),
    },
    query_sets=("topics",),
    years=((1969, 1, 0), (2020, 19998, 18100)),
    lengths={"paragraphs": (100, 191)},
    per_paper=((71, 37), (8, 3)),
)


def printed(statistics: CollectionStatistics, width: int = 80) -> str:
    return statistics_text(statistics, width=width)


def line_of(text: str, start: str) -> list[str]:
    return next(line for line in text.splitlines() if line.strip().startswith(start)).split()


def test_numbers_have_separators_and_shares() -> None:
    text = printed(FULL)
    first = " ".join(text.splitlines()[0].split())
    assert first == "full 20,000 documents, 2 citing papers, 225 queries"
    assert line_of(text, "with abstract")[-3:] == ["18,100", "90.5", "%"]
    assert line_of(text, "found in the collection")[-6:] == ["40", "15.86", "1", "37", "50.6", "%"]
    assert line_of(text, "References")[-4:] == ["79", "31.82", "8", "71"]
    assert line_of(text, "Years")[-1] == "1969–2020"
    assert line_of(text, "Links: cites")[-1] == "4,321"
    assert line_of(text, "grade 0")[-3:] == ["225", "12.2", "%"]
    assert "A paper's own share found is 50.7% on average." in text


def test_a_share_is_rounded_to_nothing_or_all_only_when_it_is() -> None:
    text = printed(FULL)
    assert line_of(text, "with language")[-3:] == ["1", "<0.1", "%"]
    assert line_of(text, "with year")[-3:] == ["19,999", ">99.9", "%"]
    assert line_of(text, "with DOI")[-3:] == ["20,000", "100.0", "%"]


def test_means_and_the_mean_of_nothing() -> None:
    text = printed(FULL)
    assert line_of(text, "Paragraphs  ")[-5:] == ["2", "145.6", "1,813.3", "4.70", "5.07"]
    assert line_of(text, "usable as queries")[-5:] == ["0", "–", "–", "–", "–"]


def test_numbers_end_in_the_same_column() -> None:
    lines = printed(FULL).splitlines()
    shares = [line.rstrip() for line in lines if line.strip().startswith(("with ", "of type"))]
    assert len({len(line) for line in shares}) == 1


def test_names_are_not_markup_and_never_wrap() -> None:
    text = printed(FULL)
    assert "[bold]J. of Marks[/bold]" in text
    assert "The 2 largest of 1,250 venues" in text
    assert line_of(text, "Intl. Conf.")[-3:] == ["12,345", "61.7", "%"]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_every_line_fits(width: int) -> None:
    assert max(map(len, printed(FULL, width).splitlines())) <= width


def test_an_empty_collection_says_so_without_empty_tables() -> None:
    text = printed(EMPTY)
    assert " ".join(text.splitlines()[0].split()) == "nothing 0 documents, 0 queries"
    assert text.count("─\n") == 2
    assert "Venues" not in text


def test_one_document_is_not_plural() -> None:
    documents = {**EMPTY.groups["documents"], "count": Number(1)}
    one = dataclasses.replace(EMPTY, groups={**EMPTY.groups, "documents": documents})
    assert "1 document," in printed(one)


@pytest.mark.parametrize(
    ("name", "width", "short"),
    [
        ("Journal of Tests", 16, "Journal of Tests"),
        ("International Conference on Tests", 30, "Intl. Conference on Tests"),
        ("Symposium on the Design of the Tests", 25, "Symp. on the Design…"),
        ("Undividedlylongname", 8, "Undivid…"),
    ],
)
def test_short_names(name: str, width: int, short: str) -> None:
    assert short_name(name, width) == short
    assert len(short) <= width
