"""Open each page in each of its states, follow every link and press every key that it offers.

No link, form or key may lead to an error page. The number of links followed is recorded as a
property of each test, and printed with ``-s``.
"""

from __future__ import annotations

import shutil
import string
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from urllib.request import Request, urlopen

import pytest
from lxml import html
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from tests.browser.served import Served
from tests.browser.test_report_page import write as write_report
from tests.browser.workbench import InBrowser, WorkbenchServer
from tests.campaigns import links, small_campaign, with_lists
from tests.sampling import FULL, sized

from citebed.cli.app import main

TEXT = (
    "Pseudo-relevance feedback adds terms from the documents found first to a query. "
    "Test collections are built by pooling the results of many systems."
)
WIDTHS = [1280, 390] if FULL else [1280]
"""On a phone, the page has the same links, except those that a script adds."""
MOST_OF_ONE_PATH = sized(2, 8)
"""Pages of one path that are read for further links; all links of an opened page are followed."""
_LINKS = """
const all = (selector, get) => [...document.querySelectorAll(selector)].map(get);
return [...all("a[href], area[href]", (link) => ["get", link.getAttribute("href")]),
  ...all("form[action]", (form) => [form.method, form.getAttribute("action")]),
  ...all("option[value^='/']", (option) => ["get", option.value])];
"""
_WATCH = """
window.leadsTo = "";
window.wasHandled = false;
navigation.addEventListener("navigate", (event) => {
  const leaves = !event.hashChange && event.navigationType !== "replace";
  if (leaves) window.leadsTo = event.destination.url;
});
addEventListener("keydown", (event) => { window.wasHandled ||= event.defaultPrevented; });
"""
_LOOK = """
const active = document.activeElement?.outerHTML.slice(0, 300);
return [location.href, active, document.body.innerHTML, scrollY].join("\\n");
"""
_LEAVE = """
for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
if (document.activeElement.matches("input, textarea, select")) document.activeElement.blur();
// Keys of a judge's page are for a paper; after the last one there is none.
if (!document.querySelector(".paper.current")) document.getElementById("previous")?.click();
"""
_ENTER = """
const isIn = () => document.activeElement.matches("input, textarea");
for (const field of document.querySelectorAll("textarea, input")) if (!isIn()) field.focus();
"""
_KEYS = {
    "Esc": Keys.ESCAPE, "Enter": Keys.ENTER, "Del": Keys.DELETE, "←": Keys.LEFT, "→": Keys.RIGHT,
    "↑": Keys.UP, "↓": Keys.DOWN, "1–9": "1", "Ctrl": Keys.CONTROL,
}  # fmt: skip
_HANDLED = """
const listed = new Set(arguments[0]);
const isListed = (key) => listed.has(key) || listed.has(key.toLowerCase());
return [...arguments[1]].filter((key) => !isListed(key)).filter((key) => {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
  document.body.dispatchEvent(event);
  return event.defaultPrevented;
});
"""
_ALIASES = {"=": "+"}
"""Keys that pages do not list: the plus sign without Shift."""


