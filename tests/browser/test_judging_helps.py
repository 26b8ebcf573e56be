"""Help for judges: undo, take back, an end, guidelines, highlighted words, a phone."""

from __future__ import annotations

from pathlib import Path

from selenium.webdriver.common.keys import Keys
from sqlalchemy import select
from tests.browser.served import Served
from tests.campaigns import listed_items

from citebed.judging.store.schema import judgements


def history(served: Served, code: str, at: int) -> list[tuple[int | None, bool]]:
    """All that was said of a paper of a form, in its order."""
    item = listed_items(served.campaign, code)[at]
    chosen = select(judgements.c.value, judgements.c.withdrawn).where(judgements.c.item_id == item)
    with served.campaign.reading() as tx:
        rows = tx.execute(chosen.order_by(judgements.c.id)).all()
    return [(value, bool(withdrawn)) for value, withdrawn in rows]


def test_after_the_last_paper_keys_change_nothing(served: Served) -> None:
    code = served.open_list(0)
    browser = served.browser
    served.press(*"222222222221")
    served.wait_saved()
    wanted = [1] * 11 + [0]
    assert browser.all(".paper.current") == []
    assert browser.one("#place").text == "the end"
    assert not browser.one("#next").is_enabled()
    served.press("2", "u", Keys.DELETE, "n", "2")
    served.wait_saved()
    assert served.values(code) == wanted
    served.press("p", "2")  # the last one again, on purpose
    served.wait_saved()
    assert served.values(code) == [1] * 12
    served.open_list(0)  # all is judged: a key changes nothing here either
    served.press("1")
    served.wait_saved()
    assert served.values(code) == [1] * 12
    assert browser.all(".paper.current") == []


def test_a_key_means_the_same_in_both_phases(served: Served) -> None:
    code = served.open_list(8, phase=1)  # all references but the last have a grade
    assert served.browser.one(".paper.current [data-keys~='1']").text == "1 not relevant"
    served.press("1")
    served.wait_saved()
    assert served.values(code)[-1] == 1  # the grade "not relevant"
    code = served.open_list(8)
    assert served.browser.one(".paper.current [data-keys~='1']").text == "1 not relevant"
    served.press("1", "2", "3", "4", "0", "u")
    served.wait_saved()
    assert served.values(code)[:6] == [0, 1, 1, 1, None, "nothing"]  # 0 is no key


def test_every_judgement_is_undone_by_key_and_button(served: Served) -> None:
    code = served.open_list(1)
    browser = served.browser
    assert not browser.one("#undo").is_enabled()
    served.press("2", "1", "p", "u")
    served.wait_saved()
    assert served.values(code)[:3] == [1, None, "nothing"]
    served.press("z")
    served.wait_saved()
    assert served.values(code)[:3] == [1, 0, "nothing"]
    assert browser.one(".paper.current .number").text == "2"
    browser.one("#undo").click()
    served.wait_saved()
    assert served.values(code)[:3] == [1, "nothing", "nothing"]
    assert browser.one(".paper.current .status").text == "taken back"
    served.press("z", "z", "z")
    served.wait_saved()
    assert served.values(code) == ["nothing"] * 12
    assert browser.one("#progress").text == "0 of 12 judged"
    assert history(served, code, 1) == [(0, False), (None, False), (0, False), (None, True)]


def test_a_judgement_is_taken_back_and_stays_so(served: Served) -> None:
    code = served.open_list(2)
    browser = served.browser
    browser.one("[data-view=list]").click()
    served.press("2", "1", "2")
    browser.all(".paper .back")[1].click()
    served.press("p", Keys.BACKSPACE)
    served.wait_saved()
    assert served.values(code)[:3] == ["nothing", "nothing", 1]
    assert not browser.all(".paper .back")[0].is_displayed()
    served.open_list(2)
    assert browser.one("#progress").text == "1 of 12 judged"
    states = {row["code"]: row["answered"] for row in served.campaign.status().to_dicts()}
    assert states[code] == 1
    served.press("z")  # nothing was done in this window
    served.wait_saved()
    assert served.values(code)[2] == 1


