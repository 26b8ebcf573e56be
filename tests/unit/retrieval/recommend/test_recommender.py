"""Recommending: the right documents for the right reasons, and nothing that was left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from tests.unit.retrieval.index.making import build, write_collection

import citebed
from citebed.collection import open_collection
from citebed.collection.tables import QUERIES
from citebed.errors import CitebedError
from citebed.retrieval.execution.runner import RunOptions, run_queries
from citebed.retrieval.index.index import open_index
from citebed.retrieval.pipeline import parse_pipeline
from citebed.retrieval.recommend.recommendations import Recommendation
from citebed.retrieval.recommend.recommender import Recommender, recommend
from citebed.retrieval.recommend.skipped_passages import PassageSkipped
from citebed.retrieval.search.fields import fields_of
from citebed.retrieval.search.searcher import Searcher

DOCUMENTS = (
    {
        "doc_id": "oak",
        "title": "Oak trees",
        "abstract": "Growing in forests",
        "authors": ["Ash, Ann", "Birch, Bo"],
        "year": 2001,
        "venue": "J. of Trees",
        "doi": "10.5072/oak",
    },
    {"doc_id": "elm", "title": "Elms grow in forests", "year": 2005},
    {"doc_id": "sea", "title": "The salt of the sea", "year": 2010},
    {"doc_id": "bare"},
)
TEXT = "Nobody knows forests. The oak's growth is slow, as are oaks. Salt is another matter."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recommend") / "c"
    write_collection(folder, DOCUMENTS)
    build(folder)
    return folder


def recommender(folder: Path, pipeline: str = "bm25", **options: Any) -> Recommender:
    return Recommender(open_collection(folder), open_index(folder), pipeline, **options)


def ids(found: Sequence[Recommendation]) -> list[str]:
    return [each.doc_id for each in found]


def test_documents_with_their_reasons(folder: Path) -> None:
    first, *others = recommender(folder).recommend(TEXT)
    assert (first.rank, first.doc_id, first.title) == (1, "oak", "Oak trees")
    assert (first.authors, first.year) == (("Ash, Ann", "Birch, Bo"), 2001)
    assert (first.venue, first.doi) == ("J. of Trees", "10.5072/oak")
    # Twice in the text, and in one document only; then a word of two; ``grow`` is not ``growth``.
    assert first.terms == ("oak's", "forests")
    assert first.sentence == "The oak's growth is slow, as are oaks."
    assert first.score > others[0].score > 0
    assert {each.doc_id: (each.terms, each.sentence) for each in others} == {
        "elm": (("forests",), "Nobody knows forests."),
        "sea": (("salt",), "Salt is another matter."),
    }


def test_at_most_six_words_are_reasons(tmp_path: Path) -> None:
    words = "alder beech cedar dogwood elder fir gorse"
    write_collection(tmp_path, [{"doc_id": "a", "title": words}, {"doc_id": "b", "title": "fir"}])
    build(tmp_path)
    first, *_ = recommend(tmp_path, f"{words} cedar beech beech")
    assert first.terms == ("beech", "cedar", "alder", "dogwood", "elder", "gorse")


def test_warm_and_cold_are_the_same(folder: Path) -> None:
    cold, warm = recommender(folder), recommender(folder, warm=True)
    for text in (TEXT, "forests", "salt of oaks"):
        assert cold.recommend(text) == warm.recommend(text)
        assert cold.recommend(text, before="2004") == warm.recommend(text, before="2004")


def test_what_is_left_out(folder: Path) -> None:
    one = recommender(folder)
    # A word of one document weighs more than a word of two.
    assert ids(one.recommend(TEXT, exclude=["oak", "unknown"])) == ["sea", "elm"]
    assert ids(one.recommend(TEXT, before="2004-12")) == ["oak"]
    assert ids(one.recommend(TEXT, before="2004-12", exclude=["oak"])) == []
    with pytest.raises(CitebedError, match="is not a date"):
        one.recommend(TEXT, before="soon")


@pytest.mark.parametrize("model", ["bm25", "bm25+learned", "bm25+dense"])
def test_where_all_is_left_out_nothing_is_found(folder: Path, model: str) -> None:
    text = "Oaks and elms grow slowly in old forests beside the salt of the sea."
    assert recommender(folder, model).recommend(text, before="1950", exclude=["bare"]) == []


@pytest.mark.parametrize("least", [float("nan"), -0.1, 5])
def test_the_least_chance_is_one(folder: Path, least: float) -> None:
    with pytest.raises(CitebedError, match="expected a number from 0 to 1"):
        recommender(folder, "bm25+learned").recommend(TEXT, min_probability=least)


def test_unknown_options_are_an_error(folder: Path) -> None:
    with pytest.raises(TypeError, match="'beforee'"):
        recommender(folder).recommend_for(TEXT, beforee="2004")


def test_how_many(folder: Path) -> None:
    one = recommender(folder)
    assert len(one.recommend(TEXT, 1)) == 1
    assert len(one.recommend(TEXT, 10**9)) == 3
    assert one.recommend(TEXT, 0) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "has no words"),
        ("[12] … \0 !", "has no words"),
        ("the of a x 7", "only stop words"),
    ],
)
def test_nothing_to_ask_with(folder: Path, text: str, what: str) -> None:
    with pytest.raises(PassageSkipped, match=what):
        recommender(folder).recommend(text)


def test_many_texts_in_a_small_collection_wait_for_no_compiler(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Searcher, "prepare", lambda _: pytest.fail("a minute of compiling"))
    found = recommender(folder).recommend_for([TEXT] * 40)
    assert len(found.passages) == 40


@pytest.mark.parametrize("text", ["quux Überraschung", "a" * 100_000])
def test_a_text_of_which_no_word_is_in_the_index_is_a_note(folder: Path, text: str) -> None:
    found = recommender(folder).recommend(text)
    assert len(found) == 0
    assert found.notes[0].startswith("skipped 1 passage without a word in the index")


def test_a_megabyte_of_text(folder: Path) -> None:
    text = " ".join(f"word{n % 5000} oak, forests." for n in range(50_000))
    found = recommender(folder).recommend(text)
    assert ids(found) == ["oak", "elm"]
    assert found[0].terms == ("oak", "forests")


def test_fields_and_models(folder: Path) -> None:
    titles = recommender(folder, fields=fields_of("title"))
    assert titles.recommend("forests")[0].doc_id == "elm"
    for model in ("bm25f", "okapi", "cosine(tf=log)", "kl", "ql", "bm25+rocchio(docs=1)", "kl+rm3"):
        assert recommender(folder, model).recommend(TEXT)[0].doc_id == "oak"
    with pytest.raises(CitebedError, match="needs judgements, which recommend does not have"):
        recommender(folder, "bm25+rm3(from=x.qrels)")


def test_a_document_that_only_feedback_asked_for_has_no_sentence(folder: Path) -> None:
    found = recommender(folder, "bm25+rocchio(docs=1)").recommend("Oak trees. And more.")
    reasons = {each.doc_id: (each.terms, each.sentence) for each in found}
    assert reasons["oak"][1] == "Oak trees."
    assert set(reasons["elm"][0]) == {"grow", "forests"}, "words, not stems"
    assert reasons["elm"][1] == ""


def test_a_document_that_is_gone(tmp_path: Path) -> None:
    write_collection(tmp_path, DOCUMENTS)
    build(tmp_path)
    write_collection(tmp_path, DOCUMENTS[1:])
    found = recommend(tmp_path, "oak", min_probability=0)
    assert "oak" not in {each.doc_id for each in found}
    assert any("in the index but no longer in the collection" in note for note in found.notes)
    assert recommend(tmp_path, "elms", model="bm25")[0].doc_id == "elm"


def test_the_public_names(folder: Path) -> None:
    assert citebed.recommend(folder, "oak", 1)[0].doc_id == "oak"
    assert citebed.Recommender is Recommender


# --- the second stage -------------------------------------------------------------------------


class Letters:
    """An encoder that counts letters: its cosine can be worked out by hand."""

    name, fingerprint, runtime, dimensions = "letters", "0" * 64, "none", 26
    loaded = 0

    def encode(self, texts: Sequence[str], **_: Any) -> np.ndarray:
        counts = [[text.lower().count(chr(97 + n)) for n in range(26)] for text in texts]
        return np.array(counts, np.float32).reshape(len(texts), 26)


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> type[Letters]:
    def load(name: str) -> Letters:
        assert name == "letters"
        Letters.loaded += 1
        return Letters()

    monkeypatch.setattr("citebed.retrieval.rerank.load_reranker", load)
    monkeypatch.setattr(Letters, "loaded", 0)
    return Letters


PLAIN = (
    {"doc_id": "1", "title": "oak aaa"},
    {"doc_id": "2", "title": "oak bbb zzz zzz"},
    {"doc_id": "3", "title": "oak bbb"},
    {"doc_id": "4", "title": "elm"},
)
"""By words ``oak`` asks for 1, 3, 2 (the shorter first, of equals the later); by letters of
``oak bbb`` the order is 3, 1, 2."""


@pytest.mark.parametrize("way", ["rerank", "sum", "rrf", "interpolate"])
def test_a_second_stage(tmp_path: Path, letters: type[Letters], way: str) -> None:
    folder = write_collection(tmp_path, PLAIN)
    build(folder)
    pipeline = parse_pipeline(f"bm25+{way}(with=letters,top=2)")
    collection, index = open_collection(folder), open_index(folder)
    queries = _queries({"b": "oak", "a": "oak aaa", "none": "quux"})
    plain = run_queries(collection, index, queries, parse_pipeline("bm25"), RunOptions())
    run = run_queries(collection, index, queries, pipeline, RunOptions())
    assert run.table["query_id"].to_list() == ["b", "b", "a", "a"]
    assert run.table["rank"].to_list() == [1, 2, 1, 2]
    first = plain.table.filter(rank=1)["doc_id"].to_list()
    assert first == ["3", "1"]
    assert set(run.table["doc_id"][:2]) == {"1", "3"}
    scores = run.table["score"].to_list()
    assert scores[0] >= scores[1]
    assert scores[2] > scores[3]
    assert run.table["doc_id"][2] == "1"
    assert run.facts["encoder"] == {"name": "letters", "fingerprint": "0" * 64, "runtime": "none"}
    assert letters.loaded == 1
    short = run_queries(collection, index, queries, pipeline, RunOptions(depth=1)).table
    assert short.equals(run.table.filter(pl.col("rank") == 1)), "the stage orders no fewer"
    if way == "rerank":  # oak and oak aaa: (1·4 + 1 + 1)/(√3·√18) against (1 + 1 + 1)/(√3·√12)
        assert scores[0] == pytest.approx(6 / np.sqrt(3 * 18))
        assert run.table["doc_id"][0] == "1"


def _queries(texts: dict[str, str]) -> pl.DataFrame:
    rows = [{**dict.fromkeys(QUERIES), "query_id": n, "text": t} for n, t in texts.items()]
    return pl.DataFrame(rows, schema=QUERIES)


def test_recommending_with_a_second_stage(tmp_path: Path, letters: type[Letters]) -> None:
    folder = write_collection(tmp_path, PLAIN)
    build(folder)
    one = recommender(folder, "bm25+rerank(with=letters,top=3)")
    for _ in range(3):
        found = one.recommend("oak")
        assert [each.doc_id for each in found] == ["1", "3", "2"]
        assert [each.rank for each in found] == [1, 2, 3]
        assert found[0].terms == ("oak",)
    assert ids(one.recommend("oak", 1)) == ["1"]
    assert ids(one.recommend("oak", exclude=["1"])) == ["3", "2"]
    assert letters.loaded == 1, "an encoder is loaded once, not for every text"


def test_an_encoder_that_there_is_not(folder: Path) -> None:
    with pytest.raises(CitebedError, match="nonsense"):
        recommender(folder, "bm25+nonsense")
    one = recommender(folder, "bm25+rerank(with=nonsense)")
    with pytest.raises(CitebedError, match="nonsense"):
        one.recommend(TEXT)


class Reader(Letters):
    """Keeps what it was given to read."""

    read: ClassVar[list[str]] = []

    def encode(self, texts: Sequence[str], **_: Any) -> np.ndarray:
        self.read.extend(texts)
        return super().encode(texts)


@pytest.mark.parametrize(
    ("options", "read"),
    [
        ("", ["oaks [3] grow", "Oak On oaks"]),
        (",keywords=yes,query=clean", ["oaks grow", "Oak On oaks wood, leaf"]),
    ],
)
def test_what_a_second_stage_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, read: list[str]
) -> None:
    """As in ACM-CR the context as it is, title and abstract; the rest is an option."""
    monkeypatch.setattr("citebed.retrieval.rerank.load_reranker", lambda _: Reader())
    monkeypatch.setattr(Reader, "read", [])
    words = {"title": "Oak", "abstract": "On oaks", "keywords": ["wood", "leaf"]}
    folder = write_collection(tmp_path, [{"doc_id": "1", **words}])
    build(folder)
    recommender(folder, f"bm25+rerank(with=letters{options})").recommend("oaks [3] grow")
    assert Reader.read == read
