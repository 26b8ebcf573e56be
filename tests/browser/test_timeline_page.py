"""The page of a timeline as a reader meets it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
from selenium.webdriver.common.keys import Keys
from typer.testing import CliRunner

from citebed.cli.options import command
from citebed.cli.timeline import timeline

WEEK = 7 * 86_400
EVIL = "<img/src=x/onerror=window.hacked=1>"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve weeks, one relevant document each, and two runs."""
    folder = tmp_path_factory.mktemp("timeline")
    ids = [f"{1_704_067_200 + week * WEEK}-{week}" for week in range(12)]
    (folder / "j.qrels").write_text("".join(f"{EVIL} 0 {doc} 1\nother 0 {doc} 1\n" for doc in ids))
    for name, found in {"<i>all": ids, "half": ids[:6]}.items():
        lines = [f"{query} Q0 {doc} 1 1 t\n" for query in (EVIL, "other") for doc in found]
        (folder / f"{name}.run").write_text("".join(lines))
    app = typer.Typer()
    app.command("timeline")(command(timeline))
    files = [str(folder / name) for name in ("j.qrels", "<i>all.run", "half.run")]
    to = ["--report", str(folder / "out.html"), "--samples", "100", "--slice", "7d"]
    result = CliRunner().invoke(app, [*files, *to])
    assert result.exit_code == 0, result.exception
    return folder / "out.html"


@pytest.mark.parametrize("width", [1280, 375])
def test_nothing_is_loaded_run_or_refused(browser: Any, page: Path, width: int) -> None:
    browser.open(page, width=width)
    loaded = browser.run("return performance.getEntriesByType('resource').map(x => x.name)")
    assert [name for name in loaded if not name.startswith("data:")] == []
    assert browser.complaints() == []
    assert browser.run("return window.hacked") is None
    assert browser.run("return document.documentElement.scrollWidth") <= width


def test_what_does_not_fit_says_that_it_scrolls(browser: Any, page: Path) -> None:
    """On a phone; where all fits nothing is said, and on paper nothing scrolls."""
    said = "return getComputedStyle(arguments[0], '::before').content"
    wide = "return arguments[0].scrollWidth > arguments[0].clientWidth + 1"
    browser.open(page, width=390)
    boxes = [box for box in browser.all(".box") if box.is_displayed()]
    told = [browser.run(said, box) != "none" for box in boxes]
    assert told == [browser.run(wide, box) for box in boxes]
    assert [told[0], told.count(True) > 3] == [True, True]
    browser.open(page, width=1400)
    assert browser.all("#data .scrolls, #scores .scrolls") == []
    browser.open(page, width=390, media="print")
    assert {browser.run(said, box) for box in browser.all(".box")} == {"none"}


def test_pictures_have_their_names_as_text(browser: Any, page: Path) -> None:
    browser.open(page)
    assert {"<i>all", "half"} <= set(browser.texts("#over-time svg text"))
    assert browser.all("svg:not([role=img][aria-label])") == []


def test_the_slices_open_by_the_keyboard_and_sort(browser: Any, page: Path) -> None:
    browser.open(page)
    table = browser.one("#slices table")
    assert not table.is_displayed()
    browser.one("#slices summary").send_keys(Keys.ENTER)
    assert table.is_displayed()
    browser.one("#slices th:nth-child(5) button").click()
    values = browser.texts("#slices details:first-of-type tbody td:nth-child(5)")
    assert values == ["1.0000"] * 6 + ["0.0000"] * 6
