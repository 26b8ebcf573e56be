"""The experiments page, for a user who compares models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from tests.browser.workbench import InBrowser

MANY = 40_000
"""So many queries take some seconds to search with."""


class Page:
    """Actions on the page."""

    def __init__(self, workbench: InBrowser) -> None:
        self.workbench, self.browser, self.until = workbench, workbench.browser, workbench.until

    def open(self, width: int = 1280, scheme: str = "light", **query: Any) -> None:
        self.workbench.room("experiments", width, scheme, **query)

    def search(self, queries: str, model: str) -> str:
        """Begin a search; gives its job's id."""
        before = self.jobs()
        fill = (
            "const set = (id, value) => { const field = document.getElementById(id); "
            "field.value = value; field.dispatchEvent(new Event('input')); };"
            "set('queries', arguments[0]); set('model', arguments[1]); set('depth', 200);"
            "document.querySelector('#search button').click();"
        )
        self.browser.run(fill, queries, model)
        self.until(lambda: self.jobs()[:1] != before[:1], "no job began")
        return self.jobs()[0]

    def jobs(self) -> list[str]:
        """The ids of the jobs that are shown, the latest first."""
        shown = "return [...document.querySelectorAll('.job')].map((each) => each.dataset.job)"
        return list(self.browser.run(shown))

    def state(self, job: str) -> str:
        return str(self.job(job).get_attribute("data-state"))

    def job(self, job: str) -> Any:
        return self.browser.one(f'.job[data-job="{job}"]')

    def ends(self, job: str, state: str) -> None:
        over = ("done", "failed", "cancelled")
        self.until(lambda: self.state(job) in over, "the job does not end")
        assert self.state(job) == state, self.job(job).text
        self.until(lambda: self.browser.all(f'.job[data-job="{job}"][data-told]'))

    def scored(self) -> list[str]:
        """The runs in the table of scores, once it is there."""
        rows = "#scores .table-box:first-child tbody th"
        idle = "#scores:not([aria-busy]) .table-box"
        self.until(lambda: self.browser.all(idle), "no scores")
        return self.browser.texts(rows)

    def pick(self, run: str, *, is_chosen: bool = True) -> None:
        box = self.browser.one(f'.run input[value="{run}"]')
        if box.is_selected() != is_chosen:
            self.browser.run("arguments[0].click()", box)


@pytest.fixture
def page(workbench: InBrowser) -> Iterator[Page]:
    runs = workbench.folder / "runs"
    for path in runs.iterdir() if runs.is_dir() else ():
        path.unlink()
    yield Page(workbench)
    assert not workbench.complaints()


def ask_much(folder: Path) -> None:
    """Let the sentences be very many."""
    path = folder / "queries" / "sentences.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    more = ({**lines[at % 71], "query_id": f"more{at}"} for at in range(MANY - len(lines)))
    path.write_text("".join(f"{json.dumps(row)}\n" for row in (*lines, *more)), "utf-8")


def test_a_run_is_started_watched_reloaded_cancelled_and_another_is_evaluated(page: Page) -> None:
    ask_much(page.workbench.folder)
    page.open()
    job = page.search("sentences", "bm25+rm3")
    page.until(lambda: "of 40,000" in page.job(job).text, "how far it is is not told")
    page.workbench.reload()
    assert page.state(job) == "running"
    page.browser.run("arguments[0].querySelector('button').click()", page.job(job))
    page.ends(job, "cancelled")
    assert not list((page.workbench.folder / "runs").glob("*.run"))
    second = page.search("paragraphs", "bm25")
    page.ends(second, "done")
    page.until(lambda: page.scored() == ["bm25.paragraphs"], "its scores are not shown")
    assert "run=bm25.paragraphs.run" in page.browser.driver.current_url