class Crawler:
    """Follows what pages offer; remembers what it followed."""

    def __init__(self, browser: Any, patience: float = 10) -> None:
        self.browser, self.patience = browser, patience
        self.followed: set[tuple[str, str]] = set()
        self.outside: set[str] = set()
        self.problems: list[str] = []
        self.keys = 0
        self._read = Counter[str]()
        self._led_away = set[str]()
        """Pages of the same address have the same keys to other pages: these are pressed once."""

    def page(self, name: str, opening: Callable[[], object], *, keys: bool = True) -> None:
        """Open a page in a state, follow its links and press its keys."""
        opening()
        here = self.browser.driver.current_url
        offered = [(method, address) for method, address in self.browser.run(_LINKS)]
        self._follow(name, here, offered)
        if keys:
            self._press(name, opening)

    def report(self, record: Callable[[str, object], None]) -> None:
        """Record what was followed; fail if anything led to an error."""
        record("links followed", len(self.followed))
        record("keys pressed", self.keys)
        print(
            f"\n{len(self.followed)} links followed, {len(self.outside)} lead outside, "
            f"{self.keys} keys pressed"
        )
        assert self.problems == [], "\n".join(self.problems)

    # --- Links ---

    def _follow(self, name: str, here: str, offered: list[tuple[str, str]]) -> None:
        waiting = [(name, here, method, address) for method, address in offered]
        while waiting:
            name, page, method, address = waiting.pop()
            whole, fragment = urldefrag(urljoin(page, address))
            if whole == urldefrag(page)[0]:  # "try again", or a part of the page
                if fragment and page == here and not self._has(fragment):
                    self.problems.append(f"{name}: nothing on the page is called #{fragment}")
                continue
            parts, own = urlsplit(whole), urlsplit(here)
            if (parts.scheme, parts.netloc) != (own.scheme, own.netloc):
                if parts.scheme not in ("http", "https", "mailto", "data"):
                    self.problems.append(f"{name}: {address} leads nowhere")
                self.outside.add(whole)
            elif method != "dialog" and (method, whole) not in self.followed:
                self.followed.add((method, whole))
                found = self._fetch(name, method, whole)
                waiting += [(f"{name} > {parts.path}", whole, *each) for each in found]

    def _has(self, fragment: str) -> bool:
        return bool(self.browser.run("return document.getElementById(arguments[0])", fragment))

    def _fetch(self, name: str, method: str, address: str) -> list[tuple[str, str]]:
        """Ask for an address as the browser would, and return the links of the page there."""
        cookies = "; ".join(
            f"{each['name']}={each['value']}" for each in self.browser.driver.get_cookies()
        )
        headers = {"Cookie": cookies, "Accept": "text/html"}
        # A form that changes something is not sent: its address must only be known.
        asked = Request(address, headers=headers, method="OPTIONS" if method == "post" else "GET")
        try:
            with urlopen(asked, timeout=60) as answer:
                kind, data = answer.headers.get_content_type(), answer.read()
        except HTTPError as error:
            if not (method == "post" and error.code == 405):
                self.problems.append(f"{name}: {unquote(address)} answers {error.code}")
            error.close()
            return []
        path = urlsplit(address).path
        self._read[path] += 1
        if kind != "text/html" or self._read[path] > MOST_OF_ONE_PATH:
            return []
        tree = html.document_fromstring(data.decode())
        found = [("get", str(each)) for each in tree.xpath("//a/@href")]
        return found + [
            (str(form.get("method", "get")).lower(), str(form.get("action")))
            for form in tree.xpath("//form[@action]")
        ]

    # --- Keys ---

    def _press(self, name: str, opening: Callable[[], object]) -> None:
        """Press each key that the page lists, and last the keys that leave the page."""
        self.browser.run(_WATCH)
        path = urlsplit(self.browser.driver.current_url).path
        rows = [row for row in self._listed() if row[0][0] != "g" or path not in self._led_away]
        rows.sort(key=lambda row: row[0][0] == "g")
        self._led_away.add(path)
        listed = {key for keys, _ in self._listed() for key in keys} | {"g", *_ALIASES}
        listed |= {*"123456789"} if "1–9" in listed else set()
        unlisted = self.browser.run(
            _HANDLED, [*listed], string.ascii_letters + string.punctuation + string.digits
        )
        if unlisted:
            self.problems.append(f"{name}: {' '.join(unlisted)} does something that is not listed")
        for keys, does in rows:
            self.keys += 1
            led = self._pressed(keys)
            if led is None:
                self.problems.append(f"{name}: {' '.join(keys)} ({does}) does nothing")
            elif led >= 400:
                self.problems.append(f"{name}: {' '.join(keys)} ({does}) leads to an error")
            elif does.startswith("open") and not led:
                self.problems.append(f"{name}: {' '.join(keys)} ({does}) opens nothing")
            if led:
                opening()
                self.browser.run(_WATCH)

    def _listed(self) -> list[tuple[list[str], str]]:
        """Keys that the page lists, each with what it is said to do."""
        script = """
        const all = (selector) => [...document.querySelectorAll(selector)];
        const keys = (x) => [...x.querySelectorAll("kbd")].map((k) => k.textContent.trim());
        const rows = all("dialog dl div, .keys > span").filter((x) => keys(x).length)
          .map((x) => [keys(x), x.querySelector("dd")?.textContent ?? x.textContent]);
        const loose = all("p.quiet:not(.keys) > kbd").map((k) => [[k.textContent], ""]);
        return [...rows, ...loose];
        """
        found = []
        for written, does in self.browser.run(script):
            if written[0] == "g":
                found.append((written, does.strip()))
                continue
            chords = [[key] if len(key) < 2 else key.split("+") for key in written]
            found += [(chord, does.strip()) for chord in chords]
        return found

    def _pressed(self, keys: list[str]) -> int | None:
        """Press keys: the status of the page they lead to, 0 for this page, None for nothing."""
        browser = self.browser
        browser.run(_ENTER if {"Esc", "Ctrl"} & {*keys} else _LEAVE)
        before = browser.run(_LOOK)
        browser.run("window.wasHandled = false")
        chain = ActionChains(browser.driver)
        for key in keys:
            chain.send_keys(_KEYS.get(key, key))
        chain.perform()
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            if browser.run("return window.leadsTo ?? 'gone'"):
                return self._arrived()
            is_done = browser.run("return window.wasHandled") or browser.run(_LOOK) != before
            if is_done and keys[0] != "g":
                self._wait_idle()
                return self._arrived() if browser.run("return window.leadsTo ?? 'gone'") else 0
            time.sleep(0.02)
        return None

    def _arrived(self) -> int:
        self.browser.until(lambda: self.browser.run("return window.leadsTo === undefined"))
        ready = lambda: self.browser.all("html[data-ready]")  # noqa: E731
        self.browser.until(ready, f"not ready: {self.browser.driver.current_url}")
        entry = "performance.getEntriesByType('navigation')[0]"
        return int(self.browser.run(f"return {entry}.responseStatus"))

    def _wait_idle(self) -> None:
        busy = "return document.querySelectorAll('#results[aria-busy=true]').length"
        self.browser.until(lambda: not self.browser.run(busy), "still busy")


