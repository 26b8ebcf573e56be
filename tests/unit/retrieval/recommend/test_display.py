"""Answers in a notebook say what the terminal says, and nothing in them is obeyed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from lxml import html

from citebed.drafts import Passage
from citebed.report.recommendations import passage_lines
from citebed.retrieval.recommend.recommendations import Recommendation, Recommendations

ONE = Recommendation(
    1, "oak", 3.25, "Oak Trees & Forests", ("Ash, Ann",), 2001, "J. of Trees", "10.5072/oak",
    ("oaks", "forests"), "Oaks grow in forests.", passage=2, key="ash2001oak", in_bib=True,
    probability=0.42, strength="fair", reason="Ash, oaks, forests",
    abstract_sentence="Oaks grow well.",
    citing_sentences=("Forests have oaks.", "More is known."), cited_by=("Lee (2005), Firs", "Ray"),
    reprints=("2003, Trees Again, 10.5072/oak2",), link="https://doi.org/10.5072/oak",
)  # fmt: skip
TEXT = ("Nothing is known.", "Oaks grow in forests.")
PASSAGES = (
    Passage("Salt is in the sea.", 3, "Introduction", 1),
    Passage(" ".join(TEXT), 5, "Related work", 2, sentences=TEXT, wanted=(1,)),
)
SEVERAL = Recommendations(
    (ONE,),
    PASSAGES,
    notes=("skipped 1 caption (line 9)",),
    skipped=1,
)


def words(text: str) -> list[str]:
    """Return the words of the output, without line breaks, colons of labels and dashes."""
    return text.replace(":", " ").replace("──", " ").replace("1.", " ").split()


@pytest.mark.parametrize("found", [SEVERAL, Recommendations((ONE,), PASSAGES[1:])])
def test_a_notebook_shows_what_the_terminal_shows(
    found: Recommendations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    alone = len(found.passages) == 1
    terminal = [
        line
        for each, answers in found.by_passage
        for line in passage_lines(each, answers, alone=alone)
    ]
    shown: Any = html.fromstring(found._repr_html_())
    shown.find(".//style").drop_tree()
    said = words(" ".join(shown.itertext()))
    for told in ("\n".join(terminal), found.summary, *found.all_notes):
        assert set(words(told)) - set(said) == set()
    assert [link.get("href") for link in shown.iter("a")] == [ONE.link]
    for part in ("fair, 40 % likely", "Ash, oaks", "Oaks grow well.",
                 "Forests have oaks.", "Lee (2005), Firs",
                 "2003, Trees Again, 10.5072/oak2"):  # fmt: skip
        assert part in shown.text_content()


def test_several_passages_have_their_place_and_heading() -> None:
    shown: Any = html.fromstring(SEVERAL._repr_html_())
    assert [head.text_content() for head in shown.iter("h3")] == [
        "Introduction · line 3", "Related work · line 5 · citation placeholder",
    ]  # fmt: skip
    assert [each.text_content() for each in shown.iter("blockquote")] == [p.text for p in PASSAGES]
    assert "nothing found" in shown.text_content()
    assert "skipped 1 caption (line 9)" in shown.text_content()


def test_nothing_in_it_is_obeyed() -> None:
    evil = "<script>alert(1)</script><img src=x onerror='y'>\x1b[31m\u202e'\""
    forged = replace(
        ONE, title=evil, key=evil, venue=evil, doi=evil, terms=(evil,), reason=evil,
        abstract_sentence=evil,
        citing_sentences=(evil,), cited_by=(evil,), reprints=(evil,), link="javascript:alert(1)",
    )  # fmt: skip
    passages = tuple(replace(each, text=evil, section=evil) for each in PASSAGES)
    text = Recommendations((forged,), passages, notes=(evil,))._repr_html_()
    shown: Any = html.fromstring(text)
    assert not {"script", "img", "a"} & {each.tag for each in shown.iter()}
    assert {name for each in shown.iter() for name in each.attrib} <= {"class", "id", "value"}
    assert "\x1b" not in text
    assert "&lt;script&gt;" in text
