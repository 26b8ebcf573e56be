"""Servers of a campaign in processes of their own, to be killed and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PARENT = """
import os, sys
from citebed.judging.campaign import open_campaign
from citebed.web.campaigns.app import serve

# Everything is loaded; a server is a copy of this process and opens the database itself.
for port in sys.stdin:
    child = os.fork()
    if child == 0:
        campaign = open_campaign(sys.argv[1])
        serve(campaign, port=int(port), started=lambda port: print(os.getpid(), port, flush=True))
        os._exit(0)
    os.waitpid(child, 0)
    print("gone", flush=True)
"""


class Servers:
    """Starts servers one after the other, each a process of its own."""

    def __init__(self, parent: subprocess.Popen[str]) -> None:
        self._parent = parent
        self.port = 0
        self._process = 0

    def start(self, port: int = 0) -> None:
        """Start a server, which is ready when this ends; on any port, unless one is named."""
        assert self._parent.stdin is not None
        self._parent.stdin.write(f"{port}\n")
        self._parent.stdin.flush()
        self._process, self.port = map(int, self._said().split())

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Kill the server, and wait until it is gone."""
        os.kill(self._process, how)
        assert self._said() == "gone"

    def _said(self) -> str:
        assert self._parent.stdout is not None
        return self._parent.stdout.readline().strip()


@contextmanager
def servers(folder: Path) -> Iterator[Servers]:
    """A process that is ready to become a server of the campaign in a folder."""
    command = [sys.executable, "-c", PARENT, str(folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as parent:  # type: ignore[call-overload]
        try:
            yield Servers(parent)
        finally:
            parent.kill()