def test_what_was_taken_back_without_a_server_is_so_after_a_reload(served: Served) -> None:
    code = served.open_list(3)
    served.press("2", "2")
    served.wait_saved()
    port = served.servers.port
    served.servers.kill()
    served.press("z")
    served.until(lambda: "1 not saved yet" in served.saving(), "nothing is kept")
    served.browser.leave()
    served.servers.start(port)
    served.open_list(3)
    assert served.browser.one(".paper[data-entry='2']").get_attribute("data-value") == ""
    served.wait_saved()
    assert served.values(code)[:2] == [1, "nothing"]


def test_on_a_phone_the_next_paper_comes_by_itself(served: Served) -> None:
    code = served.open_list(4, width=390)
    browser = served.browser
    browser.one("[data-view=single]").click()
    for value in "101":
        before = browser.one(".paper.current .number").text
        browser.one(f".paper.current .choices [data-value='{value}']").click()
        assert browser.one(".paper.current .number").text == str(int(before) + 1)
    button = browser.one(".paper.current .choices [data-value='0']")
    browser.run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true, detail: 2}))",
                button)  # fmt: skip
    served.wait_saved()
    assert served.values(code)[:4] == [1, 0, 1, "nothing"]  # a second tap was not meant


def test_the_time_at_a_paper_is_recorded(served: Served) -> None:
    code = served.open_list(5)
    served.browser.run("window.now = performance.now.bind(performance);"
                       "performance.now = () => window.now() + 42000")  # fmt: skip
    served.press("2")
    served.browser.run("performance.now = () => window.now() + 45000")
    served.press("1")
    served.wait_saved()
    table = served.campaign.judgements
    first, second = (
        table.filter(item_id=item)["seconds"].item()
        for item in listed_items(served.campaign, code)[:2]
    )
    assert 42 <= first < 42 + 60
    assert 3 <= second < 3 + 30


def test_guidelines_and_the_words_of_the_query(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "guidelines.md"
    file.write_text("## What counts\n\nA *survey* counts. <script>window.hacked = 1</script>")
    served.campaign.configure(guidelines=file)
    served.servers.kill()
    served.servers.start(served.servers.port)
    code = served.open_list(6)
    browser = served.browser
    assert not browser.one("#guidelines").is_displayed()
    served.press("?")
    assert browser.one("#guidelines em").text == "survey"
    assert "<script>" in browser.one("#guidelines").text
    served.press("2")  # is for no paper now
    served.press(Keys.ESCAPE)
    assert not browser.one("#guidelines").is_displayed()
    served.wait_saved()
    assert served.values(code)[0] == "nothing"
    # "rank documents by the probability that they are relevant", as an index takes words
    assert set(browser.texts(".paper.current h3 mark")) == {"Ranking", "documents"}
    marks = set(browser.texts(".paper.current .abstract mark"))
    assert marks == {"ranks", "documents", "probability"}
    assert browser.complaints() == []


def test_what_is_judged_in_one_tab_is_shown_in_the_other(served: Served) -> None:
    code = served.open_list(9)
    driver = served.browser.driver
    first = driver.current_window_handle
    served.press("2")
    served.wait_saved()
    driver.switch_to.new_window("tab")
    served.open_list(9)
    assert served.browser.one("#progress").text == "1 of 12 judged"
    served.press("1", "u")
    served.wait_saved()
    second = driver.current_window_handle
    driver.switch_to.window(first)
    served.until(lambda: served.browser.one("#progress").text == "3 of 12 judged", "stale")
    pressed = [each.get_attribute("data-value") for each in served.browser.all(".paper")]
    assert pressed[:4] == ["1", "0", "u", ""]
    assert served.values(code)[:4] == [1, 0, None, "nothing"]
    driver.switch_to.window(second)
    driver.close()
    driver.switch_to.window(first)
