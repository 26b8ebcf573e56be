"""Papers in pairs in the browser, and a whole campaign: a judge grades, one compares, a machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from selenium.webdriver.common.keys import Keys
from sqlalchemy import select
from tests.browser.axe import check
from tests.browser.served import Served
from tests.campaigns import links, listed_items

from citebed.cli.app import main
from citebed.judging.store.schema import is_current, judgements, preferences

VALUES = {"1": 1, "2": 2, "0": 0, "u": None}
_MACHINE = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        number = sum(map(ord, asked.get("title", "") or str(asked)))
        print(json.dumps({"id": asked["id"], "grade": %s, "reason": "made up"}), flush=True)
"""


@pytest.fixture
def pairs(served: Served) -> dict[str, str]:
    """Tokens of the links to pairs by the judge's number; each author has them beside a list."""
    served.campaign.compare()
    table = served.campaign.status().filter(phase=2, round=2)
    signed = links(served.campaign)
    return {str(number): signed[code] for number, code in enumerate(table["code"])}


def open_pairs(served: Served, token: str, width: int = 1280) -> str:
    """Open a page with pairs; return the code of its form."""
    served.browser.visit(served.url(f"/judge/{token}"), width)
    return token.partition(".")[0]


def values(served: Served, code: str) -> list[Any]:
    """The stored preferences of a form, in its order."""
    chosen = select(preferences.c.item_id, preferences.c.value).where(is_current(preferences))
    with served.campaign.reading() as tx:
        known = {row.item_id: row.value for row in tx.execute(chosen)}
    return [known.get(item, "nothing") for item in listed_items(served.campaign, code)]


def test_pairs_by_keyboard_with_the_server_killed_in_the_middle(
    served: Served, pairs: dict[str, str]
) -> None:
    code = open_pairs(served, pairs["0"])
    keys = "120u21" * 4
    served.press(*keys[:7])
    served.wait_saved()
    assert values(served, code) == [VALUES[key] for key in keys[:7]] + ["nothing"] * 17
    port = served.servers.port
    served.press(*keys[7:12])  # some of them are on their way when the server dies
    served.servers.kill()
    confirmed = values(served, code)
    served.press(*keys[12:])
    served.until(lambda: "not saved yet" in served.saving(), "nothing waits")
    assert served.browser.one("#progress").text == "24 of 24 compared"
    assert values(served, code) == confirmed
    served.restart(port)
    served.wait_saved()
    assert values(served, code) == [VALUES[key] for key in keys]
    assert served.campaign.preferences.answers.height == 24
    with served.campaign.reading() as tx:
        web = judgements.c.via == "web"
        assert not tx.execute(select(judgements).where(web)).all()


def test_undo_taking_back_and_another_tab(served: Served, pairs: dict[str, str]) -> None:
    code = open_pairs(served, pairs["1"])
    browser, driver = served.browser, served.browser.driver
    served.press("1", "2", "p", "0")
    served.wait_saved()
    assert values(served, code)[:3] == [1, 0, "nothing"]
    served.press("z")
    served.wait_saved()
    assert values(served, code)[:3] == [1, 2, "nothing"]
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    try:
        open_pairs(served, pairs["1"])
        assert browser.one("#progress").text == "2 of 24 compared"
        served.press("p", "p", Keys.DELETE)
        served.wait_saved()
        assert values(served, code)[:3] == ["nothing", 2, "nothing"]
    finally:
        driver.close()
        driver.switch_to.window(first)
    served.until(lambda: browser.one("#progress").text == "1 of 24 compared", "the tab is old")


def test_two_papers_are_side_by_side_or_one_above_the_other(
    served: Served, pairs: dict[str, str]
) -> None:
    corners = """
    const [one, other] = document.querySelector('.paper.current').querySelectorAll('section');
    const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
    return [a.right <= b.left && a.top === b.top, a.bottom <= b.top,
            document.documentElement.scrollWidth <= innerWidth];
    """
    for width, wanted in ((1280, [True, False, True]), (390, [False, True, True])):
        code = open_pairs(served, pairs["2"], width)
        assert served.browser.run(corners) == wanted
        assert check(served.browser, width) == []
        served.browser.one(".paper.current .choices [data-value='2']").click()
        served.wait_saved()
    assert values(served, code)[:3] == [2, 2, "nothing"]
    assert len(served.browser.all(".paper.current mark")) > 2
    assert served.browser.complaints() == []


@pytest.mark.usefixtures("pairs")
def test_a_whole_campaign_with_a_machine_judge(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign, folder = served.campaign, str(served.campaign.folder)
    for judge in (4, 3):  # two authors grade the papers of their lists
        graded = served.open_list(judge)
        served.press(*"212121212121")
        served.wait_saved()
    served.log_in()
    served.browser.visit(served.url("/work"))
    form = "form[action$='/work/compare'] "
    served.browser.run(f"document.querySelector(\"{form}[name=query]\").value = 'p4-a1q1'")
    for name, words in (("name", "Zoe Zed"), ("email", "zoe@example.org")):
        served.browser.one(f"{form}[name={name}]").send_keys(words)
    with served.browser.arriving():
        served.browser.one(f"{form}button").click()
    assert "p4-a1q1: 24 pairs of 12 papers for Zoe Zed." in served.browser.one(".message").text
    zoe = campaign.status().filter(judge="Zoe Zed")["code"][0]
    open_pairs(served, links(campaign)[zoe])
    served.press(*"120112" * 4)
    served.wait_saved()
    machine = tmp_path / "judge.py"
    machine.write_text(_MACHINE % "3 if number % 2 else 1")
    program = f"{sys.executable} {machine}"
    assert main(["campaign", "judge", folder, "--with", program, "--name", "odd"]) == 0
    assert main(["campaign", "export", folder, "-o", str(tmp_path / "out")]) == 0
    # Nothing mixes: each has a file of its own.
    out = tmp_path / "out"
    people = [line.split() for line in (out / "j2-all-queries.qrels").read_text().splitlines()]
    assert sorted(row[3] for row in people) == ["0"] * 12 + ["1"] * 12
    assert {row[0] for row in people} == {"p4-a1q1", "p5-a1q1"}
    assert served.values(graded) == [1, 0] * 6
    rows = [json.loads(line) for line in (out / "preferences.jsonl").read_text().splitlines()]
    mine = [row for row in rows if row["query_id"] == "p4-a1q1"]
    assert [row["preferred"] for row in mine].count("tie") == 4
    assert len(mine) == 24
    strengths = campaign.preferences.strengths.filter(query_id="p4-a1q1")
    assert strengths["judges"].to_list() == [1] * 12
    machines = (out / "machine-odd.qrels").read_text().splitlines()
    assert len(machines) > len(people)
    judged = pl.read_ndjson(out / "machine_judgements.jsonl")
    assert not {"Zoe Zed", "zoe@example.org"} & set(judged.to_series().cast(pl.String))
    (tmp_path / "a.run").write_text("".join(
        f"p{query}-a1q1 Q0 d{40 - rank} {rank} {40 - rank} a\n"
        for query in range(1, 11) for rank in range(1, 11)))  # fmt: skip
    capsys.readouterr()
    given = [str(out / "j12-all-queries.qrels"), str(tmp_path / "a.run"), "-m", "nDCG@10"]
    assert main(["evaluate", *given, "--machine", str(out / "machine-odd.qrels"), "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    # The machine judged all ten queries; people judged two wholly: 12 papers and five references.
    assert (row["queries"], row["drawn"], row["judgements"]) == (10, 2, 34)
    assert row["low"] <= row["value"] <= row["high"]
