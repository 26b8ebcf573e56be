"""Who cites a document is named as far as it is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from citebed.collection import import_sources, open_collection
from citebed.retrieval.recommend.explaining import Citers

PAPER = """<doc><id>10.5072/{name}</id><title>{title}</title><contexts>
<context id="1"><s cites="1">Oaks grow in forests [1].</s></context></contexts>
<references><reference id="1">10.5072/oak</reference></references></doc>"""
BIB = """@misc{one, doi={10.5072/one}, title={On Firs}, author={Lee, Lea}, year=2005}
@misc{two, doi={10.5072/two}, title={On Elms}, author={Lee, Lea and Ray, Ron}, year=2006}
@misc{many, doi={10.5072/many}, title={On Oaks}, author={Lee, L. and Ray, R. and Moe, M.},
 year=2007}
@misc{oak, doi={10.5072/oak}, title={Oaks}, author={Ash, Ann}, year=2001}
"""


@pytest.fixture(scope="module")
def citers(tmp_path_factory: pytest.TempPathFactory) -> Citers:
    folder: Path = tmp_path_factory.mktemp("citers")
    (folder / "in").mkdir()
    (folder / "in" / "refs.bib").write_text(BIB)
    titles = {"one": "On Firs", "two": "On Elms", "many": "On Oaks", "other": "On Limes"}
    for name, title in titles.items():
        (folder / "in" / f"{name}.xml").write_text(PAPER.format(name=name, title=title))
    import_sources(folder / "c", [folder / "in"])
    return Citers(open_collection(folder / "c"))


@pytest.mark.parametrize(
    ("paper", "year", "said"),
    [
        ("10.5072/one", None, "Lee (2005), On Firs"),
        ("10.5072/two", None, "Lee and Ray (2006), On Elms"),
        ("10.5072/many", None, "Lee et al. (2007), On Oaks"),
        ("10.5072/other", None, "On Limes"),
        ("10.5072/other", 2012, "On Limes (2012)"),
        ("oak", None, "Ash (2001), Oaks"),
        ("10.5072/oak", 2001, "Ash (2001), Oaks"),
        ("acl_2017/105", 2017, "acl_2017/105 (2017)"),
        ("acl_2017/105", None, "acl_2017/105"),
    ],
)
def test_a_citing_paper_by_name(citers: Citers, paper: str, year: int | None, said: str) -> None:
    assert citers.named(paper, year) == said
