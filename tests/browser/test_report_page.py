"""The page of an evaluation as a reader meets it: by mouse, keyboard and phone, in the dark."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from lxml import etree
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from typer.testing import CliRunner

from citebed.cli.evaluation import report
from citebed.cli.options import command

EVIL = "</script><script>window.hacked=1</script>"
EVIL_ID = "<img/src=x/onerror=window.hacked=1>"
RIGHT_TO_LEFT = "\u202eabc \u05d0\u05d1 😀 \"double\" 'single' &amp;"
QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2, "e": 1}, EVIL_ID: {EVIL: 1}}
RUNS: dict[str, dict[str, Sequence[str]]] = {
    "base": {"q1": "ba", "q2": "cd", EVIL_ID: "yz"},
    "new<b>": {"q1": "ab", "q2": "dc", EVIL_ID: [EVIL]},
    "third": {"q1": "b", "q2": "d", EVIL_ID: "y"},
}
TEXTS = {"q1": "probabilistic ranking", "q2": EVIL, EVIL_ID: RIGHT_TO_LEFT}


def write(folder: Path, runs: Sequence[str], *options: str) -> Path:
    """The page of such runs, made by the command."""
    lines = [f"{q} 0 {d} {g}\n" for q, found in QRELS.items() for d, g in found.items()]
    (folder / "j.qrels").write_text("".join(lines))
    rows = [json.dumps({"query_id": q, "text": text}) + "\n" for q, text in TEXTS.items()]
    (folder / "queries.jsonl").write_text("".join(rows))
    for name in runs:
        lines = [
            f"{query} Q0 {document} {rank} {10 - rank} t\n"
            for query, documents in RUNS[name].items()
            for rank, document in enumerate(documents, 1)
        ]
        (folder / f"{name}.run").write_text("".join(lines))
    app = typer.Typer()
    app.command("report")(command(report))
    page = folder / "report.html"
    words = [str(folder / "j.qrels"), *(str(folder / f"{name}.run") for name in runs)]
    words += ["-m", "RR", "-m", "P@1", "--samples", "100", "-o", str(page), *options]
    words += ["--queries", str(folder / "queries.jsonl"), "--title", f"A title {EVIL}"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.exception
    return page


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of three runs over three queries."""
    return write(tmp_path_factory.mktemp("page"), list(RUNS))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of one run."""
    return write(tmp_path_factory.mktemp("alone"), ["base"])


def column(browser: Any, table: str, at: int) -> list[str]:
    """The texts of a table's column, in the order shown."""
    return browser.texts(f"{table} tbody tr > :nth-child({at})")


LIST = "#queries .list table"
BOTH = pytest.mark.parametrize("scheme", ["light", "dark"])


# --- safe and self-contained ----------------------------------------------------------------


def test_nothing_is_loaded_and_nothing_is_refused(browser: Any, page: Path) -> None:
    browser.open(page)
    loaded = browser.run("return performance.getEntriesByType('resource').map(x => x.name)")
    assert [name for name in loaded if not name.startswith("data:")] == []
    assert browser.complaints() == []


def test_what_looks_like_markup_is_shown_and_not_run(browser: Any, page: Path) -> None:
    browser.open(page)
    for button in browser.all(f"{LIST} .choose"):
        button.click()
        assert browser.run("return window.hacked") is None
    assert browser.one("h1").text == f"A title {EVIL}"
    assert sorted(column(browser, LIST, 1)) == sorted(QRELS)
    assert sorted(column(browser, LIST, 2)) == sorted(TEXTS.values())
    assert browser.all("bdi *, #queries img, #queries i, blockquote *") == []


def test_marks_of_direction_stay_within_their_text(browser: Any, page: Path) -> None:
    browser.open(page)
    browser.run("document.querySelectorAll(arguments[0])[0].click()", f"{LIST} .choose")
    found = browser.run(
        "return [...document.querySelectorAll('#queries bdi, blockquote')]"
        ".map(x => getComputedStyle(x).unicodeBidi)"
    )
    assert found
    assert set(found) <= {"isolate", "plaintext"}


def test_the_policy_stops_scripts_that_are_not_the_pages(browser: Any, page: Path) -> None:
    browser.open(page)
    browser.run(
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 1';"
        "document.body.append(s);"
    )
    assert browser.run("return window.hacked") is None
    assert "Content Security Policy" in browser.complaints()[0]


# --- tables ---------------------------------------------------------------------------------


