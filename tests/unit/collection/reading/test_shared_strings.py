"""Strings that one BibTeX file defines and another uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from citebed.collection import import_sources, open_collection
from citebed.errors import CitebedError

REFS = """\
@article{a, title = {On one thing}, author = {Doe, Jane}, journal = jx # { (B)}, year = 2001}
@article{b, title = {On another}, author = {Doe, Jane}, journal = cacm, year = 2002, month = mar}
@article{c, title = {On a third}, author = {Doe, Jane}, journal = JY, publisher = jy, year = 2003}
"""
JX = "@string{jx = {Journal of X}}\n"


def venues(folder: Path) -> dict[str, str]:
    return dict(open_collection(folder).documents.select("doc_id", "venue").iter_rows())


def told(folder: Path) -> list[str]:
    return open_collection(folder).problems["what"].to_list()


def test_a_file_beside_lends_its_strings(tmp_path: Path) -> None:
    (tmp_path / "refs.bib").write_text(REFS)
    (tmp_path / "zstrings.bib").write_text(JX)
    import_sources(tmp_path / "c", [tmp_path / "refs.bib", tmp_path / "zstrings.bib"])
    assert venues(tmp_path / "c") == {
        "a": "Journal of X (B)", "b": "Communications of the ACM", "c": "JY",
    }  # fmt: skip
    entry = open_collection(tmp_path / "c").documents["bibtex"][0]
    assert "journal = {Journal of X (B)}" in entry
    assert told(tmp_path / "c") == [
        "undefined @string 'JY'; kept as text",
        "strings (@string) or @xdata and no entry; other files may use them",
    ]


def test_what_is_lent_counts_when_files_are_compared(tmp_path: Path) -> None:
    refs, strings, folder = tmp_path / "refs.bib", tmp_path / "strings.bib", tmp_path / "c"
    refs.write_text(REFS)
    strings.write_text(JX)
    import_sources(folder, [refs])
    assert venues(folder)["a"] == "jx (B)"
    import_sources(folder, [refs, strings])
    assert venues(folder)["a"] == "Journal of X (B)"
    report = import_sources(folder, [refs])
    assert (report.unchanged, venues(folder)["a"]) == (1, "Journal of X (B)")
    strings.write_text(JX.replace("of X", "of Z"))
    import_sources(folder, [refs, strings])
    assert venues(folder)["a"] == "Journal of Z (B)"


def test_a_folder_of_strings_alone_lends_anywhere_and_two_that_differ_do_not(
    tmp_path: Path,
) -> None:
    for name in ("lib", "refs", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "lib" / "journals.bib").write_text(JX)
    (tmp_path / "refs" / "refs.bib").write_text(REFS)
    (tmp_path / "other" / "o.bib").write_text('@string{jy = "Y"}\n@misc{o, title = {Other one}}\n')
    paths = [tmp_path / name for name in ("lib", "refs", "other")]
    import_sources(tmp_path / "c", paths)
    assert venues(tmp_path / "c")["a"] == "Journal of X (B)"
    assert venues(tmp_path / "c")["c"] == "JY"  # of a file elsewhere that holds entries
    (tmp_path / "refs" / "more.bib").write_text(JX.replace("of X", "of W"))
    import_sources(tmp_path / "d", paths)
    assert venues(tmp_path / "d")["a"] == "jx (B)"


def test_strings_alone_are_not_a_collection(tmp_path: Path) -> None:
    (tmp_path / "strings.bib").write_text(JX)
    with pytest.raises(CitebedError, match="other files may use them"):
        import_sources(tmp_path / "c", [tmp_path / "strings.bib"])


XDATA = """@string{pub = {Sheep Press}}
@xdata{house, publisher = pub, location = {York}}
@xdata{series, xdata = {house}, journaltitle = {Annals of Sheep}}
"""


@pytest.mark.parametrize("folder", [".", "elsewhere"])
def test_a_second_file_lends_its_xdata(tmp_path: Path, folder: str) -> None:
    entry = "@article{a, title = {On one}, author = {Doe, Jane}, XDATA = {series}, date = {2001}}\n"
    (tmp_path / "refs.bib").write_text(entry + "@misc{b, title = {On two}, xdata = {nothing}}\n")
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "zdata.bib").write_text(XDATA)
    import_sources(tmp_path / "c", [tmp_path / "refs.bib", tmp_path / folder / "zdata.bib"])
    document = open_collection(tmp_path / "c").document("a")
    assert (document.venue, document.publisher) == ("Annals of Sheep", "Sheep Press")
    assert "publisher = {Sheep Press}" in (document.bibtex or "")
    assert told(tmp_path / "c") == [
        "entry 'b' refers to missing @xdata 'nothing'",
        "strings (@string) or @xdata and no entry; other files may use them",
    ]
