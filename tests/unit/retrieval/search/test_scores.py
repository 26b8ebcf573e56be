"""Scores and rankings equal those of a slow version made of formulas and dicts."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.reference import search as twin
from tests.sampling import examples
from tests.unit.retrieval.index.making import build, section, write_collection
from tests.unit.retrieval.search.made import ONE_FIELD, index_of

from citebed.errors import CitebedError, UnknownName
from citebed.retrieval.index.index import open_index
from citebed.retrieval.index.layout import FIELDS
from citebed.retrieval.models import MODELS, model_of
from citebed.retrieval.search.fields import DEFAULT_FIELDS, FULL_TEXT, Fields, fields_of
from citebed.retrieval.search.searcher import Searcher

WORDS = st.lists(st.sampled_from("abcdefg"), max_size=9)
TITLES = st.lists(WORDS, min_size=1, max_size=8).filter(any)
QUERIES = st.lists(st.sampled_from("abcdefgz"), min_size=1, max_size=6)
ANY_LETTER = bool
"""Single letters count here."""


def assert_ranked_as(
    searcher: Searcher, query: list[str], expected: list[tuple[int, float]], k: int
) -> None:
    """The same scores in the same places; documents may only trade places where scores tie."""
    hits = searcher.search(searcher.query(" ".join(query), keep=ANY_LETTER), k)
    scores = dict(expected)
    assert len(hits.docs) == min(k, len(expected))
    np.testing.assert_allclose(
        hits.scores, [score for _, score in expected[:k]], rtol=2e-6, atol=2e-6
    )
    np.testing.assert_allclose(
        hits.scores, [scores[doc] for doc in hits.docs.tolist()], rtol=2e-6, atol=2e-6
    )


@pytest.mark.parametrize("model", twin.SCORERS)
@settings(max_examples=examples(25))
@given(titles=TITLES, query=QUERIES, k=st.integers(1, 9))
def test_scoring_everything_is_scoring_each(
    model: str, titles: list[list[str]], query: list[str], k: int
) -> None:
    scorer = twin.SCORERS[model]
    known = [word for word in query if any(word in title for title in titles)]
    # A model that gives a term no weight at all does not ask for it.
    assume(not model.startswith("okapi") or all(2 * df(w, titles) != len(titles) for w in known))
    assume("idf=plain" not in model or all(df(w, titles) != len(titles) for w in known))
    expected = twin.ranking(lambda doc: scorer(query, titles[doc], titles), query, titles)
    with TemporaryDirectory() as folder:
        index = index_of(Path(folder) / "index", [{"title": title} for title in titles])
        for prepared in (False, True):
            searcher = Searcher(index, model_of(model), ONE_FIELD)
            if prepared:
                searcher.prepare()
            assert_ranked_as(searcher, query, expected, k)


def df(word: str, docs: list[list[str]]) -> int:
    return sum(word in doc for doc in docs)


def test_the_twin_has_every_model() -> None:
    assert {name.partition("(")[0] for name in twin.SCORERS} | {"bm25f"} == set(MODELS)


FIELDED = st.lists(
    st.fixed_dictionaries({"title": WORDS, "abstract": WORDS, "keywords": WORDS}),
    min_size=1,
    max_size=6,
)


@settings(max_examples=examples(40))
@given(docs=FIELDED, query=QUERIES)
def test_bm25f(docs: list[dict[str, list[str]]], query: list[str]) -> None:
    weights = {"title": 2.0, "abstract": 0.5, "keywords": 1.0}
    words = [[word for field in weights for word in doc[field]] for doc in docs]
    expected = twin.ranking(
        lambda doc: twin.bm25f(query, docs[doc], docs, weights, 1.5, 0.75), query, words
    )
    with TemporaryDirectory() as folder:
        index = index_of(Path(folder) / "index", docs, tuple(weights))
        searcher = Searcher(index, model_of("bm25f(k1=1.5,b=0.75)"), Fields(weights))
        assert_ranked_as(searcher, query, expected, 10)


@settings(max_examples=examples(40))
@given(
    docs=FIELDED,
    query=QUERIES,
    model=st.sampled_from(["bm25(k1=0.9,b=0.4)", "kl(mu=10)", "cosine(tf=log,idf=lemur)"]),
)
def test_a_field_of_weight_two_is_a_text_written_twice(
    docs: list[dict[str, list[str]]], query: list[str], model: str
) -> None:
    words = [[*doc["title"] * 2, *doc["abstract"]] for doc in docs]
    assume(any(words))
    scorer = twin.SCORERS[model]
    expected = twin.ranking(lambda doc: scorer(query, words[doc], words), query, words)
    with TemporaryDirectory() as folder:
        index = index_of(Path(folder) / "index", docs, ("title", "abstract", "keywords"))
        searcher = Searcher(index, model_of(model), Fields({"title": 2, "abstract": 1}))
        assert_ranked_as(searcher, query, expected, 10)


def test_a_query_counts_its_words_and_leaves_out_single_letters(tmp_path: Path) -> None:
    index = index_of(tmp_path / "index", [{"title": ["tree", "x", "tree", "猫"]}, {"title": ["a"]}])
    searcher = Searcher(index, model_of("bm25"), ONE_FIELD)
    query = searcher.query("Tree x tree 猫 unknown, a TREE")
    assert [index.terms[number] for number in query.ids.tolist()] == ["tree", "猫"]
    assert query.weights.tolist() == [3, 1]
    assert query.df.tolist() == [1, 1]
    assert query.cf.tolist() == [2, 1]
    assert len(searcher.query("x a 7").ids) == 0
    assert len(searcher.query("x a 7", keep=bool).ids) == 2


def test_what_each_term_adds_sums_to_the_score(tmp_path: Path) -> None:
    docs = [{"title": list(text)} for text in ("abca", "bb", "cd", "", "")]
    index = index_of(tmp_path / "index", docs)
    for model in ("bm25", "cosine(tf=log)", "okapi"):
        searcher = Searcher(index, model_of(model), ONE_FIELD)
        query = searcher.query("a b c d b", keep=bool).finished(searcher.model, searcher.view.stats)
        hits = searcher.search(query, 4)
        shares = searcher.view.contributions(query.ids, hits.docs) * query.weights
        np.testing.assert_allclose(shares.sum(axis=1), hits.scores)
        assert (shares != 0).sum() == 3 + 1 + 2
        searcher.prepare()  # from here on by compiled code, whatever the order of documents
        for some in (hits.docs, np.array([4, 0, 2, 1, 3]), np.zeros(0, np.int64)):
            slow = searcher.view.contributions(query.ids, some)
            np.testing.assert_allclose(searcher.contributions(query.ids, some), slow)


# --- fields ---------------------------------------------------------------------------------


def test_fields_are_read_and_printed() -> None:
    assert fields_of("title=2, abstract,keywords").weights == {
        "title": 2.0,
        "abstract": 1.0,
        "keywords": 1.0,
    }
    assert str(fields_of("abstract,title=0.123456789")) == "title=0.123456789,abstract"
    assert str(fields_of("keywords=3,title=0")) == "keywords=3"
    assert fields_of(str(DEFAULT_FIELDS)) == DEFAULT_FIELDS


@given(
    st.dictionaries(
        st.sampled_from(["title", "abstract", "keywords", "fulltext", "citing"]),
        st.floats(1e-300, 1e300),
        min_size=1,
    )
)
def test_any_fields_read_back_as_they_print(weights: dict[str, float]) -> None:
    fields = Fields(weights)
    assert fields_of(str(fields)) == fields
    assert hash(fields_of(str(fields))) == hash(fields)


@pytest.mark.parametrize(
    "text", ["", " , ", "title=0", "title=-1", "title=nan", "title=inf", "title=", "title=2=3"]
)
def test_weights_that_are_invalid(text: str) -> None:
    with pytest.raises(CitebedError, match="field"):
        fields_of(text)


def test_fields_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'title'"):
        fields_of("titel")
    index = index_of(tmp_path / "c" / "index", [{"title": ["a"]}])
    with pytest.raises(CitebedError, match=r"no field 'abstract'.*It has: title"):
        Searcher(index, model_of("bm25"), Fields({"abstract": 1.0}))
    with pytest.raises(CitebedError, match=r"no field 'citing'.*citebed index .*--citing"):
        Searcher(index, model_of("bm25"), Fields({"citing": 1.0}))


def test_full_text_counts_by_default_where_there_is_any(tmp_path: Path) -> None:
    three = fields_of("title,abstract,keywords")
    assert DEFAULT_FIELDS.of(("title", "abstract", "keywords")) == three
    assert str(DEFAULT_FIELDS.of(FIELDS)) == f"title,abstract,keywords,fulltext={FULL_TEXT}"
    assert three.of(FIELDS) == three, "fields that are named are those that count"
    documents = [{"doc_id": "1", "title": "oak"}, {"doc_id": "2", "title": "elm"}]
    plain, whole = tmp_path / "plain", tmp_path / "whole"
    for folder, sections in ((plain, []), (whole, [section("2", "an oak stands by the elm")])):
        folder.mkdir()
        build(write_collection(folder, documents, sections=sections))
    hits = {}
    for folder in (plain, whole):
        searcher = Searcher(open_index(folder), model_of("bm25"))
        hits[folder] = searcher.search(searcher.query("oak"), 5)
    assert hits[plain].docs.tolist() == [0]
    assert hits[whole].docs.tolist() == [0, 1]
    named = Searcher(open_index(plain), model_of("bm25"), three)
    same = named.search(named.query("oak"), 5)
    assert same.scores.tolist() == hits[plain].scores.tolist(), "without full text nothing changes"
