"""Hints for wrong paths, and wording of counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from citebed.cli.app import main
from citebed.collection import import_sources

RIS = (
    "TY  - BOOK\nTI  - A book\nAU  - Doe, Jo\nCY  - Geneva\nET  - 2nd\n"
    "SN  - 978-3-16-148410-0\nER  - \n"
    "\nTY  - JOUR\nTI  - An article\nAU  - World Bank\nPY  - -51\nSN  - 1234-567X\nER  - \n"
)


def test_wrong_paths_get_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "c"
    (tmp_path / "a.ris").write_text(RIS)
    import_sources(mine, [tmp_path / "a.ris"])
    assert main(["index", str(mine), "--quiet"]) == 0
    (tmp_path / "my paper.tex").write_text("World banks lend money to the poor.\n")
    (tmp_path / "old.doc").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    capsys.readouterr()
    address = "https://example.org/refs.bib"
    for words, told in (
        (["recommend", str(mine), str(tmp_path / "my papre.tex")], "my paper.tex'?"),
        (["recommend", str(mine), "no such draft.tex"], "there is no file 'no such draft.tex'"),
        (["recommend", str(mine), str(tmp_path / "old.doc")], "save it as .docx"),
        (["recommend", str(mine), "money", "--bib", address], f"{address}: no such file"),
        (["import", str(mine), address], f"curl -LO {address}"),
    ):
        assert main(words) == 1
        assert told in capsys.readouterr().err


def test_counts_use_the_singular_for_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.ris").write_text(RIS)
    import_sources(tmp_path / "c", [tmp_path / "a.ris"])
    assert main(["index", str(tmp_path / "c"), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["find", str(tmp_path / "c"), "article"]) == 0
    assert "1 of 1 document\n" in capsys.readouterr().out
    main(["lint", str(tmp_path / "c")])
    told = capsys.readouterr().out
    assert ", 1 warning, " in told
    assert "1 warnings" not in told
    assert main(["recommend", "--help"]) == 0
    named = " ".join(capsys.readouterr().out.split())
    for ending in (".tex", ".md", ".qmd", ".typ", ".rst", ".docx", ".odt", ".ipynb", "PDF"):
        assert ending in named
