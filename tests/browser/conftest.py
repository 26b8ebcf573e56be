"""One headless Chromium for all tests of pages.

It comes from Debian, with a driver of the same version (`apt-get install chromium
chromium-driver`). If it is missing, pytest skips these tests.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import (
    JavascriptException,
    NoSuchElementException,
    StaleElementReferenceException,
)
from selenium.webdriver.chrome.service import Service
from tests.browser.served import NAME, PASSWORD, Served, served_review
from tests.browser.workbench import InBrowser, WorkbenchServer, served_workbench
from tests.campaigns import small_campaign, with_lists
from tests.servers import Servers, servers

from citebed.judging import Campaign
from citebed.judging.organisers import add_organiser
from citebed.retrieval.index.builder import write_index

PATIENCE = 60
_NOT_YET = (NoSuchElementException, StaleElementReferenceException, JavascriptException)
_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # the tests may run as root, which Chromium refuses otherwise
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
)


class Browser:
    """A browser as a reader has it: a window of some width, light or dark, on screen or paper."""

    def __init__(self, driver: webdriver.Chrome, downloads: Path) -> None:
        self.driver = driver
        self.downloads = downloads

    def open(
        self, page: Path, width: int = 1280, scheme: str = "light", media: str = "screen"
    ) -> None:
        """Open a file again."""
        self.visit(page.as_uri(), width, scheme, media)

    def visit(
        self, address: str, width: int = 1280, scheme: str = "light", media: str = "screen"
    ) -> None:
        """Open a page again by its address."""
        self.driver.get_log("browser")  # what earlier pages said is not this page's
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.show(scheme, media)
        with self.arriving():
            self.driver.get(address)

    def show(self, scheme: str, media: str = "screen") -> None:
        """Show the current page light or dark, on screen or paper."""
        wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        looks = {"media": media, "features": features}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", looks)

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """Do what leads to another page, and go on when that says that it is ready."""
        self.run("delete document.documentElement.dataset.ready")
        yield
        self.until(lambda: self.all("html[data-ready]"), "the page does not say that it is ready")

    def leave(self) -> None:
        """Go away from a page, as if its window were closed."""
        self.driver.get("about:blank")

    def until(self, is_so: Callable[[], Any], what: str = "") -> None:
        """Wait until something is so, on a busy machine too.

        What asks for an element that is not there yet, or is just being replaced, waits on.
        """
        end = time.monotonic() + PATIENCE
        while True:
            why = what or "waited in vain"
            try:
                if is_so():
                    return
            except _NOT_YET as error:
                why = f"{why} ({error.msg})"
            if time.monotonic() > end:
                pytest.fail(f"{why}: {self.texts('body')[0][:500]}")
            time.sleep(0.02)

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script in the page, and give what it returns."""
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str) -> list[Any]:
        """All elements that a CSS selector finds."""
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> Any:
        """The first element that a CSS selector finds, once there is one."""
        self.until(lambda: self.all(selector), f"there is no {selector}")
        return self.driver.find_element("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        """The texts of all such elements, hidden or not."""
        found = self.run(
            "return [...document.querySelectorAll(arguments[0])].map(x => x.textContent)", selector
        )
        return list(found)

    def complaints(self) -> list[str]:
        """Return the browser's console messages: errors and violations of the content policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


def _program(*names: str) -> str:
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip(
            f"{names[0]} is not installed, and without root nobody could do so: run "
            "'apt-get install chromium chromium-driver' as root to test pages"
        )
    return found


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless Chromium, started once."""
    options = webdriver.ChromeOptions()
    options.binary_location = _program("chromium", "chromium-browser", "google-chrome")
    service = Service(_program("chromedriver"))
    for flag in _FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=service)
    # On a machine with thirty things to do for each core a page may take over two minutes.
    driver.command_executor.client_config.timeout = 600
    downloads = tmp_path_factory.mktemp("downloads")
    allowed = {"behavior": "allow", "downloadPath": str(downloads)}
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", allowed)
    try:
        yield Browser(driver, downloads)
    finally:
        driver.quit()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Campaign, Servers]]:
    """A campaign in which every test has a judge of its own."""
    folder = tmp_path_factory.mktemp("judging")
    campaign = with_lists(small_campaign(folder, [f"Judge O'{n}" for n in range(10)]))
    write_index(Path(campaign.settings.collection))
    add_organiser(campaign.database, NAME, PASSWORD)
    with ExitStack() as stack:
        started = stack.enter_context(servers(campaign.folder))
        started.start()
        yield campaign, started
        started.kill()


@pytest.fixture
def served(browser: Any, running: tuple[Campaign, Servers]) -> Served:
    """The campaign in the browser."""
    return Served(browser, *running)


@pytest.fixture(scope="module")
def workbench_server(
    demo_indexed: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkbenchServer]:
    """The workbench over the demo collection, in a process of its own."""
    with served_workbench(demo_indexed, tmp_path_factory.mktemp("workbench")) as started:
        yield started


@pytest.fixture
def workbench(browser: Any, workbench_server: WorkbenchServer) -> InBrowser:
    """Return a browser on the workbench, without cookies or stored settings."""
    browser.driver.delete_all_cookies()
    met = InBrowser(browser, workbench_server)
    met.room("recommend")
    browser.run("localStorage.clear()")
    browser.leave()
    return met


@pytest.fixture(scope="session")
def review(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address at which two papers are reviewed."""
    with served_review(tmp_path_factory.mktemp("review") / "papers", "p1", "p & 2") as address:
        yield address
