"""RIS and CSL-JSON: what other programs find in them, and what comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from citebed.collection import Collection, import_sources, open_collection
from citebed.collection.exporting import export
from citebed.collection.exporting.base import BIBLIOGRAPHIC

LIBRARY = r"""
@article{smith2010, author = {Smith, Anna and King, Jr., Martin and {Zebra Watch}}, year = 2010,
  month = aug, title = {Ranking & Rating}, journal = {Journal of Yaks}, volume = {3}, number = {2},
  pages = {1--20}, doi = {10.5072/yak.1}, keywords = {yaks; zebras}, language = {english},
  abstract = {We rank yaks.}, url = {https://example.org/yak}}
@mastersthesis{m1, author = {van der Berg, Jan}, title = {Masters of Yaks}, school = {Yak U},
  year = 2001}
@phdthesis{p1, author = {Lee, Li}, title = {Doctors of Yaks}, school = {Yak U}, year = 2003}
@techreport{r1, author = {Lee, Li}, title = {A Report of Yaks}, institution = {Lab}, year = 2003}
@unpublished{u1, author = {Lee, Li}, title = {Yaks at Rest}, year = 2004}
@inproceedings{c1, author = {Ho, D.}, editor = {Dow, Dee}, title = {Yaks in Practice},
  booktitle = {Proceedings of Yaks}, year = 2005, pages = {7}}
@incollection{i1, author = {Ho, D.}, title = {A Chapter}, booktitle = {Book of Yaks}, year = 2005}
@book{b1, author = {Ho, D.}, title = {Book of Yaks}, publisher = {Press}, year = {1999}}
@misc{x1, author = {Ito, Q.}, title = {A Preprint of Yaks}, year = 2021, eprint = {2101.00001},
  archiveprefix = {arXiv}}
"""
ENDINGS = {"ris": "out.ris", "csl-json": "out.json"}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder = tmp_path_factory.mktemp("library")
    (folder / "refs.bib").write_text(LIBRARY)
    import_sources(folder / "c", [folder / "refs.bib"])
    return open_collection(folder / "c")


@pytest.mark.parametrize("form", ENDINGS)
def test_a_library_comes_back_field_by_field(
    library: Collection, tmp_path: Path, imported: Callable[..., Collection], form: str
) -> None:
    report = export(library, form, tmp_path / ENDINGS[form])
    assert not [note for note in report.notes if "differently" in note]
    again = imported(tmp_path / ENDINGS[form])
    assert again.problems.is_empty()
    names = ["doc_id", *BIBLIOGRAPHIC]
    assert_frame_equal(library.documents[names], again.documents[names])
    assert library.documents["keys"].to_list() == again.documents["keys"].to_list()


@pytest.mark.parametrize("form", ENDINGS)
def test_losses_are_reported(small: Collection, tmp_path: Path, form: str) -> None:
    notes = export(small, form, tmp_path / ENDINGS[form]).notes
    assert "in 1 document, keywords changed when read back" in notes  # one has a semicolon in it
    assert "in 1 document, type changed when read back" in notes  # proceedings
    assert any("queries and judgements" in note for note in notes)


def test_a_ris_record_to_the_letter(library: Collection, tmp_path: Path) -> None:
    export(library, "ris", tmp_path / "out.ris")
    first = (tmp_path / "out.ris").read_bytes().decode().split("ER  - ")[0]
    assert first.split("\r\n") == [
        "TY  - JOUR", "ID  - smith2010", "TI  - Ranking & Rating", "AU  - Smith, Anna",
        "AU  - King, Martin, Jr.", "AU  - Zebra Watch,", "PY  - 2010", "DA  - 2010/08",
        "T2  - Journal of Yaks", "VL  - 3", "IS  - 2", "SP  - 1", "EP  - 20", "DO  - 10.5072/yak.1",
        "UR  - https://example.org/yak", "AB  - We rank yaks.", "KW  - yaks", "KW  - zebras",
        "LA  - english", "",
    ]  # fmt: skip
    every = (tmp_path / "out.ris").read_bytes().decode().split("\r\n")
    assert all(re.fullmatch(r"[A-Z][A-Z0-9]  - .*|", line) for line in every)
    assert every.count("ER  - ") == library.documents.height


def test_a_csl_item_to_the_letter(library: Collection, tmp_path: Path) -> None:
    export(library, "csl-json", tmp_path / "out.json")
    items = json.loads((tmp_path / "out.json").read_bytes())
    assert items[0] == {
        "id": "smith2010", "citation-key": "smith2010", "type": "article-journal",
        "title": "Ranking & Rating",
        "author": [
            {"family": "Smith", "given": "Anna"},
            {"family": "King", "given": "Martin", "suffix": "Jr."}, {"literal": "Zebra Watch"},
        ],
        "issued": {"date-parts": [[2010, 8]]}, "container-title": "Journal of Yaks",
        "volume": "3", "issue": "2", "page": "1-20", "DOI": "10.5072/yak.1",
        "URL": "https://example.org/yak", "abstract": "We rank yaks.", "keyword": "yaks; zebras",
        "language": "english",
    }  # fmt: skip
    assert {item["id"]: item["type"] for item in items} == {
        "smith2010": "article-journal", "m1": "thesis", "p1": "thesis", "r1": "report",
        "u1": "manuscript", "c1": "paper-conference", "i1": "chapter", "b1": "book",
        "x1": "document",
    }  # fmt: skip
