"""Places where a citation is still to come, in every form of draft."""

from __future__ import annotations

import pytest

from citebed.drafts import Passage, parse_draft
from citebed.drafts.prose import put_placeholders_first

START = "Oaks grow in the forest."


@pytest.mark.parametrize(
    "written",
    [
        r"\cite{}", r"\citep{ }", r"\cite[p. 3]{}", r"\citet{?}", r"\cite{TODO}",
        r"\cite{todo:elms}", r"\cite{XXX}", r"\parencite{citation-needed}", r"\cite{ash2001, TODO}",
        "[?]", "[??]", "[?, ?]",
        "[CITE]", "[REF]", "[citation needed]", "(citation needed)", "[TODO: cite]", "(todo ref)",
        "[XX]", "(?)", "[]", "[@]", "[@?]", "[@TODO]",
    ],
)  # fmt: skip
def test_a_sentence_that_wants_a_citation(written: str) -> None:
    (passage,) = parse_draft(f"{START} Elms do so too {written}. Salt is in the sea.").passages
    assert passage.wanted == (1,)
    assert passage.sentences == (START, "Elms do so too.", "Salt is in the sea.")
    assert not {"", "?", "TODO", "XXX"} & set(passage.cites)


@pytest.mark.parametrize(
    "written",
    [
        r"\cite{ash2001}", r"\cite{cite:ash}", r"\cite{ref-12}", "[3]", "[Ash01]", "(Ash, 2001)",
        "in [0, 1]", "(see below)", "[x]", "(so far)", "[@ash2001]", "with int[] arrays",
    ],
)  # fmt: skip
def test_a_sentence_that_does_not(written: str) -> None:
    (passage,) = parse_draft(f"{START} Elms do so too {written}.").passages
    assert passage.wanted == ()


def test_they_are_asked_first_and_by_themselves() -> None:
    draft = parse_draft(
        f"{START}\n\nElms grow too. Firs do so [?]. Salt is old.\n\nWhales sing [?]."
    )
    asked = put_placeholders_first(draft.passages)
    assert [(each.text, each.line, each.column) for each in asked] == [
        ("Firs do so.", 3, 16), ("Whales sing.", 5, 1), (START, 1, 1),
        ("Elms grow too. Salt is old.", 3, 1),
    ]  # fmt: skip
    assert [each.wanted for each in asked] == [(0,), (0,), (), ()]
    assert put_placeholders_first([Passage("Elms.")]) == [Passage("Elms.")]
