"""Languages of short texts, their function words, routine sentences, and sentence ends."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from citebed.text.sentences import split_sentences
from citebed.text.words import function_words, function_words_of, is_routine, text_language

AUTHORS = Path(__file__).parents[3] / "bench" / "authors"


def rows(name: str) -> list[list[str]]:
    with (AUTHORS / name).open(encoding="utf-8") as lines:
        return list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_the_language_of_single_sentences() -> None:
    texts = [(code, text) for code, _, text in rows("sentences.tsv") if len(code) == 2]
    wrong = [text for code, text in texts if text_language(text) != code]
    assert len(wrong) <= 1, wrong


def test_capitalised_words_inside_german_sentences_are_nouns() -> None:
    text = "Das Sein des Daseins ist nach Ansicht der Autoren und für Sie nicht seine Zeit."
    ignored = function_words(text)
    assert "sein" not in ignored
    assert {"das", "der", "und", "sie", "seine", "nach"} <= ignored
    assert "sein" in function_words_of("de")


def test_arabic_and_hebrew_function_words() -> None:
    arabic = "تتناول هذه الدراسة أسباب قيام الدول في التاريخ."
    hebrew = "המאמר עוסק בדקדוק של השפה העברית גם על פי המקורות."
    assert (text_language(arabic), text_language(hebrew)) == ("ar", "he")
    assert "في" in function_words(arabic)
    assert "של" in function_words(hebrew)


def test_thanks_and_outlines_are_routine_in_ten_languages() -> None:
    found = {code: is_routine(text) for code, kind, text in rows("nothing.tsv") if kind == "thanks"
             and "wife" not in text}  # fmt: skip
    assert set(found) == {"en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "zh"}
    assert all(found.values())
    outlines = [text for _, kind, text in rows("nothing.tsv") if kind == "signpost"]
    assert all(map(is_routine, outlines))


@pytest.mark.parametrize("name", ["sentences.tsv", "neuroscience.tsv", "methods.tsv"])
def test_sentences_that_ask_are_not_routine(name: str) -> None:
    assert not [row[-1] for row in rows(name) if is_routine(row[-1])]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Im Laufe des 18. Jahrhunderts entstand sie. Sie war neu.", 2),
        ("Das gilt z. B. für Kant, d. h. immer. Es gilt auch hier.", 2),
        ("Vgl. Abb. 3 bzw. Kapitel 4. Danach folgt etwas.", 2),
        ("Am 3. Oktober 1990 war es so. Danach nicht.", 2),
        ("Selon M. Dupont, cf. Braudel, elle est longue. Elle dure.", 2),
        ("Véase p. ej. Rama, pág. 12. Es claro.", 2),
        ("For each x. We use y.", 2),
        ("It is shown in Section 3. The end.", 2),
    ],
)
def test_where_sentences_end(text: str, number: int) -> None:
    assert len(split_sentences(text)) == number
