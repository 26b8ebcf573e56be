"""Links to a paper, from whatever identifiers it has."""

from __future__ import annotations

import pytest

from citebed.judging.forms.sheet import Entry


@pytest.mark.parametrize(
    ("title", "url", "wanted"),
    [
        ("A title", "https://example.org/a", "https://example.org/a"),
        ("A title", None, None),
        ("A title", "javascript:alert(1)", None),
        ("10.1145/3397271", None, "https://doi.org/10.1145/3397271"),
        ("doi:10.1145/3397271", None, "https://doi.org/10.1145/3397271"),
        ("A title", "10.1145/3397271", "https://doi.org/10.1145/3397271"),
        ("A title", "DOI: 10.1145/3397271.", "https://doi.org/10.1145/3397271"),
        ("Bell. A title. 2020. doi:10.1000/A<b", None, "https://doi.org/10.1000/a"),
        ("arXiv:1810.04805v2", None, "https://arxiv.org/abs/1810.04805"),
        ("10.1145/3397271", "https://example.org/a", "https://example.org/a"),
    ],
)
def test_the_link_of_a_paper(title: str, url: str | None, wanted: str | None) -> None:
    assert Entry(1, title, url=url).link == wanted
