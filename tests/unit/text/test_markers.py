"""Citation markers: what they are, what they cite, and the text without them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sampling import sized

from citebed.text.markers import markers, remove_markers


def cited(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return each marker's text with the references it cites."""
    return [(text[marker.start : marker.end], marker.cites) for marker in markers(text)]


@pytest.mark.parametrize(
    ("marker", "cites"),
    [
        ("[3]", "3"),
        ("[ 3 ]", "3"),
        ("[13, 14]", "13 14"),
        ("[1,2;7]", "1 2 7"),
        ("[1-3]", "1 2 3"),
        ("[1–3, 7]", "1 2 3 7"),
        ("[5, 8—10]", "5 8 9 10"),
        ("[99– 101]", "99 100 101"),
        ("[1]–[4]", "1 2 3 4"),
        ("[1, 2]-[4]", "1 2 3 4"),
        ("[12, p. 5]", "12"),
        ("[12, pp. 5–9]", "12"),
        ("[12, Section 4.2]", "12"),
        ("[see 4]", "4"),
        ("[e.g., 4, 5]", "4 5"),
        ("[Smith19]", "Smith19"),
        ("[SJ+99]", "SJ+99"),
        ("[SJ+99, Lee2004b]", "SJ+99 Lee2004b"),
        ("[CIT]", ""),
        ("[?]", ""),
        ("[@key]", "key"),
        ("[see @doe99, pp. 33-35; -@smith:04]", "doe99 smith:04"),
        (r"\cite{a}", "a"),
        (r"\citep[see][p. 3]{a, b}", "a b"),
        (r"\textcite*{a}", "a"),
        (r"\autocites[1]{a}[2]{b}", "a b"),
        ("(see [3])", "3"),
        ("([3], [4])", "3 4"),
        ("(cf. [12], Section 4)", "12"),
    ],
)
def test_numbers_and_keys(marker: str, cites: str) -> None:
    text = f"as some say {marker}, or not"
    assert cited(text) == [(marker, tuple(cites.split()))]
    assert remove_markers(text) == "as some say, or not"


@pytest.mark.parametrize(
    ("marker", "cites"),
    [
        ("(Smith, 2019)", ("Smith 2019",)),
        ("(Smith 2019)", ("Smith 2019",)),
        ("(e.g., Smith 2019)", ("Smith 2019",)),
        ("(see also Smith, 2019a)", ("Smith 2019a",)),
        (
            "(Smith et al., 2019; Jones and Lee 2020a,b)",
            ("Smith et al. 2019", "Jones and Lee 2020a", "Jones and Lee 2020b"),
        ),
        ("(Smith, 2018, 2019)", ("Smith 2018", "Smith 2019")),
        ("(Smith 2019 and Jones 2020)", ("Smith 2019", "Jones 2020")),
        ("(Able, Baker, & Charly, 2000)", ("Able, Baker, & Charly 2000",)),
        ("(Smith, 2019, p. 45)", ("Smith 2019",)),
        ("(Smith, 2019: 45–46)", ("Smith 2019",)),
        ("(Smith, in press)", ("Smith in press",)),
        ("(van den Berg et al., 2018)", ("van den Berg et al. 2018",)),
        ("(O'Hara and D’Arcy, 1999)", ("O'Hara and D’Arcy 1999",)),
        ("(J. R. Smith, 1999)", ("J. R. Smith 1999",)),
        ("(Núñez-Ågren, 2004)", ("Núñez-Ågren 2004",)),
        ("(Nu\u0301n\u0303ez, 2004)", ("Nu\u0301n\u0303ez 2004",)),
        ("(World Health Organization, 2019)", ("World Health Organization 2019",)),
        ("(WHO, 2019)", ("WHO 2019",)),
        ("[Smith et al., 2019]", ("Smith et al. 2019",)),
    ],
)
def test_names_and_years(marker: str, cites: tuple[str, ...]) -> None:
    text = f"It was said {marker}."
    assert cited(text) == [(marker, cites)]
    assert remove_markers(text) == "It was said."


