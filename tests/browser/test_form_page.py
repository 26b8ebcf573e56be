"""The HTML form as a judge meets it: offline, by keyboard, on a phone, closed and opened again."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from tests.form_answers import QUESTIONS, random_answers, random_entry, random_sheet

from citebed.judging.forms import html_form
from citebed.judging.forms.sheet import Answers, ListedQuery, Rating, Sheet

EVIL = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
_COUNT = count()


def sheet_of(phase: int, seed: int = 1) -> Sheet:
    """A sheet with a name and titles that would like to be more than text.

    Its code is its own: the browser kept nothing under it before.
    """
    code = random_sheet(Random(next(_COUNT)), phase).code
    sheet = random_sheet(Random(seed), phase)
    settings = sheet.settings.changed(title=f"A {EVIL}")
    sheet = sheet._replace(code=code, person=EVIL, paper=EVIL, settings=settings)
    entries = tuple(random_entry(Random(seed), number) for number in range(1, 4))
    asked = (ListedQuery(1, EVIL, entries, "stated"), ListedQuery(2, "a second", entries[:1]))
    return sheet._replace(
        references=entries if phase == 1 else (), queries=asked if phase == 2 else ()
    )


def opened(browser: Any, folder: Path, sheet: Sheet, width: int = 1280) -> Path:
    """The page of a sheet, opened as a file."""
    page = folder / f"{sheet.code}.html"
    page.write_text(html_form.write(sheet), "utf-8")
    browser.open(page, width)
    return page


def kept(browser: Any) -> str:
    """Wait for the page's message about saving, and return it."""
    said = "return document.getElementById('kept').textContent"
    browser.until(lambda: browser.run(said) != "")
    return str(browser.run(said))


def downloaded(browser: Any, sheet: Sheet) -> Answers:
    """Return the content of the saved response file."""
    browser.run("document.getElementById('save').click()")
    path = browser.downloads / f"{sheet.code}.answers.json"
    # The browser takes the name with an empty file before the whole one is there.
    browser.until(lambda: path.exists() and path.stat().st_size > 0)
    text = path.read_text("utf-8")
    path.unlink()
    assert browser.run("return document.getElementById('text').value") == text
    return html_form.read(text)


_FILL = """
for (const [name, value] of Object.entries(arguments[0])) {
  for (const field of document.getElementsByName(name)) {
    if (field.type === "radio" || field.type === "checkbox") {
      if ((field.type === "checkbox" || field.value === value) && !field.checked) field.click();
    } else {
      field.value = value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }
}"""


def values_of(answers: Answers, phase: int) -> dict[str, str]:
    """The fields that such answers fill."""
    values = {f"question.{number}": text for number, text in answers.questions.items()}
    name = "grade" if phase == 1 else "verdict"
    for (query, paper), said in answers.ratings.items():
        values[f"{name}.{query}.{paper}"] = "?" if said.value is None else str(said.value)
        if said.comment:
            values[f"comment.{query}.{paper}"] = said.comment
    for query, approved in answers.approved.items():
        values[f"{'approve' if approved is True else 'better'}.{query}"] = str(approved)
    return values | ({"opt_out": "on"} if answers.opted_out else {})


@pytest.mark.parametrize("phase", [1, 2])
def test_what_is_filled_in_is_in_the_file_and_survives_a_reload(
    browser: Any, tmp_path: Path, phase: int
) -> None:
    for seed in range(4):
        sheet = sheet_of(phase, seed)
        page = opened(browser, tmp_path, sheet)
        assert downloaded(browser, sheet) == Answers(sheet.code)
        expected = random_answers(Random(seed), sheet, questions=5)
        browser.run(_FILL, values_of(expected, phase))
        assert downloaded(browser, sheet) == expected
        assert kept(browser) == "saved in this browser"
        browser.open(page)
        assert downloaded(browser, sheet) == expected
        shown = browser.run("return document.getElementById('count').textContent")
        assert shown.startswith(f"{len(expected.ratings)} of ") or not expected.questions
        assert browser.run("return window.hacked") is None
        assert browser.complaints() == []


_WITHOUT = """Object.defineProperty(window, arguments[0], {
  get() { throw new DOMException("refused", "SecurityError"); },
});"""


def _is_restored(browser: Any, page: Path) -> bool:
    """Return whether an answer given now is there when the page is opened again."""
    answer = "[name='verdict.1.1'][value='1']"
    browser.one(answer).click()
    assert kept(browser) == "saved in this browser"
    browser.open(page)
    return bool(browser.one(answer).is_selected())


@pytest.mark.parametrize("refused", ["localStorage", "indexedDB", "both"])
def test_answers_are_kept_where_a_browser_refuses_one_place(
    browser: Any, tmp_path: Path, refused: str
) -> None:
    sheet = sheet_of(2)
    page = opened(browser, tmp_path, sheet)
    names = ["localStorage", "indexedDB"] if refused == "both" else [refused]
    source = "".join(_WITHOUT.replace("arguments[0]", f"'{name}'") for name in names)
    script = {"source": source}
    added = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", script)
    try:
        browser.open(page)
        if refused == "both":
            browser.one("[name='verdict.1.1'][value='1']").click()
            assert kept(browser).startswith("this browser cannot save your answers")
            return
        # localStorage sometimes loses what was just written: hence the two places.
        tries = 1 if refused == "localStorage" else 10
        assert any(_is_restored(browser, page) for _ in range(tries))
        assert downloaded(browser, sheet).ratings == {(1, 1): Rating(1)}
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


