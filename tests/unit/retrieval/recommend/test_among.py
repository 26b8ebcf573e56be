"""Answers among some documents: the best of those, and what is said of them as without a filter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import citebed
from citebed.collection.filters import Filter
from citebed.errors import CitebedError
from citebed.retrieval.index.index import open_index
from citebed.retrieval.query import DocumentMasks, combine_masks
from citebed.retrieval.recommend.recommender import Recommender

TEXT = "Pseudo-relevance feedback adds terms from the documents that were found first."
MODELS = ("bm25", "bm25+learned", "bm25+dense", "bm25+rm3")


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("model", ["bm25", "bm25+learned", "bm25+dense"])
def test_the_filter_comes_before_the_ranking(demo_indexed: Path, model: str, warm: bool) -> None:
    one = Recommender(demo_indexed, None, model, warm=warm)
    everything = one.recommend_for(TEXT, 1000, min_probability=0)
    among = Filter(years="1990-2000")
    expected = [each for each in everything if 1990 <= (each.year or 0) <= 2000]
    found = one.recommend_for(TEXT, 5, among=among, min_probability=0)
    assert len(expected) > 5
    assert [each.doc_id for each in found] == [each.doc_id for each in expected[:5]]
    assert [each.score for each in found] == pytest.approx([each.score for each in expected[:5]])
    assert one.recommend(TEXT, 5, among=among, min_probability=0) == found


def test_what_is_said_of_a_document_is_the_same(demo_indexed: Path) -> None:
    one = Recommender(demo_indexed)
    whole = {each.doc_id: each for each in one.recommend_for(TEXT, 50)}
    found = one.recommend_for(TEXT, among=Filter(authors=("croft, w. bruce",)))
    assert len(found) > 1
    assert all("Croft, W. Bruce" in each.authors for each in found)
    assert all(whole[each.doc_id].terms == each.terms for each in found)
    assert all(whole[each.doc_id].strength == each.strength for each in found)


@pytest.mark.parametrize("model", MODELS)
def test_filters_and_dates_and_what_is_excluded(demo_indexed: Path, model: str) -> None:
    one = Recommender(demo_indexed, None, model)
    among = Filter(types=("article", "BOOK"))
    found = one.recommend_for(TEXT, 8, among=among, before="1999", exclude=["rocchio1971relevance"])
    kinds = {row["doc_id"]: row["type"] for row in one.collection.documents.to_dicts()}
    assert found
    assert {kinds[each.doc_id] for each in found} <= {"article", "book"}
    assert all((each.year or 0) <= 1999 for each in found)
    assert "rocchio1971relevance" not in {each.doc_id for each in found}


def test_an_empty_filter_is_none(demo_indexed: Path) -> None:
    one = Recommender(demo_indexed)
    assert one.recommend_for(TEXT, among=Filter()) == one.recommend_for(TEXT)


def test_where_nothing_is_let_through(demo_indexed: Path) -> None:
    found = Recommender(demo_indexed).recommend_for(TEXT, among=Filter(years="1800"))
    assert not found
    assert found.skipped == 1
    assert "without a match among these documents" in found.notes[0]
    assert not Recommender(demo_indexed).recommend_for(TEXT, among=Filter(doc_ids=frozenset()))


@pytest.mark.parametrize(
    ("among", "what"),
    [
        (Filter(venues=("sigi",)), "no document has the venue 'sigi'. Did you mean 'Proceedings"),
        (Filter(venues=("Journal of the AMC",)), "Did you mean 'Journal of the ACM'"),
        (Filter(types=("artcle",)), "no document has the type 'artcle'. Did you mean 'article'?"),
        (Filter(authors=("Croft, Bruc",)), "Did you mean 'Croft, W. Bruce'?"),
        (Filter(authors=("\x1b[2J",)), r"no document has the author '\\x1b\[2J'"),
    ],
)
def test_a_name_that_no_document_has(demo_indexed: Path, among: Filter, what: str) -> None:
    with pytest.raises(CitebedError, match=what.replace("?", r"\?").replace(".", r"\.")):
        Recommender(demo_indexed).recommend_for(TEXT, among=among)


def test_words_of_a_venue_or_an_author_are_enough(demo_indexed: Path) -> None:
    one = Recommender(demo_indexed)
    venues = {row.venue for row in one.recommend_for(TEXT, 20, among=Filter(venues=("sigir",)))}
    assert venues
    assert all("SIGIR" in venue for venue in venues)
    found = one.recommend_for(TEXT, 20, among=Filter(authors=("croft",)))
    assert found
    assert all(any("Croft" in name for name in row.authors) for row in found)


def test_masks_are_made_once(demo_indexed: Path) -> None:
    collection = citebed.open(demo_indexed)
    masks = DocumentMasks(collection, open_index(demo_indexed))
    first = masks.matching(Filter(years="1990-"))
    assert first is not None
    assert first is masks.matching(Filter(years="1990-"))
    assert masks.matching(None) is masks.matching(Filter()) is None
    assert int(first.sum()) == collection.documents.filter(year=1990).height + int(
        (collection.documents["year"] > 1990).sum()
    )


def test_both_masks() -> None:
    one, other = np.array([True, True, False]), np.array([False, True, True])
    assert combine_masks(None, None) is None
    assert combine_masks(one, None) is one
    assert combine_masks(None, one) is one
    found = combine_masks(one, other)
    assert found is not None
    assert found.tolist() == [False, True, False]


# --- Entries of a .bib file --------------------------------------------------------------------

BIB = """@article{mine, title={Relevance Feedback in Information Retrieval}, year={1971}}
@inproceedings{lavrenko2001relevance, title={Something else altogether}}
@misc{x, doi={10.1145/243199.243202}}
@misc{elsewhere, title={A paper that the collection does not have}}
"""


def test_only_what_is_in_a_bib_file(demo_indexed: Path, tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text(BIB)
    one = Recommender(demo_indexed)
    found = one.recommend_for(TEXT, 10, bib=tmp_path / "refs.bib", in_bib=True, min_probability=0)
    assert {each.doc_id for each in found} == {"rocchio1971relevance", "xu1996query"}
    assert all(each.in_bib for each in found)
    article = Filter(types=("incollection",))
    few = one.recommend_for(TEXT, 10, bib=[tmp_path / "refs.bib"], in_bib=True, among=article)
    assert {each.doc_id for each in few} <= {"rocchio1971relevance"}


def test_the_bib_files_of_a_draft_count(demo_indexed: Path, tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text(BIB)
    draft = tmp_path / "draft.tex"
    draft.write_text(rf"\begin{{document}}{TEXT} \cite{{x}}\bibliography{{refs}}\end{{document}}")
    found = Recommender(demo_indexed).recommend_for(draft, 10, in_bib=True, min_probability=0)
    assert {each.doc_id for each in found} == {"rocchio1971relevance"}  # the other is cited


def test_without_a_bib_file_nothing_can_be_in_it(demo_indexed: Path, tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match=r"no \.bib file to search"):
        Recommender(demo_indexed).recommend_for(TEXT, in_bib=True)
    (tmp_path / "empty.bib").write_text("")
    bib = tmp_path / "empty.bib"
    assert not Recommender(demo_indexed).recommend_for(
        TEXT, bib=bib, in_bib=True, min_probability=0
    )
