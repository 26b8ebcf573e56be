"""Names as records write them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import ANY_TEXT

from citebed.text.names import canonical_name, family_name, name_from_display, name_from_parts


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("Knuth", "Donald E.", None), "Knuth, Donald E."),
        (("King", "Martin", "Jr."), "King, Jr., Martin"),
        (("Plato", None, None), "Plato"),
        ((None, "Plato", None), "Plato"),
        ((None, None, None), ""),
        (("Acme, Inc.", "", ""), "Acme Inc."),
        ((" van  Dam ", "A", ""), "van Dam, A"),
    ],
)
def test_name_from_parts(parts: tuple[str | None, str | None, str | None], name: str) -> None:
    assert name_from_parts(*parts) == name


@pytest.mark.parametrize(
    ("shown", "name"),
    [
        ("Donald E. Knuth", "Knuth, Donald E."),
        ("Knuth, Donald E.", "Knuth, Donald E."),
        ("Knuth,Donald", "Knuth, Donald"),
        ("Laurens van der Maaten", "van der Maaten, Laurens"),
        ("Van Rijsbergen", "Rijsbergen, Van"),
        ("Plato", "Plato"),
        ("Plato,", "Plato"),
        ("Anna Muster,", "Muster, Anna"),
        ("", ""),
        (" , ", ""),
        ("Won Do Heo", "Heo, Won Do"),
        ("Maria do Carmo", "do Carmo, Maria"),
    ],
)
def test_name_from_display(shown: str, name: str) -> None:
    assert name_from_display(shown) == name


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("Muster,Anna", "Muster, Anna"),
        ("Muster , , Anna ,", "Muster, Anna"),
        ("King, Jr., Martin, Luther", "King, Jr., Martin Luther"),
        (",", ""),
    ],
)
def test_canonical_name(name: str, canonical: str) -> None:
    assert canonical_name(name) == canonical


@pytest.mark.parametrize(
    ("name", "family"),
    [("Muster, Anna", "Muster"), ("King, Jr., Martin", "King"), ("Plato", "Plato"), ("", "")],
)
def test_family_name(name: str, family: str) -> None:
    assert family_name(name) == family


@pytest.mark.parametrize("function", [name_from_display, canonical_name])
@given(text=ANY_TEXT | st.text())
def test_a_second_time_changes_nothing(function: Callable[[str], str], text: str) -> None:
    assert function(function(text)) == function(text)
