"""The handbook: every page is there, links lead somewhere, nothing is loaded from elsewhere."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from tests.shared import Once

import citebed
from citebed.cli.app import main
from citebed.report.handbook import build_handbook

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def site(once: Once) -> Path:
    return once("handbook", lambda folder: build_handbook(folder, REPOSITORY))


def test_every_page_of_the_documentation_is_there_and_listed(site: Path) -> None:
    listed = re.findall(r'<li><a href="([^"]+)"', (site / "index.html").read_text("utf-8"))
    pages = {path.name for path in site.glob("*.html")}
    assert set(listed) >= pages
    assert len(listed) >= len(list((REPOSITORY / "docs").rglob("*.md"))) + 4


def test_links_and_figures_lead_somewhere_on_the_site(site: Path) -> None:
    names = {path.name: path.read_text("utf-8") for path in site.glob("*.html")}
    for name, text in names.items():
        ids = re.findall(r' id="([^"]+)"', text)
        assert len(ids) == len(set(ids)), name
        body = text.partition('<main id="site-main">')[2]
        for target in map(unescape, re.findall(r'(?:href|src)="([^"]+)"', body)):
            if re.match("https?:|mailto:", target):
                continue
            file, _, anchor = target.partition("#")
            assert not file or (site / file).exists() or file == "LICENSE", f"{name}: {target}"
            if anchor and file in ("", *names):
                assert f'id="{anchor}"' in names[file or name], f"{name}: {target}"


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for path in site.glob("*.html"):
        loaded = re.findall(r'<(?:img|link|script)[^>]*(?:src|href)="([^"]+)"', path.read_text())
        assert not [each for each in loaded if re.match("[a-z]+:|//", each)], path.name
    assert "url(" not in (site / "handbook.css").read_text()
    assert "fetch(" not in (site / "handbook.js").read_text()


def test_sections_can_be_searched(site: Path) -> None:
    text = (site / "sections.js").read_text("utf-8")
    sections = json.loads(text.removeprefix("const SECTIONS = ").removesuffix(";\n"))
    assert all(len(section) == 5 for section in sections)
    found = {file for file, _, _, _, words in sections if "trec_eval" in words}
    assert {"evaluate.html", "index.html"} <= found


def test_every_public_name_has_its_docstring_on_the_page(site: Path) -> None:
    text = (site / "api.html").read_text("utf-8")
    names = [name for name in dir(citebed) if not name.startswith("_")]
    assert [name for name in names if f'<h2 id="citebed{name.lower()}">' not in text] == []
    assert "Workbench.recommend" in text
    assert " at 0x" not in text


def test_the_verb_writes_it_and_opens_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["docs"]) == 0
    start = tmp_path / "citebed" / "handbook" / "index.html"
    assert capsys.readouterr().out.rstrip().endswith(f"pages: {start}")
    assert opened == [start.as_uri()]
    assert main(["docs", "--no-open", "-o", str(tmp_path / "mine")]) == 0
    assert (tmp_path / "mine" / "index.html").is_file()
    assert len(opened) == 1
