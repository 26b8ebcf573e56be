"""Analysers as values: names, terms, languages."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.errors import UnknownName
from citebed.retrieval.analysis import ANALYSERS, analyser_of
from citebed.retrieval.analysis.analysers import ENGLISH_STOP_WORDS, known

NAMES = [
    *("english", "none", "snowball(german)", "snowball(english)", "snowball(porter)"),
    *("mixed(english,german)", "mixed(chinese,spanish)"),
]


@pytest.mark.parametrize("name", NAMES)
def test_an_analyser_prints_as_it_is_read(name: str) -> None:
    analyser = analyser_of(name)
    assert str(analyser) == analyser.name == name
    assert analyser_of(str(analyser)) == analyser


def test_every_known_name_is_read() -> None:
    assert [str(analyser_of(name)) for name in known()] == known()
    assert set(ANALYSERS) < set(known())


def test_capitals_and_blanks_in_a_name_do_not_matter() -> None:
    assert analyser_of(" Snowball( German )") == analyser_of("snowball(german)")


@pytest.mark.parametrize(
    "name", ["englisch", "snowball(klingon)", "snowball()", "", "snowball", "mixed()"]
)
def test_an_unknown_name_is_refused_with_those_known(name: str) -> None:
    with pytest.raises(UnknownName, match="unknown analyser") as error:
        analyser_of(name)
    assert "english" in error.value.known


def test_languages_of_a_mixture_are_in_one_order_each_once() -> None:
    assert str(analyser_of("mixed(German, english,german)")) == "mixed(english,german)"
    with pytest.raises(UnknownName, match="unknown language 'klingon'"):
        analyser_of("mixed(english,klingon)")


def test_the_nearest_name_is_suggested() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'english'"):
        analyser_of("englis")


@pytest.mark.parametrize(
    ("name", "text", "terms"),
    [
        ("english", "The dog's technologies aren't running", ["dog", "technolog", "aren't", "run"]),
        ("english", "It's the 's of", ["s"]),
        ("none", "The dog's Technologies", ["the", "dog's", "technologies"]),
        ("snowball(german)", "Die Häuser der Katzen", ["die", "haus", "der", "katz"]),
        ("snowball(english)", "generously", ["generous"]),
        ("snowball(french)", "Les continuations", ["le", "continu"]),
        ("mixed(english,german)", "The dog's Häuser technologies", ["dog", "haus", "technolog"]),
        (
            "mixed(chinese)",
            "冰川湖 of GPT模型",
            ["冰", "川", "湖", "of", "gpt", "模", "型", "冰川", "川湖", "模型"],
        ),
        ("mixed(japanese)", "データの解析", ["データ", "の", "解", "析", "解析"]),
    ],
)
def test_terms_by_hand(name: str, text: str, terms: list[str]) -> None:
    assert analyser_of(name).terms(text) == terms


@pytest.mark.parametrize("name", NAMES)
@given(text=st.text())
def test_terms_are_the_terms_of_the_words(name: str, text: str) -> None:
    analyser = analyser_of(name)
    found = [analyser.term(word) for word in analyser.words(text)]
    assert analyser.terms(text) == [term for term in found if term is not None]


def test_there_are_lucenes_thirty_three_stop_words_and_none_is_a_term() -> None:
    assert len(ENGLISH_STOP_WORDS) == 33
    assert analyser_of("english").terms(" ".join(ENGLISH_STOP_WORDS)) == []


def test_an_analyser_goes_to_other_processes() -> None:
    analyser = analyser_of("snowball(german)")
    assert pickle.loads(pickle.dumps(analyser)) == analyser


def test_importing_is_light() -> None:
    code = (
        "import sys, citebed.retrieval.analysis; "
        "heavy = {'Stemmer', 'numpy', 'polars', 'citebed.text.markers'}; "
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
