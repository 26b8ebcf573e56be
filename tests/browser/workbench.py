"""A workbench that is served in a process of its own, with a browser in front of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from selenium.webdriver.common.action_chains import ActionChains

_SERVER = """
import sys
from pathlib import Path
from citebed.web.workbench.server import serve_workbench

at = sys.argv.index("--campaigns")
folders = [Path(each) for each in sys.argv[2:at]]
campaigns = []
if sys.argv[at + 1 :]:
    from citebed.judging.campaign import open_campaign
    campaigns = [open_campaign(each) for each in sys.argv[at + 1 :]]
tell = lambda address: print(address, flush=True)
port = int(sys.argv[1])
serve_workbench(folders, port=port, browser=False, started=tell, campaigns=campaigns)
"""


class WorkbenchServer:
    """The server: ``address`` has the key in it; it can be stopped and started again.

    New collections are made in ``home``, else where the tests run. ``campaigns`` are the folders of
    campaigns served beside the collections.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        state: Path,
        home: Path | None = None,
        campaigns: Sequence[Path] = (),
    ) -> None:
        self.folders, self._state, self._home = list(folders), state, home
        self._campaigns = list(campaigns)
        self.port = 0
        self.address = ""
        self._process: subprocess.Popen[str] | None = None

    @property
    def folder(self) -> Path:
        """The first collection."""
        return self.folders[0]

    def start(self) -> None:
        """Start it, at the port of before if there was one; it listens when this ends."""
        command = [sys.executable, "-c", _SERVER, str(self.port), *map(str, self.folders)]
        command += ["--campaigns", *map(str, self._campaigns)]
        surroundings = os.environ | {"XDG_STATE_HOME": str(self._state)}
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=surroundings, cwd=self._home
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        assert self.address, "the server did not start"
        self.port = urlsplit(self.address).port or 0

    def stop(self) -> None:
        """End it as the system does, and wait until it is gone."""
        if self._process is not None:
            self._process.terminate()
            self._process.communicate(timeout=60)
            self._process = None


class InBrowser:
    """A workbench with a browser in front of it."""

    def __init__(self, browser: Any, server: WorkbenchServer) -> None:
        self.browser, self.server = browser, server
        self.folder, self.name = server.folder, server.folder.name
        self.until = browser.until

    def url(self, path: str, **query: Any) -> str:
        """The address of a page, as one has it who was let in."""
        asked = f"?{urlencode(query, doseq=True)}" if query else ""
        return f"http://127.0.0.1:{self.server.port}{path}{asked}"

    def room(self, name: str, width: int = 1280, scheme: str = "light", **query: Any) -> None:
        """Open a room of the (first) collection, with the key."""
        key = re.sub(r".*key=", "", self.server.address)
        address = self.url(f"/c/{self.name}/{name}", **query, key=key)
        self.browser.visit(address, width, scheme)

    def reload(self) -> None:
        """Reload the current page."""
        with self.browser.arriving():
            self.browser.driver.refresh()

    def press(self, *keys: str) -> None:
        """Press keys, wherever the page listens."""
        ActionChains(self.browser.driver).send_keys(*keys).perform()

    def complaints(self) -> list[str]:
        """Return the browser's console messages."""
        return list(self.browser.complaints())


@contextmanager
def served_workbench(collection: Path, place: Path) -> Iterator[WorkbenchServer]:
    """Serve a copy of a collection until this ends."""
    folder = Path(shutil.copytree(collection, place / "demo"))
    server = WorkbenchServer([folder], place / "state")
    server.start()
    try:
        yield server
    finally:
        server.stop()
