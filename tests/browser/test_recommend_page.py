"""The recommend page, for a user who writes a paper."""

from __future__ import annotations

import json
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys
from tests.browser.workbench import InBrowser
from tests.office import packed, paragraph, word_file

import citebed

pybtex_database = pytest.importorskip("pybtex.database")

FIRST = (
    "When a query is short, pseudo-relevance feedback adds terms from the documents found first."
)
SECOND = "Test collections are built by pooling the results of many systems."
TEXT = f"{FIRST} {SECOND}"
WEATHER = "It rained on Tuesday, so my grandmother baked bread and we stayed at home with the cat."

BIB = "@misc{mykey, title={Relevance Based Language Models}, author={Lavrenko, V.}, year={2001}}"
LATEX = {
    "p/main.tex": "\\documentclass{a}\\title{On asking}\\begin{document}\\section{One}\n"
    f"{FIRST} \\cite{{}}\n\n\\input{{two}}\\end{{document}}",
    "p/two.tex": f"{SECOND} \\input{{/etc/hostname}}",
    "p/mine.bib": BIB,
}
EVIL = "<img src=x onerror=window.hacked=1>"
ROW = {
    "doc_id": f'">{EVIL}', "title": EVIL, "doi": "", "link": "javascript:window.hacked=1",
    "authors": ["<b>A</b>"], "year": 1, "venue": "<i>V</i>", "terms": ["<u>t</u>"],
    "sentence": "", "passage": 1, "abstract_sentence": "<s>x</s>", "sure": "<b>sure</b>",
    "citing_sentences": ["<script>window.hacked=1</script>"], "cited_by": ["<b>B</b>"],
    "reprints": ["<b>R</b>"], "in_bib": True, "probability": None, "strength": "weak", "key": "k",
}  # fmt: skip


class Page:
    """Actions on the page."""

    def __init__(self, workbench: InBrowser) -> None:
        self.workbench, self.browser = workbench, workbench.browser
        self.until = workbench.until

    def open(self, width: int = 1280, **query: Any) -> None:
        self.workbench.room("recommend", width, **query)

    def answered(self, act: Any) -> None:
        """Do something, and wait until papers were shown after it."""
        number = "return Number(document.getElementById('results').dataset.shown ?? 0)"
        before = self.browser.run(number)
        act()
        self.until(lambda: self.browser.run(number) > before, "no new answer")
        busy = "return document.getElementById('results').getAttribute('aria-busy')"
        self.until(lambda: self.browser.run(busy) == "false", "still busy")

    def write(self, text: str) -> None:
        self.answered(lambda: self.browser.one("#text").send_keys(text))
        self.until(lambda: self.browser.one("#kept").text == "saved", "not saved")

    def found(self) -> list[str]:
        return [each.get_attribute("data-doc") for each in self.browser.all(".result")]

    def click(self, selector: str) -> None:
        self.browser.run("document.querySelector(arguments[0]).click()", selector)

    def act(self, doc_id: str, act: str) -> None:
        cards = {each.get_attribute("data-doc"): each for each in self.browser.all(".result")}
        button = cards[doc_id].find_element("css selector", f"[data-act={act}]")
        self.browser.run("arguments[0].click()", button)

    def basket(self) -> int:
        return int(self.browser.one("#basket-count").get_attribute("textContent"))

    def cite(self, doc_id: str) -> None:
        wanted = self.basket() + 1
        self.act(doc_id, "cite")
        self.until(lambda: self.basket() == wanted, "not in the basket")

    def fetched(self, selector: str) -> str:
        """Return the response of a link, as the browser gets it."""
        address = self.browser.one(selector).get_attribute("href")
        script = "const done = arguments[1]; fetch(arguments[0]).then(r => r.text()).then(done)"
        return str(self.browser.driver.execute_async_script(script, address))


@pytest.fixture
def page(workbench: InBrowser) -> Page:
    made = Page(workbench)
    made.open()
    return made