def test_two_runs_are_compared_and_looked_at_query_by_query(page: Page) -> None:
    page.open()
    for model in ("bm25", "kl"):
        page.ends(page.search("paragraphs", model), "done")
    page.until(lambda: len(page.scored()) == 2)
    both = ["bm25", "kl"]  # what all end in is said once
    assert "names end in .paragraphs" in page.browser.one("#scores caption").text
    assert page.scored() == both
    differences = "#scores .table-box:nth-child(2)"
    page.until(lambda: page.browser.all(differences), "no comparison")
    assert "†" in page.browser.one(differences).text
    page.pick("kl.paragraphs.run", is_chosen=False)
    page.until(lambda: page.scored() == ["bm25.paragraphs"])
    page.pick("kl.paragraphs.run")
    page.until(lambda: page.scored() == both)
    page.browser.one("#measure").send_keys("P@5\n")
    page.until(lambda: "P@5" in page.browser.one("#scores").text)
    address = page.browser.driver.current_url
    page.browser.visit(address)  # what is chosen is in the address
    page.until(lambda: "P@5" in page.browser.one("#scores").text)
    assert page.scored() == both
    with page.browser.arriving():
        page.browser.one("#report").click()
    assert page.browser.one("#queries table, #queries svg")
    assert page.browser.driver.current_url.endswith("#by-query")
    page.browser.run("document.querySelectorAll('#queries button.choose')[2].click()")
    chosen = page.browser.driver.current_url.partition("#q=")[2]
    assert chosen
    page.workbench.reload()
    assert page.browser.one("#queries h3").text == f"Query {unquote(chosen)}"
    assert page.browser.texts("h1") == ["paragraphs: 2 runs"]
    with page.browser.arriving():
        page.browser.one(".back a").click()
    assert page.browser.driver.current_url == address
    with page.browser.arriving():
        page.browser.one("#timeline").click()
    assert "over time" in page.browser.one("h1").text


def test_a_measure_or_model_that_is_wrong_is_reported_and_files_of_the_user_are_taken(
    page: Page, tmp_path: Path
) -> None:
    run = tmp_path / "mine.run"
    judged = (page.workbench.folder / "qrels" / "paragraphs.qrels").read_text().splitlines()
    lines = (line.split() for line in judged)
    run.write_text("".join(f"{q} Q0 {d} 1 {at}.5 x\n" for at, (q, _, d, _) in enumerate(lines)))
    (tmp_path / "other.run").write_text("no run\n")
    page.open(390)
    page.browser.one("#drop input").send_keys(f"{run}\n{tmp_path / 'other.run'}")
    page.until(lambda: "runs/mine.run" in page.browser.one("#dropped").text)
    assert "Not added: 'other.run' is neither" in page.browser.one("#dropped .problem").text
    page.until(lambda: page.scored() == ["mine"])
    page.browser.run("document.getElementById('fold').open = true")
    page.browser.one("#measure").send_keys("nDGC@5\n")
    page.until(lambda: "mean 'nDCG'?" in page.browser.one("#measure-about").text)
    assert page.scored() == ["mine"]
    assert "nDGC" not in page.browser.driver.current_url
    page.browser.run(
        "document.getElementById('model').value = 'nonsense';"
        "document.querySelector('#search button').click()"
    )
    page.until(lambda: "nonsense" in page.browser.one("#search-problem").text)
    assert page.browser.run("return document.documentElement.scrollWidth") <= 390
    page.browser.complaints()  # the refusals


def test_files_are_dropped_anywhere_and_a_run_is_removed(page: Page) -> None:
    page.open()
    drop = (
        "const sent = new DataTransfer(); sent.items.add(new File(['q1 Q0 d 1 2.5 x'], 'my.run'));"
        "const send = (type) => document.querySelector('h1').dispatchEvent(new DragEvent(type,"
        " { dataTransfer: sent, bubbles: true, cancelable: true }));"
        "send('dragover'); const over = getComputedStyle(document.querySelector('.drop-over'));"
        "const seen = over.display; send('drop'); return seen"
    )
    assert page.browser.run(drop) == "flex"
    page.until(lambda: "runs/my.run" in page.browser.one("#dropped").text)
    page.until(lambda: page.browser.all('.run input[value="my.run"]'))
    page.browser.run("window.confirm = () => true; document.querySelector('.remove').click()")
    page.until(lambda: not page.browser.all('.run input[value="my.run"]'), "it is still there")
    assert not (page.workbench.folder / "runs" / "my.run").exists()
    page.browser.complaints()  # its query is not judged
