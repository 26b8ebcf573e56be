"""Markers resolved against a hand-made reference list."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from citebed.papers.annotator import annotate, index_references
from citebed.papers.paper import PlacedText, ReadPaper, ReadParagraph, ReferenceEntry
from citebed.papers.references import parse_reference

NAMED = (
    "Doe, J. and Roe, K. (2019a). A first title of things. Journal of Things, 3, 1-9.",
    "Doe, J. and Roe, K. (2019b). A second title of things. Journal of Things, 4, 1-9.",
    "Ibáñez, M. (2001). Some other title. Journal of Things, 5, 1-9.",
    "Li, A. (1994). Short names in lists. Journal of Things, 6, 1-9.",
    "Li, B. (1994). Shorter names in lists. Journal of Things, 7, 1-9.",
)
NUMBERED = [str(n) for n in range(1, 13)]


def named(text: str) -> list[tuple[str, ...]]:
    index = index_references([parse_reference(each) for each in NAMED], ["a", "b", "c", "d", "e"])
    return [link.cites for link in index.links(text)]


def numbered(text: str, texts: Sequence[str] = ()) -> list[tuple[str, ...]]:
    references = [parse_reference(f"J. Doe. Title {n}. 2001.") for n in NUMBERED]
    return [link.cites for link in index_references(references, NUMBERED, texts).links(text)]


@pytest.mark.parametrize(
    ("text", "cites"),
    [
        ("as Doe and Roe (2019a,b) say", [("a", "b")]),
        ("it is known (Doe & Roe, 2019b; Ibáñez, 2001)", [("b", "c")]),
        ("it is known [Doe and Roe 2019a]", [("a",)]),
        ("Doe and Roe [2019b] say", [("b",)]),
        ("segun Doe y Roe (2019a)", [("a",)]),
        ("B. Li (1994) said", [("e",)]),
        ("Li (1994) said", []),
        ("Doe and Roe (2018) said", []),
    ],
)
def test_names_and_years(text: str, cites: list[tuple[str, ...]]) -> None:
    assert named(text) == cites


@pytest.mark.parametrize(
    ("text", "cites"),
    [
        ("known [3–5]", [("3", "4", "5")]), ("known [3]–[5]", [("3", "4", "5")]),
        ("known [12, p. 5]", [("12",)]), ("Wu[4] says", [("4",)]),
        ("shown by Wu et al.⁴,⁶ in", [("4", "6")]), ("shown.²⁻⁴ We", [("2", "3", "4")]),
        ("an area of 3 km² and x²", []), ("in (3) we", []), ("known [13]", []),
    ],
)  # fmt: skip
def test_numbers(text: str, cites: list[tuple[str, ...]]) -> None:
    assert numbered(text) == cites


def test_round_brackets_cite_where_the_paper_cites_so() -> None:
    paper = ["known (1, 2) and (3-8)", "also (9)"]
    assert numbered("as found (3, 4), by equation (5)", paper) == [("3", "4")]
    assert numbered("as found (3, 4)", [*paper, "other [1], [2], [3], [4]"]) == []


def test_a_dash_repeats_the_authors_before() -> None:
    entries = ["Doe, Jane (2001). One title.", "— (2002). Another title."]
    index = index_references([parse_reference(each) for each in entries], ["1", "2"])
    assert [link.cites for link in index.links("Doe (2002) says")] == [("2",)]


def test_labels_of_any_letters() -> None:
    index = index_references([parse_reference("J. Müller. Title. 2019.")] * 2, ["Mül19", "vdM+04"])
    assert [link.cites for link in index.links("see [Mül19, vdM+04]")] == [("Mül19", "vdM+04")]


LISTED_BY_NAME = (
    "OECD (2015). Education at a Glance. Paris: OECD.",
    "Smith, J. and Jones, A. (1999). On elms. Trees 3.",
    "Smith, J., Roe, K. and Poe, L. (1999). On oaks. Trees 4.",
    "Smith, J. (2001). On yews. Trees 5.",
    "Global Carbon Project (2017). Global Carbon Budget.",
    "Müller, Hans und Schmidt, Eva (2010): Bäume. Berlin: Ulme.",
)


@pytest.mark.parametrize(
    ("text", "cites"),
    [
        ("It grows (in the sense of OECD 2015, table 3).", ("0",)),
        ("It grows (Smith and Jones 1999; 2001).", ("1", "3")),
        ("Smith et al. (1999) say so.", ("2",)),
        ("The Global Carbon Project [GCP] (2017) says so.", ("4",)),
        ("Bäume wachsen (vgl. Müller/Schmidt 2010: 15 f.).", ("5",)),
        ("Bäume wachsen (hierzu kritisch Müller u. a. 2010, S. 5; OECD 2015).", ("5", "0")),
        ("In 1999 (2001) nothing grew (World Bank 2015).", ()),
    ],
)
def test_the_list_tells_what_a_name_and_a_year_cite(text: str, cites: tuple[str, ...]) -> None:
    ids = [str(at) for at in range(len(LISTED_BY_NAME))]
    index = index_references([parse_reference(each) for each in LISTED_BY_NAME], ids)
    assert tuple(cite for link in index.links(text) for cite in link.cites) == cites


@pytest.mark.parametrize(
    ("text", "cites"),
    [
        ("Elms grow¹²⁻¹⁴.", ("12", "13", "14")),
        ("Elms grew in 2017⁵.", ("5",)),
        ("Elms hold Mn²⁺ and Ni²þ, 10⁶ m² and 5 mA g⁻¹.", ()),
        ("Elms grow (refs 4,5), as in ref. 7.", ("4", "5", "7")),
        ("Elms grow² and yews³, ⁴ too.", ("2", "3", "4")),
    ],
)
def test_raised_and_named_numbers(text: str, cites: tuple[str, ...]) -> None:
    ids = [str(at) for at in range(1, 21)]
    index = index_references([parse_reference("Doe, J. Elms. 2001.")] * 20, ids)
    assert tuple(cite for link in index.links(text) for cite in link.cites) == cites


@pytest.mark.parametrize(
    ("text", "cites"),
    [
        ("prints [1] 0.5 and x[2] (Doe and Roe 2019a; Ibáñez 2001; Li, A. 1994)", ["1", "3"]),
        ("see [1], [2, 3], [4] and [5]", ["1", "2", "3", "4", "5"]),
    ],
)
def test_numbers_cite_a_list_without_numbers_only_if_most_of_it_is_cited(
    text: str, cites: list[str]
) -> None:
    references = [parse_reference(each) for each in NAMED]
    index = index_references(references, list("12345"), [text], labelled=False)
    assert [cite for link in index.links(text) for cite in link.cites][: len(cites)] == cites


def entry(label: str, text: str) -> ReferenceEntry:
    return ReferenceEntry(label, PlacedText(text), text)


def notes(texts: Sequence[str], entries: Sequence[ReferenceEntry]) -> str:
    paragraphs = tuple(ReadParagraph("Intro", PlacedText(text)) for text in texts)
    paper = ReadPaper("T", (), "", None, None, paragraphs, tuple(entries), ())
    return "; ".join(annotate(paper, "x", sections=()).notes)


LIST = [entry(str(n), f"J. Doe. A title of things, number {n}. Noise, 2001.") for n in range(1, 21)]
NAMES = "Ash Beech Cedar Elm Fir Gale Hazel Ivy Jade Kale Larch Maple Oak Pine"
BY_NAME = [
    entry("", f"{name}, J. (2001). A title of things. Journal of Noise, 3, 1–9.")
    for name in NAMES.split()
]
CITED = [f"They say so ({each.printed[: each.printed.index(',')]}, 2001)." for each in BY_NAME]


@pytest.mark.parametrize(
    ("texts", "entries", "note"),
    [
        (["known [1-20]."], LIST, ""),
        (["known [1-20]."], LIST[:19], ""),  # 5 %
        (["known [1-20]."], LIST[:18], "cites 20 references, but the list that was read has 18"),
        (["known [1-18], twice [20] and [20]."], LIST[:18], "cites 20 references"),
        (["known [1-18] in [100] and [200]."], LIST[:18], ""),  # intervals and sizes
        (["known (1-10).", "so (11-20)."], LIST[:18], "cites 20 references"),
        (["known (1-10).", "so (11), (12), (13)."], [], "4 citation markers"),
        (["known (1), (2), (3), (4)."], [], ""),  # equations
        (["known [1-20]."], [*LIST[:17], *LIST[18:]], ""),
        (CITED, BY_NAME, ""),
        (CITED, BY_NAME[:-1], "1 of 14 citations match no entry"),
        ([*CITED, "so (PMML, Oak 2001)"], BY_NAME, ""),
        (["known [1-20]."], [*LIST[:18], *[entry(n, " ".join(f"J. Doe. Things, 20{m}." for m in
         range(10, 20))) for n in ("19", "20")]], "2 references may be several"),
    ],
)  # fmt: skip
def test_markers_and_list_are_compared(
    texts: Sequence[str], entries: Sequence[ReferenceEntry], note: str
) -> None:
    found = notes(texts, entries)
    assert note in found if note else found == ""