def test_a_paragraph_a_filter_three_papers_a_reload_and_a_bibliography(page: Page) -> None:
    page.write(TEXT)
    everything = page.found()
    assert len(everything) > 5
    page.click("#filter-button")
    page.answered(lambda: page.browser.one("[name=last]").send_keys("1999"))
    years = [text.split(" · ")[1] for text in page.browser.texts(".result .who")]
    assert years
    assert max(map(int, years)) <= 1999
    chosen = page.found()[:3]
    for doc_id in chosen:
        page.cite(doc_id)
    page.workbench.reload()
    page.until(lambda: page.browser.all(".result"), "no papers")
    assert page.browser.one("#text").get_attribute("value") == TEXT
    assert page.browser.one("[name=last]").get_attribute("value") == "1999"
    assert page.basket() == 3
    entries = pybtex_database.parse_string(page.fetched("a[data-form=bibtex]"), "bibtex").entries
    assert len(entries) == 3
    mine = citebed.open(page.workbench.folder)
    years = sorted(str(mine.document(each).year) for each in chosen)
    assert sorted(entry.fields["year"] for entry in entries.values()) == years
    items = json.loads(page.fetched("a[data-form=csl-json]"))
    assert {item["id"] for item in items} == set(entries)
    assert page.fetched("a[data-form=ris]").count("TY  - ") == 3
    assert page.workbench.complaints() == []


def test_the_basket_outlives_the_server(page: Page) -> None:
    page.write(FIRST)
    doc_id = page.found()[0]
    page.cite(doc_id)
    page.workbench.server.stop()
    page.act(page.found()[1], "cite")
    toast = page.browser.one("#toast")
    page.until(lambda: "does not respond" in toast.get_attribute("textContent"), "nothing is said")
    assert page.basket() == 1  # nothing is shown that is not so
    page.workbench.server.start()
    page.workbench.reload()
    page.until(lambda: page.browser.all(".result"), "no papers")
    assert page.basket() == 1
    page.click("#basket-list button")
    page.until(lambda: page.basket() == 0, "not out of the basket")


def kept_text(page: Page) -> str:
    desk = citebed.open(page.workbench.folder).desk
    return desk.draft(desk.drafts()[0].draft_id).text


def test_what_is_typed_while_the_server_is_away_is_kept_when_it_is_back(page: Page) -> None:
    page.write(FIRST)
    text, kept = page.browser.one("#text"), page.browser.one("#kept")
    page.workbench.server.stop()
    text.send_keys(" More.")
    page.until(lambda: "not saved" in kept.text, "nothing is said")
    page.workbench.server.start()
    page.until(lambda: kept.text == "saved", "not saved")
    assert kept_text(page) == f"{FIRST} More."
    page.workbench.server.stop()
    text.send_keys(" And more.")
    page.browser.leave()
    page.workbench.server.start()
    page.open()
    assert page.browser.one("#text").get_attribute("value") == f"{FIRST} More. And more."
    page.until(lambda: page.browser.one("#kept").text == "saved", "not saved")
    assert kept_text(page) == f"{FIRST} More. And more."


def test_a_very_long_text_asks_for_a_sentence_only(page: Page) -> None:
    script = """
    const text = document.getElementById("text");
    text.value = arguments[0];
    text.setSelectionRange(60000, 60000);
    text.dispatchEvent(new Event("input"));
    """
    page.browser.run(script, f"{FIRST}\n\n" * 1200)
    trouble = page.browser.one("#trouble")
    page.until(lambda: "very long" in trouble.text, "nothing is said")
    assert page.found() == []
    page.answered(lambda: page.click("[name=scope][value=sentence]"))
    assert page.browser.texts(".asking-text") == [FIRST]
    assert trouble.text == ""


def test_a_file_beside_what_is_typed_is_another_draft(page: Page) -> None:
    page.write(FIRST)
    drop(page, my_md=SECOND.encode(), my_ris=b"TY  - JOUR", my_png=b"")
    assert page.browser.texts(".passage-text") == [SECOND]
    passed = page.browser.texts("#file-passed li")
    assert passed == [
        "my.ris: a bibliography: import it on the Collection page.",
        "my.png: not read (neither a draft nor a .bib file).",
    ]
    texts = {each.excerpt for each in citebed.open(page.workbench.folder).desk.drafts()}
    assert {"", FIRST} <= texts


