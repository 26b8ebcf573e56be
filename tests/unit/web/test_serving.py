"""The server: stopped cleanly by either signal, quiet about links, plain about a taken port."""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.campaigns import copied
from tests.unit.web.conftest import Judge

from citebed.errors import CitebedError
from citebed.judging import Campaign
from citebed.web.campaigns.app import serve

PROGRAM = """
import sys
import time
from contextlib import suppress
from pathlib import Path
from citebed.judging.campaign import Campaign
from citebed.judging.store.database import open_database
from citebed.web import server
from citebed.web.campaigns.app import serve

campaign = Campaign(open_database(sys.argv[1]), "cr", Path(sys.argv[2]))
server.HEAD_SECONDS = float(sys.argv[3]) if sys.argv[3:] else server.HEAD_SECONDS
serve(campaign, port=0, started=lambda port: print(port, flush=True))
print("stopped")
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_and_no_link_is_logged(
    made_once: Campaign, tmp_path: Path, how: signal.Signals
) -> None:
    campaign = copied(made_once, tmp_path)
    judge = Judge(None, campaign)  # type: ignore[arg-type]
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "copy.sqlite"), str(tmp_path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]
        port = int(process.stdout.readline())
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        for path in (judge.page, "/cr/judge/secret", "/cr/nothing", "/cr/static/pages.css"):
            connection.request("GET", path)
            answer = connection.getresponse()
            assert answer.status in (200, 403, 404)
            assert answer.headers["server"] is None
            answer.read()
        process.send_signal(how)  # the connection is still open
        said, complained = process.communicate(timeout=30)
        connection.close()
    assert (said, complained, process.returncode) == ("stopped\n", "", 0)


def _drip(port: int, *, after_another: bool) -> tuple[bytes, float]:
    """Send the head of a request letter by letter, for ever: what came back, after how long."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        if after_another:
            connection.sendall(b"GET /cr/nothing HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 404")
        begun = time.monotonic()
        connection.settimeout(0.2)
        while time.monotonic() - begun < 20:
            with suppress(TimeoutError):
                if (said := connection.recv(65_536)).startswith(b"HTTP/1.1 408") or not said:
                    return said, time.monotonic() - begun
            connection.sendall(b"G")
    return b"", 20


@pytest.mark.parametrize("after_another", [False, True])
def test_nobody_holds_a_place_by_never_ending_a_head(
    made_once: Campaign, tmp_path: Path, after_another: bool
) -> None:
    copied(made_once, tmp_path)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "copy.sqlite"), str(tmp_path), "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        try:
            said, seconds = _drip(port, after_another=after_another)
            assert said.startswith(b"HTTP/1.1 408")
            assert seconds < 15
            # A quick client is served, also on one connection for longer than that.
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            for _ in range(4):
                connection.request("GET", "/cr/login")
                assert connection.getresponse().read()
                time.sleep(0.7)
            connection.close()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def test_a_taken_port(campaign: Campaign) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(CitebedError, match=f"cannot listen on 127.0.0.1:{port}: .*in use"):
            serve(campaign, port=port)
    for host, number in (("no such host.invalid", 0), ("127.0.0.1", 70_000)):
        with pytest.raises(CitebedError, match="cannot listen"):
            serve(campaign, host, number)
