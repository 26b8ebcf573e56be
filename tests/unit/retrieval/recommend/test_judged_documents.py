"""Feedback on documents: rejected ones never return, accepted ones move the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.unit.retrieval.index.making import build, write_collection

import citebed
from citebed.retrieval.recommend.recommendations import Recommendation
from citebed.retrieval.recommend.recommender import Recommender
from citebed.retrieval.search.feedback import Judged, Moving, moved_vectors
from citebed.retrieval.vectors.vectors import DocumentVectors, quantise

TEXT = "Pseudo-relevance feedback adds terms from the documents that were found first."
MODELS = ("bm25", "bm25+learned", "bm25+dense", "bm25+rm3")
ROCCHIO, LAVRENKO = "rocchio1971relevance", "lavrenko2001relevance"


def ids(found: Iterable[Recommendation]) -> list[str]:
    return [each.doc_id for each in found]


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_the_others_are_ranked_again(demo_indexed: Path, model: str, warm: bool) -> None:
    one = Recommender(demo_indexed, None, model, warm=warm)
    before = one.recommend_for(TEXT, 8)
    after = one.recommend_for(TEXT, 8, relevant=[ROCCHIO], nonrelevant=[LAVRENKO])
    assert {ROCCHIO, LAVRENKO} <= set(ids(before))
    assert LAVRENKO not in ids(after)
    # An accepted paper stays, and displaces no other.
    assert ids(after)[0] == ROCCHIO
    assert len(after) == 9
    assert [each.rank for each in after] == list(range(1, 10))
    kept = [name for name in ids(before) if name in ids(after)]
    assert ids(after) != kept + [name for name in ids(after) if name not in kept]


@pytest.mark.parametrize("model", MODELS)
def test_warm_and_cold_are_the_same(demo_indexed: Path, model: str) -> None:
    cold, warm = (Recommender(demo_indexed, None, model, warm=warm) for warm in (False, True))
    for relevant, nonrelevant in (([ROCCHIO], []), ([], [LAVRENKO]), ([ROCCHIO], [LAVRENKO])):
        left, right = (
            one.recommend_for(TEXT, 8, relevant=relevant, nonrelevant=nonrelevant)
            for one in (cold, warm)
        )
        assert ids(left) == ids(right)
        assert [each.score for each in left] == pytest.approx([each.score for each in right])


def test_both_doors_of_a_recommender(demo_indexed: Path) -> None:
    one = Recommender(demo_indexed)
    left = one.recommend(TEXT, relevant=[ROCCHIO], nonrelevant=[LAVRENKO])
    assert left == one.recommend_for(TEXT, relevant=[ROCCHIO], nonrelevant=[LAVRENKO])


def test_a_document_goes_by_any_of_its_names(demo_indexed: Path) -> None:
    one = Recommender(demo_indexed)
    expected = one.recommend_for(TEXT, relevant=["xu1996query"])
    for name in ("10.1145/243199.243202", "https://doi.org/10.1145/243199.243202"):
        assert one.recommend_for(TEXT, relevant=[name]) == expected
    found = one.recommend_for(TEXT, relevant=["nobody's"], nonrelevant=["\x1bx"])
    assert found == one.recommend_for(TEXT)
    assert "feedback ignored for unknown documents" in found.notes[0]


def test_what_is_said_to_be_both_is_wrong(demo_indexed: Path) -> None:
    one = Recommender(demo_indexed)
    both = one.recommend_for(TEXT, relevant=[ROCCHIO], nonrelevant=[ROCCHIO])
    assert both == one.recommend_for(TEXT, nonrelevant=[ROCCHIO])


def test_reasons_are_words_of_the_text(demo_indexed: Path) -> None:
    found = Recommender(demo_indexed).recommend_for(TEXT, relevant=[ROCCHIO])
    words = set(TEXT.lower().replace("-", " ").replace(".", "").split())
    assert {word for each in found for word in each.terms} <= words


def test_a_text_that_somebody_found_something_for_is_answered(demo_indexed: Path) -> None:
    one = Recommender(demo_indexed)
    thanks = "We thank the anonymous reviewers for their helpful comments on feedback and terms."
    assert not one.recommend_for(thanks)
    assert one.recommend_for(thanks, relevant=[ROCCHIO])


def test_among_some_documents(demo_indexed: Path) -> None:
    among = citebed.collection.filters.Filter(years="1990-")
    found = Recommender(demo_indexed).recommend_for(TEXT, 6, among=among, relevant=[ROCCHIO])
    assert len(found) == 6  # the accepted paper is from 1971, re-ranks the others and is not shown
    assert all((each.year or 0) >= 1990 for each in found)


def test_what_is_cited_already_moves_the_others_and_stays_out(demo_indexed: Path) -> None:
    one = Recommender(demo_indexed)
    cited = f"{TEXT} \\cite{{{ROCCHIO}}}"
    found = one.recommend_for(cited, 8, relevant=[ROCCHIO])
    assert ROCCHIO not in ids(found)
    assert len(found) == 8


# --- Several passages, other editions -----------------------------------------------------------


def test_of_several_passages_each_is_said_of_the_likest(demo_indexed: Path) -> None:
    one = Recommender(demo_indexed)
    other = "Test collections are built from pools of judged documents."
    alone = one.recommend_for([TEXT, other], 5)
    found = one.recommend_for([TEXT, other], 5, relevant=[ROCCHIO])
    first, second = ([each.doc_id for each in found if each.passage == number] for number in (1, 2))
    assert first[0] == ROCCHIO
    assert second == [each.doc_id for each in alone if each.passage == 2]
    gone = one.recommend_for([TEXT, TEXT + " Again."], 5, nonrelevant=[LAVRENKO])
    assert LAVRENKO not in ids(gone)


@pytest.fixture(scope="module")
def editions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def document(name: str, title: str, author: str = "Ash, Ann") -> dict[str, object]:
        return {"doc_id": name, "title": title, "authors": [author]}

    folder = tmp_path_factory.mktemp("editions") / "c"
    documents: Sequence[dict[str, object]] = (
        document("oak-1", "Oak trees in old forests"),
        document("oak-2", "Oak trees in old forests (tutorial)"),
        document("elm", "Elms in forests", "Birch, Bo"),
        document("fir", "Forests of firs", "Chen, Chi"),
    )
    write_collection(folder, documents)
    build(folder)
    return folder


@pytest.mark.parametrize("model", ["bm25", "bm25+learned"])
def test_no_other_edition_comes_back(editions: Path, model: str) -> None:
    one = Recommender(editions, None, model)
    text = "Oak trees grow in old forests"
    assert "oak-2" in ids(one.recommend_for(text, 9, nonrelevant=["elm"])) or "oak-1" in ids(
        one.recommend_for(text, 9, nonrelevant=["elm"])
    )
    assert set(ids(one.recommend_for(text, 9, nonrelevant=["oak-1"]))) == {"elm", "fir"}
    assert set(ids(one.recommend_for(text, 9, nonrelevant=["oak-2"]))) == {"elm", "fir"}


def test_how_vectors_move() -> None:
    rows = np.array([[1, 0, 0], [0, 1, 0]], np.float32)
    stored = np.array([[0, 0, 1], [0, 1, 0], [0, 0, 0]], np.float32)
    documents = DocumentVectors(*quantise(stored), fingerprint="", name="")
    moving = Moving(towards=1.0, away=0.5)
    judged = Judged(np.array([0, 2]), np.array([1]), moving)  # of the last nothing is known
    moved = moved_vectors(rows, documents, judged)
    expected = np.array([1, -0.5, 1]) / np.linalg.norm([1, -0.5, 1])
    assert moved[0] == pytest.approx(expected)
    assert moved[1] == pytest.approx(rows[1])  # a sentence is as it was
    assert moving.less(1) == moving
    assert (moving.less(2).towards, moving.less(2).away) == (0.25, 0.125)
