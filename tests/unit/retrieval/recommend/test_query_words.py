"""Added query words: other spellings, parts of compounds, authors."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.retrieval.index.making import build, write_collection

from citebed.collection import open_collection
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.recommend.query_words import AuthorNames, count_terms

TITLES = {
    "Odor and behavior of color-blind tumor cells": ["Müller, A."],
    "Modelling of fibre dialogues": ["Coase, Ronald", "Lee, B."],
    "Analysis of judgments and programs": ["Lee, C."],
    "vector four hour noise water": ["Lee, D.", "Ray, E."],
}
DOCUMENTS = [
    {"doc_id": str(number), "title": title, "authors": authors}
    for number, (title, authors) in enumerate(TITLES.items(), 1)
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("spelling")
    build(write_collection(folder, DOCUMENTS))
    return open_index(folder)


def words(index: Index, text: str) -> set[str]:
    return {index.terms[number] for number in count_terms(index, text)}


@pytest.mark.parametrize(
    ("british", "american"),
    [
        ("odour", "odor"), ("behaviour", "behavior"), ("colours", "color"), ("tumours", "tumor"),
        ("modelling", "modeling"), ("fibre", "fiber"), ("dialogue", "dialog"),
        ("judgement", "judgment"), ("programme", "program"),
    ],
)  # fmt: skip
def test_both_spellings_find_the_same(index: Index, british: str, american: str) -> None:
    for text in (british, american):
        assert count_terms(index, f"The {text} is new."), text


def test_other_words_stay_as_they_are(index: Index) -> None:
    for word in ("vector", "four", "hour", "noise", "water"):
        assert words(index, word) <= {"vector", "four", "hour", "nois", "water"}
        assert len(words(index, word)) == 1


def test_english_texts_keep_their_terms(index: Index) -> None:
    """Rankings of English texts were learned with all words."""
    found = count_terms(index, "noise noise and four hours")
    assert found == {index.term_number("nois"): 2, index.term_number("four"): 1,
                     index.term_number("hour"): 1}  # fmt: skip


def test_parts_of_compounds_and_compounds_of_a_part(tmp_path: Path) -> None:
    titles = ("Gesellschaft im Wandel", "Die Geschichte der Städte", "Gedächtnistheorien heute")
    documents = [{"doc_id": str(n), "title": t, "language": "de"} for n, t in enumerate(titles)]
    build(write_collection(tmp_path, documents), analyser="snowball(german)")
    german = open_index(tmp_path)
    text = "Das ist die Gesellschaftsgeschichte und nicht das Gedächtnis der Leute."
    found = {german.terms[number] for number in count_terms(german, text)}
    assert any(term.startswith("gesellschaft") for term in found)
    assert any(term.startswith("geschicht") for term in found)
    assert any(term.startswith("gedachtnistheori") for term in found)
    assert found.isdisjoint({"die", "das", "und", "der"})


def test_authors_that_a_text_names(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    build(write_collection(folder, DOCUMENTS))
    names = AuthorNames(open_collection(folder), open_index(folder))

    def found(text: str) -> dict[int, float]:
        docs, worth = names.find(text)
        return dict(zip(docs.tolist(), worth.tolist(), strict=True))

    assert found("As Coase argued, firms exist.") == {1: 1.0}
    assert found("Coase's theorem") == {1: 1.0}
    assert set(found("In Muellers Labor, nach Müllers Verfahren")) == {0}
    assert found("nobody is named, coase neither") == {}
    frequent = found("Lee showed it.")
    assert set(frequent) == {1, 2, 3}
    assert 0 < max(frequent.values()) < 0.3
