"""Headings of the same level, and headings below others."""

from __future__ import annotations

import pytest

from citebed.collection.formats.base import Chunk
from citebed.collection.formats.full_text import Outline
from citebed.collection.formats.tei import TEI
from citebed.records import CitingPaper

CASES = [
    ("1 2 2.1 2.1.1 3", "1 2 2.1 2.1.1 3"),
    ("I. II. A. B. 1) 2) C. III. A.", "I II II.A II.B II.B.1 II.B.2 II.C III III.A"),
    # H, I, J are letters below IV, and V comes after IV.
    ("I II III IV G H I J V", "I II III IV IV.G IV.H IV.I IV.J V"),
    ("II. A. III.", "II II.A III"),  # the first heading was lost
    ("VIII IX A X XI", "VIII IX IX.A X XI"),
    ("1 2 A. B. I.", "1 2   I"),  # an appendix: none of it is below 2
    ("I. 1. 2. II.", "I I.1 I.2 II"),
]


@pytest.mark.parametrize(("labels", "places"), CASES)
def test_places(labels: str, places: str) -> None:
    outline = Outline()
    assert [outline.place(label) for label in labels.split()] == places.split(" ")


BODY = """<TEI><text><body>{}</body><back><listBibl><biblStruct xml:id="b0"/></listBibl></back>
</text></TEI>"""


@pytest.mark.parametrize(
    ("heads", "sections"),
    [
        (
            ['<head n="II.">Related Work</head>', '<head n="A.">Bears</head>'],
            ["Related Work", "Related Work / Bears"],
        ),
        (
            ["<head>I. INTRODUCTION</head>", "<head>A. Bears</head>", "<head>A Method</head>"],
            ["I. INTRODUCTION", "I. INTRODUCTION / A. Bears", "A Method"],
        ),
        (["<head>1 Work</head>", "<head>A Proofs</head>"], ["1 Work", "A Proofs"]),
    ],
)
def test_sections_of_contexts(heads: list[str], sections: list[str]) -> None:
    cited = '<p>Bears eat <ref type="bibr" target="#b0">[1]</ref>.</p>'
    body = "".join(f"<div>{head}{cited}</div>" for head in heads)
    *_, paper = TEI.parse(Chunk(BODY.format(body).encode(), source="a.xml"))
    assert isinstance(paper, CitingPaper)
    assert [context.section for context in paper.contexts] == sections
