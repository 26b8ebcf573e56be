"""Notebooks: their Markdown is the draft, and a place is a cell and a line in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citebed.drafts import Draft, draft_from_bytes, pieces, read_draft
from citebed.errors import CitebedError


def _cell(kind: str, *lines: str, **more: Any) -> dict[str, Any]:
    return {"cell_type": kind, "metadata": {}, "source": list(lines), **more}


def _notebook(*cells: Any) -> bytes:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


CELLS = (
    _cell("raw", "---\n", "title: On elms\n", "bibliography: refs.bib\n", "---\n"),
    _cell("code", "import elms  # hidden words", outputs=[], execution_count=None),
    _cell(
        "markdown", "# Growth\n", "\n", "Elms were studied by many [@lee2019].\n", "They are tall."
    ),
    _cell("markdown", 'Oaks too <cite data-cite="ray2020">(Ray, 2020)</cite> in parks.\n'),
    _cell("markdown", "Firs grow {cite:p}`kim21,lee2019` in woods."),
)


def test_cells_are_read_as_one_text(tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text("@article{lee2019, title={The growth of elms}}")
    (tmp_path / "draft.ipynb").write_bytes(_notebook(*CELLS))
    draft = read_draft(tmp_path / "draft.ipynb")
    assert draft.title == "On elms"
    assert [(p.source, p.line, p.section, p.text) for p in draft.passages] == [
        ("draft.ipynb#cell-3", 3, "Growth", "Elms were studied by many. They are tall."),
        ("draft.ipynb#cell-4", 1, "Growth", "Oaks too in parks."),
        ("draft.ipynb#cell-5", 1, "Growth", "Firs grow in woods."),
    ]
    assert [p.line for p in pieces(draft, "sentence")] == [3, 4, 1, 1]
    assert draft.cited.keys == ("lee2019", "ray2020", "kim21")
    assert draft.cited.titles == ("The growth of elms",)
    assert draft.file_of(draft.passages[0].places[0]) == str(tmp_path / "draft.ipynb#cell-3")


def test_notebooks_of_old() -> None:
    cells = [_cell("heading", "Growth", level=2), _cell("markdown", "Elms are tall and wide.")]
    data = {"metadata": {}, "nbformat": 3, "worksheets": [{"cells": cells}]}
    draft = draft_from_bytes(json.dumps(data).encode(), "draft.ipynb")
    assert [(p.section, p.text) for p in draft.passages] == [("Growth", "Elms are tall and wide.")]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{"cells": [', "damaged"),
        (b'{"cells": 3, "nbformat": 4}', "without a list of cells"),
        (b'{"cells": [' + b"[" * 100_000, "damaged"),
        (b'{"cells": [' + b"1," * 3_000_001, "clear its outputs"),
        (b"[1]", "not a Jupyter notebook"),
        (b"", "an empty file"),
    ],
)
def test_files_that_are_not_notebooks_are_reported(data: bytes, says: str) -> None:
    with pytest.raises(CitebedError, match=says):
        draft_from_bytes(data, "draft.ipynb")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(("cell_type", "source", "level", "x")), inner, max_size=4)
    ),
    max_leaves=12,
)
_ANY_CELL = _JSON | st.builds(
    lambda kind, source, level: {"cell_type": kind, "source": source, "level": level},
    st.sampled_from(("markdown", "heading", "raw", "code")), _JSON | st.text(), _JSON,
)  # fmt: skip


@given(st.lists(_ANY_CELL, max_size=6))
def test_any_cells_are_read(cells: list[Any]) -> None:
    assert isinstance(draft_from_bytes(_notebook(*cells), "draft.ipynb"), Draft)