def test_tables_are_sorted_by_a_click_and_by_the_keyboard(browser: Any, page: Path) -> None:
    browser.open(page)
    table = "#scores table"
    assert column(browser, table, 1) == ["base", "new<b>", "third"]
    head = browser.one(f"{table} th:nth-child(3) button")
    head.click()  # RR: means 1/2, 5/6 and 0
    assert column(browser, table, 1) == ["new<b>", "base", "third"]
    head.send_keys(Keys.ENTER)
    assert column(browser, table, 1) == ["third", "base", "new<b>"]
    assert browser.one(f"{table} th:nth-child(3)").get_attribute("aria-sort") == "ascending"


def test_scores_are_those_of_the_runs(browser: Any, page: Path) -> None:
    browser.open(page)
    means = browser.texts("#scores tbody td:nth-child(3) bdi")
    assert means == ["0.5000", "0.8333", "0.0000"]


# --- query by query -------------------------------------------------------------------------


def test_queries_are_listed_by_difference(browser: Any, page: Path) -> None:
    browser.open(page)
    assert column(browser, LIST, 1) == [EVIL_ID, "q1", "q2"]
    assert column(browser, LIST, 5) == ["+1.0000", "+0.5000", "−0.5000"]
    assert "better for 2, equal for 0, worse for 1 of 3" in browser.one("#summary").text


def test_measure_and_pair_can_be_chosen(browser: Any, page: Path) -> None:
    browser.open(page)
    measure, base, run = browser.all("#queries select")
    measure.send_keys("P@1")
    assert column(browser, LIST, 5) == ["+1.0000", "+1.0000", "−1.0000"]
    run.send_keys("third")
    assert column(browser, LIST, 4) == ["0.0000", "0.0000", "0.0000"]
    base.send_keys("third")  # a run is not compared with itself: the two change places
    assert run.get_property("value") == "0"
    assert column(browser, LIST, 5) == ["+1.0000", "0.0000", "0.0000"]


def test_a_query_is_chosen_by_the_keyboard(browser: Any, page: Path) -> None:
    browser.open(page)
    button = browser.all(f"{LIST} .choose")[2]
    button.send_keys(Keys.ENTER)
    assert browser.run("return document.activeElement.textContent") == "Query q2"
    assert browser.one("blockquote").text == EVIL
    ActionChains(browser.driver).send_keys(Keys.TAB, Keys.ENTER).perform()  # to "Previous"
    assert browser.run("return document.activeElement.textContent") == "Query q1"


def test_both_rankings_are_side_by_side(browser: Any, page: Path) -> None:
    browser.open(page)
    browser.all(f"{LIST} .choose")[2].click()
    base, new = browser.all(".sides > div")
    assert base.location["y"] == new.location["y"]
    cells = [[cell.text for cell in row.find_elements("css selector", "th, td")]
             for row in base.find_elements("css selector", "tbody tr")]  # fmt: skip
    assert cells == [["1", "c", "9", "✓ 2", "2"], ["2", "d", "8", "unjudged", "1"]]
    assert new.find_element("css selector", "tr.relevant .document").text == "c"


def test_relevant_documents_that_neither_found_are_named(browser: Any, page: Path) -> None:
    browser.open(page)
    browser.all(f"{LIST} .choose")[2].click()
    assert browser.texts(".missing tbody td") == ["e", "✓ 1", "not retrieved", "not retrieved"]


def test_queries_are_filtered_by_their_text(browser: Any, page: Path) -> None:
    browser.open(page)
    browser.one("#filter").send_keys("PROBAB")
    shown = [row for row in browser.all(f"{LIST} tbody tr") if row.is_displayed()]
    assert [row.find_element("css selector", "th").text for row in shown] == ["q1"]
    assert "1 of 3 queries" in browser.texts("#queries .under")


def test_a_bar_leads_to_its_query(browser: Any, page: Path) -> None:
    browser.open(page)
    over = browser.one(".chart .over")
    assert len(browser.all(".chart .gain")) == 2
    assert len(browser.all(".chart .loss")) == 1
    third = int(over.size["width"] / 3)
    ActionChains(browser.driver).move_to_element_with_offset(over, third, 0).click().perform()
    assert browser.one("#detail h3").text == "Query q2"


def test_one_run_is_shown_alone(browser: Any, alone: Path) -> None:
    browser.open(alone)
    assert browser.all("#comparison") == []
    assert len(browser.all(".sides > div")) == 1
    assert column(browser, LIST, 3) == ["1.0000", "0.5000", "0.0000"]
    assert browser.complaints() == []