# --- The workbench ----------------------------------------------------------------------------

STRANGE = """
@article{a+b/c, title={Feedback \\& terms: 100\\% of "documents" <found>}, author={O'Neil, Ann},
  year={1999}, doi={10.1000/(SICI)1<1:AID#1>3.0;2-#}, abstract={Terms are added to a query.}}
@misc{second, title={Pooling of systems}, url={https://example.org/a b?c=d&e=f#g}}
@article{broken title={No key}}
"""


@pytest.fixture(scope="module")
def bench_server(
    demo_indexed: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkbenchServer]:
    """The demo with two runs, a collection that is not indexed, one with strange names, and a
    campaign."""
    place = tmp_path_factory.mktemp("links")
    shutil.copytree(demo_indexed, place / "demo")
    for model in ("bm25", "ql"):
        out = place / "demo" / "runs" / f"{model}.run"
        out.parent.mkdir(exist_ok=True)
        words = ["search", str(place / "demo"), "--queries", "paragraphs", "--model", model]
        assert main([*words, "-o", str(out)]) == 0
    (place / "strange.bib").write_text(STRANGE, "utf-8")
    for name in ("raw", "odd & strange"):
        assert main(["import", str(place / name), str(place / "strange.bib")]) == 0
    assert main(["index", str(place / "odd & strange")]) == 0
    (place / "judging").mkdir()
    campaign = with_lists(small_campaign(place / "judging"))
    folders = [place / "demo", place / "raw", place / "odd & strange"]
    server = WorkbenchServer(folders, place / "state", place, [campaign.folder])
    server.start()
    yield server
    server.stop()


