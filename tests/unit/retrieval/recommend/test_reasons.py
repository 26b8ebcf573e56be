"""Reasons are words of the text, never stems nor words that only hold it together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.retrieval.index.making import build, write_collection

from citebed.collection import open_collection
from citebed.retrieval.index.index import open_index
from citebed.retrieval.recommend.abstention import Languages
from citebed.retrieval.recommend.explaining import Reason, Reasons
from citebed.retrieval.recommend.recommender import recommend
from citebed.text.words import function_words

DOCUMENTS = (
    {"doc_id": "1", "title": "Languages of queries", "abstract": "Smoothing which we use"},
    {"doc_id": "2", "title": "Which languages we smooth", "keywords": ["estimation"]},
    {"doc_id": "3", "title": "Which of them"},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_collection(tmp_path_factory.mktemp("reasons") / "c", DOCUMENTS)
    build(folder)
    return folder


def test_terms_of_feedback_are_spelled_as_the_documents_have_them(folder: Path) -> None:
    index = open_index(folder)
    terms = ("languag", "smooth", "which", "estim")
    ids = np.array([index.term_number(term) for term in terms])
    reasons = Reasons(index, ids, ["Which language?", "A language."], frozenset(("which",)))
    shares = np.array([[1.0, 2.0, 4.0, 0.5], [0, 0, 3.0, 0], [0, 0, 0, 0]])
    assert reasons.unspelled(shares)
    assert reasons.why(shares[0]) == Reason(("language",), 0), "in doubt no word, but no stem"
    reasons.spell(["Smoothing which we use", "estimation"])
    assert not reasons.unspelled(shares)
    assert reasons.why(shares[0]) == Reason(("smoothing", "language", "estimation"), 0)
    assert reasons.why(shares[1]) is None
    assert reasons.why(shares[2]) == Reason((), None)


def test_what_only_function_words_find_is_no_answer(folder: Path) -> None:
    found = recommend(folder, "Which of the languages do we use?", 10)
    assert [(each.rank, each.doc_id) for each in found] == [(1, "1"), (2, "2")]
    assert [set(each.terms) for each in found] == [{"languages", "use"}, {"languages"}]


def test_what_a_hyphen_cut_off_is_no_reason(tmp_path: Path) -> None:
    documents = (
        {"doc_id": "1", "title": "Re-ranking of co-citations"},
        {"doc_id": "2", "title": "Re: co"},
    )
    build(write_collection(tmp_path / "c", documents))
    (found,) = recommend(tmp_path / "c", "We do re-ranking by co-citation.", model="bm25")
    assert (found.doc_id, set(found.terms)) == ("1", {"ranking", "citation"})


def test_no_stem_is_a_reason_whatever_the_model(folder: Path) -> None:
    for model in ("bm25+rm3", "bm25+rocchio(docs=1)", "kl+mixture"):
        for each in recommend(folder, "The language of a query.", model=model):
            assert not {"languag", "queri", "estim", "we", "which"} & set(each.terms)
            assert each.terms


# --- Languages ----------------------------------------------------------------------------------

GERMAN = "Die Sprache der Anfragen ist nicht die der Dokumente, und das wird von uns gezeigt."
ENGLISH = "The language of the queries is not that of the documents, and we show this here."


def languages(folder: Path, *titles: str, language: str | None = None) -> Languages:
    documents = [
        {"doc_id": str(number), "title": title, "language": language}
        for number, title in enumerate(titles)
    ]
    write_collection(folder, documents)
    build(folder)
    return Languages(open_collection(folder), open_index(folder))


def test_a_text_in_a_language_that_the_collection_lacks(tmp_path: Path) -> None:
    english = languages(tmp_path / "en", "The Language of Queries", "A Study of the Words")
    assert english.codes == {"en"}
    assert english.foreign(GERMAN) == "German"
    assert english.foreign(ENGLISH) == ""
    german = languages(tmp_path / "de", "Die Sprache der Anfragen", "Eine Studie von den Worten")
    assert german.codes == {"de"}
    assert german.foreign(ENGLISH) == "English"
    assert german.foreign(GERMAN) == ""


def test_a_collection_of_several_languages_answers_in_all(tmp_path: Path) -> None:
    both = languages(tmp_path, "The Language of Queries", "Die Sprache der Anfragen")
    assert both.codes == {"en", "de"}
    assert both.foreign(GERMAN) == both.foreign(ENGLISH) == ""
    assert both.foreign("Les mots de la langue sont dans les documents que nous avons.") == "French"


def test_a_collection_that_does_not_tell_its_language_is_asked(tmp_path: Path) -> None:
    unknown = languages(tmp_path / "none", "BM25", "Word2vec")
    assert unknown.codes == frozenset()
    assert unknown.foreign(GERMAN) == unknown.foreign(ENGLISH) == ""
    stated = languages(tmp_path / "stated", "BM25", "Word2vec", language="ngerman")
    assert stated.codes == {"de"}
    assert stated.foreign(ENGLISH) == "English"


def test_function_words_are_those_of_the_text() -> None:
    assert "und" in function_words(GERMAN)
    assert "which" in function_words(ENGLISH)
    assert "which" in function_words("")
