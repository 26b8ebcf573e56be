"""The browser that a server opens is let in once, and its command line has no key."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.paper_samples import review_folder
from tests.unit.web.workbench import PATIENCE

from citebed.web import access
from citebed.web.access import Ticket

WORKBENCH = "from citebed.web.workbench.server import serve_workbench as serve; given = ([], )"
REVIEW = "from citebed.web.review import serve_review as serve; given = (Path('r'), )"
TELL = "from pathlib import Path; {}; serve(*given, started=lambda at: print(at, flush=True))"


def asked(address: str, path: str) -> tuple[int, str]:
    """The status and the cookie of an answer."""
    at = urlsplit(address)
    with socket.create_connection((at.hostname, at.port), timeout=60) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {at.netloc}\r\n\r\n".encode())
        head = connection.recv(1 << 16).decode()
    cookie = re.search(r"set-cookie: (\S+);", head)
    return int(head.split()[1]), cookie[1] if cookie else ""


@pytest.mark.parametrize("program", [WORKBENCH, REVIEW], ids=["workbench", "review"])
def test_a_browser_is_opened_with_a_ticket_that_works_once(tmp_path: Path, program: str) -> None:
    review_folder(tmp_path / "r")
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {seen}.new; mv {seen}.new {seen}\n')
    browser.chmod(0o700)
    around = {**os.environ, "BROWSER": str(browser), "XDG_STATE_HOME": str(tmp_path / "state")}
    command = [sys.executable, "-c", TELL.format(program)]
    pipes: Any = {"stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=around, **pipes) as process:
        try:
            address = process.stdout.readline().strip()
            end = time.monotonic() + PATIENCE
            while not seen.exists():
                assert time.monotonic() < end
                time.sleep(0.05)
            opened = seen.read_text()
            key = urlsplit(address).query.partition("=")[2]
            assert opened.startswith(address.partition("?")[0])
            assert key not in opened
            query = urlsplit(opened).query
            status, cookie = asked(address, f"/?{query}")
            assert (status, bool(cookie)) == (303, True)
            assert asked(address, f"/?{query}") == (403, "")
            assert asked(address, "/?key=") == (403, "")
            assert asked(address, f"/?key={key}")[0] == 303
        finally:
            process.kill()


@pytest.fixture(params=["127.0.0.1", "::1"])
def scope(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """Return a server's description of a request over an open connection."""
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    with closing(socket.socket(family)) as listening:
        try:
            listening.bind((request.param, 0))
        except OSError:
            pytest.skip(f"this machine has no {request.param}")
        listening.listen()
        with socket.create_connection(listening.getsockname()[:2]):
            own, client = listening.accept()
            with own:
                yield {"client": client[:2], "server": own.getsockname()[:2]}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
def test_a_ticket_is_for_the_user_of_the_server(
    scope: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket = Ticket()
    own = ticket._secret
    tables = []
    for path in access._CONNECTIONS:
        table = tmp_path / path.name
        lines = [line.split() for line in path.read_text().splitlines()]
        table.write_text("\n".join(" ".join([*each[:7], "4242", *each[8:]]) for each in lines))
        tables.append(table)
    with monkeypatch.context() as another:
        another.setattr(access, "_CONNECTIONS", tuple(tables))
        assert not ticket.admits(own, scope)
    assert not ticket.admits("", scope)
    assert not ticket.admits(own, {**scope, "client": ("127.0.0.1", 1)})
    assert not ticket.admits(own, {**scope, "client": ("testclient", 1)})
    assert not ticket.admits(own, {})
    assert ticket.admits(own, scope)
    assert not ticket.admits(own, scope)
    assert not ticket.admits("", scope)