class Bench(InBrowser):
    """The workbench in its states."""

    width = 1280

    def visit(self, path: str, **query: Any) -> None:
        """Open a page by its path."""
        self.browser.visit(self.url(path, **query), self.width)

    def in_room(self, room: str, name: str = "demo", **query: Any) -> None:
        """Open a page of a collection."""
        self.visit(f"/c/{name}/{room}", **query)

    def written(self, text: str, name: str = "demo") -> None:
        """Write a draft, and wait until it is answered and kept."""
        self.browser.run("localStorage.clear(); sessionStorage.clear()")
        self.in_room("recommend", name)
        script = """
        const text = document.getElementById("text");
        text.value = arguments[0];
        text.dispatchEvent(new Event("input"));
        """
        self.browser.run(script, text)
        shown = "#results[data-shown], #trouble > *"
        self.until(lambda: self.browser.all(shown), "no answer")
        self.until(lambda: self.browser.one("#kept").text == "saved", "not saved")
        busy = "return document.getElementById('results').getAttribute('aria-busy')"
        self.until(lambda: self.browser.run(busy) == "false", "still busy")

    def recommended(self) -> None:
        """A draft with papers in its basket and one set aside; its drafts are listed."""
        self.written(TEXT)
        for act in ("cite", "bad"):
            self.browser.run(f"document.querySelector('[data-act={act}]').click()")
            done = {"cite": "#basket-list a", "bad": "#aside li"}[act]
            self.browser.one(done)
        self.browser.run("document.querySelector('#drafts-button').click()")
        self.until(lambda: self.browser.all("#drafts[open] #draft-list li"), "no drafts")
        self.browser.run("document.querySelector('#drafts').close()")

    def read(self) -> None:
        """A draft that is read from a file, beside a bibliography that is not."""
        self.browser.run("localStorage.clear(); sessionStorage.clear()")
        self.in_room("recommend")
        script = """
        const transfer = new DataTransfer();
        transfer.items.add(new File([arguments[0]], "my.md"));
        transfer.items.add(new File(["TY  - JOUR"], "my.ris"));
        const how = { dataTransfer: transfer, bubbles: true, cancelable: true };
        document.body.dispatchEvent(new DragEvent("drop", how));
        """
        self.browser.run(script, TEXT)
        self.until(lambda: self.browser.all("#passages button"), "not read")
        self.until(lambda: self.browser.all(".result"), "nothing recommended")

    def first(self) -> str:
        """The document that the library lists first."""
        self.in_room("library")
        return str(self.browser.one("[data-doc]").get_attribute("data-doc"))

    def mapped(self) -> None:
        """The map around a document, on which the keyboard is."""
        self.in_room("map", doc=self.first())
        self.until(lambda: self.browser.all("#map.alive .node"), "no map")
        self.browser.run("document.querySelector('#map .node').focus()")

    def scored(self) -> None:
        """Two runs, scored and compared."""
        self.in_room("experiments")
        for box in self.browser.all(".run input"):
            if not box.is_selected():
                self.browser.run("arguments[0].click()", box)
        self.until(lambda: self.browser.all("#scores:not([aria-busy]) .table-box"), "no scores")
        self.until(lambda: self.browser.all("#report[href]"), "no report")

    def states(self) -> dict[str, Callable[[], object]]:
        """Each page in each state."""
        odd = "odd & strange"
        rooms = ("recommend", "library", "map", "experiments", "collection")
        return {
            "collections": lambda: self.visit("/", all=1),
            "API": lambda: self.visit("/api/docs"),
            "login": lambda: self.visit("/login"),
            "campaigns": lambda: self.visit("/campaigns"),
            "no such page": lambda: self.visit("/no-such-page"),
            "no such collection": lambda: self.visit("/c/none/recommend"),
            "no such document": lambda: self.in_room("document", doc="none"),
            "no such map": lambda: self.in_room("map", doc="none"),
            **{
                f"{name}: {room}": partial(self.in_room, room, name)
                for room in rooms
                for name in ("demo", "raw")
            },
            "recommended": self.recommended,
            "scored": self.scored,
            "a map": self.mapped,
            "a document": lambda: self.in_room("document", doc=self.first()),
            "read from a file": self.read,
            "nothing fits": lambda: self.written("My grandmother baked bread on Tuesday."),
            "not indexed": lambda: self.written(TEXT, "raw"),
            "odd: recommended": lambda: self.written("terms added to a query by feedback", odd),
        }