def test_not_this_is_gone_and_stays_gone_until_it_is_brought_back(page: Page) -> None:
    page.write(TEXT)
    first = page.found()[0]
    page.answered(lambda: page.act(first, "bad"))
    assert first not in page.found()
    page.workbench.reload()
    page.until(lambda: page.browser.all(".result"), "no papers")
    assert first not in page.found()
    assert "1 paper set aside" in page.browser.one("#aside").text
    second = page.found()[0]
    page.answered(lambda: page.act(second, "bad"))
    page.answered(lambda: page.click("#undo"))
    assert second in page.found()
    page.answered(lambda: page.click("#aside button"))
    assert page.found()[0] == first
    assert page.workbench.complaints() == []


def test_good_ranks_again_at_once_and_is_a_judgement(page: Page) -> None:
    page.write(TEXT)
    before = page.found()
    page.answered(lambda: page.act(before[-1], "good"))
    after = page.found()
    assert after.index(before[-1]) < len(before) - 1
    assert [each for each in after if each in before] != before
    qrels = citebed.open(page.workbench.folder).desk.qrels().table
    assert (before[-1], 1) in qrels.select("doc_id", "relevance").rows()
    page.click("#drafts-button")
    page.until(lambda: page.browser.all("#drafts[open] #draft-list li"), "no drafts")
    assert f" 0 {before[-1]} 1\n" in page.fetched("#qrels")
    assert any(json.loads(line)["text"] == TEXT for line in page.fetched("#queries").splitlines())


def test_the_sentence_at_the_cursor(page: Page) -> None:
    page.write(TEXT)
    page.answered(lambda: page.click("[name=scope][value=sentence]"))
    assert page.browser.texts(".asking-text") == [SECOND]
    text = page.browser.one("#text")
    page.answered(lambda: text.send_keys(Keys.CONTROL, Keys.HOME))
    assert page.browser.texts(".asking-text") == [FIRST]
    page.answered(lambda: page.click("[name=scope][value=paragraph]"))
    assert page.browser.texts(".asking-text") == []  # there is only one


def test_by_keyboard(page: Page) -> None:
    press = page.workbench.press
    press("/")
    page.write(TEXT)
    press(Keys.ESCAPE)
    press("j", "j", "k", "j")
    current = page.browser.one(".result.current")
    doc_id = page.found()[1]
    assert current.get_attribute("data-doc") == doc_id
    press("c")
    page.until(lambda: page.basket() == 1, "not in the basket")
    press("a")
    page.until(lambda: page.browser.all(".abstract-text mark"), "no abstract with marked words")
    press("y")
    toast = page.browser.one("#toast")
    page.until(lambda: "Copied \\cite{" in toast.get_attribute("textContent"), "not copied")
    page.answered(lambda: press("2"))
    assert page.browser.one(".result.current").get_attribute("data-doc") == doc_id
    after = page.found()[page.found().index(doc_id) + 1]
    page.answered(lambda: press("1"))
    assert doc_id not in page.found()
    assert page.browser.one(".result.current").get_attribute("data-doc") == after
    page.answered(lambda: press("z"))
    assert doc_id in page.found()
    press("?")
    page.until(lambda: "choose: good, more like it" in page.browser.one("#keys").text, "no keys")


def test_silence_and_the_best_there_is(page: Page) -> None:
    page.write(WEATHER)
    page.until(lambda: "Nothing in this collection" in page.browser.one("#state").text, "no words")
    assert "--" not in page.browser.one("#state").text
    page.answered(lambda: page.click("#show-best"))
    assert page.found()
    assert page.browser.one("#best").is_displayed()
    page.answered(lambda: page.click("#only-fitting"))
    assert page.found() == []


def drop(page: Page, **files: bytes) -> None:
    """Drop files onto the page, as from a folder of one's own."""
    script = """
    const transfer = new DataTransfer();
    for (const [name, bytes] of Object.entries(arguments[0])) {
      transfer.items.add(new File([new Uint8Array(bytes)], name));
    }
    const how = { dataTransfer: transfer, bubbles: true, cancelable: true };
    document.body.dispatchEvent(new DragEvent("drop", how));
    """
    named = {name.replace("_", "."): list(data) for name, data in files.items()}
    page.answered(lambda: page.browser.run(script, named))


