"""Words of several fields, and the pieces of those that are left out."""

from __future__ import annotations

from citebed.retrieval.vectors.static_model import WordPieces
from citebed.training.pairs import generator
from citebed.training.prepared import CitingText, DocumentText, TrainingTexts
from citebed.training.vocabulary import WordIds, pieces_for, texts_by_field, vocabulary


def test_texts_of_a_small_field_count_more() -> None:
    large = ["graph"] * 3 + ["query query"] * 22
    assert vocabulary([large, ["gene"], []]) == ["query", "gene", "graph"]
    assert vocabulary([["b a", "a"]]) == ["a", "b"]


def test_words_are_counted_in_documents_and_what_is_learned_from() -> None:
    documents = [DocumentText("a", "One", "", field="x"), DocumentText("b", "Two", "", field="y")]
    parts = ("training", "development", "test")
    said = [CitingText("p", part, (1,), part) for part in parts]
    assert texts_by_field(TrainingTexts(documents, said), 0) == [["One"], ["Two", "training"]]


def test_every_word_can_be_cut_into_pieces() -> None:
    rare = [f"{start}{end}" for start in ("brca", "cyp", "hox") for end in ("kinase", "ase", "in")]
    pieces = pieces_for(["the", *rare], 1, 90)
    assert len(pieces) <= 90
    cut = WordPieces(pieces)
    assert all(cut.split(word) for word in (*rare, "zz9", "quite"))
    assert len(cut.split("brcakinase")) < len("brcakinase")
    assert pieces_for(rare, 1, 0) == []


def test_rare_words_are_sometimes_cut() -> None:
    words = [f"w{number}" for number in range(10_000)] + ["treeh"]
    ids = WordIds(words, ["tree", "#h"])
    assert ids("treeh") == (10_000,)
    assert ids("treehh") == [10_001, 10_002, 10_002]
    assert ids.sometimes_cut(0.0, generator(1))("treeh") == (10_000,)
    always = ids.sometimes_cut(1.0, generator(1))
    assert [always(word) for word in ("w3", "treeh", "zzz")] == [(3,), [10_001, 10_002], []]
