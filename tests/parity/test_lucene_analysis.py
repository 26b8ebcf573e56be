"""The same words and terms as Lucene, on sentences with difficult words.

``lucene_terms.json`` has the output of Lucene 9.9.1 (StandardTokenizer, EnglishAnalyzer);
``remake_lucene_terms.py`` has the sentences and writes it again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citebed.retrieval.analysis import analyser_of

ANSWERS = json.loads((Path(__file__).parent / "lucene_terms.json").read_text("ascii"))
CASES = ANSWERS["cases"]


def test_the_answers_are_those_of_the_lucene_we_speak_of() -> None:
    assert ANSWERS["lucene"] == "9.9.1"


@pytest.mark.parametrize("case", CASES, ids=lambda case: ascii(case["text"][:40]))
def test_words_are_those_of_the_standard_tokenizer(case: dict[str, Any]) -> None:
    assert analyser_of("english").words(case["text"]) == case["words"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: ascii(case["text"][:40]))
def test_terms_are_those_of_the_english_analyzer(case: dict[str, Any]) -> None:
    assert analyser_of("english").terms(case["text"]) == case["terms"]


def test_words_do_not_depend_on_the_text_around_them() -> None:
    """All sentences in one text, parted by lines: the long way through mixed scripts."""
    texts = [case["text"] for case in CASES if len(case["text"]) < 250]
    words = [word for case in CASES if len(case["text"]) < 250 for word in case["words"]]
    assert analyser_of("none").words(" \n ".join(texts)) == words