def test_a_zip_of_latex_with_its_library(page: Page) -> None:
    drop(page, paper_zip=packed(LATEX))
    assert page.browser.one("#draft-name").text == "On asking"
    assert page.browser.texts(".passage-text") == [FIRST, SECOND]
    assert [each.strip() for each in page.browser.texts(".place")] == [
        "line 2citation placeholder",
        "two.tex:1",
    ]
    assert page.browser.texts(".asking-text")[0] == FIRST
    assert page.browser.texts("#libraries li") == ["p/mine.bib×"]
    page.click("#filter-button")
    page.answered(lambda: page.click("[name=in_bib]"))
    (own,) = set(page.found())
    page.cite(own)
    assert "mykey" in page.browser.one("#basket-list").text
    page.workbench.reload()
    page.until(lambda: page.found() == [own], "no papers")
    assert page.browser.texts(".passage-text") == [FIRST, SECOND]
    page.answered(lambda: page.click("#leave-file"))
    assert page.browser.one("#text").is_displayed()
    assert page.workbench.complaints() == []


def test_a_word_file_and_what_cannot_be_read(page: Page) -> None:
    drop(page, my_docx=word_file(paragraph(FIRST), paragraph(SECOND)))
    assert page.browser.texts(".passage-text") == [FIRST, SECOND]
    page.answered(lambda: page.click("#passages li:nth-child(2) button"))
    assert page.browser.texts(".asking-text") == [SECOND]
    folder = page.browser.downloads / "picture.png"
    folder.write_bytes(b"\x89PNG\r\n\x1a\n")
    page.browser.one("#choose-files").send_keys(str(folder))
    page.until(lambda: "PNG image" in page.browser.one("#file-problem").text, "nothing is said")


def test_drafts_are_named_found_again_and_removed_after_asking(page: Page) -> None:
    page.write(FIRST)
    address = page.browser.driver.current_url
    page.click("#drafts-button")
    page.until(lambda: page.browser.all("#drafts[open] #draft-list li"), "no drafts")
    page.browser.one("#new-name").send_keys("My <b>paper</b>", Keys.ENTER)
    page.until(
        lambda: page.browser.one("#draft-name").get_attribute("textContent") == "My <b>paper</b>"
    )
    with page.browser.arriving():
        page.click("#new-draft")
    assert page.browser.one("#text").get_attribute("value") == ""
    page.browser.visit(address)
    assert page.browser.one("#text").get_attribute("value") == FIRST
    page.click("#drafts-button")
    page.until(lambda: page.browser.all("#drafts[open] #draft-list li"), "no drafts")
    page.click("#draft-list li:first-child button")
    with page.browser.arriving():
        page.click(".danger")
    page.browser.visit(address)
    assert page.browser.one("#text").get_attribute("value") == ""
    assert "no longer" in page.browser.one("#toast").get_attribute("textContent")


@pytest.mark.usefixtures("page")
def test_papers_that_would_like_to_be_more_than_text(browser: Any) -> None:
    script = """
    const done = arguments[1];
    import("/static/workbench/result.js").then(({ resultCard }) => {
      const evil = { ...arguments[0], doi: "javascript:alert(1)" };
      document.getElementById("results").replaceChildren(
        resultCard(arguments[0], {}, true), resultCard(evil, {}, true));
      done([...document.querySelectorAll(".result a")].map((link) => link.href));
    });
    """
    links = browser.driver.execute_async_script(script, ROW)
    assert links
    assert not [link for link in links if not link.startswith("http")]
    assert browser.all(".result img, .result b, .result i, .result script") == []
    assert browser.run("return window.hacked") is None


def test_on_a_phone_the_basket_is_at_hand(page: Page) -> None:
    page.open(390)
    page.write(TEXT)
    page.cite(page.found()[0])
    browser = page.browser
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    bar = browser.one("#basket").rect
    assert bar["y"] + bar["height"] >= 890
    assert not browser.one("#basket-list").is_displayed()
    page.click("#basket summary")
    assert browser.one("#basket-list").is_displayed()
    results, text = browser.one("#results").rect, browser.one("#text").rect
    assert results["y"] > text["y"] + text["height"]
