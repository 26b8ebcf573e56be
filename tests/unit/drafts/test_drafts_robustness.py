"""Any text is read or refused with a message, in linear time."""

from __future__ import annotations

import contextlib
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sampling import sized
from tests.strategies import ANY_TEXT

from citebed.drafts import Draft, Form, draft_from_bytes, parse_draft, pieces
from citebed.errors import CitebedError

FORMS = get_args(Form)
_SIGNS = (
    *"\\{}[]$%&#@^_~`*<>|-()!.,;: \n\f\t", "\n\n", "\\cite{", "\\cite{a}", "\\citep[", "\\begin{",
    "\\begin{equation}", "\\end{equation}", "\\begin{document}", "\\end{document}", "\\footnote{",
    "\\section{", "\\newcommand{\\x}{", "\\x", "\\input{x}", "\\verb|", "\\(", "\\[", "$$",
    "\\begin{thebibliography}{9}", "\\bibitem{b}", "\\textbackslash cite{a}", "\\def\\x#1{",
    "[@a]", "@b", "](", "![", "^[", "[^1]", "```\n", "---\n", "# ", "> ", "| a |\n", "<!--", "-->",
    "#cite(<a>)", "#f(", "#f[", "#let x", "/*", "*/", "//", "= ", "<a>", "`", "[a]_", ":cite:`a`",
    "a\n===\n", ".. note:: ", ".. [a] ", "\n   ", "::\n", "=== ===\n", ".. figure:: a\n",
    ":a: b",
    "<b>", "&lt;", "References\n", "[1] ", "[2-4]", "(Smith, 2019)", "10.1145/12.3",
    "arXiv:1810.04805", "https://a.b/c", "words ", "More words. ",
    "e\u0301", "漢字", "\ue000" "0\ue001", "\ue141",
)  # fmt: skip
TEXT = ANY_TEXT | st.lists(st.sampled_from(_SIGNS) | st.text(max_size=5), max_size=30).map("".join)


def _read(text: str, form: Form | None) -> Draft | None:
    try:
        return parse_draft(text, form)
    except CitebedError:
        assert not text.strip()
        return None


@given(TEXT, st.sampled_from((*FORMS, None)))
def test_any_text_is_read(text: str, form: Form | None) -> None:
    draft = _read(text, form)
    for number, passage in enumerate(draft.passages if draft else (), start=1):
        assert passage.number == number
        assert passage.text.strip() == passage.text
        assert "\n" not in passage.text
        assert "\\cite" not in passage.text
        assert not {"\ue000", "\ue001"} & set(passage.text)
        assert 1 <= passage.line <= text.replace("\r", "\n").count("\n") + 1
        assert passage.text == " ".join(filter(None, passage.sentences))
        assert len(passage.sentences) == len(passage.sentence_cites)
        assert set(passage.cites) == {name for names in passage.sentence_cites for name in names}


@given(st.binary(max_size=200) | TEXT.map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(CitebedError):
        assert isinstance(draft_from_bytes(data, "draft"), Draft)


WORDS = st.lists(
    st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=9), min_size=1, max_size=40
).map(" ".join)


@given(WORDS, st.sampled_from(FORMS))
def test_plain_words_are_the_words(words: str, form: Form) -> None:
    draft = parse_draft(words, form)
    assert [passage.text for passage in draft.passages] == [words]
    assert draft.notes == ()


@given(st.lists(WORDS, min_size=1, max_size=5), st.sampled_from(("tex", "markdown")))
def test_each_paragraph_is_a_passage_and_keeps_its_citation(texts: list[str], form: Form) -> None:
    mark = "\\cite{k%d}" if form == "tex" else "[@k%d]"
    written = [f"{text} {mark % number}." for number, text in enumerate(texts)]
    draft = parse_draft("\n\n".join(written), form)
    assert [passage.text for passage in draft.passages] == [f"{text}." for text in texts]
    assert [passage.cites for passage in draft.passages] == [(f"k{n}",) for n in range(len(texts))]
    assert [p.line for p in pieces(draft, "paragraph")] == [1 + 2 * n for n in range(len(texts))]


HOSTILE = {
    "tex": (
        *("{", "}", "$", "$$", "\\", "\\(", "\\[", "%", "-\n", "\\cite{", "\\cite[", "\\cites("),
        *("\\footnote{", "\\section{", "\\title{", "\\frac{", "\\foo[", "\\item[", "\\verb|"),
        *("\\begin{a}", "\\end{a}", "\\begin{equation}", "\\begin{verbatim}", "\\iffalse "),
        *("\\newcommand{\\x}{\\x\\x}\\x ", "\\def\\a#1{", "\\caption{x\n\n"),
        "\\begin{thebibliography}{1}",
    ),
    "markdown": (
        *("[", "]", "[@", "[a](", "[a](b ", "![", "^[", "`", "```a\n", "<", "<!--", "*", "_", "$"),
        *("$$", "\\", "@a", "> ", "- ", "a\n===\n", "[^", "[a]{", "|a", "$$\n", "a\n$$", "<?"),
        *("[^1]: ", ": ", "(1) ", "1. ", ":::\n", "[a]: b\n", "[a\n", "> - ", "- a\n  ", "~~~~a\n"),
        *("- ```a\n  b\n", "> ```\n", "a | b\n--- | ---\n"),
    ),
    "typst": (
        *("#f[", "#f(", "#f({[", "[", "]", "(", "#", "$", "`", "```", "/*", "*/", "//", "@a"),
        *("@a[", "#cite(<a>)", "#cite(", "<a>", "= ", "\n= ", "\n- ", "\n\n", "\\", "#let "),
        *("#if x {", '"'),
        *('#link("', "#table[", "#footnote[", "#figure(caption: [", "*", "_", "#show: f(title: ["),
        *("`a``", "#(", "#{", "a:"),
    ),
    "rst": (
        *("`", "``", "[a]_", "[", ":a:`", ":cite:`", ":cite:`a`", "*", "**", "|", "_", "\\"),
        "`a <",
        *("a\n===\n", "===\na\n===\n", ".. note:: a\n\n", ".. ", ".. [a] b\n", ".. _a: b\n", "::"),
        *("a::\n\n", "=== ===\n", "+---+\n", "- a\n", ":a: b\n", ">>> a\n", "| a\n", "\n ", "=\n"),
        *(":a:\n", "-\n", "a\n--\n", "   \n"),
    ),
    "text": (
        *("[", "[1,", "(", "(Smith, ", "\f", "\f1\n", "References\n", "[1] a\n", "-\n"),
        *("Abstract\n", "ABC\n\n", "http://", "10.1000/", "a. ", "et al. ", " "),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("form", "unit"), [(form, unit) for form, units in HOSTILE.items() for unit in units]
)
def test_deep_and_repeated_text_is_read(form: Form, unit: str) -> None:
    """The text nests deeper than any stack, and quadratic time would take minutes."""
    repeated = unit * (sized(20_000, 100_000) // len(unit))
    draft = parse_draft(f"Some words first. {repeated}\n\nThe end.", form)
    assert "\\cite" not in "".join(passage.text for passage in draft.passages)


def test_directives_within_directives_are_read() -> None:
    deep = "\n".join(f"{' ' * n}.. note::" for n in range(sized(300, 1000)))
    draft = parse_draft(f"Some words first.\n\n{deep}\n\nThe end is here.", "rst")
    assert [passage.text for passage in draft.passages] == ["Some words first.", "The end is here."]
