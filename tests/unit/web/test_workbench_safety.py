"""Strangers, other sites and guessers get nothing from the workbench but a clear message."""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.routes import all_routes
from tests.unit.drafts.test_drafts_packages import BOMBS

from citebed.files.secret_files import address_block
from citebed.web import middleware
from citebed.web.access import LOCAL, TOKEN_HEADER, AllowedHosts, Keys, Throttle
from citebed.web.workbench import pages
from citebed.web.workbench.app import create_workbench
from citebed.web.workbench.open_collections import OpenCollections
from citebed.web.workbench.site import MAX_WRONG_PASSWORDS

KEY, PASSWORD = "the key of this test", "correct horse battery"
ASK = "/api/collections/demo/recommend"
TEXT = {"text": "Relevance feedback adds terms to a query."}
PAGE = {"Accept": "text/html,*/*"}


@pytest.fixture(scope="module")
def folder(demo_indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(demo_indexed, tmp_path_factory.mktemp("guarded") / "demo"))


def _client(folder: Path, keys: Keys, base: str = "http://127.0.0.1", **more: Any) -> TestClient:
    app = create_workbench(
        OpenCollections([folder]), keys, hosts=more.pop("hosts", frozenset(LOCAL)), **more
    )
    return TestClient(app, base_url=base, follow_redirects=False)


@pytest.fixture
def stranger(folder: Path) -> Iterator[TestClient]:
    """Somebody without key or cookie."""
    with _client(folder, Keys(KEY)) as client:
        yield client


@pytest.fixture
def reader(stranger: TestClient) -> TestClient:
    """A browser that was let in by the address with the key."""
    assert stranger.get(f"/?key={KEY}").status_code == 303
    return stranger


