"""The workbench as a process: how it begins, how it stops, and what does not take it down."""

from __future__ import annotations

import http.client
import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from citebed.drafts.draft_store import DraftStore
from citebed.web.server import listen

PROGRAM = """
import sys, time
from pathlib import Path
from citebed.web import server
from citebed.web.workbench import recommend, server as serving

if "--computes" in sys.argv:
    def recommended(*_, **__):
        print("computing", flush=True)
        time.sleep(90)
    recommend.compute_recommendations = recommended
if len(sys.argv) > 2:
    serving._warm = lambda shelf: None
server.HEAD_SECONDS = 60.0
tell = lambda address: print(address, flush=True)
serving.serve_workbench([Path(sys.argv[1])], port=0, browser=False, started=tell)
print("stopped", flush=True)
"""
TEXT = json.dumps({"text": "Relevance feedback adds terms to a query."})
ASK, DRAFTS = "/api/collections/demo/recommend", "/api/collections/demo/drafts"
FILES = "/api/collections/demo/import/files"


@pytest.fixture
def folder(demo_indexed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_indexed, tmp_path / "demo"))


class Server:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        address = urlsplit(self.said())
        self.port, self.key = address.port or 0, address.query.partition("=")[2]

    def said(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(
        self, path: str, body: Any = None, *, seconds: float = 60, **headers: str
    ) -> tuple[int, bytes]:
        """The status and the body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        own = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request("GET" if body is None else "POST", path, body, own)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        """A connection over which nothing is said."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def memory(self) -> int:
        """Bytes in memory at most so far."""
        told = Path(f"/proc/{self.process.pid}/status").read_text().partition("VmHWM:")[2]
        return int(told.split()[0]) << 10


@contextmanager
def server(folder: Path, *words: str, **surroundings: str) -> Iterator[Server]:
    """A server over a collection, killed at the end if it has not stopped."""
    command = [sys.executable, "-c", PROGRAM, str(folder), *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    around = os.environ | surroundings
    with subprocess.Popen(command, env=around, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield Server(process)
        finally:
            process.kill()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_within_ten_seconds_though_a_request_computes(
    folder: Path, how: signal.Signals
) -> None:
    with server(folder, "--computes") as running, ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(running.connect())
        kept = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
        kept.request("GET", "/static/pages.css")
        kept.getresponse().read()
        asking = threading.Thread(target=_ask_in_vain, args=(running,))
        asking.start()
        assert running.said() == "computing"
        running.process.send_signal(how)
        begun = time.monotonic()
        said, complained = running.process.communicate(timeout=30)
        assert time.monotonic() - begun < 10
        assert (said, running.process.returncode) == ("stopped\n", 0)
        assert "Traceback" not in complained
        asking.join()
        kept.close()


def _ask_in_vain(running: Server) -> None:
    with suppress(OSError, http.client.HTTPException):
        running.ask(ASK, TEXT)


def test_a_kill_leaves_the_desk_whole(folder: Path) -> None:
    kept: list[str] = []
    with server(folder) as running:

        def write() -> None:
            with suppress(OSError, http.client.HTTPException, ValueError):
                while True:
                    made = json.loads(running.ask(DRAFTS, TEXT)[1])
                    kept.append(made["draft_id"])

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + 60
        while len(kept) < 20 and time.monotonic() < end:
            time.sleep(0.01)
        running.process.kill()
        for thread in threads:
            thread.join()
    assert len(kept) >= 20
    with sqlite3.connect(folder / "desk.sqlite") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    desk = DraftStore(folder)
    assert set(kept) <= {each.draft_id for each in desk.drafts()}
    desk.close()


def test_who_copies_the_desk_after_the_end_has_all_of_it(folder: Path, tmp_path: Path) -> None:
    with server(folder) as running:
        made = json.loads(running.ask(DRAFTS, TEXT)[1])
        running.process.send_signal(signal.SIGINT)
        running.process.wait(20)
    (tmp_path / "copy").mkdir()
    shutil.copy(folder / "desk.sqlite", tmp_path / "copy")
    copied = DraftStore(tmp_path / "copy")
    assert [each.draft_id for each in copied.drafts()] == [made["draft_id"]]
    copied.close()


@pytest.fixture
def _many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 < hard < 3000:
        pytest.skip(f"this system lets a process open {hard} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (3000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("_many_files")
@pytest.mark.parametrize("first", [b"", b"GET / HTTP/1.1\r\nHost: ", b"POST /login HTTP/1.1\r\n"])
def test_hanging_connections_keep_nobody_out(folder: Path, first: bytes) -> None:
    with server(folder) as running, ExitStack() as stack:
        running.ask("/static/pages.css")
        before = running.memory()
        for _ in range(1200):
            hanging = stack.enter_context(running.connect())
            with suppress(OSError):
                hanging.sendall(first)
        for _ in range(5):
            assert running.ask("/static/pages.css", seconds=10)[0] == 200
        assert running.ask(ASK, TEXT)[0] == 200
        assert running.memory() - before < 400 << 20  # the models are loaded meanwhile


def test_slow_bodies_and_strangers_hold_no_place(folder: Path) -> None:
    head = f"POST {ASK} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n"
    with server(folder) as running, ExitStack() as stack:
        stranger = stack.enter_context(running.connect())
        stranger.sendall(f"{head}\r\n{{".encode())
        assert stranger.recv(65536).startswith(b"HTTP/1.1 401")  # and not a byte was waited for
        assert _is_closed(stranger)
        for _ in range(50):  # they wait for bodies, and take no turn
            slow = stack.enter_context(running.connect())
            slow.sendall(f"{head}Authorization: Bearer {running.key}\r\n\r\n{{".encode())
        assert running.ask(ASK, TEXT)[0] == 200
        large = stack.enter_context(running.connect())
        large.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 200_000)
        assert large.recv(65536).startswith(b"HTTP/1.1 400")


def _is_closed(connection: socket.socket) -> bool:
    with suppress(ConnectionResetError):
        while said := connection.recv(65536):
            assert said
    return True


def test_many_posts_at_once_are_answered_or_sent_away(folder: Path) -> None:
    with server(folder, "--computes") as running:
        statuses: list[int] = []

        def ask() -> None:
            with suppress(OSError, http.client.HTTPException):
                statuses.append(running.ask(ASK, TEXT, seconds=8)[0])

        threads = [threading.Thread(target=ask) for _ in range(260)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses.count(503) >= 50  # three compute, two hundred wait, the others get an error
        assert set(statuses) == {503}
        assert running.ask("/static/pages.css", seconds=10)[0] == 200


@pytest.mark.parametrize("length", [True, False])
def test_a_large_upload_takes_no_memory_and_leaves_nothing(
    folder: Path, tmp_path: Path, length: bool
) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    size = (500 if length else 300) << 20
    part = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.bib"\r\n\r\n'

    def body() -> Iterator[bytes]:
        yield part
        for _ in range(size >> 20):
            yield b"x" * (1 << 20)

    headers = {"Content_Type": "multipart/form-data; boundary=x"}
    if length:
        headers["Content_Length"] = str(size + len(part))
    with server(folder, "--still", TMPDIR=str(spool)) as running:
        assert running.ask("/c/demo/recommend")[0] == 200  # and no models are loaded meanwhile
        before = running.memory()
        status, said = running.ask(FILES, body(), seconds=60, **headers)
        assert status == 413
        assert b"256 MB" in said
        assert running.memory() - before < 64 << 20
        assert list(spool.iterdir()) == []
        assert not [each for each in folder.rglob("*") if each.stat().st_size > 100 << 20]
        assert running.ask(ASK, TEXT)[0] == 200


def test_answers_are_sent_at_once() -> None:
    with listen("127.0.0.1", [0]) as made:
        assert made.proto == socket.IPPROTO_TCP  # else asyncio leaves Nagle's algorithm on


def test_a_taken_port_is_reported_and_else_another_is_found(folder: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        command = [sys.executable, "-m", "citebed", "serve", str(folder), "--no-browser"]
        done = subprocess.run(
            [*command, "--port", str(port)], capture_output=True, text=True, check=False
        )
    assert done.returncode == 1
    assert "in use. Stop the other server, or choose another --port." in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_demo_is_served_where_a_port_is_free(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "citebed", "demo", "d", "--serve", "--no-browser"]
    own = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    with ExitStack() as stack:
        taken = stack.enter_context(socket.socket())
        with suppress(OSError):  # somebody else may have the usual port: as good
            taken.bind(("127.0.0.1", 8000))
            taken.listen()
        pipes: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        process = stack.enter_context(subprocess.Popen(command, cwd=tmp_path, env=own, **pipes))
        line = next(line for line in iter(process.stderr.readline, "") if "is open at" in line)
        address = urlsplit(line.split()[-1])
        assert address.port != 8000
        connection = http.client.HTTPConnection("127.0.0.1", address.port or 0, timeout=60)
        connection.request("GET", f"/?{address.query}")
        assert connection.getresponse().status == 303
        connection.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


GUARDED = """
import sys
from citebed.web.workbench import pages, server as serving

def connected(event, details):
    if event == "socket.connect":
        print("connected to", details[1], file=sys.stderr, flush=True)

sys.addaudithook(connected)
pages.WRONG_PASSWORD_SECONDS = 0.0
tell = lambda address: print(address, flush=True)
host, address, password = sys.argv[1:]
more = {"password": password, "address": address, "started": tell}
serving.serve_workbench([], host, 0, browser=False, **more)
"""


@contextmanager
def guarded(
    folder: Path, host: str = "127.0.0.1", address: str = "", **surroundings: str
) -> Iterator[subprocess.Popen[str]]:
    """A server without collections that reports every connection it opens."""
    password = "" if (host, address) == ("127.0.0.1", "") else "correct horse battery"
    command = [sys.executable, "-c", GUARDED, host, address, password]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    own = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), **surroundings}
    with subprocess.Popen(command, cwd=folder, env=own, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def test_no_trace_leaves_though_opentelemetry_is_set_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as collector, ExitStack() as stack:
        place = f"http://127.0.0.1:{collector.getsockname()[1]}"
        variables = {"FASTAPI_OTEL_AUTO_CONFIGURE": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": place}
        process = stack.enter_context(guarded(tmp_path, **variables))
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().strip())
        for path in (f"/?{address.query}", "/", "/api/openapi.json"):
            connection = http.client.HTTPConnection("127.0.0.1", address.port or 0, timeout=60)
            connection.request("GET", path)
            connection.getresponse().read()
            connection.close()
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
        assert "connected to" not in said
        assert "telemetry" not in said.lower()  # FastAPI does not even try
        collector.setblocking(False)
        with pytest.raises(BlockingIOError):
            collector.accept()


@pytest.mark.parametrize("address", ["", "http://papers.example.org"])
def test_a_forwarded_address_counts_only_behind_a_web_server(tmp_path: Path, address: str) -> None:
    host = "127.0.0.1" if address else "127.0.0.2"
    with guarded(tmp_path, host, address) as process:
        assert process.stdout is not None
        told = urlsplit(process.stdout.readline().strip())
        port = told.port or next(_ports(process.pid))
        statuses = []
        for number in range(12):
            connection = http.client.HTTPConnection(host, port, timeout=60)
            headers = {"X-Forwarded-For": f"203.0.113.{number}"}
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            connection.request("POST", "/login", f"password=guess{number}", headers)
            statuses.append(connection.getresponse().status)
            connection.close()
    assert statuses == ([403] * 12 if address else [403] * 10 + [429] * 2)


def _ports(pid: int) -> Iterator[int]:
    """The ports that a process listens at."""
    own = {os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()}
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and f"socket:[{words[9]}]" in own:
            yield int(words[1].partition(":")[2], 16)
