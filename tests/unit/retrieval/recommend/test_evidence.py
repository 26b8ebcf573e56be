"""Evidence: matching words, never stems or function words; names of citing papers; reprints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.retrieval.index.making import build, write_collection

from citebed.collection import import_sources, open_collection
from citebed.retrieval.index.index import open_index
from citebed.retrieval.recommend.evidence import CitingPapers, MatchedTerms, group_reprints
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


def test_terms_of_feedback_are_spelled_as_in_the_documents(folder: Path) -> None:
    index = open_index(folder)
    terms = ("languag", "smooth", "which", "estim")
    ids = np.array([index.term_number(term) for term in terms])
    matched = MatchedTerms(index, ids, ["Which language?", "A language."])
    scores = np.array([[1.0, 2.0, 4.0, 0.5], [0, 0, 3.0, 0], [0, 0, 0, 0]])
    assert matched.needs_spelling(scores)
    assert matched.best_terms(scores[0]) == ("language",), "no word rather than a stem"
    assert matched.best_sentence(scores[0]) == 0
    matched.spell(["Smoothing which we use", "estimation"])
    assert not matched.needs_spelling(scores)
    assert matched.best_terms(scores[0]) == ("smoothing", "language", "estimation")
    assert matched.best_terms(scores[1]) is None, "only a function word"
    assert matched.best_terms(scores[2]) == ()
    assert matched.best_sentence(scores[2]) is None


def test_documents_that_only_function_words_match_are_left_out(folder: Path) -> None:
    found = recommend(folder, "Which of the languages do we use?", 10)
    assert [(each.rank, each.doc_id) for each in found] == [(1, "1"), (2, "2")]
    assert [set(each.terms) for each in found] == [{"languages", "use"}, {"languages"}]


def test_a_part_of_a_hyphenated_word_is_not_a_term(tmp_path: Path) -> None:
    documents = (
        {"doc_id": "1", "title": "Re-ranking of co-citations"},
        {"doc_id": "2", "title": "Re: co"},
    )
    build(write_collection(tmp_path / "c", documents))
    (found,) = recommend(tmp_path / "c", "We do re-ranking by co-citation.", model="bm25")
    assert (found.doc_id, set(found.terms)) == ("1", {"ranking", "citation"})


def test_no_model_shows_stems(folder: Path) -> None:
    for model in ("bm25+rm3", "bm25+rocchio(docs=1)", "kl+mixture"):
        for each in recommend(folder, "The language of a query.", model=model):
            assert not {"languag", "queri", "estim", "we", "which"} & set(each.terms)
            assert each.terms


def test_function_words_are_those_of_the_texts_language() -> None:
    assert "und" in function_words("Die Sprache der Anfragen ist nicht die der Dokumente, und das")
    assert "which" in function_words("The language of the queries is not that of the documents.")
    assert "which" in function_words("")


PAPER = """<doc><id>10.5072/{name}</id><title>{title}</title><contexts>
<context id="1"><s cites="1">Oaks grow in forests [1].</s></context></contexts>
<references><reference id="1">10.5072/oak</reference></references></doc>"""
BIB = """@misc{one, doi={10.5072/one}, title={On Firs}, author={Lee, Lea}, year=2005}
@misc{two, doi={10.5072/two}, title={On Elms}, author={Lee, Lea and Ray, Ron}, year=2006}
@misc{many, doi={10.5072/many}, title={On Oaks}, author={Lee, L. and Ray, R. and Moe, M.},
 year=2007}
@misc{oak, doi={10.5072/oak}, title={Oaks}, author={Ash, Ann}, year=2001}
"""
NAMED = (
    ("10.5072/one", None, "Lee (2005), On Firs"),
    ("10.5072/two", None, "Lee and Ray (2006), On Elms"),
    ("10.5072/many", None, "Lee et al. (2007), On Oaks"),
    ("10.5072/other", None, "On Limes"),
    ("10.5072/other", 2012, "On Limes (2012)"),
    ("oak", None, "Ash (2001), Oaks"),
    ("10.5072/oak", 2001, "Ash (2001), Oaks"),
    ("acl_2017/105", 2017, "acl_2017/105 (2017)"),
    ("acl_2017/105", None, "acl_2017/105"),
)


def test_citing_papers_by_name(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "refs.bib").write_text(BIB)
    titles = {"one": "On Firs", "two": "On Elms", "many": "On Oaks", "other": "On Limes"}
    for name, title in titles.items():
        (tmp_path / "in" / f"{name}.xml").write_text(PAPER.format(name=name, title=title))
    import_sources(tmp_path / "c", [tmp_path / "in"])
    papers = CitingPapers(open_collection(tmp_path / "c"))
    assert [papers.describe(paper, year) for paper, year, _ in NAMED] == [n for *_, n in NAMED]


def test_reprints_share_a_title_and_an_author() -> None:
    rows = [
        {"title": title, "authors": (author,)}
        for title, author in (
            ("Deep Learning for Search (Tutorial)", "Ash, A."),
            ("Editorial", "Ash, A."),
            ("Deep learning for search", "Birch, B."),
            ("DEEP LEARNING FOR SEARCH: extended abstract", "Ash, Ann"),
            ("Editorial", "Ash, A."),
        )
    ]
    assert group_reprints(rows) == [[0, 3], [1], [2], [4]]