@pytest.fixture
def login(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A server that others can reach, without the second that a wrong password takes."""
    monkeypatch.setattr(pages, "WRONG_PASSWORD_SECONDS", 0.0)
    with _client(folder, Keys(KEY, PASSWORD)) as client:
        yield client


# --- Other sites ---


def test_another_origin_is_told_nothing_by_a_preflight(reader: TestClient) -> None:
    asked = {
        "Origin": "https://elsewhere.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": f"content-type,{TOKEN_HEADER}",
    }
    answer = reader.options(ASK, headers=asked)
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_another_origin_cannot_call_the_api_even_with_all_secrets(reader: TestClient) -> None:
    secrets = {TOKEN_HEADER: Keys(KEY).token, "Authorization": f"Bearer {KEY}"}
    others: list[dict[str, str]] = [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "null"},
    ]
    for other in others:
        for answer in (
            reader.post(ASK, json=TEXT, headers=other | secrets),
            reader.get("/api/openapi.json", headers=other | secrets),
        ):
            assert answer.status_code == 403
            assert "access-control-allow-origin" not in answer.headers


def test_nothing_unsafe_is_done_without_the_token_of_our_pages(reader: TestClient) -> None:
    """Every address that is not only read, also those that the description does not have."""
    paths = reader.app.openapi()["paths"]  # type: ignore[attr-defined]
    unsafe = [(path, method) for path, each in paths.items() for method in each if method != "get"]
    for path, method in [*unsafe, ("/logout", "post"), ("/c/demo/files", "post")]:
        at = path.replace("{name}", "demo")
        for headers in ({}, {TOKEN_HEADER: "guessed"}):
            answer = reader.request(method, at, headers=headers)
            assert answer.status_code == 403, (method, path)
    forms = {"Content-Type": "text/plain"}  # what a form elsewhere can send without a preflight
    assert reader.post(ASK, content='{"text": "x"}', headers=forms).status_code == 403


@pytest.mark.parametrize(
    "name", ["attacker.example", "127.0.0.1.attacker.example", "", "localhost."]
)
def test_requests_for_other_hosts_are_refused(reader: TestClient, name: str) -> None:
    for path in ("/", "/login", "/static/pages.css", "/api/openapi.json"):
        answer = reader.get(path, headers={"Host": name, "Authorization": f"Bearer {KEY}"})
        assert answer.status_code == 421, path


def test_names_of_a_server_that_others_reach() -> None:
    names = AllowedHosts(["Papers.example"])
    own = ("papers.example", "192.168.1.5", "[fe80::1]", "localhost", socket.gethostname().lower())
    assert all(name in names for name in own)
    assert "attacker.example" not in names


def test_behind_a_web_server_cookies_and_headers_are_for_https(folder: Path) -> None:
    keys = Keys(KEY, PASSWORD, secure=True)
    address = "https://papers.example"
    hosts = AllowedHosts(["papers.example"])
    with _client(folder, keys, address, hosts=hosts, address=address) as client:
        answer = client.post("/login", data={"password": PASSWORD}, headers={"Origin": address})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-citebed=")
        assert "; Secure" in cookie
        assert "max-age" in answer.headers["strict-transport-security"]
        own = {TOKEN_HEADER: keys.token, "Origin": address, "Host": "127.0.0.1"}
        assert client.post(ASK, json=TEXT, headers=own).status_code == 200
        assert client.get("/", headers={"Host": "other.example"}).status_code == 421


# --- Strangers ---


def test_a_stranger_reads_a_page_of_citebed_without_secrets(stranger: TestClient) -> None:
    for path in ("/", "/c/demo/recommend", "/?key=wrong", "/static/nothing.js", "/login"):
        answer = stranger.get(path, headers=PAGE)
        assert 'class="frame"' in answer.text, path
        for secret in (KEY, Keys(KEY).token, Keys(KEY).cookie):
            assert secret not in answer.text
    assert stranger.get("/", headers=PAGE).status_code == 401
    assert stranger.get("/api/openapi.json").headers["www-authenticate"] == "Bearer"
    assert stranger.get("/api/openapi.json").headers["content-type"] == "application/json"


def test_the_cookie_is_for_this_server_and_no_script(stranger: TestClient) -> None:
    cookie = stranger.get(f"/?key={KEY}").headers["set-cookie"]
    assert KEY not in cookie
    for flag in ("HttpOnly", "SameSite=lax", "Path=/"):
        assert flag in cookie
    assert "Domain" not in cookie
    assert stranger.get(f"/c/demo?key={KEY}&x=%2F%2Fa").headers["location"] == "/c/demo?x=%2F%2Fa"


def test_an_address_with_the_key_redirects_to_one_without(stranger: TestClient) -> None:
    for path in ("/static/nothing.js", "/static/", "/login", "/nowhere"):
        answer = stranger.get(f"{path}?key={KEY}", headers=PAGE)
        assert (answer.status_code, answer.headers["location"]) == (303, path)
        assert KEY not in answer.text


def test_a_stranger_sends_no_body_that_is_read(stranger: TestClient) -> None:
    def endless() -> Iterator[bytes]:
        yield b"x" * 1000
        pytest.fail("somebody reads on")

    answer = stranger.post(ASK, content=endless(), headers={"Content-Length": "2000000"})
    assert answer.status_code == 401
    assert answer.headers["connection"] == "close"


# --- The login ---


def test_a_reader_is_sent_to_the_login_and_back(login: TestClient) -> None:
    answer = login.get("/c/demo/recommend?draft=x", headers=PAGE)
    assert answer.headers["location"] == "/login?next=%2Fc%2Fdemo%2Frecommend%3Fdraft%3Dx"
    asked = {"password": PASSWORD, "next": "/c/demo/recommend?draft=x"}
    answer = login.post("/login", data=asked)
    assert (answer.status_code, answer.headers["location"]) == (303, "/c/demo/recommend?draft=x")
    assert login.get("/c/demo/recommend").status_code == 200
    own = {TOKEN_HEADER: Keys(KEY, PASSWORD).token}
    assert login.post("/logout", headers=own).status_code == 204
    assert login.get("/c/demo/recommend").status_code == 401


def test_the_login_leads_to_no_other_site(login: TestClient) -> None:
    for elsewhere in (
        *("https://elsewhere.example", "//elsewhere.example", "/\\elsewhere.example", ""),
        *("javascript:alert(1)", "/\t/elsewhere.example", "\\\\elsewhere.example"),
        "/\n//elsewhere.example",
    ):
        page = login.get("/login", params={"next": elsewhere}).text
        assert 'name="next" value="/"' in page
        asked = {"password": PASSWORD, "next": elsewhere}
        assert login.post("/login", data=asked).headers["location"] == "/"


def test_guessing_is_stopped_and_others_still_come_in(login: TestClient) -> None:
    for _ in range(MAX_WRONG_PASSWORDS):
        assert login.post("/login", data={"password": "guess"}).status_code == 403
    answer = login.post("/login", data={"password": PASSWORD})  # even the right one
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0
    other = TestClient(
        login.app, "http://127.0.0.1", client=("192.0.2.7", 1), follow_redirects=False
    )
    assert other.post("/login", data={"password": PASSWORD}).status_code == 303


def test_guesses_are_counted_by_network_and_forgotten_when_right() -> None:
    throttle = Throttle(MAX_WRONG_PASSWORDS, 60.0, keys=2)
    for number in range(MAX_WRONG_PASSWORDS):
        throttle.add(address_block(f"2001:db8::{number:x}"))
    network = address_block("2001:db8::ffff")
    assert throttle.is_full(network)
    assert not throttle.is_full(address_block("2001:db8:0:1::1"))
    throttle.clear(network)
    assert not throttle.is_full(network)
    assert not Throttle(1, 0.0).is_full("x")


def test_another_password_ends_all_sessions(folder: Path, login: TestClient) -> None:
    login.post("/login", data={"password": PASSWORD})
    with _client(folder, Keys(KEY, "another password")) as after:
        after.cookies = login.cookies
        assert after.get("/c/demo/recommend").status_code == 401
        own = {TOKEN_HEADER: Keys(KEY, PASSWORD).token, "Authorization": "Bearer guess"}
        assert after.post(ASK, json=TEXT, headers=own).status_code == 401


@pytest.mark.parametrize("body", [b"\xff" * 100, b"--x\r\n\r\n", b"password=%ff&next=/"])
def test_an_invalid_form_is_answered(login: TestClient, body: bytes) -> None:
    for kind in (
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
    ):
        answer = login.post("/login", content=body, headers={"Content-Type": kind})
        assert answer.status_code in (400, 403)


# --- What is sent ---


@pytest.mark.parametrize("path", ["collections/files", "collections/demo/import/files"])
def test_a_browser_that_leaves_during_an_upload_is_not_an_error(
    stranger: TestClient, path: str
) -> None:
    form = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.bib"\r\n\r\nhalf'
    parts = [
        {"type": "http.disconnect"},
        {"type": "http.request", "body": form, "more_body": True},
    ]
    headers = {
        "host": "127.0.0.1",
        "authorization": f"Bearer {KEY}",
        "content-type": "multipart/form-data; boundary=x",
        "content-length": "1000",
    }
    scope = {
        "type": "http", "method": "POST", "path": f"/api/{path}", "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "root_path": "", "scheme": "http",
    }  # fmt: skip
    sent: list[Any] = []

    async def receive() -> Any:
        return parts.pop()

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(stranger.app(scope, receive, send))  # type: ignore[arg-type]
    assert not parts
    assert not sent  # no client is left to get a response


def test_what_is_answered_is_never_taken_for_a_page(reader: TestClient) -> None:
    own = {TOKEN_HEADER: Keys(KEY).token, "Accept": "text/html"}
    evil = "<script>alert(1)</script>"
    for answer in (
        reader.post("/api/collections/demo/drafts", json={"text": evil, "name": evil}, headers=own),
        reader.post(ASK, json={"text": evil, "exclude": [evil]}, headers=own),
        reader.post(ASK, json={evil: evil}, headers=own),
        reader.get(f"/api/collections/{evil}/drafts/x", headers=own),
    ):
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'self'" in answer.headers["content-security-policy"]
    page = reader.get(f"/c/{evil}/recommend", headers=own)
    assert page.status_code == 404
    assert evil not in page.text


def test_bodies_are_bounded_one_by_one_and_together(
    reader: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {TOKEN_HEADER: Keys(KEY).token}
    assert reader.post(ASK, content=b"x" * (3 << 20), headers=own).status_code == 413
    chunks = iter([b"x" * (1 << 20)] * 3)  # without a length
    assert reader.post(ASK, content=chunks, headers=own).status_code == 413
    monkeypatch.setattr(middleware, "MOST_HELD", 10)
    answer = reader.post(ASK, json=TEXT, headers=own)
    assert answer.status_code == 503
    monkeypatch.setattr(middleware, "MOST_HELD", 10_000)
    for _ in range(200):  # what was held is given back each time
        assert reader.post(ASK, content=b"x" * 100, headers=own).status_code == 422


@pytest.mark.parametrize("name", ["ratio", "members", "laughs", "outside", "password", "cut"])
def test_a_bomb_that_is_sent_gets_a_clear_answer(reader: TestClient, name: str) -> None:
    make, says = BOMBS[name]
    own = {TOKEN_HEADER: Keys(KEY).token}
    draft = reader.post("/api/collections/demo/drafts", json={"text": ""}, headers=own).json()
    at = f"/api/collections/demo/drafts/{draft['draft_id']}/files"
    answer = reader.post(at, files=[("files", ("draft.docx", make()))], headers=own)
    assert answer.status_code == 400
    assert re.search(says, answer.json()["message"])
    assert "root:" not in answer.text
    assert not any(reader.get(at).json().values())


def test_a_path_that_is_asked_for_leads_nowhere_else(reader: TestClient, tmp_path: Path) -> None:
    own = {TOKEN_HEADER: Keys(KEY).token}
    (tmp_path / "a.bib").write_text("@misc{a, title = {T}}", "utf-8")
    for path in ("/etc/passwd", str(tmp_path / "a.bib"), "../../etc/passwd", "a.bib", "~", "\0"):
        answer = reader.post("/api/collections/demo/import", json={"paths": [path]}, headers=own)
        assert answer.status_code in (400, 422), path
        assert not any(reader.get("/api/jobs").json().values())


def test_nothing_is_sent_anywhere(reader: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: Any) -> None:
        pytest.fail("somebody is called")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", connect)
    own = {TOKEN_HEADER: Keys(KEY).token}
    assert reader.post(ASK, json=TEXT, headers=own).json()["rows"]
    made = reader.post("/api/collections/demo/drafts", json=TEXT, headers=own).json()
    reader.get(f"/c/demo/recommend?draft={made['draft_id']}")
    for path in _all_pages(reader):
        assert reader.get(path.replace("{name}", "demo"), headers=PAGE).status_code < 500


def _all_pages(client: TestClient) -> list[str]:
    """All addresses of pages that need no more than a collection's name."""
    found = [
        path
        for path, methods in all_routes(client.app)
        if "GET" in methods and "{" not in path.replace("{name}", "")
    ]
    assert "/c/{name}/recommend" in found
    return found
