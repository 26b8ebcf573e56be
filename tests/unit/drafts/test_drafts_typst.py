"""Typst: markup is prose, code is not, and what is cited is known."""

from __future__ import annotations

from pathlib import Path

from citebed.drafts import Draft, parse_draft, read_draft


def _draft(text: str) -> Draft:
    return parse_draft(text, "typst")


def test_a_template_s_title_abstract_authors_and_bibliography(tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text("@article{lee2019, title={The growth of elms}}")
    (tmp_path / "draft.typ").write_text("""#import "@preview/some:0.1.0": paper
#show: paper.with(
  title: [On the growth of *elms*],
  authors: ((name: "Ann Lee", organization: [A school]), (name: "Bob Ray")),
  abstract: [
    Elms grow in many places.

    They are tall.
  ],
  bibliography: bibliography("refs.bib"),
)
= Growth
Elms were studied by many @lee2019.
""")
    draft = read_draft(tmp_path / "draft.typ")
    assert (draft.title, draft.authors) == ("On the growth of elms", ("Ann Lee", "Bob Ray"))
    assert [(p.line, p.column, p.section, p.text) for p in draft.passages] == [
        (6, 5, "Abstract", "Elms grow in many places."),
        (8, 5, "Abstract", "They are tall."),
        (13, 1, "Growth", "Elms were studied by many."),
    ]
    assert draft.cited.titles == ("The growth of elms",)
    assert draft.notes == ()


def test_citations() -> None:
    draft = _draft("""Elms @lee2019[p. 3] and oaks #cite(<ray-2020>, form: "prose") grow.
Firs #cite(label("DBLP:kim/21")) too. Mail to me@example.org, as in @parks.

= Parks <parks>
See #link("https://doi.org/10.1145/9.9")[this paper] on parks.
""")
    assert draft.cited.keys == ("lee2019", "ray-2020", "DBLP:kim/21")
    assert draft.cited.dois == ("10.1145/9.9",)
    assert draft.passages[0].sentence_cites[0] == ("lee2019", "ray-2020")
    assert draft.passages[1].text == "See this paper on parks."


def test_code_formulas_and_comments_are_no_prose() -> None:
    draft = _draft("""#set text(
  size: 10pt,
)
#let twice(x) = { x + x }
Elms grow $x^2 + 1$ in `code` parks. // hidden
They /* hidden /* deeper */ still */ are #emph[very _tall_] trees \\#1.

```python
hidden = 1
```
#table(columns: 2, [hidden cell], [hidden @tab1])
""")
    assert [p.text for p in draft.passages] == [
        "Elms grow in parks. They are very tall trees #1.",
    ]  # fmt: skip
    assert draft.cited.keys == ("tab1",)


def test_captions_notes_and_items_are_told() -> None:
    draft = _draft("""
#figure(image("a.png", width: 80%), caption: [Elms near the sea @cap1.]) <fig>
Elms are tall#footnote[A note that says more @note1.] in @fig.
- Elms like water more than oaks do.
+ Oaks like sand more than elms do.
""")
    assert [(p.line, p.silent, p.text, p.cites) for p in draft.passages] == [
        (2, "caption", "Elms near the sea.", ("cap1",)),
        (3, "", "A note that says more.", ("note1",)),
        (3, "", "Elms are tall in.", ()),
        (4, "", "Elms like water more than oaks do.", ()),
        (5, "", "Oaks like sand more than elms do.", ()),
    ]


def test_references_and_included_files_are_told() -> None:
    draft = _draft(
        '#include "part.typ"\nElms are tall [1].\n\n= References\n[1] A. Lee. Elms. 2019.'
    )
    assert draft.notes == ("part.typ: not read, since it is included; give it by itself",)
    assert [entry.text for entry in draft.cited.entries] == ["A. Lee. Elms. 2019."]
    assert len(draft.passages) == 1
