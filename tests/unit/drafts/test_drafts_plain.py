"""Plain-text drafts, also as they come out of a PDF."""

from __future__ import annotations

import pytest

from citebed.drafts import parse_draft

PAGES = """A Study of Finding What to Cite

Ada Müller

Abstract

We recommend papers to those who
write, with a new infor-
mation retrieval model [1, 3-4].

1
\fA Study of Finding

It works well (Smith et al., 2019). See doi:10.1145/9.8.

2 Related Work
Others have ranked papers before us with language models [2].
They were slower by far, and

2
\fA Study of Finding

less exact.

REFERENCES

[1] J. Smith. Neural Citation Recommenda-
tion. In Proc. X, 2019. https://doi.org/10.1145/ABC.1
[2] B. Jones. Deep Things. arXiv preprint arXiv:2001.01234, 2020.
[3] C. Three. Third.

3
\fA Study of Finding
[4] D. Four. The Fourth Thing of All. 2001.

Appendix A

More text that goes on and on.
"""


def test_a_paper_from_a_pdf() -> None:
    draft = parse_draft(PAGES, "text")
    assert draft.title == "A Study of Finding What to Cite"
    assert [(p.line, p.section, p.text) for p in draft.passages] == [
        (7, "Abstract",
         "We recommend papers to those who write, with a new information retrieval model."),
        (14, "Abstract", "It works well. See."),
        (17, "2 Related Work", "Others have ranked papers before us with language models. They "
                               "were slower by far, and less exact."),
        (38, "Appendix A", "More text that goes on and on."),
    ]  # fmt: skip


def test_numbers_and_names_refer_to_entries() -> None:
    draft = parse_draft(PAGES, "text")
    assert [passage.cites for passage in draft.passages] == [
        ("10.1145/abc.1", "3", "4"), ("10.1145/abc.1", "10.1145/9.8"), ("2",), (),
    ]  # fmt: skip
    assert draft.cited.numbers == (1, 2, 3, 4)
    assert draft.cited.dois == ("10.1145/9.8", "10.1145/abc.1")
    assert draft.cited.arxiv == ("2001.01234",)
    entries = draft.cited.entries
    assert [entry.key for entry in entries] == ["1", "2", "3", "4"]
    assert entries[0].text.startswith("J. Smith. Neural Citation Recommendation. In Proc. X")


@pytest.mark.parametrize(
    ("text", "passages"),
    [
        ("One line\nwrapped by hand.\n\nTwo.", ["One line wrapped by hand.", "Two."]),
        ("   One starts\nhere and ends.\n   Two starts\nhere and ends.",
         ["One starts here and ends.", "Two starts here and ends."]),
        (f"One{' word' * 40}.\nTwo{' word' * 40}.", [f"One{' word' * 40}.", f"Two{' word' * 40}."]),
        (f"One{' word' * 40}\nand{' word' * 40}.", [f"One{' word' * 40} and{' word' * 40}."]),
        ("Just a few words", ["Just a few words"]),
        ("SHOUTED WORDS", ["SHOUTED WORDS"]),
        ("References", ["References"]),
        ("A well-\nknown state.\r\n\r\nTwo.", ["A well-known state.", "Two."]),
        (r"Words \cite{a} here.", ["Words here."]),
    ],
)  # fmt: skip
def test_paragraphs(text: str, passages: list[str]) -> None:
    found = [passage.text for passage in parse_draft(text, "text").passages]
    # Whether a word is joined with or without its hyphen is for ``join_hyphens`` to say.
    assert [text.replace("wellknown", "well-known") for text in found] == passages


@pytest.mark.parametrize(
    ("references", "keys"),
    [
        ("[1] A. One. First.\n    goes on\n[2] B. Two. Second.", ["1", "2"]),
        ("1. A. One. First.\n2. B. Two. Second.", ["1", "2"]),
        ("[Smi19] A. One. First.\n[Lee20] B. Two. Second.", ["Smi19", "Lee20"]),
        ("• A. One. First.\n• B. Two. Second.", ["", ""]),
        ("A. One. First,\ngoes on.\n\nB. Two. Second.", ["", ""]),
        ("A. One. First,\n   goes on.\nB. Two. Second.", ["", ""]),
        ("A. One. First.\nB. Two. Second.", ["", ""]),
    ],
)
def test_lists_of_references(references: str, keys: list[str]) -> None:
    draft = parse_draft(f"Some words here.\n\nReferences\n\n{references}\n", "text")
    entries = draft.cited.entries
    assert [entry.key for entry in entries] == keys
    assert entries[0].text.startswith("A. One. First")
    assert entries[1].text == "B. Two. Second."
    assert [passage.text for passage in draft.passages] == ["Some words here."]


def test_references_that_are_all_indented() -> None:
    draft = parse_draft("Some words here.\n\nReferences\n  A. One. First,\n  goes on.", "text")
    assert [entry.text for entry in draft.cited.entries] == ["A. One. First, goes on."]


def test_running_heads_are_dropped_only_at_the_edges_of_pages() -> None:
    text = "The {1} page\nis here.\n\nJournal of X, vol. 7\n\nIt has {1} words."
    page = f"Journal of X, vol. {{0}}\n\n{text}\n\n{{0}}\n"
    words = ("red", "green", "blue")
    draft = parse_draft("\f".join(page.format(n, word) for n, word in enumerate(words, 1)), "text")
    assert [passage.text for passage in draft.passages] == [
        text
        for word in words
        for text in (f"The {word} page is here.", "Journal of X, vol. 7", f"It has {word} words.")
    ]
