"""DOIs, arXiv ids and addresses, alone and inside text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import ANY_TEXT

from citebed.text.identifiers import (
    arxiv_in,
    arxiv_of,
    arxiv_of_doi,
    doi_in,
    doi_of,
    doi_of_arxiv,
    looks_like_url,
    normalise_doi,
    replace_identifiers,
)


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        (None, None),
        ("", None),
        ("10.1145/ABC.Def", "10.1145/abc.def"),
        (" 10.1145/x\n", "10.1145/x"),
        ("doi:10.1145/x", "10.1145/x"),
        ("DOI: 10.1145/x", "10.1145/x"),
        ("info:doi/10.1145/x", "10.1145/x"),
        ("https://doi.org/10.1145/x", "10.1145/x"),
        ("http://dx.doi.org/10.1145%2Fx", "10.1145/x"),
        ("www.doi.org/10.1145/x", "10.1145/x"),
        ("https://dl.acm.org/doi/abs/10.1145/x", "10.1145/x"),
        ("https://doi.org/doi:10.1145/x", "10.1145/x"),
        ("{10.1145/x}", "10.1145/x"),
        ("<https://doi.org/10.1145/x>", "10.1145/x"),
        ("10.1145/x.,;", "10.1145/x"),
        ("http://doi.acm.org/10.1145/12.34", "10.1145/12.34"),
        ("http://doi.ieeecomputersociety.org/10.1109/X.2003.1", "10.1109/x.2003.1"),
        ("http://dx.doi.org.gate6.example.fr/10.1109/X.1", "10.1109/x.1"),
        ("http://doi.acm.org.proxy.example.edu:2048/10.1145/12.34", "10.1145/12.34"),
        ("https://dx-doi-org.proxy.example.edu/10.1145/12.34", "10.1145/12.34"),
        ("https://login.example.edu/login?url=https%3A%2F%2Fdoi.org%2F10.1145%2F1", "10.1145/1"),
        ("https://link.springer.com/article/10.1007/s00453-1", "10.1007/s00453-1"),
        ("https://link.springer.com/book/10.1007/978-3-1", None),
        ("https://onlinelibrary.example.com/doi/10.1002/asi.1/abstract", "10.1002/asi.1"),
        ("https://dl.acm.org/doi/pdf/10.1145/12.34?download=true", "10.1145/12.34"),
        ("http://portal.acm.org/citation.cfm?doid=10.1145/12.34", "10.1145/12.34"),
        ("10.1016%2Fj.x.2010", "10.1016/j.x.2010"),
        ("10.1145/1.2;10.1145/3.4", "10.1145/1.2"),
        ("10.1007/11426639_24}", "10.1007/11426639_24"),
        ("10.1016/0304-3886(95)00052-6", "10.1016/0304-3886(95)00052-6"),
        ("10.1145/...", None),
        ("10.1145/", None),
        ("10.1145/a b", None),
        ("10.1000.10/x", "10.1000.10/x"),
        ("10.12/x", None),
        ("11.1145/x", None),
        ("https://example.org/10.1145/x", None),
        (
            "10.1002/(SICI)1097-4571(1999)50:1<1::AID-ASI1>3.0.CO;2-A",
            "10.1002/(sici)1097-4571(1999)50:1<1::aid-asi1>3.0.co;2-a",
        ),
    ],
)
def test_doi(text: str | None, doi: str | None) -> None:
    assert normalise_doi(text) == doi


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("", None),
        ("10.1145/X.1", "10.1145/x.1"),
        ("http://proxy.example.edu:2378/10.1145/860575.860634", "10.1145/860575.860634"),
        ('<a href="https://doi.org/10.1145/1.2">10.1145/1.2</a>', "10.1145/1.2"),
        ("&lt;a href=&quot;http://dx.doi.org/10.1145/1.2&quot;&gt;x&lt;/a&gt;", "10.1145/1.2"),
        ("10.1145/1.2; 10.1145/3.4", "10.1145/1.2"),
        ("10.1145/1.2 and 10.1145/3.4", "10.1145/1.2"),
        ("DOI 10.1145/1.2 (online)", "10.1145/1.2"),
        ("10.1109/ABC.12. Epub 2010", "10.1109/abc.12"),
        # blanks inside
        ("10.1659/0276(2004)024 [ 0141:AB ] 2.0.CO;2", "10.1659/0276(2004)024[0141:ab]2.0.co;2"),
        ("10.1659/0276(2004)025 [0035:AB] 2.0.CO;2", "10.1659/0276(2004)025[0035:ab]2.0.co;2"),
        (
            "10.1002/(SICI)1(1998)1:1 < 1::AID-S > 3.0.CO;2",
            "10.1002/(sici)1(1998)1:1<1::aid-s>3.0.co;2",
        ),
        ("10.1016/j.cell. 2010.01.005", "10.1016/j.cell.2010.01.005"),
        ("10.1016/S0140-6736 (05)67889-5", "10.1016/s0140-6736(05)67889-5"),
        ("10.1016/S0140-6736 (05) 67889-5 (online)", "10.1016/s0140-6736(05)67889-5"),
        ("10.1016/0014-5793(92) 80156-3.", "10.1016/0014-5793(92)80156-3"),
        ("10.1016/0014-579X (92)80156-3, 10.1145/1.2", "10.1016/0014-579x(92)80156-3"),
        (
            "10.1002/(SICI)1097-4571 (199009) 41:6 <391::AID-ASI1> 3.0.CO;2-9",
            "10.1002/(sici)1097-4571(199009)41:6<391::aid-asi1>3.0.co;2-9",
        ),
        # text after a complete id does not belong to it
        ("10.1145/1234 (05)", "10.1145/1234"),
        ("10.1038/s41586-020-2649-2 (2020)", "10.1038/s41586-020-2649-2"),
        ("10.1016/S0140-6736(05)67889-5 [doi]", "10.1016/s0140-6736(05)67889-5"),
        ("10.1145/1.2 [pii]", "10.1145/1.2"),
        ("10.1145/1.2 <https://example.org>", "10.1145/1.2"),
        # a truncated id gives none
        ("10.1145/1234 5678", None),
        ("10.1145/a b", None),
        ("10.1.1.36.4925, 10.1.1.36.4481(abstract)", None),
        ("??", None),
    ],
)
def test_a_field_for_a_doi(text: str, doi: str | None) -> None:
    assert doi_of(text) == doi


@pytest.mark.parametrize(
    "unit", ["10.1145/", "%25", "%2F", "10.1145/( ", "</a>", "https://doi.org/", "?url=", ")]}>"]
)
def test_much_of_one_thing_is_looked_at_once(unit: str) -> None:
    text = unit * ((1 << 18) // len(unit))
    assert normalise_doi(text) is None
    assert len(doi_of(text) or "") < len(text)


def test_a_megabyte_of_resolvers_is_not_a_doi() -> None:
    assert normalise_doi("doi:" * (1 << 18)) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://a.b/c", True), (" HTTP://a", True), ("ftp://a/b", True), ("www.a.b", True),
        ("a.b/c", False), ("https:// a", False), ("", False),
    ],
)  # fmt: skip
def test_url(text: str, expected: bool) -> None:
    assert looks_like_url(text) is expected


@given(text=ANY_TEXT | st.text())
def test_a_second_time_changes_nothing(text: str) -> None:
    for once in (normalise_doi(text), doi_of(text)):
        assert once is None or normalise_doi(once) == doi_of(once) == once


@given(ANY_TEXT)
def test_a_doi_found_is_found_again_behind_a_resolver(text: str) -> None:
    doi = normalise_doi(f"10.1145/{text}")
    if doi is not None and not {"%", "#"} & set(doi) and doi == doi.strip("<>{}"):
        assert normalise_doi(f"https://doi.org/{doi}") == doi


# --- Inside running text --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("(see doi:10.1145/ABC.1).", "10.1145/abc.1"),
        ("at https://dl.acm.org/doi/10.1145/12.34, too", "10.1145/12.34"),
        ("10.1016/S0019-9958(65)90241-X)", "10.1016/s0019-9958(65)90241-x"),
        ("version 2.10.1145/12", None),
        ("nothing", None),
    ],
)
def test_a_doi_in_text(text: str, doi: str | None) -> None:
    assert doi_in(text) == doi


@pytest.mark.parametrize(
    ("text", "arxiv"),
    [
        ("arXiv:1810.04805v2 [cs]", "1810.04805"),
        ("arXiv preprint arXiv:1810.04805", "1810.04805"),
        ("https://arxiv.org/pdf/cs/0112017v1.pdf", "cs/0112017"),
        ("1810.04805", None),
    ],
)
def test_an_arxiv_id_in_text(text: str, arxiv: str | None) -> None:
    assert arxiv_in(text) == arxiv


def test_an_arxiv_id_as_a_field_and_as_a_doi() -> None:
    assert arxiv_of(" 1810.04805v3 ") == "1810.04805"
    assert arxiv_of("arXiv:math.AG/0611800") == "math.ag/0611800"
    assert doi_of_arxiv("1810.04805") == "10.48550/arxiv.1810.04805"
    assert arxiv_of_doi("10.48550/arxiv.1810.04805") == "1810.04805"
    assert arxiv_of_doi("10.1145/12.34") is None


def test_identifiers_are_replaced_and_addresses_are_gone() -> None:
    text = "See doi:10.1145/A.1, arXiv:1810.04805v2 and https://a.b/c or www.d.e now; 10.12/x."
    assert replace_identifiers(text, "<{}>".format) == (
        "See <10.1145/a.1>, <arXiv:1810.04805> and   or   now; 10.12/x."
    )
