"""Fetching from a small web server that may misbehave; nothing leaves this machine."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.unit.collection.fetching.test_fetching import (
    CONTENT,
    HALF,
    OTHER,
    Try,
    enter,
    sha256,
    states,
)

from citebed._version import __version__
from citebed.collection.fetching.public_collections import CATALOGUE, RemoteFile
from citebed.errors import CitebedError


@dataclass
class Site:
    """The web server's behaviour, and the requests that it got."""

    content: bytes = CONTENT
    etag: str = '"one"'
    ranges: bool = True
    if_range: bool = True
    status: int = 200
    location: str = ""
    announced: int | None = None
    chunked: bool = False
    shift: int = 0
    cuts: list[int] = field(default_factory=list)
    sums: str = ""
    seen: list[dict[str, str]] = field(default_factory=list)
    url: str = ""


class Handler(BaseHTTPRequestHandler):
    """Answers as the site of the server says."""

    def do_GET(self) -> None:
        site: Site = self.server.site  # type: ignore[attr-defined]
        if self.path == "/SHA256SUMS":
            return self.simple(200 if site.sums else 404, site.sums.encode())
        site.seen.append({"path": self.path, **{k.lower(): v for k, v in self.headers.items()}})
        if site.location and self.path != "/moved":
            return self.simple(302, b"", Location=site.location)
        if site.status != 200:
            return self.simple(site.status, b"")
        return self.give(site, self.first_byte(site))

    def first_byte(self, site: Site) -> int:
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        outdated = self.headers.get("If-Range", site.etag) != site.etag and site.if_range
        return int(asked[1]) if asked and site.ranges and not outdated else 0

    def give(self, site: Site, first: int) -> None:
        size = len(site.content)
        if first >= size:
            return self.simple(416, b"no more", **{"Content-Range": f"bytes */{size}"})
        rest = site.content[first:]
        # Before the client sees anything: it may ask again before this answer has ended.
        cut = site.cuts.pop(0) if site.cuts else None
        self.protocol_version = "HTTP/1.1"
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {first + site.shift}-{size - 1}/{size}")
        if site.etag:
            self.send_header("ETag", site.etag)
        if site.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(site.announced or len(rest)))
        self.send_header("Connection", "close")
        self.end_headers()
        if cut is not None:
            self.wfile.write(b"%x\r\n" % (2 * cut) + rest[:cut] if site.chunked else rest[:cut])
        elif site.chunked:
            self.wfile.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(rest), rest))
        else:
            self.wfile.write(rest)
        return None

    def simple(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """A server that does not complain when the client hangs up."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "*")
    with Server(("127.0.0.1", 0), Handler) as server:
        found = Site(url=f"http://127.0.0.1:{server.server_port}")
        server.site = found  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        enter(monkeypatch, RemoteFile("a.bin", f"{found.url}/origin.bin"))
        yield found
        server.shutdown()
        thread.join()


@pytest.fixture
def attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Try:
    return Try(tmp_path / "out", monkeypatch)


def test_from_the_web(site: Site, attempt: Try) -> None:
    assert states(attempt()) == ["fetched"]
    assert (attempt.folder / "a.bin").read_bytes() == CONTENT
    assert site.seen[0]["user-agent"] == f"citebed/{__version__}"
    assert attempt.waits == []


def test_a_mirror_on_the_web(site: Site, attempt: Try) -> None:
    site.sums = f"{sha256(OTHER)}  a.bin\n"
    with pytest.raises(CitebedError, match="SHA256SUMS"):
        attempt(mirror=site.url)
    site.sums = f"{sha256(CONTENT)}  a.bin\n"
    assert states(attempt(mirror=site.url)) == ["fetched"]
    assert [request["path"] for request in site.seen] == ["/a.bin", "/a.bin"]


def test_a_cut_connection_goes_on(site: Site, attempt: Try) -> None:
    site.cuts = [HALF, 1000]
    assert states(attempt()) == ["fetched"]
    assert [request.get("range") for request in site.seen] == [
        None, f"bytes={HALF}-", f"bytes={HALF + 1000}-",
    ]  # fmt: skip
    assert site.seen[1]["if-range"] == '"one"'
    assert attempt.waits == [1.0, 2.0]
    assert (attempt.folder / "a.bin").read_bytes() == CONTENT


def start_again(site: Site, attempt: Try, **changes: Any) -> None:
    """Interrupt a download, change the site, and run again."""
    with pytest.raises(KeyboardInterrupt):
        attempt(stop_at=HALF)
    for name, value in changes.items():
        setattr(site, name, value)
    site.seen.clear()
    attempt()
    assert (attempt.folder / "a.bin").read_bytes() == site.content


def test_an_interrupted_download_goes_on(site: Site, attempt: Try) -> None:
    start_again(site, attempt)
    assert attempt.shown[0][1] >= HALF
    assert attempt.waits == []


@pytest.mark.parametrize(
    "changes",
    [
        {"ranges": False},
        {"content": OTHER, "etag": '"two"'},
        {"content": OTHER, "etag": '"two"', "if_range": False},
        {"content": CONTENT + OTHER, "if_range": False},
        {"content": b"short", "if_range": False},
    ],
    ids=["no ranges", "new", "new, If-Range ignored", "longer", "shorter"],
)
def test_halves_of_two_contents_are_not_joined(
    site: Site, attempt: Try, changes: dict[str, Any]
) -> None:
    start_again(site, attempt, **changes)
    assert (attempt.shown[0][1], attempt.shown[-1][1]) == (0, len(site.content))


def test_another_range_than_asked_for(site: Site, attempt: Try) -> None:
    site.cuts, site.shift = [HALF, 10], 5
    assert states(attempt()) == ["fetched"]
    assert [request.get("range") for request in site.seen] == [None, f"bytes={HALF}-", None]
    assert (attempt.folder / "a.bin").read_bytes() == CONTENT


@pytest.mark.parametrize("etag", ["", 'W/"weak"'])
def test_without_a_mark_only_a_checksum_allows_to_go_on(
    site: Site, attempt: Try, monkeypatch: pytest.MonkeyPatch, etag: str
) -> None:
    site.etag, site.cuts = etag, [HALF]
    assert states(attempt()) == ["fetched"]
    assert [request.get("range") for request in site.seen] == [None, None]
    [file] = CATALOGUE["tiny"].files
    enter(monkeypatch, replace(file, path="b.bin", sha256=sha256(CONTENT)))
    site.seen, site.cuts = [], [HALF]
    assert states(attempt()) == ["fetched"]
    assert [request.get("range") for request in site.seen] == [None, f"bytes={HALF}-"]
    assert "if-range" not in site.seen[1]


def test_nothing_more_to_come_is_done(site: Site, attempt: Try) -> None:
    with pytest.raises(KeyboardInterrupt):
        attempt(stop_at=len(CONTENT))
    site.seen.clear()
    assert states(attempt()) == ["fetched"]
    assert [request["range"] for request in site.seen] == [f"bytes={len(CONTENT)}-"]
    assert (attempt.folder / "a.bin").read_bytes() == CONTENT


def test_chunks_that_end_too_early(site: Site, attempt: Try) -> None:
    site.chunked, site.cuts = True, [HALF]
    assert states(attempt()) == ["fetched"]
    assert attempt.shown[0] == ("a.bin", 0, None)
    assert (attempt.folder / "a.bin").read_bytes() == CONTENT


def test_a_wrong_length_ends_in_an_error(site: Site, attempt: Try) -> None:
    site.announced = len(CONTENT) + 9
    message = f"found {len(CONTENT)} bytes, expected {len(CONTENT) + 9}.*tried 5 times"
    with pytest.raises(CitebedError, match=message):
        attempt()
    assert attempt.waits == [1.0, 2.0, 4.0, 8.0]
    assert not (attempt.folder / "a.bin").exists()


@pytest.mark.parametrize(
    ("status", "message", "tries"),
    [
        (404, "not found there", 1), (403, "access is refused", 1), (418, "HTTP 418", 1),
        (204, "HTTP status 204", 1), (416, "HTTP 416", 1), (503, "HTTP 503", 5),
    ],
)  # fmt: skip
def test_refusals(site: Site, attempt: Try, status: int, message: str, tries: int) -> None:
    site.status = status
    with pytest.raises(CitebedError, match=message):
        attempt()
    assert len(site.seen) == tries
    assert attempt.left() == []


def test_a_redirect_is_followed_with_the_range(site: Site, attempt: Try) -> None:
    site.location, site.cuts = f"{site.url}/moved", [HALF]
    assert states(attempt()) == ["fetched"]
    assert site.seen[-1]["path"] == "/moved"
    assert site.seen[-1]["range"] == f"bytes={HALF}-"


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("/origin.bin", "infinite loop"),
        ("file:///etc/passwd", "not allowed"),
        ("ftp://127.0.0.1/a.bin", "unknown url type: ftp"),
        ("http://[bad", "not a usable address"),
    ],
)
def test_bad_redirects(site: Site, attempt: Try, location: str, message: str) -> None:
    site.location = location
    with pytest.raises(CitebedError, match=message):
        attempt()
    assert attempt.left() == []
