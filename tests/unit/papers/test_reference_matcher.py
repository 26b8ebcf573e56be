"""References found among documents."""

from __future__ import annotations

import random
import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference_styles import STYLES, Work, in_lines, with_slips
from tests.strategies import ANY_TEXT

from citebed.papers.annotation import Candidate
from citebed.papers.annotator import annotate_references
from citebed.papers.reference_matcher import (
    LIKELY,
    PlainText,
    ReferenceMatcher,
    TitleIndex,
    edit_distance,
)
from citebed.papers.references import parse_reference
from citebed.text.titles import plain_title

DOCUMENTS = pl.DataFrame(
    {
        "doc_id": ["quiet", "quieter", "long", "talk", "paper", "reprint", "review"],
        "title": [
            "Learning a Quiet Model of Noise",
            "Learning a Quiet Model of Noise: Part II",
            "Hushing crowds: how large rooms of people become silent",
            "An instrument for measuring whispers",
            "An instrument for measuring whispers",
            "Walls that hear what they should not",
            "The art of hearing walls",
        ],
        "authors": [
            ["Doe, Jane", "Roe, Richard"], ["Doe, Jane"], ["Poe, E. A."], ["Moe, M."],
            ["Moe, M."], ["Goe, R."], ["Zoe, Z."],
        ],
        "year": [2018, 2020, 2001, 2011, 2014, 1999, 2010],
        "doi": [f"10.1000/{number}" for number in range(1, 8)],
        "arxiv": [None, None, "1801.01234", None, None, None, None],
        "venue": ["Proceedings of NOISE", "Proceedings of NOISE", "Journal of Silence", "TALKS",
                  "Journal of Air", "SIGMOD Rec.", "J. Reviews"],
        "pages": ["1–9", "10–19", "5–6", "7–8", "100–120", "30–39", "430"],
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def matcher() -> ReferenceMatcher:
    return ReferenceMatcher(DOCUMENTS)


def match(matcher: ReferenceMatcher, text: str) -> Candidate | None:
    (found,) = matcher.candidates([parse_reference(text)])
    return found[0] if found and found[0].probability >= LIKELY else None


@pytest.mark.parametrize(
    ("text", "doc_id"),
    [
        ("Jane Doe and Richard Roe. 2018. Learning a Quiet Model of Noise. In NOISE.", "quiet"),
        ("J. Doe. Learning a quiet model of noise: Part II. In NOISE, 2020.", "quieter"),
        ("J. Doe and R. Roe. 2018. Learmng a quietmodel of nose. In NOISE. 1–9.", "quiet"),
        ("J. Doe and R. Roe. 2016. Learning a quiet model of noise. arXiv.", "quiet"),
        ("J. Doe, R. Roe - Learning a quiet model of noise - NOISE 2018", "quiet"),
        ("E. A. Poe. Hushing crowds. J. Silence 3 (2001).", "long"),
        ("E. A. Poe. Hushing crowds: how large rooms of people be-\ncome silent. 2001.", "long"),
        ("E. A. Poe. On crowds that are hushed. arXiv:1801.01234, 2001.", "long"),
        ("M. Moe. 2011. An instrument for measuring whispers. In TALKS.", "talk"),
        ("M. Moe. 2014. An instrument for measuring whispers. Journal of Air 3, 1.", "paper"),
        ("M. Moe. An instrument for measuring whispers. https://doi.org/10.1000/5", "paper"),
        ("R. Goe. 1990. An instrument for measuring whispers in large rooms. Air 3.", None),
        ("A. Abe and B. Bee. 2010. The art of hearing walls. MIT Press.", None),
        ("J. Doe. 2018. Learning a Loud Model of Music. In NOISE.", None),
        ("E. A. Poe. 1950. Something else. In Journal of Silence.", None),
        ("E. A. Poe. Garbled. https://doi.org/10.1000/3", "long"),
        ("", None),
    ],
)
def test_a_reference_is_found(matcher: ReferenceMatcher, text: str, doc_id: str | None) -> None:
    found = match(matcher, text)
    assert (found.doc_id if found else None) == doc_id


def test_another_identifier_speaks_against_a_document(matcher: ReferenceMatcher) -> None:
    text = "M. Moe. 2014. An instrument for measuring whispers. Journal of Air 3, 1."
    with_other = match(matcher, f"{text} https://doi.org/10.2000/77")
    assert (with_other.probability if with_other else 0) < match(matcher, text).probability


@pytest.mark.parametrize(
    ("text", "doc_id"),
    [
        ("J. Doe. Walls that whisper at night. In Proc. Conference on Rooms, 2018.", "talk"),
        ("J. Doe. Walls that whisper at night. Journal of Rooms 12 (2018).", "article"),
        ("J. Doe. Walls that whisper at night. J. Rooms, 2018.", "article"),
        ("J. Doe. Walls that whisper at night. 2018, pp. 3–9.", "talk"),
        ("J. Doe. Walls that whisper at night. 2018, pp. 100–120.", "article"),
        ("J. Doe. Walls that whisper at night. arXiv:1701.01234, 2017.", "preprint"),
        ("J. Doe. Walls that whisper at night. 2017.", "preprint"),
    ],
)
def test_versions_of_a_title_differ_in_venue_year_and_pages(text: str, doc_id: str) -> None:
    rows = [  # doc_id, year, venue, volume, pages, arXiv id
        ("preprint", 2017, "arXiv", None, None, "1701.01234"),
        ("talk", 2018, "Proceedings of the Conference on Rooms", None, "3–9", None),
        ("article", 2018, "Journal of Rooms", "12", "100–120", None),
    ]
    columns = ("doc_id", "year", "venue", "volume", "pages", "arxiv")
    versions = pl.DataFrame(rows, columns, orient="row").with_columns(
        title=pl.lit("Walls that whisper at night"), authors=pl.lit(["Doe, Jane"])
    )
    found = match(ReferenceMatcher(versions), text)
    assert (found.doc_id if found else None) == doc_id


def test_two_records_of_one_work_are_not_rivals() -> None:
    twice = pl.concat([DOCUMENTS[:1], DOCUMENTS[:1].with_columns(doc_id=pl.lit("copy"), doi=None)])
    text = "Jane Doe and Richard Roe. 2018. Learning a Quiet Model of Noise. In NOISE, 1–9."
    assert match(ReferenceMatcher(twice), text).probability > 0.9


@pytest.mark.parametrize(
    "printed", ["10.1000/walls-2018", "10.1000/wa-\nlls-2018", "10.1000/ walls-2018"]
)
def test_the_collection_completes_a_broken_doi(printed: str) -> None:
    documents = DOCUMENTS[3:5].with_columns(
        doi=pl.Series(["10.1000/walls-2018", "10.1000/walls-2019"])
    )
    parsed = [parse_reference(f"M. Moe. An instrument for measuring whispers. doi:{printed}")]
    (made,) = annotate_references(["1"], [()], parsed, ReferenceMatcher(documents))
    assert (made.doc_id, made.doi) == ("talk", "10.1000/walls-2018")


def test_a_match_has_its_runner_up(matcher: ReferenceMatcher) -> None:
    text = "M. Moe. 2014. An instrument for measuring whispers. J. of Air."
    ((first, second),) = matcher.candidates([parse_reference(text)])
    assert (first.doc_id, second.doc_id) == ("paper", "talk")
    assert 0 < second.probability < first.probability
    assert second.probability + first.probability <= 1


def test_documents_need_no_more_than_a_title() -> None:
    matcher = ReferenceMatcher(DOCUMENTS.select("doc_id", "title"))
    text = "E. A. Poe. Hushing crowds: how large rooms of people become silent. 2001."
    assert match(matcher, text).doc_id == "long"


def test_a_collection_may_be_empty() -> None:
    assert match(ReferenceMatcher(DOCUMENTS.clear()), "Jane Doe. 2018. A title.") is None
    assert ReferenceMatcher(DOCUMENTS).candidates([]) == []


@pytest.mark.parametrize("style", STYLES)
def test_slips_do_no_harm(matcher: ReferenceMatcher, style: str) -> None:
    rng = random.Random(3)
    work = Work(
        DOCUMENTS["title"][2], ("Poe, E. A.",), 2001, "Journal of Silence", pages=(5, 6)
    )  # fmt: skip
    found = [
        match(matcher, in_lines(with_slips(STYLES[style](work), rng, 0.01), rng)) for _ in range(20)
    ]
    assert sum(each is not None and each.doc_id == "long" for each in found) >= 18


# --- PlainText ------------------------------------------------------------------------------------


@given(ANY_TEXT)
def test_letters_are_those_of_plain_titles(text: str) -> None:
    """Except letters that this Python does not know yet, and two whose lower case in polars depends
    on their neighbours."""
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cn", "Cs") and c not in "Σİ")
    assert PlainText(text).plain == pl.select(plain_title(pl.lit(text))).item()


def test_breaks_are_where_punctuation_is() -> None:
    letters = PlainText("Doe, J. 2018. On walls: a tale")
    assert letters.plain == "doej2018onwallsatale"
    assert letters.breaks == {0: 2, 3: 1, 4: 2, 8: 2, 15: 2, 20: 2}


def slow_nearest(pattern: str, text: str) -> tuple[int, int]:
    """The same by the whole table of distances (Sellers, 1980)."""
    row = list(range(len(pattern) + 1))
    best = (row[-1], 0)
    for end, sign in enumerate(text, start=1):
        above, row = row, [0]
        for at, own in enumerate(pattern, start=1):
            row.append(min(above[at] + 1, row[-1] + 1, above[at - 1] + (own != sign)))
        best = min(best, (row[-1], end))
    return best


@given(st.text("abc", min_size=1, max_size=12), st.text("abcd", max_size=30))
def test_edit_distance_equals_the_full_table(pattern: str, text: str) -> None:
    assert edit_distance(pattern, text) == slow_nearest(pattern, text)


def test_titles_are_found_by_their_letters() -> None:
    titles = ["learningaquietmodelofnoise", "hushingcrowds", "short", ""]
    index = TitleIndex(titles)
    found = index.search(["xxhushingcrowdsxx", "", "learningaquietnodelofnoise"], 2)
    assert found == [[1], [], [0]]
