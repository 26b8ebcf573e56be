"""Markdown drafts."""

from __future__ import annotations

from pathlib import Path

import pytest

from citebed.drafts import Draft, parse_draft, read_draft

PAPER = """---
title: "Finding What to Cite" # a comment
author:
  - name: Ada Müller
    affiliation: Somewhere
  - Bob O'Neill
bibliography: [refs.bib, "more.bib"]
abstract: |
  We recommend papers.
---

# Introduction {#sec:intro}

Recommending [see @smith2019; @jones2020, pp. 3-5] is *old*. Others agree [-@lee2018];
`code_here` is **no** prose. A [link](https://example.org) stays, a
[paper](https://doi.org/10.1145/12.34) cites, a note[^1] goes^[An aside on @note2001.].

<!-- hidden @hidden2000
-->

![The parts of it [@parts2017]](figure.png){width=50%}

```python
x = "@code2000"
```

| a         | b |
|-----------|---|
| @table1999 | 2 |

- first item
- second item

> A quoted line
> goes on.

[^1]: The text of the note.

Related Work
------------

Some <b>bold</b> words &amp; more, see https://arxiv.org/abs/1810.04805v2 too.

## References

1. Smith, J. **Neural Citation.** 2019. <https://doi.org/10.1145/ABC.1>
2. Jones, B. *Deep Things*. arXiv:2001.01234.
"""


@pytest.fixture(scope="module")
def paper() -> Draft:
    return parse_draft(PAPER, "markdown")


def test_front_matter(paper: Draft) -> None:
    assert paper.title == "Finding What to Cite"
    assert paper.authors == ("Ada Müller", "Bob O'Neill")
    assert paper.bibliography_files == ("refs.bib", "more.bib")


def test_passages(paper: Draft) -> None:
    assert [(p.line, p.section, p.text) for p in paper.passages] == [
        (9, "Abstract", "We recommend papers."),
        (14, "Introduction", "Recommending is old. Others agree; is no prose. A link stays, a "
                             "paper cites, a note goes."),
        (16, "Introduction", "An aside on."),
        (21, "Introduction", "The parts of it"),
        (31, "Introduction", "first item"),
        (32, "Introduction", "second item"),
        (34, "Introduction", "A quoted line goes on."),
        (37, "Introduction", "The text of the note."),
        (42, "Related Work", "Some bold words & more, see too."),
    ]  # fmt: skip


def test_citations(paper: Draft) -> None:
    assert paper.passages[1].cites == ("smith2019", "jones2020", "lee2018", "10.1145/12.34")
    assert set(paper.cited.keys) == {
        "smith2019", "jones2020", "lee2018", "note2001", "parts2017", "table1999",
    }  # fmt: skip
    assert set(paper.cited.dois) == {"10.1145/12.34", "10.1145/abc.1"}
    assert set(paper.cited.arxiv) == {"1810.04805", "2001.01234"}
    assert [entry.key for entry in paper.cited.entries] == ["1", "2"]


@pytest.mark.parametrize(
    ("markdown", "text", "keys"),
    [
        ("Words [@a; @b, p. 3] here.", "Words here.", ("a", "b")),
        ("Words [see @a, chap. 2 and passim] here.", "Words here.", ("a",)),
        ("Words [-@a] here.", "Words here.", ("a",)),
        ("Words @{https://a.b/c} here.", "Words here.", ("https://a.b/c",)),
        ("Words @a:b_c.d-e here.", "Words here.", ("a:b_c.d-e",)),
        ("Words @a. Then more.", "Words. Then more.", ("a",)),
        ("Mail me@example.org now.", "Mail me@example.org now.", ()),
        (r"Write to \@someone now.", "Write to @someone now.", ()),
        ("The plot in @fig:one shows it.", "The plot in shows it.", ()),
        (r"Words \citep[p. 3]{a} here.", "Words here.", ("a",)),
        (r"Words (Figure \ref{a}).\label{b}", "Words (Figure).", ()),
        ("Mail {a,b}@example.org now.", "Mail {a,b}@example.org now.", ()),
        ("![A [bracketed] one [@a]](b.png){width=5%}", "A [bracketed] one", ("a",)),
        ("Words [link][ref] and [span]{.x} here.", "Words link and span here.", ()),
        ("2 * 3 and snake_case and _this_ and ***that***.",
         "2 * 3 and snake_case and this and that.", ()),
        ("An $F_1$ costs $5 or $6.", "An F_1 costs $5 or $6.", ()),
        ("[![logo](a.png)](http://b) Words.", "logo Words.", ()),
    ],
)  # fmt: skip
def test_inline(markdown: str, text: str, keys: tuple[str, ...]) -> None:
    draft = parse_draft(markdown, "markdown")
    assert [passage.text for passage in draft.passages] == [text]
    assert draft.cited.keys == keys


