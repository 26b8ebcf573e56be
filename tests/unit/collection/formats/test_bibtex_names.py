"""Names in BibTeX, in and out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import ANY_TEXT, NAME

from citebed.collection.formats.bibtex import parse_author_field
from citebed.collection.formats.bibtex_writer import format_names
from citebed.text.names import canonical_name
from citebed.text.normalise import unique


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        ("", ()),
        ("  ", ()),
        # the three forms
        ("Donald E. Knuth", ("Knuth, Donald E.",)),
        ("Knuth, Donald E.", ("Knuth, Donald E.",)),
        ("King, Jr., Martin Luther", ("King, Jr., Martin Luther",)),
        ("Ludwig van Beethoven", ("van Beethoven, Ludwig",)),
        ("Maria de la Cruz Soto", ("de la Cruz Soto, Maria",)),
        ("van Beethoven, Ludwig", ("van Beethoven, Ludwig",)),
        ("Plato", ("Plato",)),
        ("jean de la fontaine", ("jean de la fontaine",)),
        # lists
        ("A One and B Two and Three, C", ("One, A", "Two, B", "Three, C")),
        ("A One AND B Two And C Three", ("One, A", "Two, B", "Three, C")),
        ("A One\n  and\tB Two", ("One, A", "Two, B")),
        ("A One  and  B Two", ("One, A", "Two, B")),
        ("A One and B Two and others", ("One, A", "Two, B")),
        ("{A One} and others and\n et al.", ("A One",)),
        ("A One and A One", ("One, A", "One, A")),
        ("Anderson, Andy and Brandt, Sandy", ("Anderson, Andy", "Brandt, Sandy")),
        # braces
        ("{World Health Organization}", ("World Health Organization",)),
        ("{Barnes and Noble}", ("Barnes and Noble",)),
        ("{Barnes and Noble} and Ann Lee", ("Barnes and Noble", "Lee, Ann")),
        ("{{NIST}}", ("NIST",)),
        ("{others}", ("others",)),
        ("Maria {de la Cruz}", ("de la Cruz, Maria",)),
        ("{de la Cruz}, Maria", ("de la Cruz, Maria",)),
        ("{Smith, Jr.}, John", ("Smith, Jr., John",)),
        # LaTeX
        (r"Kurt G{\"o}del", ("Gödel, Kurt",)),
        (r"G{\"o}del, Kurt", ("Gödel, Kurt",)),
        (r"{\'E}mile Zola and Zola, {\'E}mile", ("Zola, Émile", "Zola, Émile")),
        (r"{\'E}", ("É",)),
        (r"P{\'a}l Erd{\H o}s", ("Erdős, Pál",)),
        (r"Erd\H{o}s, P\'al", ("Erdős, Pál",)),
        (r"J.~R. Doe", ("Doe, J. R.",)),
        ("Müller, Jürgen", ("Müller, Jürgen",)),
        ("O'Neill, Anne-Marie", ("O'Neill, Anne-Marie",)),
        # commas out of place
        ("Muster,Anna", ("Muster, Anna",)),
        (" Muster , Anna ", ("Muster, Anna",)),
        ("Muster,", ("Muster",)),
        (", Anna", ("Anna",)),
        ("A, B, C, D", ("A, B, C D",)),
    ],
)
def test_names(raw: str, names: tuple[str, ...]) -> None:
    assert parse_author_field(raw) == names


@pytest.mark.parametrize(
    ("names", "raw"),
    [
        (("Knuth, Donald E.", "Plato"), "Knuth, Donald E. and Plato"),
        (("World Health Organization",), "{World Health Organization}"),
        (("others", "And"), "{others} and {And}"),
        (("Barnes and Noble, X",), "{Barnes and Noble}, X"),
        (("R&D",), r"{R\&D}"),
        ((), ""),
    ],
)
def test_written_names(names: tuple[str, ...], raw: str) -> None:
    assert format_names(names) == raw


@given(st.lists(NAME, max_size=4).map(unique))
def test_names_come_back(names: tuple[str, ...]) -> None:
    assert parse_author_field(format_names(names)) == names


@given(ANY_TEXT | st.text(alphabet="{}, andAN~\\'é\n"))
def test_any_field_gives_canonical_names(raw: str) -> None:
    for name in parse_author_field(raw):
        assert name == canonical_name(name)


@pytest.mark.parametrize("unit", [" ", "\n", "a and ", "{ and ", ",", "{", "}", "a ", "~", "\\"])
def test_much_of_one_thing_is_read(unit: str) -> None:
    assert parse_author_field(unit * ((1 << 18) // len(unit)) + " and End, The")
