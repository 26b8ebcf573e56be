"""Positions of sentences: file, line and column, as an editor shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.drafts import Draft, draft_from_bytes, parse_draft, pieces, read_draft

TEX = r"""\newcommand{\tool}{Finder}
\begin{document}
% a comment
  We present \tool, which recommends pa-
pers. It is \emph{quick}~\cite{a}. \textbf{Na\"ive} readers\footnote{A critique is
elsewhere. It is long.} agree.
\tool{} is \input{middle}The end is here.
\begin{itemize}
\item[First:] one item has words.
\end{itemize}
\end{document}
"""
MIDDLE = "small. % why\n\n   Another file\nbegins. Here it ends.\n"


def found(draft: Draft) -> list[tuple[str, str, int, int]]:
    sentences = pieces(draft, "sentence")
    return [(each.text, each.source, each.line, each.column) for each in sentences]


def test_sentences_of_latex_and_of_included_files(tmp_path: Path) -> None:
    (tmp_path / "paper.tex").write_text(TEX)
    (tmp_path / "middle.tex").write_text(MIDDLE)
    draft = read_draft(tmp_path / "paper.tex")
    assert found(draft) == [
        ("We present Finder, which recommends papers.", "", 4, 3),
        ("It is quick.", "", 5, 7),
        ("Naïve readers agree.", "", 5, 44),
        ("Finder is small.", "", 7, 1),
        ("A critique is elsewhere.", "", 5, 70),
        ("It is long.", "", 6, 12),
        ("Another file begins.", "middle.tex", 3, 4),
        ("Here it ends.", "middle.tex", 4, 9),
        ("The end is here.", "", 7, 26),
        ("First: one item has words.", "", 9, 7),
    ]
    assert [(p.line, p.column, p.source) for p in draft.passages] == [
        (4, 3, ""), (5, 70, ""), (3, 4, "middle.tex"), (9, 7, ""),
    ]  # fmt: skip


def test_the_file_is_named_as_it_can_be_opened(tmp_path: Path) -> None:
    (tmp_path / "paper.tex").write_text(TEX)
    (tmp_path / "middle.tex").write_text(MIDDLE)
    draft = read_draft(tmp_path / "paper.tex")
    files = {draft.file_of(place) for passage in draft.passages for place in passage.places}
    assert files == {str(tmp_path / "paper.tex"), str(tmp_path / "middle.tex")}
    assert parse_draft("Words are here.").file == ""


MARKDOWN = """---
title: A Title
abstract: |
  We recommend papers. We do
  so quickly.
---
# Heading

Some *words* of a [link](https://example.org/some/words). Others
go on [@smith2019some]. Some words^[An aside.] end.

> A quoted line
> goes on. It ends.

* An item of words. And
  more of it.

<!-- a comment -->   After a comment.
"""


def test_sentences_of_markdown() -> None:
    assert found(parse_draft(MARKDOWN, "markdown")) == [
        ("We recommend papers.", "", 4, 3), ("We do so quickly.", "", 4, 24),
        ("Some words of a link.", "", 9, 1), ("Others go on.", "", 9, 59),
        ("Some words end.", "", 10, 25), ("An aside.", "", 10, 37),
        ("A quoted line goes on.", "", 12, 3), ("It ends.", "", 13, 12),
        ("An item of words.", "", 15, 3), ("And more of it.", "", 15, 21),
        ("After a comment.", "", 18, 22),
    ]  # fmt: skip


def test_sentences_of_plain_text() -> None:
    text = "First words. Second\r\nwords [1]. Third (Smith et al., 2019) words.\r\n\r\n"
    text += "  Fourth one. (Fifth words.) “Sixth words.”\r\n"
    assert found(draft_from_bytes(text.encode(), "draft")) == [
        ("First words.", "", 1, 1), ("Second words.", "", 1, 14), ("Third words.", "", 2, 12),
        ("Fourth one.", "", 4, 3), ("(Fifth words.)", "", 4, 15), ("“Sixth words.”", "", 4, 30),
    ]  # fmt: skip


def test_a_new_page_begins_within_a_line() -> None:
    assert found(parse_draft("One page of words.\fAnother page of words.", "text")) == [
        ("One page of words.", "", 1, 1),
        ("Another page of words.", "", 1, 20),
    ]


def test_a_byte_order_mark_is_not_a_column() -> None:
    (sentence,) = found(draft_from_bytes("\ufeffSome words.".encode(), "draft"))
    assert sentence == ("Some words.", "", 1, 1)


# Sentences put together with known places: what the reader finds must be those.
_WORDS = st.lists(
    st.sampled_from(("term", "weights", "of", "the", "query", "naïve", "a", "42", "漢字", "x")),
    min_size=2, max_size=8,
)  # fmt: skip
_MARKUP = {
    "tex": ("{}", r"\emph{{{}}}", r"{}\cite{{k1}}", r"{}~\citep[see][p.~3]{{a2019key}}", "{} $x$"),
    "markdown": ("{}", "*{}*", "{} [@k1]", "[{}](https://example.org/a/b)", "**{}**"),
    "text": ("{}", "{} [1]", "{} (Smith and Jones, 2019)", "{} [2, 3]", "“{}”"),
}
_GAPS = (" ", "\n", "  ", " \n  ")


@given(
    st.sampled_from(tuple(_MARKUP)),
    st.lists(
        st.tuples(_WORDS, st.integers(0, 4), st.integers(1, 7), st.sampled_from(_GAPS)),
        min_size=1, max_size=6,
    ),
)  # fmt: skip
def test_sentences_are_found_where_they_were_put(
    form: str, parts: list[tuple[list[str], int, int, str]]
) -> None:
    text, expected = "", []
    for words, markup, number, gap in parts:
        at = min(number, len(words) - 1)
        marked = [_MARKUP[form][markup].format(w) if n == at else w for n, w in enumerate(words)]
        expected.append((text.count("\n") + 1, len(text) - text.rfind("\n")))
        text += f"Sentence {gap.join(marked)}."
        text += gap
    draft = parse_draft(text, form)  # type: ignore[arg-type]
    places = [(each.line, each.column) for each in pieces(draft, "sentence")]
    assert places == expected


@pytest.mark.parametrize("form", ["tex", "markdown", "text"])
def test_a_long_text_is_placed_in_a_time_that_grows_with_it(form: str) -> None:
    """Twenty thousand sentences that are all alike: nothing is looked for far away."""
    text = "Some words. " * 20_000
    draft = parse_draft(text, form)  # type: ignore[arg-type]
    places = [(each.line, each.column) for each in pieces(draft, "sentence")]
    assert places == [(1, 12 * number + 1) for number in range(20_000)]
