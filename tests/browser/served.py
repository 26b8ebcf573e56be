"""A campaign that is served, with a browser in front of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from tests.campaigns import links, listed_items
from tests.paper_samples import review_folder
from tests.servers import Servers

from citebed.judging import Campaign

NAME, PASSWORD = "Olga", "correct horse battery"
_REVIEW = """
import sys
from pathlib import Path
from citebed.web.review import serve_review

serve_review(Path(sys.argv[1]), browser=False, started=lambda at: print(at, flush=True))
"""


@contextmanager
def served_review(folder: Path, *stems: str) -> Iterator[str]:
    """Serve the review of some papers in a new folder, and give its address."""
    review_folder(folder, *stems)
    command = [sys.executable, "-c", _REVIEW, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


class Served:
    """A campaign, its server, and a browser in front of it."""

    def __init__(self, browser: Any, campaign: Campaign, running: Servers) -> None:
        self.browser, self.campaign, self.servers = browser, campaign, running
        self.codes = list(links(campaign))
        self.until = browser.until

    def url(self, path: str) -> str:
        """The address of a page."""
        return f"http://127.0.0.1:{self.servers.port}/cr{path}"

    def open_list(self, judge: int = 0, phase: int = 2, width: int = 1280) -> str:
        """Open a judge's page, and tell the code of its form."""
        code, signed = list(links(self.campaign, phase).items())[judge]
        self.browser.visit(self.url(f"/judge/{signed}"), width)
        return code

    def press(self, *keys: str) -> None:
        """Press keys, wherever the page listens."""
        ActionChains(self.browser.driver).send_keys(*keys).perform()

    def restart(self, port: int) -> None:
        """Start the server again, and tell the page so: else it tries again in up to a minute."""
        self.servers.start(port)
        self.browser.run("dispatchEvent(new Event('online'))")

    def saving(self) -> str:
        """Return the page's message about saving."""
        return str(self.browser.one("#saving").text)

    def wait_saved(self) -> None:
        """Until the page says that all is saved."""
        self.until(lambda: self.saving() == "All saved", "not all saved")

    def values(self, code: str) -> list[Any]:
        """Return the stored values of a form, in the form's order."""
        table = self.campaign.judgements
        said = dict(zip(table["item_id"], table["value"], strict=True))
        return [said.get(item, "nothing") for item in listed_items(self.campaign, code)]

    def log_in(self) -> None:
        """Be the organiser, on the dashboard."""
        browser = self.browser
        browser.visit(self.url("/dashboard"))
        if browser.all("[name=password]"):
            browser.one("[name=name]").send_keys(NAME)
            with browser.arriving():
                browser.one("[name=password]").send_keys(PASSWORD, Keys.ENTER)
        assert "/dashboard" in browser.driver.current_url