WITH_KEYS = {"recommended", "scored", "a map", "a document", "demo: library", "demo: collection"}
"""States in which every key of the page has something to act on."""


@pytest.mark.parametrize("width", WIDTHS)
def test_the_workbench(
    browser: Any,
    bench_server: WorkbenchServer,
    width: int,
    record_property: Callable[[str, object], None],
) -> None:
    bench = Bench(browser, bench_server)
    bench.room("recommend", width)  # which lets the browser in
    bench.width = width
    crawler = Crawler(browser)
    for name, opening in bench.states().items():
        crawler.page(name, opening, keys=width > 600 and name in WITH_KEYS)
    crawler.report(record_property)


# --- Campaigns, reviews and reports -----------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
def test_a_campaign(
    served: Served, width: int, record_property: Callable[[str, object], None]
) -> None:
    browser = served.browser
    crawler = Crawler(browser)

    def at(path: str) -> Callable[[], None]:
        return lambda: browser.visit(served.url(path), width)

    pages = ["/login", "/judge/x", "/no-such-page"]
    for phase in (1, 2):
        judge = f"/judge/{list(links(served.campaign, phase).values())[9]}"
        pages += [judge, f"{judge}/papers"]
    for page in pages:
        crawler.page(page, at(page), keys=width > 600)
    served.log_in()
    browser.visit(served.url("/search?query=p1-a1q1"), width)
    with browser.arriving():
        browser.run("document.querySelector('#searching').requestSubmit()")
    found = urlsplit(browser.driver.current_url)
    desks = ("dashboard", "work", "reformulation", "search", "disagreements", "judgements")
    more = ("results", "organisers", "reformulation/query?query=p1-a1q1", "search?query=p1-a2q1")
    searched = f"{found.path.removeprefix('/cr/')}?{found.query}"
    for page in (*desks, *more, searched, "no-such-page", "return?number=999"):
        crawler.page(page, at(f"/{page}"), keys=width > 600)
    crawler.report(record_property)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_review(
    browser: Any, review: str, width: int, record_property: Callable[[str, object], None]
) -> None:
    browser.visit(review, width)
    home = review.partition("?")[0]
    crawler = Crawler(browser)
    for path in ("", "papers/p1", "papers/p%20%26%202", "papers/none", "no-such-page"):
        address = urljoin(home, path)
        opening = partial(browser.visit, address, width)
        crawler.page(path or "list", opening, keys=width > 600)
    crawler.report(record_property)


@pytest.mark.parametrize("runs", [["base", "new<b>", "third"], ["base"]], ids=["three", "one"])
def test_a_report(
    browser: Any,
    tmp_path: Path,
    runs: list[str],
    record_property: Callable[[str, object], None],
) -> None:
    page = write_report(tmp_path, runs)
    crawler = Crawler(browser)
    for width in (1280, 390):
        crawler.page("report", partial(browser.open, page, width), keys=width > 600)
    crawler.report(record_property)


def test_the_crawler_reports_dead_links_and_keys(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "dead.html"
    page.write_text(
        "<html data-ready><body><a href='#none'>a</a><a href='javascript:0'>b</a>"
        "<p class=keys><span><kbd>d</kbd> dance</span></p><script>"
        "addEventListener('keydown', (e) => { if (e.key === 'w') e.preventDefault(); })"
        "</script></body></html>",
        "utf-8",
    )
    crawler = Crawler(browser, patience=0.5)
    crawler.page("dead", lambda: browser.open(page))
    assert crawler.problems == [
        "dead: javascript:0 leads nowhere",
        "dead: nothing on the page is called #none",
        "dead: w does something that is not listed",
        "dead: d (d dance) does nothing",
    ]