def test_what_one_place_forgot_the_other_has(browser: Any, tmp_path: Path) -> None:
    sheet = sheet_of(2)
    page = opened(browser, tmp_path, sheet)
    browser.one("[name='verdict.1.1'][value='1']").click()
    older = browser.run("return localStorage.getItem(arguments[0])", f"citebed-form-{sheet.code}")
    browser.one("[name='verdict.1.2'][value='0']").click()
    assert kept(browser) == "saved in this browser"
    for forgotten in (older, "{", "null", '{"at": 1e99}', '{"at": 1e99, "filled": null}', ""):
        keep = "localStorage.setItem(arguments[0], arguments[1])"
        browser.run(keep, f"citebed-form-{sheet.code}", forgotten)
        browser.open(page)
        assert downloaded(browser, sheet).ratings == {(1, 1): Rating(1), (1, 2): Rating(0)}


def test_phase_one_by_keyboard(browser: Any, tmp_path: Path) -> None:
    sheet = sheet_of(1)
    opened(browser, tmp_path, sheet)
    browser.one("#q1").click()
    keys = ActionChains(browser.driver)
    keys.send_keys(QUESTIONS[0], Keys.TAB, "b", Keys.TAB, Keys.TAB, Keys.TAB).perform()
    browser.one("[name='grade.1.1']").send_keys("3")
    browser.one("[name='grade.2.1']").send_keys("u")
    browser.one("[name='grade.1.2']").send_keys(Keys.SPACE)
    ActionChains(browser.driver).send_keys(Keys.ARROW_RIGHT).perform()
    browser.one("[name='grade.1.3']").send_keys("4")
    browser.one("[name='grade.1.3']:checked").send_keys(Keys.DELETE)
    expected = Answers(sheet.code, questions={1: QUESTIONS[0], 2: "b"})
    expected.ratings = {(1, 1): Rating(3), (2, 1): Rating(None), (1, 2): Rating(2)}
    assert downloaded(browser, sheet) == expected
    assert browser.run("return document.getElementById('count').textContent") == "3 of 6 answered"


def test_a_click_on_a_chosen_answer_takes_it_back(browser: Any, tmp_path: Path) -> None:
    sheet = sheet_of(2)
    opened(browser, tmp_path, sheet)
    label = browser.one("label:has([name='verdict.1.1'][value='1'])")
    label.click()
    assert downloaded(browser, sheet).ratings == {(1, 1): Rating(1)}
    label.click()
    assert downloaded(browser, sheet).ratings == {}


def test_what_was_chosen_is_undone_by_key_and_button(browser: Any, tmp_path: Path) -> None:
    sheet = sheet_of(2)
    page = opened(browser, tmp_path, sheet)
    assert not browser.one("#undo").is_enabled()
    browser.one("label:has([name='verdict.1.1'][value='1'])").click()
    browser.one("[name='verdict.1.2'][value='0']").send_keys("1")
    browser.one("[name='verdict.1.1']:checked").send_keys("1")
    browser.one("label:has([name='verdict.1.2'][value='0'])").click()  # takes it back
    assert downloaded(browser, sheet).ratings == {(1, 1): Rating(0)}
    browser.one("#undo").click()
    assert downloaded(browser, sheet).ratings == {(1, 1): Rating(0), (1, 2): Rating(0)}
    ActionChains(browser.driver).send_keys("z").perform()
    assert downloaded(browser, sheet).ratings == {(1, 1): Rating(1), (1, 2): Rating(0)}
    browser.one("[name='comment.1.1']").send_keys("z")
    browser.one("#undo").click()
    browser.one("#undo").click()
    assert downloaded(browser, sheet).ratings == {}
    assert not browser.one("#undo").is_enabled()
    assert kept(browser) == "undone; saved in this browser"
    browser.open(page)
    assert downloaded(browser, sheet).ratings == {}


def test_a_better_wording_takes_the_approval_back_and_is_never_lost(
    browser: Any, tmp_path: Path
) -> None:
    sheet = sheet_of(2)
    opened(browser, tmp_path, sheet)
    browser.one("[name='approve.1']").click()
    assert downloaded(browser, sheet).approved == {1: True}
    browser.one("#b1").send_keys("better")
    browser.one("[name='approve.1']").click()
    assert downloaded(browser, sheet).approved == {1: "better"}


def test_one_more_question_and_grades_without_a_text(browser: Any, tmp_path: Path) -> None:
    sheet = sheet_of(1)
    opened(browser, tmp_path, sheet)
    browser.one("#more").click()
    browser.one("[name='grade.4.1'][value='2']").send_keys("2")
    assert browser.texts("#warnings li") == ["Question 4 has grades, but no text."]
    browser.one("#q4").send_keys("Which?")
    assert browser.texts("#warnings li") == []
    browser.one("#more").click()
    assert not browser.one("#more").is_displayed()
    assert downloaded(browser, sheet).ratings == {(4, 1): Rating(2)}


def test_the_text_can_be_copied(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, sheet_of(1))
    browser.one("summary").click()
    browser.one("#copy").click()
    browser.until(lambda: browser.one("#copied").text != "")
    assert browser.one("#copied").text in ("copied", "press Ctrl+C to copy the marked text")


@pytest.mark.parametrize("phase", [1, 2])
def test_a_phone_shows_all_of_it(browser: Any, tmp_path: Path, phase: int) -> None:
    opened(browser, tmp_path, sheet_of(phase), width=360)
    assert browser.run("return document.documentElement.scrollWidth") <= 360
    small = browser.run(
        "return [...document.querySelectorAll('.choices label, button')]"
        ".filter(x => x.offsetParent && Math.min(x.offsetWidth, x.offsetHeight) < 36).length"
    )
    assert small == 0
    browser.driver.save_screenshot(str(tmp_path / "phone.png"))