def test_a_single_top_heading_is_the_title() -> None:
    draft = parse_draft("# A Title\n\n## One\n\nWords.\n\n## Two\n\nMore.", "markdown")
    assert draft.title == "A Title"
    assert [passage.section for passage in draft.passages] == ["One", "Two"]
    assert parse_draft("# One\n\nWords.\n\n# Two\n\nMore.", "markdown").title == ""


def test_pandoc_title_block() -> None:
    draft = parse_draft("% A Title\n% Ada One; Bob Two\n\nWords.", "markdown")
    assert (draft.title, draft.authors) == ("A Title", ("Ada One", "Bob Two"))
    assert parse_draft("% A Title", "markdown").title == "A Title"


def test_code_without_end_is_read_as_text() -> None:
    draft = parse_draft("Words.\n\n```python\nmore words\n", "markdown")
    assert [passage.text for passage in draft.passages] == ["Words.", "more words"]
    assert len(draft.notes) == 1


def test_a_section_may_follow_the_references() -> None:
    text = (
        "# One\n\nWords.\n\n# References\n\n- A. Smith. Title. doi:10.1/x1\n\n# Appendix\n\nMore."
    )
    draft = parse_draft(text.replace("10.1/", "10.1145/"), "markdown")
    assert [passage.text for passage in draft.passages] == ["Words.", "More."]
    assert draft.cited.dois == ("10.1145/x1",)


def test_a_bibliography_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text("@article{a, title={A Title of Words}}")
    path = tmp_path / "draft.md"
    path.write_text("---\nbibliography: refs.bib\n---\nWords @a.\n")
    assert read_draft(path).cited.titles == ("A Title of Words",)


# --- Blocks ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markdown", "texts"),
    [
        ("Words.\n\n    code(@a)\n\n\tmore code\n\nMore.", [(1, "Words."), (7, "More.")]),
        ("Words\n    that go on.", [(1, "Words that go on.")]),
        ("- An item\n\n    that goes on.", [(1, "An item"), (3, "that goes on.")]),
        ("[^1]: A note\n\n    that goes on.\n\nWords.",
         [(1, "A note"), (3, "that goes on."), (5, "Words.")]),
        ("Term\n:   What it is\n\n    and more.\n\n        code\n",
         [(1, "Term"), (2, "What it is"), (4, "and more.")]),
        ("(1) One\n(2) two.", [(1, "One"), (2, "two.")]),
        ("- [ ] To do\n- [x] done", [(1, "To do"), (2, "done")]),
        ("    All of it\n    stands in.\n\n    As in a notebook.",
         [(1, "All of it stands in."), (4, "As in a notebook.")]),
        ("::: {.note}\nWords.\n:::\nMore.", [(2, "Words."), (4, "More.")]),
        ("<div>\nWords.\n</div>", [(2, "Words.")]),
        ("- " * 60 + "Deep.\n\nWords.", [(1, "- " * 40 + "Deep."), (3, "Words.")]),
    ],
)  # fmt: skip
def test_blocks(markdown: str, texts: list[tuple[int, str]]) -> None:
    draft = parse_draft(markdown, "markdown")
    assert [(passage.line, passage.text) for passage in draft.passages] == texts
    assert draft.cited.keys == ()


@pytest.mark.parametrize(
    ("markdown", "texts"),
    [
        ("We have\n$$\nx\n=\ny\n$$ {#eq:a}\nfor all.", ["We have", "for all."]),
        ("We have $$\nx\n$$ for all\n$$\ny\n$$\nthen.", ["We have for all", "then."]),
        ("It has $$x$$ and\n\n$$y$$\n\nmore.", ["It has and", "more."]),
        ("```\nkill $$\n```\nWords.\n```\nkill $$\n```", ["Words."]),
    ],
)
def test_formulas_of_their_own(markdown: str, texts: list[str]) -> None:
    assert [passage.text for passage in parse_draft(markdown, "markdown").passages] == texts


def test_tables_cite_but_are_not_prose() -> None:
    text = "Words.\na | b\n--- | ---\n@one | 2\n\n+-----+\n| @two|\n+-----+\n\n| @three |\n"
    draft = parse_draft(text, "markdown")
    assert [passage.text for passage in draft.passages] == ["Words."]
    assert draft.cited.keys == ("one", "two", "three")


def test_a_definition_of_a_link_cites() -> None:
    draft = parse_draft("See [it][a].\n\n[a]: https://doi.org/10.1145/12.34 'It'", "markdown")
    assert [passage.text for passage in draft.passages] == ["See it."]
    assert draft.cited.dois == ("10.1145/12.34",)


def test_fences_end_where_their_container_does() -> None:
    draft = parse_draft("- ```\n  a\n\nOne.\n\n> ```\n> two\n\n```\nb\n```\n", "markdown")
    assert [passage.text for passage in draft.passages] == ["One.", "two"]
    assert len(draft.notes) == 1


def test_code_among_the_references_is_not_an_entry() -> None:
    text = "# One\n\nWords.\n\n# References\n\n- A. Smith. Title.\n\n```\n- code\n```\n"
    assert [e.text for e in parse_draft(text, "markdown").cited.entries] == ["A. Smith. Title."]
