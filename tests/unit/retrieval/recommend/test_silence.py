"""What is shown of a learned ranking, on answers made by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.unit.retrieval.index.making import build, write_collection
from tests.unit.retrieval.ranking.test_subject import OFF_IT, ON_IT, TITLES

from citebed.collection import open_collection
from citebed.errors import CitebedError
from citebed.retrieval.execution.runner import Runner, RunOptions
from citebed.retrieval.feedback.base import TermWeights
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.query import Features, Query, Result
from citebed.retrieval.ranking.citation_need import Background
from citebed.retrieval.ranking.features import RAW, SIGNALS
from citebed.retrieval.ranking.ranker import Asking, shipped_ranker
from citebed.retrieval.ranking.ranking import _falling
from citebed.retrieval.recommend.abstention import Asks, NothingToAsk, Silence
from citebed.retrieval.search.searcher import Hits

SHORT = "query expansion"
FAR_LARGER = shipped_ranker().constants.far_larger
TERMS = 3
# Each clue counts once; a text asks where they come to 0.
ASKING = Asking(np.array([1.0, 0, 0, 0, 0, 1.0]), 0.0, np.array([1.0, 0.0]), 0.0, 0.5)
BEHIND = Background(np.array([0.3, 0, 0, 0]), np.array([0.1, 1, 1, 1]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("showing")
    titles = ["eggs, flour, butter", *TITLES, *TITLES]
    rows = [{"doc_id": str(number), "title": title} for number, title in enumerate(titles)]
    build(write_collection(folder, rows))
    return folder


def showing(
    folder: Path, model: str = "bm25+learned", *, is_known: bool = True, among: int = 10
) -> Silence:
    runner = Runner(
        open_collection(folder), open_index(folder), parse_pipeline(model), RunOptions()
    )
    vars(runner)["ranks"] = SimpleNamespace(
        has_probabilities=is_known, learned_among=among, constants=shipped_ranker().constants,
        asking=ASKING,
    )  # fmt: skip
    silence = Silence(runner)
    vars(silence)["_background"] = BEHIND
    return silence


def result(
    text: str,
    *probabilities: float,
    known: bool = True,
    static: float = 0.5,
    kind: float = 1.0,
    matched: int = TERMS,
) -> Result:
    """An answer whose documents are that similar and have so many of the text's terms."""
    docs = np.arange(len(probabilities))
    raw = np.zeros((len(docs), len(RAW)))
    raw[:, RAW.index("static")] = static
    shares = np.tile(np.arange(TERMS) < matched, (len(docs), 1)).astype(float)
    features = Features(docs, np.zeros((len(docs), len(SIGNALS))), raw, shares)
    query = Query(text, TermWeights(np.zeros(0, np.int64), *np.zeros((3, 0))))
    vectors = {"static": np.array([[kind, 0.0]], np.float32)}
    told = np.array(probabilities) if known else None
    hits = Hits(docs, docs[::-1].astype(float))
    return Result(query, hits, features, vectors, told, 0.03)


def odds(probability: float) -> float:
    return probability / (1 - probability)


def likely(found: Result) -> list[float]:
    assert found.probabilities is not None
    return [float(each) for each in found.probabilities]


@pytest.mark.parametrize(
    ("static", "kind", "asks"),
    [(0.3, 0.0, 0.0), (0.4, 0.0, 1.0), (0.4, -2.0, -1.0), (0.1, 1.0, -1.0), (0.9, 0.0, 6.0)],
)
def test_how_likely_a_text_asks_is_measured_by_the_background(
    folder: Path, static: float, kind: float, asks: float
) -> None:
    found = showing(folder).asking(result(ON_IT, 0.5, static=static, kind=kind))
    assert found.probability == pytest.approx(1 / (1 + np.exp(-asks)))
    assert found.is_silent == (asks < 0)


def test_what_hardly_asks_gets_no_answer_and_is_told_why(folder: Path) -> None:
    silence = showing(folder)
    for kind, static, why in ((0.5, 0.1, "without a good match"), (-3.0, 0.4, "no citation")):
        poor = result(ON_IT, 0.5, static=static, kind=kind)
        with pytest.raises(NothingToAsk, match=why):
            silence.shown(poor, None, tail=False)
        assert len(silence.shown(poor, 0, tail=False).hits.docs) == 1, "it is asked for"
        assert len(silence.shown(poor, None, tail=True, wanted=True).hits.docs) == 1


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("bm25+learned", result(SHORT, 0.5, static=0.1)),  # what somebody looks for
        ("bm25+learned", result(ON_IT, static=0.1)),  # all was left out
        ("bm25+learned", result(ON_IT, 0.5, static=0.1, known=False)),
        ("bm25+dense", result(ON_IT, 0.5, static=0.1)),
    ],
)
def test_where_nothing_was_learned_every_text_asks(folder: Path, model: str, found: Result) -> None:
    assert showing(folder, model).asking(found) == Asks(1.0)


def test_a_few_words_that_are_a_sentence_may_ask_for_nothing(folder: Path) -> None:
    silence = showing(folder)
    assert silence.asking(result("Thank you all.", 0.5, static=0.1)).is_silent
    for words in ("Thank you all", "Neural ranking.", ""):
        assert silence.asking(result(words, 0.5, static=0.1)) == Asks(1.0)


def test_an_index_without_a_background_answers_every_text(folder: Path) -> None:
    silence = showing(folder)
    vars(silence)["_background"] = None
    assert silence.asking(result(OFF_IT, 0.5, static=0.1)) == Asks(1.0)


def test_chances_are_lower_the_less_a_text_asks(folder: Path) -> None:
    found = result(ON_IT, 0.5, 0.2)
    assert likely(showing(folder).told(found, Asks(0.8))) == pytest.approx([0.4, 0.16])


def test_chances_are_higher_among_fewer_documents(folder: Path) -> None:
    """By the power that was learned; never lower, and none where there are far too few."""
    found, power = result(ON_IT, 0.5, 0.2), shipped_ranker().constants.of_size
    told = likely(showing(folder, among=15 * 10).told(found, Asks(1.0)))
    assert list(map(odds, told)) == pytest.approx([odds(0.5) * 10**power, odds(0.2) * 10**power])
    assert likely(showing(folder, among=2).told(found, Asks(1.0))) == pytest.approx([0.5, 0.2])
    assert showing(folder, among=10_000).told(found, Asks(1.0)) is found


def test_a_single_word_earns_no_more_than_one_in_ten(folder: Path) -> None:
    for matched, told in ((0, 0.1), (1, 0.1), (2, 0.5)):
        found = showing(folder).told(result(ON_IT, 0.5, 0.05, matched=matched), Asks(1.0))
        assert likely(found) == pytest.approx([told, 0.05])


def test_a_longer_list_changes_no_chance_of_the_first_ten() -> None:
    chances = np.array([0.2, 0.1, 0.3, *[0.05] * 7, 0.01, 0.6, 0.02])
    falling = [0.3, 0.3, 0.3, *[0.05] * 7, 0.05, 0.05, 0.02]
    for count in range(3, len(chances) + 1):
        assert _falling(chances[:count]).tolist()[:10] == falling[:count][:10]
    assert _falling(chances).tolist() == falling
    assert _falling(chances[:0]).tolist() == []


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
    german = "Die Suche nach Dokumenten ist nicht einfach, und die Modelle sind es auch nicht."
    assert "from English texts" in showing(folder).untold(german)
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
