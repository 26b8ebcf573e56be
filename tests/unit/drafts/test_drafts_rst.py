"""reStructuredText, Quarto and R Markdown: prose asks, directives and chunks do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from citebed.drafts import Draft, parse_draft, read_draft


def _draft(text: str) -> Draft:
    return parse_draft(text, "rst")


def test_sections_fields_and_the_title() -> None:
    draft = _draft("""=========
 On elms
=========

:Author: Ann Lee
:Abstract: Elms grow in
   many places.

Growth
======

Elms are tall.

In parks
--------

Elms are wide.
""")
    assert (draft.title, draft.authors) == ("On elms", ("Ann Lee",))
    assert [(p.line, p.section, p.text) for p in draft.passages] == [
        (6, "Abstract", "Elms grow in many places."),
        (12, "Growth", "Elms are tall."),
        (17, "In parks", "Elms are wide."),
    ]


def test_citations_and_their_entries() -> None:
    draft = _draft("""Elms [Lee2019]_ and oaks :cite:p:`ray2020, {see}kim21{p. 3}` grow [1]_ here.
Firs, as `this paper <https://doi.org/10.1145/9.9>`_ says [#a]_, grow :footcite:`fir22` too.

.. [Lee2019] Ann Lee. The growth of elms in parks. 2019.
.. [1] Bob Ray. The growth of oaks.
   Journal, 2020. doi:10.1145/2.2
.. [#a] A note that says more of firs.
""")
    assert draft.passages[0].text == "Elms and oaks grow here. Firs, as this paper says, grow too."
    assert draft.passages[0].sentence_cites == (
        ("Lee2019", "ray2020", "kim21", "10.1145/2.2"), ("10.1145/9.9", "fir22"),
    )  # fmt: skip
    assert draft.passages[1].text == "A note that says more of firs."
    assert [entry.key for entry in draft.cited.entries] == ["Lee2019", "1"]


def test_directives_tables_and_literal_text_are_recognised() -> None:
    draft = _draft("""Elms are *tall* and ``hidden`` wide, see :ref:`parks <a>`::

   hidden literal

.. code-block:: python
   :linenos:

   hidden = 1

.. figure:: elms.png
   :width: 3

   Elms near the sea.

.. note:: Elms are old too.

   They are |very| old.

=====  ======
Tree   Hidden
=====  ======
Elm    hidden
=====  ======

.. hidden comment
   hidden too

- Elms like water
  more than oaks do.
- Oaks do not.
""")
    assert [(p.line, p.silent, p.text) for p in draft.passages] == [
        (1, "heading or stub", "Elms are tall and wide, see parks:"),
        (13, "caption", "Elms near the sea."),
        (15, "", "Elms are old too."),
        (17, "", "They are very old."),
        (28, "", "Elms like water more than oaks do."),
        (30, "heading or stub", "Oaks do not."),
    ]


def test_a_bibliography_that_a_directive_names(tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text("@article{lee2019, title={The growth of elms}}")
    (tmp_path / "draft.rst").write_text("Elms :cite:`lee2019`.\n\n.. bibliography:: refs.bib\n")
    assert read_draft(tmp_path / "draft.rst").cited.titles == ("The growth of elms",)


@pytest.mark.parametrize("name", ["draft.qmd", "draft.Rmd"])
def test_quarto_and_r_markdown(name: str, tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text("@article{lee2019, title={The growth of elms}}")
    (tmp_path / name).write_text("""---
title: "On elms"
bibliography: refs.bib
---

## Growth

Elms [@lee2019] grow by `r x` a year, see @fig-elms.

```{r elms, echo=FALSE}
#| label: fig-elms
hidden <- 1
```

::: {.callout-note}
Elms are tall and wide.
:::
""")
    draft = read_draft(tmp_path / name)
    assert (draft.title, draft.cited.keys) == ("On elms", ("lee2019",))
    assert [(p.line, p.section, p.text) for p in draft.passages] == [
        (8, "Growth", "Elms grow by a year, see."),
        (16, "Growth", "Elms are tall and wide."),
    ]
    assert draft.cited.titles == ("The growth of elms",)
