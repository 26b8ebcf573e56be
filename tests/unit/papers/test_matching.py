"""References found among documents."""

from __future__ import annotations

import polars as pl
import pytest

from citebed.papers.matching import ReferenceMatcher
from citebed.papers.references import parse_reference

DOCUMENTS = pl.DataFrame(
    {
        "doc_id": ["quiet", "quieter", "long", "talk", "paper"],
        "title": [
            "Learning a Quiet Model of Noise",
            "Learning a Quiet Model of Noise: Part II",
            "Hushing crowds: how large rooms of people become silent",
            "An instrument for measuring whispers",
            "An instrument for measuring whispers",
        ],
        "authors": [
            ["Doe, Jane", "Roe, Richard"], ["Doe, Jane"], ["Poe, E. A."], ["Moe, M."], ["Moe, M."]
        ],
        "year": [2018, 2020, 2001, 2011, 2014],
        "doi": ["10.1000/1", "10.1000/2", "10.1000/3", "10.1000/4", "10.1000/5"],
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def matcher() -> ReferenceMatcher:
    return ReferenceMatcher(DOCUMENTS)


def found(matcher: ReferenceMatcher, text: str) -> str | None:
    (match,) = matcher.match([parse_reference(text)])
    return match.doc_id if match else None


@pytest.mark.parametrize(
    ("text", "doc_id"),
    [
        ("Jane Doe and Richard Roe. 2018. Learning a Quiet Model of Noise. In NOISE.", "quiet"),
        ("J. Doe. Learning a quiet model of noise: Part II. In NOISE, 2020.", "quieter"),
        ("J. Doe and R. Roe. 2017. Learmng a quietmodel of no1se. arXiv.", "quiet"),
        ("E. A. Poe. Hushing crowds. J. Silence 3 (2001).", "long"),
        ("M. Moe. 2011. An instrument for measuring whispers. In TALKS.", "talk"),
        ("M. Moe. 2014. An instrument for measuring whispers. Journal of Air 3, 1.", "paper"),
        ("R. Goe. 1990. An instrument for measuring whispers in large rooms. Air 3.", None),
        ("Somebody. Something else. https://doi.org/10.1000/3", "long"),
    ],
)
def test_a_reference_is_found(matcher: ReferenceMatcher, text: str, doc_id: str | None) -> None:
    assert found(matcher, text) == doc_id
