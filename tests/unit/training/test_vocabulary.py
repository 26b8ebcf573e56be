"""Words of several fields, and the pieces of words that get no vector."""

from __future__ import annotations

import pytest

from citebed.retrieval.vectors.static_model import WordPieces
from citebed.training.texts import (
    CitingText,
    DocumentText,
    TrainingTexts,
    WordIds,
    choose_pieces,
    count_words,
    random_source,
)


def test_texts_of_a_small_field_count_more() -> None:
    large = [DocumentText(f"d{n}", "graph", "") for n in range(3)]
    large += [DocumentText(f"e{n}", "query query", "") for n in range(22)]
    texts = TrainingTexts([*large, DocumentText("g", "gene", "", field="x")], [])
    assert count_words(texts, 0) == ["query", "gene", "graph"]
    assert count_words(
        TrainingTexts([DocumentText("a", "b a", ""), DocumentText("b", "a", "")], []), 0
    ) == ["a", "b"]


def test_words_are_counted_in_documents_and_training_contexts() -> None:
    documents = [DocumentText("a", "One", "", field="x"), DocumentText("b", "Two", "", field="y")]
    parts = ("training", "development", "test")
    contexts = [CitingText("p", part, (1,), part) for part in parts]
    assert sorted(count_words(TrainingTexts(documents, contexts), 0)) == ["one", "training", "two"]


def test_every_word_can_be_cut_into_pieces() -> None:
    pytest.importorskip("tokenizers")
    rare = [f"{start}{end}" for start in ("brca", "cyp", "hox") for end in ("kinase", "ase", "in")]
    pieces = choose_pieces(["the", *rare], 1, 90)
    assert len(pieces) <= 90
    cut = WordPieces(pieces)
    assert all(cut.split(word) for word in (*rare, "zz9", "quite"))
    assert len(cut.split("brcakinase")) < len("brcakinase")
    assert choose_pieces(rare, 1, 0) == []


def test_rare_words_are_sometimes_cut() -> None:
    words = [f"w{number}" for number in range(10_000)] + ["treeh"]
    pieces = ["tree", "#h"]
    ids = WordIds(words, pieces)
    assert ids("treeh") == (10_000,)
    assert ids("treehh") == [10_001, 10_002, 10_002]
    assert WordIds(words, pieces, 0.0, random_source(1))("treeh") == (10_000,)
    always = WordIds(words, pieces, 1.0, random_source(1))
    assert [always(word) for word in ("w3", "treeh", "zzz")] == [(3,), [10_001, 10_002], []]