# --- saving ---------------------------------------------------------------------------------


def saved(browser: Any, name: str) -> etree._Element:
    """A file that the browser saves, once it is there."""
    path = browser.downloads / name
    # The browser takes the name with an empty file before the whole one is there.
    browser.until(lambda: path.exists() and path.stat().st_size, f"{name} was not saved")
    return etree.fromstring(path.read_bytes())


def test_an_interval_plot_can_be_saved(browser: Any, page: Path) -> None:
    browser.open(page)
    browser.one("figcaption a").click()
    drawing = saved(browser, "intervals_RR.svg")
    assert "new<b>" in list(drawing.itertext())


def test_the_chart_can_be_saved_with_its_colours(browser: Any, page: Path) -> None:
    browser.open(page, scheme="dark")
    browser.run(
        "[...document.querySelectorAll('.button')].find(x => /SVG/.test(x.textContent)).click()"
    )
    drawing = saved(browser, "differences_RR_new-b-_base.svg")
    fills = [part.get("fill") for part in drawing.iter("{*}rect")]
    assert fills == ["#27415f", "#27415f", "#b4c3d3"]


# --- everyone can read it -------------------------------------------------------------------


@BOTH
def test_a_phone_scrolls_tables_and_not_the_page(browser: Any, page: Path, scheme: str) -> None:
    browser.open(page, width=375, scheme=scheme)
    wide, window = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
    assert (wide, window) == (375, 375)
    inner, outer = browser.run(
        "const box = document.querySelector('#comparison .box');"
        "return [box.scrollWidth, box.clientWidth]"
    )
    assert inner > outer


_CONTRAST = """
const light = (text) => {
  const parts = text.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255)
    .map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
};
const ground = (part) => {
  for (; part; part = part.parentElement) {
    const found = getComputedStyle(part).backgroundColor;
    if (!/, 0\\)$/.test(found)) return found;
  }
};
const least = {};
for (const part of document.querySelectorAll('body *:not(svg *):not(script)')) {
  if (![...part.childNodes].some(x => x.nodeType === 3 && x.data.trim())) continue;
  if (!part.getClientRects().length) continue;
  const pair = [light(getComputedStyle(part).color), light(ground(part))].sort((a, b) => b - a);
  const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
  if (ratio < 4.5) least[part.tagName + '.' + part.className] = ratio;
}
return least;
"""


@BOTH
def test_text_stands_out_from_its_ground(browser: Any, page: Path, scheme: str) -> None:
    browser.open(page, scheme=scheme)
    assert browser.run(_CONTRAST) == {}
    ground = browser.run("return getComputedStyle(document.documentElement).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")


def test_headings_follow_one_another(browser: Any, page: Path) -> None:
    browser.open(page)
    levels = browser.run(
        "return [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(x => +x.tagName[1])"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


def test_the_page_can_be_read_aloud(browser: Any, page: Path) -> None:
    browser.open(page)
    assert browser.run("return document.documentElement.lang") == "en"
    assert browser.all("th:not([scope])") == []
    assert browser.all("table:not(:has(caption))") == []
    assert browser.all("svg:not([role=img][aria-label])") == []
    unnamed = "[...document.querySelectorAll('select, input')].filter(x => !x.labels.length)"
    assert browser.run(f"return {unnamed}") == []
    ids = browser.run("return [...document.querySelectorAll('[id]')].map(x => x.id)")
    assert len(ids) == len(set(ids))


def test_the_keyboard_reaches_everything_and_shows_where_it_is(browser: Any, page: Path) -> None:
    browser.open(page)
    browser.run("document.body.focus()")
    wanted = browser.run(
        "return [...document.querySelectorAll('a, button, select, input, [tabindex=\"0\"]')]"
    )
    reached = []
    for _ in range(len(wanted)):
        ActionChains(browser.driver).send_keys(Keys.TAB).perform()
        here, style = browser.run(
            "const x = document.activeElement; return [x, getComputedStyle(x).outlineStyle]"
        )
        assert style == "solid"
        reached.append(here)
    assert set(reached) == set(wanted)


def test_paper_gets_the_results_and_not_the_controls(browser: Any, page: Path) -> None:
    browser.open(page, scheme="dark", media="print")
    ground = "return getComputedStyle(document.documentElement).backgroundColor"
    assert browser.run(ground) == "rgb(255, 255, 255)"
    assert not any(part.is_displayed() for part in browser.all("nav, .controls, .list"))
    assert browser.one(".sides table").is_displayed()
    assert browser.complaints() == []
