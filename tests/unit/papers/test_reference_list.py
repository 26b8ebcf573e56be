"""Reference lists in many layouts: where they begin and end, and where their entries begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from citebed.papers.pages import (
    Font,
    Line,
    Page,
    Word,
    build_lines,
    find_page_gutters,
    order_lines,
)
from citebed.papers.reference_list import find_references, label_length
from citebed.papers.structure import Kind, classify_lines, heads_references, measure_style

SERIF, BOLD = Font("Serif", bold=False, italic=False), Font("Serif-Bold", bold=True, italic=False)
PROSE = "Some words of prose that fill a line of this column and say nothing at all"


def row(text: str, y: float, left: float = 50, size: float = 10, font: Font = SERIF) -> list[Word]:
    """The words of a line, each letter half as wide as it is tall."""
    words, at = [], left
    for part in text.split():
        right = at + size / 2 * len(part)
        words.append(Word(part, at, right, y, size, font, 0))
        at = right + size / 4
    return words


def prose(top: float, lines: int = 8) -> list[list[Word]]:
    return [row(PROSE, top + 12 * n) for n in range(lines)]


def labels_and_lines(rows: Iterable[Sequence[Word]]) -> list[tuple[str, int]]:
    """The label and the number of lines of each entry found."""
    words = tuple(word for some in rows for word in some)
    lines = order_lines(build_lines(Page(0, 612.0, 792.0, words)), [])
    style = measure_style(lines)
    entries = find_references(lines, classify_lines(lines, style, set()), style)
    return [(entry.label, len(entry.lines)) for entry in entries]


def entries(
    texts: Sequence[tuple[str, ...]], top: float, size: float = 8, hang: float = 14, gap: float = 0
) -> list[list[Word]]:
    """Entries of some lines each, with a hanging indent and a gap between them."""
    rows, y = [], top
    for lines in texts:
        for at, text in enumerate(lines):
            rows.append(row(text, y, 50 + (hang if at else 0), size))
            y += 1.2 * size
        y += gap
    return rows


NUMBERED = [
    ("Doe, J. Elms and their leaves in", "the gardens of the north. Trees 3, 12–19 (2001)."),
    ("Roe, K. Ash. Trees 4, 1–9 (2002).",),
    ("Poe, L. & Moe, M. Yews that grow on the walls", "of old towns. Trees 5, 7 (2003)."),
]
NAMED = [
    ("Abel, J. (2001). Elms and their leaves in the", "gardens of the north. Trees, 3, 12–19."),
    ("Bell, K. (2002). Ash. Trees, 4, 1–9.",),
    ("Cook, L. (2003). Yews that grow on walls of", "old towns. Trees, 5, 7."),
]


def numbered(form: str, first: int = 1) -> list[tuple[str, ...]]:
    return [
        (f"{form.format(number)} {lines[0]}", *lines[1:])
        for number, lines in enumerate(NUMBERED, first)
    ]


@pytest.mark.parametrize("form", ["[{}]", "{}.", "({})", "{}"])
@pytest.mark.parametrize(
    "heading", ["References", "7. LITERATURE CITED", "Literaturverzeichnis", ""]
)
@pytest.mark.parametrize("font", [SERIF, BOLD], ids=["serif", "bold"])
def test_labels_that_count_up_are_a_list(form: str, heading: str, font: Font) -> None:
    head = [row(heading, 220, 50, 10, font)] if heading else []
    found = labels_and_lines([*prose(100), *head, *entries(numbered(form), 240)])
    assert found == [("1", 2), ("2", 1), ("3", 2)]


@pytest.mark.parametrize(("hang", "gap"), [(14, 0), (0, 8), (0, 0)])
def test_entries_without_labels(hang: float, gap: float) -> None:
    rows = entries(NAMED, 240, hang=hang, gap=gap)
    found = labels_and_lines([*prose(100), row("Bibliographie", 220), *rows])
    assert found == [("", 2), ("", 1), ("", 2)]


def test_a_heading_may_have_other_words() -> None:
    head = row("Works that we used", 220, size=12, font=BOLD)
    found = labels_and_lines(
        [row("Introduction", 80, size=12, font=BOLD), *prose(100), head, *entries(NAMED, 240)]
    )
    assert found == [("", 2), ("", 1), ("", 2)]


def test_an_indent_may_mark_the_first_line() -> None:
    rows = [
        row(text, 240 + 10 * n, 64 if text.endswith("the") or "." in text[:10] else 50, 8)
        for n, text in enumerate(text for lines in NAMED for text in lines)
    ]
    assert labels_and_lines([*prose(100), row("References", 220), *rows])[0] == ("", 2)


def test_keys_in_brackets_are_labels() -> None:
    keyed = [(f"[{key}] {lines[0]}", *lines[1:]) for key, lines in
             zip(("Doe01", "AB+02", "vdM03a"), NUMBERED, strict=True)]  # fmt: skip
    found = labels_and_lines([*prose(100), row("Literatur", 220), *entries(keyed, 240)])
    assert found == [("Doe01", 2), ("AB+02", 1), ("vdM03a", 2)]


def test_a_list_goes_on_below_other_text() -> None:
    first, rest = numbered("{}.")[:2], numbered("{}.")[2:]
    text = [row(PROSE, 290 + 12 * n) for n in range(5)]
    rows = [row("References", 220), *entries(first, 240), *text, *entries(rest, 380)]
    assert labels_and_lines([*prose(100), *rows]) == [("1", 2), ("2", 1), ("3", 2)]


def test_a_list_ends_before_what_follows_it() -> None:
    after = [row("Conflict of interest: none of the authors has one in 2004.", 320, 50, 8)]
    rows = [row("References", 220), *entries(NAMED, 240), *after]
    assert len(labels_and_lines([*prose(100), *rows])) == 3


def test_tags_of_arxiv_are_not_labels() -> None:
    tagged = [
        (f"[{number}] A. Doe, Elms, Phys. Lett. {number}, 1 (2001),", "[hep-ph/0101001].")
        for number in (1, 2, 3, 4)
    ]
    found = labels_and_lines([*prose(100), row("References", 220), *entries(tagged, 240)])
    assert found == [(str(number), 2) for number in (1, 2, 3, 4)]


def test_numbered_steps_are_not_references() -> None:
    steps = [
        (f"{n}. Take some of the leaves and put them in a jar of water.",) for n in range(1, 8)
    ]
    assert labels_and_lines([*prose(100), *entries(steps, 240, size=10)]) == []


@pytest.mark.parametrize(
    ("text", "heads"),
    [
        ("References", True), ("R E F E R E N C E S", True), ("6 References", True),
        ("Références bibliographiques", True), ("Список литературы", True), ("参考文献", True),
        ("Quellen- und Literaturverzeichnis", True), ("references", False),
        ("References to trees", False), ("Literature review", False),
    ],
)  # fmt: skip
def test_headings_of_lists(text: str, heads: bool) -> None:
    assert heads_references(text) is heads


@pytest.mark.parametrize(
    ("label", "text", "rest"),
    [("12", "[12] Doe", "Doe"), ("3", "3. Doe", "Doe"), ("3", "(3) Doe", "Doe"), ("", "3 A", "3 A"),
     ("Doe01", "[Doe01] Doe", "Doe"), ("4", "3. Doe", "3. Doe")],
)  # fmt: skip
def test_labels_are_cut_off(label: str, text: str, rest: str) -> None:
    assert text[label_length(label, text) :] == rest


def test_small_print_below_a_heading_is_prose() -> None:
    rows = [
        *prose(100),
        row("Methods", 220, font=BOLD),
        *(row(PROSE, 234 + 9 * n, size=7.5) for n in range(4)),
    ]
    lines = build_lines(Page(0, 612.0, 792.0, tuple(word for some in rows for word in some)))
    kinds = classify_lines(lines, measure_style(lines), set())
    assert [kind for kind in kinds if kind is not Kind.PROSE] == [Kind.HEADING]


def side_by_side(text: str, top: float, lines: int, lefts: Sequence[float]) -> list[list[Word]]:
    return [row(text, top + 12 * n, left) for n in range(lines) for left in lefts]


def test_columns_below_text_that_has_none() -> None:
    wide = [row(f"{PROSE} {PROSE[:20]}", 100 + 12 * n) for n in range(20)]
    narrow = side_by_side("some words of a narrow", 400, 9, (50, 200, 350))
    lines: list[Line] = build_lines(
        Page(0, 612.0, 792.0, tuple(word for some in [*wide, *narrow] for word in some))
    )
    gutters = find_page_gutters(lines, [], 612)
    assert len(gutters) == 2
    columns = [line.column for line in order_lines(lines, gutters)]
    assert columns == [-1] * 20 + [0] * 9 + [1] * 9 + [2] * 9


NAMED_ENTRIES = [
    ("Ash A (1991). Ashes on the river.", "Bonn: Willow Press."),
    ("Elm B, Yew C (1999). Elms in towns.", "Journal of Trees 3, 4-9."),
    ("Fir D (2003). Firs and other trees.", "Journal of Trees 7, 1-2."),
    ("Oak E (2008). Oaks of the north.", "Oslo: Willow Press."),
]


def dated_below(texts: Sequence[tuple[str, ...]], *below: list[Word]) -> list[tuple[str, int]]:
    """Labels and lines of a list that other text follows."""
    heading = row("References", 160, font=BOLD, size=12)
    return labels_and_lines([*prose(40), heading, *entries(texts, 180), *below])


def test_an_address_after_a_list_is_not_an_entry() -> None:
    address = entries([("Department of Trees",), ("E-mail: elm@trees.example",)], 300)
    assert dated_below(NAMED_ENTRIES, *address) == [("", 2)] * 4


def test_a_table_between_entries_is_not_an_entry() -> None:
    table = [("Linear models yes",), ("Count models no",), ("Other models yes",)]
    texts = [*NAMED_ENTRIES[:2], *table, *NAMED_ENTRIES * 3]
    assert dated_below(texts) == [("", 2)] * 14


def test_an_entry_without_a_year_stays_between_dated_ones() -> None:
    texts = [*NAMED_ENTRIES, ("The encyclopaedia of all trees.", "Bonn: Willow Press.")]
    assert len(dated_below([*texts, *NAMED_ENTRIES])) == 9


def test_a_list_ends_below_a_heading_of_affiliations() -> None:
    heading = row("Affiliation:", 300, font=BOLD, size=12)
    address = entries([("Ann Ash, Elm University, https://ash.example",)] * 2, 320)
    assert dated_below(NAMED_ENTRIES, heading, *address) == [("", 2)] * 4


def test_an_entry_begins_at_the_top_of_a_page_in_a_list_with_gaps() -> None:
    first = [*prose(40), row("References", 160, font=BOLD, size=12)]
    first += entries(NAMED_ENTRIES[:2], 180, hang=0, gap=10)
    second = entries(NAMED_ENTRIES[2:], 40, hang=0, gap=10)
    pages = [
        Page(n, 612.0, 792.0, tuple(w for r in rows for w in r))
        for n, rows in enumerate((first, second))
    ]
    lines = [line for page in pages for line in order_lines(build_lines(page), [])]
    style = measure_style(lines)
    found = find_references(lines, classify_lines(lines, style, set()), style)
    assert [len(entry.lines) for entry in found] == [2, 2, 2, 2]


def test_a_dash_that_a_font_does_not_name_begins_an_entry() -> None:
    texts = [*NAMED_ENTRIES, ("\uf610 (2009). More oaks.", "Oslo: Willow Press.")]
    assert dated_below(texts) == [("", 2)] * 5


CODE, TEXT = Font("Code", bold=False, italic=False), Font("Text", bold=False, italic=False)
NAMES = [
    f"{word}{n:02}" for n, word in enumerate(("willow", "lindens", "poplars", "hazelnut") * 12)
]


def uneven(text: str, y: float, stretch: float = 1) -> list[Word]:
    """A line of prose: its letters have different widths."""
    words = row(text, y, font=TEXT)
    return [
        word._replace(
            left=50 + stretch * (word.left - 50),
            right=50 + stretch * (word.right - 50) - 4 * (n % 3),
        )
        for n, word in enumerate(words)
    ]


@pytest.mark.parametrize(
    ("before", "stretch", "kind"),
    [("The trees are listed here:", 1, Kind.OTHER), ("and call the function", 3.6, Kind.PROSE)],
)
def test_program_code_is_not_prose_unless_in_a_sentence(
    before: str, stretch: float, kind: Kind
) -> None:
    text = [uneven(" ".join(NAMES[n : n + 8]), 40 + 1.5 * n) for n in range(0, 48, 8)]
    code = [
        row(f"plant({name}) water({name})", 200 + 12 * n, font=CODE)
        for n, name in enumerate(NAMES[:12])
    ]
    call = row("plot(trees)", 124, font=CODE)
    rows = [*text, uneven(before, 112, stretch), call, *code]
    words = tuple(word for some in rows for word in some)
    lines = order_lines(build_lines(Page(0, 612.0, 792.0, words)), [])
    style = measure_style(lines)
    kinds = classify_lines(lines, style, set())
    assert style.typewriter == {"Code"}
    assert [k for k, line in zip(kinds, lines, strict=True) if line.text == "plot(trees)"] == [kind]
