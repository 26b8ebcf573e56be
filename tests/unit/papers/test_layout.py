"""Lines, columns, numbers in margins, kinds of lines and paragraphs, from words made by hand."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from citebed.papers.pages import (
    Font,
    Line,
    Page,
    Word,
    build_lines,
    find_gutters,
    order_lines,
    remove_line_numbers,
    restore_ligatures,
)
from citebed.papers.paragraphs import place_texts, split_body
from citebed.papers.reference_list import find_references
from citebed.papers.structure import Kind, Style, classify_lines, find_running_lines, measure_style

SERIF, BOLD = Font("Serif", bold=False, italic=False), Font("Serif-Bold", bold=True, italic=False)
LONG = "some words of prose that fill a line of this column whole"


def line(
    text: str, baseline: float, left: float = 50, size: float = 10, font: Font = SERIF
) -> tuple[Word, ...]:
    """The words of a line, each letter half as wide as it is tall."""
    words, at = [], left
    for part in text.split():
        right = at + size / 2 * len(part)
        words.append(Word(part, at, right, baseline, size, font, 0))
        at = right + size / 4
    return tuple(words)


def page(*lines: Sequence[Word], number: int = 0) -> Page:
    return Page(number, 612.0, 792.0, tuple(word for some in lines for word in some))


def read(*lines: Sequence[Word]) -> tuple[list[Line], Style]:
    ordered = order_lines(build_lines(page(*lines)), [])
    return ordered, measure_style(ordered)


def test_words_of_one_height_are_a_line() -> None:
    found = build_lines(page(line("one two", 100), line("three", 112)))
    assert [each.text for each in found] == ["one two", "three"]


def test_columns_are_read_one_after_the_other() -> None:
    rows = [line(LONG, 100 + 12 * n, left) for n in range(20) for left in (40, 330)]
    lines = build_lines(page(*rows))
    edges = find_gutters([lines], 612)
    assert len(edges) == 1
    ordered = order_lines(lines, edges)
    assert [each.column for each in ordered] == [0] * 20 + [1] * 20


def test_a_line_across_columns_comes_after_the_lines_above_it() -> None:
    wide = line(f"{LONG} {LONG}", 150, 40)
    rows = [wide, line("above", 100, 40), line("beside", 100, 400), line("below", 200, 40)]
    ordered = order_lines(build_lines(page(*rows)), [320.0])
    assert [each.text.split()[0] for each in ordered] == ["above", "beside", "some", "below"]


def test_numbers_of_lines_are_left_out_and_labels_are_not() -> None:
    text = [line(LONG, 100 + 12 * n, 80) for n in range(20)]
    numbers = [line(str(n + 1), 100 + 12 * n, 50, 6) for n in range(20)]
    (found,) = remove_line_numbers([page(*text, *numbers)])
    assert not any(word.text.isdigit() for word in found.words)
    labels = [line(str(n + 1), 100 + 24 * n, 50) for n in range(10)]
    (kept,) = remove_line_numbers([page(*text, *labels)])
    assert sum(word.text.isdigit() for word in kept.words) == 10


def test_few_numbers_on_a_last_page_go_on_from_the_page_before() -> None:
    text = [line(LONG, 100 + 12 * n, 80) for n in range(20)]
    numbers = [line(f"{n + 31}", 100 + 12 * n, 50, 6) for n in range(20)]
    last = page(line(LONG, 100, 80), line("51", 100, 50, 6), number=1)
    _, found = remove_line_numbers([page(*text, *numbers), last])
    assert "51" not in [word.text for word in found.words]


def test_headings_in_capitals_of_the_prose_font() -> None:
    lines, style = read(
        line("I. INTRODUCTION", 88, 150),
        *(line(LONG, 100 + 12 * n) for n in range(10)),
        line("REFERENCES", 250, 150),
        line("[1] A. Doe, A title of nothing much, 2001, and more", 270),
    )
    kinds = classify_lines(lines, style, find_running_lines([lines]))
    heads = [each.text for each, kind in zip(lines, kinds, strict=True) if kind is Kind.HEADING]
    assert heads == ["I. INTRODUCTION", "REFERENCES"]
    entries = find_references(lines, kinds, style)
    assert [entry.label for entry in entries] == ["1"]
    assert len(split_body(lines, kinds, style, {id(entries[0].lines[0])})) == 1


def test_a_list_without_a_heading_is_found_by_its_labels() -> None:
    prose = [line(LONG, 100 + 12 * n) for n in range(10)]
    listed = [
        line(f"[{n}] A. Doe, title number {n}, 200{n}", 300 + 12 * n, 50, 8) for n in (1, 2, 3)
    ]
    lines, style = read(*prose, *listed)
    kinds = classify_lines(lines, style, set())
    entries = find_references(lines, kinds, style)
    assert [entry.label for entry in entries] == ["1", "2", "3"]
    assert len(split_body(lines, kinds, style)) == 1


def test_entries_that_hang() -> None:
    rows = [
        line("References", 80),
        line("Doe, J. (2001). A title that is long and", 100),
        line("goes on here.", 112, 65),
        line("Roe, K. (2002). Another title.", 124),
    ]
    lines, style = read(*rows)
    kinds = classify_lines(lines, style, set())
    assert [len(entry.lines) for entry in find_references(lines, kinds, style)] == [2, 1]


def test_broken_words_are_joined_and_places_kept() -> None:
    lines, _style = read(line("we recom-", 100), line("mend this", 112))
    (text,) = place_texts([lines])
    assert text.text == "we recommend this"
    assert [box.top < 112 for box in text.boxes()] == [True, True]


def test_a_ligature_without_a_code_is_read_from_its_words() -> None:
    lines = build_lines(page(line("so\uf601ware le\uf601 o\uf601en", 100)))
    assert restore_ligatures([lines])[0][0].text == "software left often"


CHARACTERS = st.characters(
    min_codepoint=33, max_codepoint=0x2FF, exclude_categories=("Cc", "Cs", "Z")
)
WORDS = st.builds(
    Word,
    st.text(CHARACTERS, min_size=1, max_size=8),
    st.floats(0, 500),
    st.floats(501, 600),
    st.floats(20, 780),
    st.floats(4, 30),
    st.sampled_from([SERIF, BOLD]),
    st.integers(0, 2),
    st.booleans(),
)


@given(st.lists(WORDS, max_size=40))
def test_any_words_on_a_page_give_text_of_their_characters(words: list[Word]) -> None:
    (shown,) = remove_line_numbers([Page(0, 612.0, 792.0, tuple(words))])
    raw = build_lines(shown)
    lines = order_lines(raw, find_gutters([raw], 612))
    style = measure_style(lines)
    kinds = classify_lines(lines, style, find_running_lines([lines]))
    entries = find_references(lines, kinds, style)
    groups = [p.lines for p in split_body(lines, kinds, style)] + [e.lines for e in entries]
    letters = {char for word in words for char in word.text if char.isascii() and char.isalnum()}
    for text in place_texts(groups):
        assert {char for char in text.text if char.isascii() and char.isalpha()} <= letters
        assert all(box.page == 0 for box in text.boxes())
