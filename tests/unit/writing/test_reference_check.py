"""Verdicts on references: the records are invented, the expected verdicts decided by hand."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.writing.reference_check import (
    FINE,
    NOT_FOUND,
    NOT_HELD,
    WRONG,
    ReferenceChecker,
    ReferenceOptions,
    Verdict,
)
from citebed.writing.reference_comparison import (
    StatedReference,
    compare_authors,
    same_person,
    stated_from_text,
    title_words,
)

AUTHORS = ["Böhm, Bo", "de la Cruz, Juan", "Ash, Ann Mary"]
OAKS = {
    "doc_id": "oaks", "title": "The Colour of Oak Trees: A Behavioural Study of Old Forests",
    "authors": AUTHORS, "year": 2001,
    "doi": "10.5072/oak", "arxiv": None, "venue": "Journal of Trees", "pages": "123–129",
    "type": "article",
}  # fmt: skip
RECORDS = [
    OAKS,
    {**OAKS, "doc_id": "elms", "title": "Counting the Elms of a City with Small Cameras",
     "authors": ["Chen, Chi", "Roe, Rob"], "doi": "10.5072/elm", "pages": "7–19", "year": 2005},
    {**OAKS, "doc_id": "elms2", "title": "Mapping Urban Birds with Very Cheap Microphones",
     "authors": ["Chen, Chi", "Moe, Mia"], "doi": "10.5072/bird", "pages": "20–31", "year": 2006},
    {**OAKS, "doc_id": "salt", "title": "Salt of the Northern Sea and Its Early Trade",
     "authors": ["Dow, Dee"], "doi": None, "arxiv": "2001.01234", "venue": "CoRR",
     "type": "misc", "pages": None, "year": 2020},
    {**OAKS, "doc_id": "salt2", "title": "Salt of the Northern Sea and Its Early Trade",
     "authors": ["Dow, Dee"], "doi": "10.5072/salt", "venue": "Proceedings of the Salt Conference",
     "type": "inproceedings", "pages": "1–9", "year": 2021},
    {**OAKS, "doc_id": "short", "title": "Introduction", "authors": ["Ray, Ron"], "doi": None},
    {**OAKS, "doc_id": "notice", "doi": None, "pages": None, "authors": [], "year": 2008,
     "title": "Retraction: Counting the Elms of a City with Small Cameras"},
]  # fmt: skip


@pytest.fixture(scope="module")
def checker() -> ReferenceChecker:
    return ReferenceChecker(pl.DataFrame(RECORDS, infer_schema_length=None))


def oaks(**changes: object) -> StatedReference:
    fields: dict[str, object] = {
        "text": "x", "title": OAKS["title"], "authors": tuple(AUTHORS), "year": 2001,
        "doi": "10.5072/oak", "pages": "123–129", "venue": "Journal of Trees", "type": "article",
    }  # fmt: skip
    return StatedReference(**(fields | changes))  # type: ignore[arg-type]


def check(checker: ReferenceChecker, stated: StatedReference, **options: bool) -> Verdict:
    return checker.check([stated], ReferenceOptions(this_year=2026, **options))[0]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"title": "the color of OAK-trees: a behavioral study of old forests."},
        {"title": "The Colour of Oak Trees"},
        {"authors": ("Bohm, B.", "Cruz, J.", "Ash, A. M.")},
        {"authors": ("Boehm, Bo", "De La Cruz, Juan", "Ash, Mary")},
        {"authors": ("Böhm, Bo",), "and_others": True},
        {"year": 2002},
        {"year": None, "doi": None, "pages": None},
        {"venue": "Proceedings of Something Else"},
        {"venue": "CoRR", "type": "misc", "doi": "10.48550/arxiv.2001.00001", "pages": None},
        {"pages": "123–9"},
        {"pages": "e1234"},
        {"pages": "1–7"},
    ],
)
def test_harmless_differences_are_fine(
    checker: ReferenceChecker, changes: dict[str, object]
) -> None:
    verdict = check(checker, oaks(**changes))
    assert (verdict.name, verdict.doc_id) == (FINE, "oaks"), verdict.reason


@pytest.mark.parametrize(
    ("changes", "fields", "word"),
    [
        ({"authors": ("Böhm, Bo", "Ash, Ann")}, {"authors"}, "Juan de la Cruz"),
        ({"authors": ("Ash, Ann", "Böhm, Bo", "de la Cruz, Juan")}, {"authors"}, "order"),
        ({"authors": (*AUTHORS, "Roe, Rob")}, {"authors"}, "Rob Roe"),
        ({"authors": ("Böhm, Bo", "Roe, Rob", "Ash, Ann")}, {"authors"}, "Rob Roe instead of Juan"),
        ({"year": 1995}, {"year"}, "2001"),
        ({"year": 2033}, {"year"}, "future"),
        ({"doi": "10.5072/other"}, {"doi"}, "10.5072/oak"),
        ({"doi": "10.5072/elm"}, {"doi"}, "Chen"),
        ({"doi": "10.5072/other", "authors": ("Böhm, Bo", "Ash, Ann")}, {"doi", "authors"}, "Juan"),
        ({"doi": "10.5072/other", "authors": ("Böhm, Bo", "Ash, Ann"), "pages": None},
         {"doi", "authors"}, "Juan"),
        ({"pages": "223–229"}, {"pages"}, "123–129"),
        ({"title": "The Colour of Oak Trees: A Statistical Study of Old Forests", "doi": None,
          "pages": None}, {"title"}, "'statistical' instead of 'behavioral'"),
    ],
)  # fmt: skip
def test_wrong_details_are_named(
    checker: ReferenceChecker, changes: dict[str, object], fields: set[str], word: str
) -> None:
    verdict = check(checker, oaks(**changes))
    assert (verdict.name, verdict.doc_id) == (WRONG, "oaks")
    assert {detail.field for detail in verdict.details} == fields
    assert word in verdict.reason


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"authors": ("Silva, Petra", "Sato, Yuki")}, "by other authors"),
        ({"title": "Whales and Their Songs in Winter", "authors": ("Silva, Petra",)}, "DOI"),
        ({"title": "Counting the Elms of Birds with Very Cheap Microphones", "doi": None,
          "authors": ("Chen, Chi",), "year": 2005, "pages": None}, "joins the titles"),
    ],
)  # fmt: skip
def test_invented_references_are_not_found(
    checker: ReferenceChecker, changes: dict[str, object], reason: str
) -> None:
    verdict = check(checker, oaks(**changes))
    assert verdict.name == NOT_FOUND
    assert reason in verdict.reason
    assert verdict.nearest


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Whales and Their Songs in Winter", "doi": None},  # the authors wrote more
        {"title": "Introduction", "authors": ("Silva, Petra",), "doi": None},
        # an extended version, a second part, a sister paper and an erratum
        {"year": 2009, "doi": "10.5072/v2", "pages": "1001–1030", "venue": "Annals of Forests"},
        {"title": f"{OAKS['title']}: Part 2", "doi": None},
        {"title": f"Erratum to: {OAKS['title']}", "doi": None, "authors": ("Roe, Rob",)},
        {"title": "The Colour of Pine Trees: A Behavioural Study of New Parks", "doi": None},
    ],
)
def test_works_that_the_collection_does_not_hold_are_not_accused(
    checker: ReferenceChecker, changes: dict[str, object]
) -> None:
    assert check(checker, oaks(**changes)).name == NOT_HELD


SMALL = {**OAKS, "title": "Pruning Oaks", "authors": ["Roe, Rob"], "doi": None, "pages": None}
ISSUE = {"title": "Pruning Oaks", "authors": ("Silva, Petra",), "doi": None, "pages": None}


@pytest.mark.parametrize(
    ("records", "changes", "name"),
    [
        # a short title under other authors: only year and venue together are evidence
        ([SMALL], {}, NOT_FOUND),
        ([SMALL], {"year": 2002}, NOT_HELD),
        ([SMALL], {"venue": "Annals of Forests"}, NOT_HELD),
        ([SMALL, {**SMALL, "doc_id": "b", "authors": ["Poe, Pat"], "year": 1990}], {}, NOT_HELD),
        ([{**SMALL, "title": "Surveyor's Forum: Pruning Oaks"}],
         {"title": "Surveyor's Forum: Pruning Oaks"}, NOT_HELD),
        # two short pieces of titles by the same authors: authors, year and venue must agree
        ([{**SMALL, "title": "Design of Small Parks"}, {**SMALL, "title": "Paths between Trees"}],
         {"title": "Design of between Trees", "authors": ("Roe, Rob",)}, NOT_FOUND),
        ([{**SMALL, "title": "Design of Small Parks"}, {**SMALL, "title": "Paths between Trees"}],
         {"title": "Design of between Trees", "authors": ("Roe, Rob",), "venue": ""}, NOT_HELD),
    ],
)  # fmt: skip
def test_weak_titles_need_more_evidence(
    records: list[dict[str, object]], changes: dict[str, object], name: str
) -> None:
    numbered = [{**each, "doc_id": str(number)} for number, each in enumerate(records)]
    checker = ReferenceChecker(pl.DataFrame(numbered, infer_schema_length=None))
    verdict = check(checker, oaks(**(ISSUE | changes)))
    assert verdict.name == name, verdict.reason


def test_a_list_that_is_cut_must_begin_with_the_first_author(checker: ReferenceChecker) -> None:
    verdict = check(checker, oaks(authors=("de la Cruz, Juan",), and_others=True))
    assert verdict.name == WRONG
    assert "without Bo Böhm" in verdict.reason


@pytest.mark.parametrize(
    ("record", "text"),
    [
        # reports of two years, with one letter between their titles
        ({"title": "Overview of the Tree Book Search Lab 2015", "year": 2015},
         "B. Böhm, J. de la Cruz, A. M. Ash. 2016. Overview of the Tree Book Search Lab 2016. "
         "In Proceedings of Trees. 351–370."),
        # the same title in a journal and in proceedings
        ({"venue": "Proceedings of the 38th Conference on Trees", "type": "inproceedings"},
         "B. Böhm, J. de la Cruz, A. M. Ash. 2001. The Colour of Oak Trees: A Behavioural Study of "
         "Old Forests. Foundations of Trees 9, 3-4 (2001), 91–208."),
        # an acronym that the name of the venue does not show
        ({"venue": "Proceedings of the 8th Conference on Information"},
         "B. Böhm, J. de la Cruz, A. M. Ash. 2001. The Colour of Oak Trees: A Behavioural Study of "
         "Old Forests. In Proc. of TREEX. 279–280."),
    ],
)  # fmt: skip
def test_other_versions_in_print_are_not_an_error(record: dict[str, object], text: str) -> None:
    checker = ReferenceChecker(pl.DataFrame([{**OAKS, **record}], infer_schema_length=None))
    assert check(checker, stated_from_text(text)).name in (FINE, NOT_HELD)


def test_pages_after_an_issue_are_read() -> None:
    assert stated_from_text("B. Böhm. End to the Oaks. Trees, 12(3):772–774, 1966.").pages == (
        "772–774"
    )


def test_a_word_such_as_response_is_a_notice_only_at_the_start() -> None:
    record = {**OAKS, "title": "Oak Cells Die in Response to Damage of Old Forests"}
    stated = oaks(title="Oak Cells Die in Dopamine to Damage of Old Forests")
    verdict = check(ReferenceChecker(pl.DataFrame([record], infer_schema_length=None)), stated)
    assert {detail.field for detail in verdict.details} == {"title"}


def test_a_complete_collection_makes_absent_works_not_found(checker: ReferenceChecker) -> None:
    stated = oaks(title="Whales and Their Songs in Winter", doi=None)
    assert check(checker, stated, complete=True).name == NOT_FOUND
    assert check(checker, oaks(), complete=True).name == FINE


def test_details_may_be_those_of_any_version(checker: ReferenceChecker) -> None:
    stated = StatedReference(
        "x", "Salt of the Northern Sea and its early trade", ("Dow, D.",), 2020,
        arxiv="2001.01234", venue="arXiv preprint", type="misc",
    )  # fmt: skip
    verdict = check(checker, stated)
    assert verdict.name == FINE
    assert verdict.published == "Dow (2021): Salt of the Northern Sea and Its Early Trade"


def test_a_retraction_notice_in_the_collection_is_reported(checker: ReferenceChecker) -> None:
    stated = StatedReference("x", "Counting the elms of a city with small cameras", ("Chen, C.",))
    verdict = check(checker, stated)
    assert verdict.doc_id == "elms"
    assert verdict.retracted is not None
    assert verdict.retracted.startswith("Retraction:")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("B. Böhm, J. de la Cruz, and A. M. Ash. 2001. The Colour of Oak Trees: A Behavioural "
         "Study of Old Forests. Journal of Trees 12, 123–129.", FINE),
        ("Böhm B, de la Cruz J, Ash AM. The colour of oak trees: a behavioural study of old "
         "forests. J Trees. 2001;12:123-9.", FINE),
        ("Böhm et al. 2001. The Colour of Oak Trees: A Behavioural Study of Old Forests. J. Trees.",
         FINE),
        ("Böhm, de la Cruz and Ash, The colour of oak trees: a behavioural study of old forests, "
         "J. Trees 2001", FINE),
        ("Silva and Sato, The colour of oak trees: a behavioural study of old forests, "
         "J. Trees 2001", NOT_HELD),  # the parser finds no authors, so there is no evidence
        ("B. Böhm and A. Ash. 2001. The Colour of Oak Trees: A Behavioural Study of Old Forests. "
         "Journal of Trees 12, 123–129.", WRONG),
        ("P. Silva and Y. Sato. 2001. The Colour of Oak Trees: A Behavioural Study of Old Forests. "
         "Journal of Trees 12, 123–129.", NOT_FOUND),
        ("P. Silva and Y. Sato. 2001. Whales and their songs. Journal of Seas 12, 1–9.", NOT_HELD),
        ("", NOT_HELD),
    ],
)  # fmt: skip
def test_printed_references(checker: ReferenceChecker, text: str, name: str) -> None:
    verdict = check(checker, stated_from_text(text))
    assert verdict.name == name, verdict.reason


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ("Müller, Jörg", "Mueller, J.", True),
        ("van der Berg, Jan", "Berg, J. van der", True),
        ("Zhang, Wei", "Wei, Zhang", True),
        ("García Márquez, G.", "Márquez, Gabriel", True),
        ("Quinlan, J. Ross", "Quinlan, Ross", True),
        ("Isbell, Jr., Charles L.", "Isbell, Charles", True),
        ("0001, Jin Tian", "Tian, Jin", True),
        ("Smith, Bob", "Smith, Robert", True),
        ("Smith, Peter", "Smith, Jane", False),
        ("Silva, Petra", "Sato, Petra", False),
    ],
)
def test_names_of_one_person(ours: str, theirs: str, same: bool) -> None:
    assert same_person(ours, theirs) is same
    assert same_person(theirs, ours) is same


NAMES = st.lists(st.text("abcdeé ,.-", min_size=1, max_size=12), max_size=6, unique=True)


@given(NAMES, st.text(max_size=80))
def test_a_reference_agrees_with_itself(names: list[str], title: str) -> None:
    assert compare_authors(names, names).relation in ("same", "unknown", "other", "order")
    assert title_words(title.upper()) == title_words(title.upper())
    record = {**OAKS, "title": title, "authors": names, "doi": "10.5072/self"}
    checker = ReferenceChecker(pl.DataFrame([record], schema=dict(
        pl.DataFrame([OAKS]).schema), strict=False))  # fmt: skip
    stated = StatedReference("x", title, tuple(names), 2001, doi="10.5072/self")
    assert checker.check([stated])[0].name in (FINE, NOT_HELD, WRONG)


@given(st.text(max_size=300))
def test_any_text_gets_a_verdict(text: str) -> None:
    checker = ReferenceChecker(pl.DataFrame(RECORDS[:2], infer_schema_length=None))
    assert checker.check([stated_from_text(text)])[0].name in (FINE, WRONG, NOT_FOUND, NOT_HELD)
