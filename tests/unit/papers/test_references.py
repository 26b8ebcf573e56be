"""References in the styles of many fields, each made up."""

from __future__ import annotations

import pytest

from citebed.papers.references import ParsedReference, parse_reference

AUTHORS = ("Doe, Jane", "de Vries, Kees", "Öztürk, W. Bruce")
TITLE = "Learning a Quiet Model of Noise"


def read(text: str) -> tuple[tuple[str, ...], str, int | None]:
    found = parse_reference(text)
    return found.authors, found.title, found.year


def test_acm() -> None:
    found = parse_reference(
        "Jane Doe, Kees de Vries, and W. Bruce Öztürk. 2018. Learning a Qui-\net Model of Noise. "
        "In Proceedings of the 9th Conference on Noise (NOISE ’18). ACM, New\nYork, NY, USA, 135–4"
        ". https://doi.org/10.\n1145/3209978.3209985"
    )
    assert found == ParsedReference(
        text="Jane Doe, Kees de Vries, and W. Bruce Öztürk. 2018. Learning a Quiet Model of Noise. "
        "In Proceedings of the 9th Conference on Noise (NOISE ’18). ACM, New York, NY, USA, "
        "135–4. https://doi.org/10.1145/3209978.3209985",
        authors=AUTHORS,
        title=TITLE,
        year=2018,
        venue="Proceedings of the 9th Conference on Noise",
        doi="10.1145/3209978.3209985",
        url="https://doi.org/10.1145/3209978.3209985",
        confidence=found.confidence,
    )
    assert found.confidence > 0.9


@pytest.mark.parametrize(
    ("text", "authors"),
    [
        (f"J. Doe and R. Roe. {TITLE}. In NOISE, pages 1–2, 2018.", ("Doe, J.", "Roe, R.")),
        (f"J. Doe and R. Roe, “{TITLE},” in Proc. NOISE, 2018, pp. 1–2.", ("Doe, J.", "Roe, R.")),
        (f"Doe, J., Roe, R.: {TITLE}. In: NOISE, pp. 1–2 (2018)", ("Doe, J.", "Roe, R.")),
        (f"Doe, J., & Roe, R. (2018). {TITLE}. Noise, 3(1), 1–2.", ("Doe, J.", "Roe, R.")),
        (f"Doe J, Roe RA. {TITLE}. J Noise. 2018;12:3-4.", ("Doe, J", "Roe, RA")),
        (f"Doe, J. & Roe, R. {TITLE}. J. Noise 12, 3–4 (2018).", ("Doe, J.", "Roe, R.")),
        (f"Doe, J.; Roe, R. A. {TITLE}. J. Noise 2018, 12, 3–4.", ("Doe, J.", "Roe, R. A.")),
        (f"J. Doe, R. Roe, {TITLE}, J. Noise 12 (2018) 3–4.", ("Doe, J.", "Roe, R.")),
        (f"Doe, J., Roe, R., 2018. {TITLE}. J. Noise 12, 3–4.", ("Doe, J.", "Roe, R.")),
        (f"Doe, Jane, and Rik Roe. “{TITLE}.” Noise 12 (2018): 3.", ("Doe, Jane", "Roe, Rik")),
        (f"Jane Doe and Richard Roe (2018) {TITLE}. Noise 12:3–4", ("Doe, Jane", "Roe, Richard")),
    ],
)  # fmt: skip
def test_other_styles(text: str, authors: tuple[str, ...]) -> None:
    assert read(text) == (authors, TITLE, 2018)
