"""What is shown of a learned ranking, on answers made by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.unit.retrieval.index.making import build, write_collection
from tests.unit.retrieval.recommending.test_subject import OFF_IT, ON_IT, TITLES

from citebed.collection import open_collection
from citebed.errors import CitebedError
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.index.index import open_index
from citebed.retrieval.learned.ranker import shipped_ranker
from citebed.retrieval.learned.ranking import _falling
from citebed.retrieval.pipeline import pipeline_of
from citebed.retrieval.query import Query, Result
from citebed.retrieval.recommending.silence import Silence
from citebed.retrieval.running.runner import Runner, RunOptions
from citebed.retrieval.search.exhaustive import Hits

SHORT = "query expansion"
FAR_LARGER = shipped_ranker().constants.far_larger
RECIPE = "eggs, flour, butter, sugar, milk"
OFF_IT_WITH_WORDS = f"Here {RECIPE} are mixed and baked."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("showing")
    titles = [RECIPE, *TITLES, *TITLES]
    rows = [{"doc_id": str(number), "title": title} for number, title in enumerate(titles)]
    build(write_collection(folder, rows))
    return folder


def showing(
    folder: Path, model: str = "bm25+learned", *, is_known: bool = True, among: int = 100
) -> Silence:
    runner = Runner(open_collection(folder), open_index(folder), pipeline_of(model), RunOptions())
    constants = shipped_ranker().constants
    vars(runner)["ranks"] = SimpleNamespace(
        has_probabilities=is_known, learned_among=among, constants=constants
    )
    return Silence(runner)


def result(text: str, *probabilities: float, known: bool = True) -> Result:
    docs = np.arange(len(probabilities))
    return made(text, Hits(docs, docs[::-1].astype(float)), np.array(probabilities), known)


def made(text: str, hits: Hits, probabilities: np.ndarray, known: bool = True) -> Result:
    query = Query(text, TermWeights(np.zeros(0, np.int64), *np.zeros((3, 0))))
    told = probabilities if known else None
    return Result(query, hits, probabilities=told, min_probability=0.03)


@pytest.mark.parametrize(
    ("text", "probabilities", "is_poor"),
    [
        (ON_IT, (0.5, 0.01), False),
        (ON_IT, (0.031, 0.01), False),
        (ON_IT, (0.029, 0.01), True),
        (OFF_IT, (0.39, 0.3), True),  # on another subject: more is needed
        (OFF_IT, (0.41, 0.3), False),
        (OFF_IT_WITH_WORDS, (0.21, 0.1), False),  # a document has most of the words that count
        (OFF_IT_WITH_WORDS, (0.19, 0.1), True),
        (SHORT, (0.001,), False),  # what somebody looks for
        (ON_IT, (), False),  # all was left out
    ],
)
def test_when_there_is_no_good_match(
    folder: Path, text: str, probabilities: tuple[float, ...], is_poor: bool
) -> None:
    found = result(text, *probabilities)
    assert showing(folder).is_poor(found) == is_poor
    assert not showing(folder, "bm25+dense").is_poor(found)


def test_silence_does_not_depend_on_how_many_are_asked_for(folder: Path) -> None:
    few = Hits(np.arange(1, 12), np.arange(11, 0.0, -1))
    more = Hits(np.append(few.docs, 0), np.append(few.scores, 0.0))  # the one with the words
    for hits in (few, more):
        found = made(OFF_IT_WITH_WORDS, hits, np.full(len(hits.docs), 0.3))
        assert showing(folder).is_poor(found)


def test_a_longer_list_changes_no_chance_of_the_first_ten() -> None:
    chances = np.array([0.2, 0.1, 0.3, *[0.05] * 7, 0.01, 0.6, 0.02])
    falling = [0.3, 0.3, 0.3, *[0.05] * 7, 0.05, 0.05, 0.02]
    for count in range(3, len(chances) + 1):
        assert _falling(chances[:count]).tolist()[:10] == falling[:count][:10]
    assert _falling(chances).tolist() == falling
    assert _falling(chances[:0]).tolist() == []


def test_without_chances_only_the_subject_counts(folder: Path) -> None:
    one = showing(folder, is_known=False)
    assert not one.is_poor(result(ON_IT, 0.0, known=False))
    assert one.is_poor(result(OFF_IT, 0.0, known=False))
    assert not one.is_poor(result(OFF_IT_WITH_WORDS, 0.0, known=False))


def test_a_list_ends_where_hardly_any_are_right(folder: Path) -> None:
    whole = result(ON_IT, 0.5, 0.1, 0.015, 0.0149, 0.001, 0.0)
    cut = showing(folder).without_tail(whole)
    assert cut.hits.docs.tolist() == [0, 1, 2]
    assert cut.is_unlikely(2), "what is shown is as likely as it was"
    small = showing(folder, among=FAR_LARGER * 15 + 1).without_tail(whole)
    assert len(small.hits.docs) == 5, "there chances are too low"
    for one, text in ((showing(folder), SHORT), (showing(folder, "bm25"), ON_IT)):
        all_of_it = result(text, 0.5, 0.0)
        assert one.without_tail(all_of_it) is all_of_it
    unknown = result(ON_IT, 0.5, 0.0, known=False)
    assert showing(folder, is_known=False).without_tail(unknown) is unknown


def test_why_no_chances_are_told(folder: Path) -> None:
    assert showing(folder).untold(ON_IT) == ""
    assert showing(folder, among=FAR_LARGER * 15).untold(ON_IT) == ""
    assert "not from a few words" in showing(folder).untold(SHORT)
    assert "far larger collection" in showing(folder, among=10_000).untold(ON_IT)
    assert "citebed train ranker" in showing(folder, is_known=False).untold(ON_IT)
    assert showing(folder, "bm25").untold(SHORT) == ""  # no one expects any


def test_a_least_chance_that_is_asked_for() -> None:
    whole = result(ON_IT, 0.5, 0.1, 0.02)
    assert whole.at_least(0.1).hits.docs.tolist() == [0, 1]
    assert not whole.at_least(0).is_unlikely(2)
    unknown = result(ON_IT, 0.5, 0.1, known=False)
    assert len(unknown.at_least(0).hits.docs) == 2
    with pytest.raises(CitebedError, match="leave out the least chance"):
        unknown.at_least(0.1)