@pytest.mark.parametrize(
    ("text", "found", "left"),
    [
        ("Smith et al. (2019) say", ("(2019)", "Smith et al. 2019"), "Smith et al. say"),
        ("However, Smith (2019) says", ("(2019)", "Smith 2019"), "However, Smith says"),
        ("In van Dyk (1979) we", ("(1979)", "van Dyk 1979"), "In van Dyk we"),
        ("Smith's (2019) view", ("(2019)", "Smith 2019"), "Smith's view"),
        ("Smith [2019] says", ("[2019]", "Smith 2019"), "Smith says"),
    ],
)
def test_the_year_after_a_name(text: str, found: tuple[str, str], left: str) -> None:
    assert cited(text) == [(found[0], (found[1],))]
    assert remove_markers(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "values in [0, 1] and [−1, 1] and [0.5, 2]",
        "in the range [1, 5], a scale of [1, 7], x ∈ [2, 3], y = [4, 5]",
        "code such as a[i], a[1], m[2][3], f(x)[2], x_1[4]",
        "[1-999999999] and [1-9999] and [5-3] and [2019]",
        "at TREC (2004), in May (2004), in town (2004), Table (2004)",
        "(TREC 2004) and (May 2019) and (3) and (Fig. 3) and (i) and (a, b)",
        "x² and km² and 10⁶ and (a+b)²",
        "[emphasis ours] and [sic] and [...] and []",
        r"\section{One} and \textbf{two} and \alpha",
        "mail me@example.org or @home",
    ],
)
def test_text_that_only_looks_like_a_marker_stays(text: str) -> None:
    assert cited(text) == []
    assert remove_markers(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Text [3].", "Text."),
        ("[3] proposed it", "proposed it"),
        ("as in [3] and [4], we", "as in, we"),
        ("[12], [13], and [14] show", "show"),
        ("methods, [3], are", "methods, are"),
        ("systems[12] work", "systems work"),
        ("a mask [CIT] .", "a mask."),
        ("a word¹² and others.³ Then", "a word and others. Then"),
        ("a tie~\\cite{a}. End", "a tie. End"),
        ("surveys (see [4] for one)", "surveys (see for one)"),
        ("line [3]\nline [4]\n", "line\nline\n"),
        ("“Quoted [3]” text", "“Quoted” text"),
        ("[1][2] both", "both"),
        ("", ""),
    ],
)
def test_removed_markers_leave_tidy_text(text: str, left: str) -> None:
    assert remove_markers(text) == left


def test_superscripts_cite_numbers() -> None:
    assert cited("the words¹⁻³,⁷ go") == [("¹⁻³,⁷", ("1", "2", "3", "7"))]


PLAIN = st.lists(st.from_regex(r"[a-z]{3,9}", fullmatch=True), min_size=1, max_size=5)
SAMPLE = st.sampled_from(["[3]", "[1, 2]", "(Smith, 2019)", r"\cite{x}", "[CIT]", "(see [3])"])


@given(st.lists(st.tuples(PLAIN, SAMPLE), max_size=6), PLAIN)
def test_words_between_markers_stay(parts: list[tuple[list[str], str]], last: list[str]) -> None:
    text = "".join(f"{' '.join(words)} {marker} " for words, marker in parts) + " ".join(last)
    words = [word for some, _ in parts for word in some] + last
    # The one word that goes is an "and" or "or" between two markers; none is made here.
    assert [word for word in words if word not in ("and", "or")] == [
        word for word in remove_markers(text).split() if word not in ("and", "or")
    ]
    assert len(markers(text)) == len(parts)


HOSTILE = st.text(st.sampled_from("[](){}\\,;-–@. 123aAzÉ²'&\n"), max_size=80) | st.text()


@given(HOSTILE)
def test_markers_lie_in_order_and_apart(text: str) -> None:
    found = markers(text)
    edges = [at for marker in found for at in (marker.start, marker.end)]
    assert edges == sorted(edges)
    assert all(0 <= marker.start < marker.end <= len(text) for marker in found)


@given(HOSTILE)
def test_nothing_is_added(text: str) -> None:
    left = remove_markers(text)
    rest = iter(text)
    assert all(char in rest for char in left if not char.isspace())


PIECES = ["[", "(", "1,", "[1,", "[1]–", "Van Van, ", "(Van Van, ", "\\cite", "\\cite[", "{", "a²"]
PIECES += ["[@", "(2019", "(see ", "Smith and ", "A. ", "(a;", "et al. ", "((Smith, 2019), ", "?,"]


@pytest.mark.parametrize("piece", PIECES)
def test_long_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * (sized(60_000, 1_000_000) // len(piece))
    for open_and_close in ("", "()", "[]"):
        whole = open_and_close[:1] + text + open_and_close[1:]
        assert len(remove_markers(whole)) <= len(whole)
