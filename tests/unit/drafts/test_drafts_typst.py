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


def test_code_formulas_and_comments_are_not_prose() -> None:
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


def test_captions_notes_and_items_are_recognised() -> None:
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


def test_references_are_entries() -> None:
    draft = _draft("Elms are tall [1].\n\n= References\n[1] A. Lee. Elms. 2019.")
    assert [entry.text for entry in draft.cited.entries] == ["A. Lee. Elms. 2019."]
    assert len(draft.passages) == 1


def test_included_files_are_read_in_place(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    whole = (
        '= Elms <elms>\n#include "parts/a.typ"\n#include "gone.typ"\nElms are old and @oaks too.\n'
    )
    (tmp_path / "draft.typ").write_text(whole)
    inner = 'Elms are tall @lee2019, see @elms.\n#include "b.typ"\n#include "../draft.typ"\n'
    (tmp_path / "parts" / "a.typ").write_text(inner)
    (tmp_path / "parts" / "b.typ").write_text('= Oaks <oaks>\nOaks are wide.\n#include "a.typ"\n')
    draft = read_draft(tmp_path / "draft.typ")
    assert [(p.source, p.line, p.section, p.text) for p in draft.passages] == [
        ("parts/a.typ", 1, "Elms", "Elms are tall, see."),
        ("parts/b.typ", 2, "Oaks", "Oaks are wide."),
        ("", 4, "Oaks", "Elms are old and too."),
    ]
    assert draft.cited.keys == ("lee2019",)
    assert draft.notes == ("gone.typ: not found",)


def test_files_of_a_text_are_noted() -> None:
    draft = _draft('#include "part.typ"\nElms are tall.')
    assert draft.notes == ("part.typ: not read, since the text did not come from a file",)


def test_files_that_include_each_other_without_end(tmp_path: Path) -> None:
    for number in range(200):
        words = f'Elms are tall, says file {number}.\n#include "f{number + 1}.typ"\n'
        (tmp_path / f"f{number}.typ").write_text(words)
    draft = read_draft(tmp_path / "f0.typ")
    assert len(draft.passages) == 51
    assert any("too many levels of included files" in note for note in draft.notes)
