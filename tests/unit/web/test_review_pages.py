"""The pages of a review: who is let in, what is answered, and that nothing is shown as it came."""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient
from tests.paper_samples import review_folder

from citebed.papers.decisions import Accept, ChangeFront
from citebed.papers.review import Review
from citebed.web.review import review_app

KEY, HOME = "a-key-of-ours", "http://127.0.0.1:8123"
EVIL = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return files that each test copies."""
    return review_folder(tmp_path_factory.mktemp("made") / "papers", "one", "two")


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """Two papers to confirm."""
    return Path(shutil.copytree(made, tmp_path / "papers"))


@pytest.fixture
def stranger(folder: Path) -> Iterator[TestClient]:
    """A browser without the key."""
    with TestClient(review_app(folder, key=KEY), base_url=HOME, follow_redirects=False) as client:
        yield client


@pytest.fixture
def client(stranger: TestClient) -> TestClient:
    """A browser that was sent to the address with the key."""
    answer = stranger.get(f"/?key={KEY}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "samesite=strict" in answer.headers["set-cookie"].lower()
    page = stranger.get("/papers/one", headers={"Accept": "text/html"}).text
    found = re.search(r'data-token="([0-9a-f]+)"', page)
    assert found is not None
    stranger.headers["X-Citebed-Token"] = found[1]
    return stranger


def step(client: TestClient, version: int, **body: Any) -> Any:
    """A step as the page sends it."""
    act = {"version": version, "seconds": 1.5, "step": body}
    return client.post("/papers/one/step", json=act)


def test_without_the_key_nothing_is_shown_and_nothing_done(
    stranger: TestClient, folder: Path
) -> None:
    for path in ("/", "/papers/one", "/papers/one/stand", "/papers/one/pages/0.png", "/?key=x"):
        answer = stranger.get(path, headers={"Accept": "text/html"})
        assert answer.status_code in (401, 403)
        assert "Finding the Papers" not in answer.text
    assert stranger.post("/export").status_code == 401
    assert step(stranger, 0, kind="finish").status_code == 401
    assert not (folder / "one.decisions.json").exists()
    assert stranger.get("/static/review.css").status_code == 200


def test_requests_for_other_hosts_are_refused(client: TestClient) -> None:
    for host in ("evil.example", "evil.example:8123", "127.0.0.1.evil.example", ""):
        assert client.get("/papers/one/stand", headers={"Host": host}).status_code == 421
    assert client.get("/papers/one/stand", headers={"Host": "localhost:8123"}).status_code != 421


def test_requests_of_another_site_are_refused(client: TestClient, folder: Path) -> None:
    act = {"version": 0, "step": {"kind": "finish"}}
    others: list[dict[str, str]] = [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://127.0.0.1:9999"},
        {"X-Citebed-Token": "0" * 64},
        {"X-Citebed-Token": ""},
    ]
    for headers in others:
        for path in ("/papers/one/step", "/papers/one/undo", "/papers/one/seconds", "/export"):
            assert client.post(path, json=act, headers=headers).status_code == 403
    assert not (folder / "one.decisions.json").exists()


def test_pages_say_what_browsers_are_to_obey(client: TestClient) -> None:
    headers = client.get("/papers/one").headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"


def test_steps_are_taken_and_taken_back(client: TestClient, folder: Path) -> None:
    before = client.get("/papers/one/stand").json()
    assert before["open"] == ["c2.2", "c3", "r5", "r9"]
    after = step(client, 0, kind="marker", item="c2.2", marker=0, cites=["4"]).json()
    assert after["open"] == ["c3", "r5", "r9"]
    assert after["paragraphs"][1]["sentences"][1]["cites"] == ["4"]
    assert (after["version"], after["seconds"], after["last"]) == (1, 1.5, "c2.2")
    assert Review(folder).decisions("one").version == 1
    back = client.post("/papers/one/undo", json={"version": 1, "seconds": 0}).json()
    assert {**back, "version": 0, "seconds": 0.0} == before
    assert client.post("/papers/one/seconds", json={"seconds": 9}).json() == {"seconds": 10.5}


def test_a_step_from_another_window_is_reported_with_how_it_stands(client: TestClient) -> None:
    step(client, 0, kind="accept", item="c2.2")
    answer = step(client, 0, kind="merge", item="c2")
    assert answer.status_code == 409
    assert answer.json()["stand"]["version"] == 1
    assert "elsewhere" in answer.json()["message"]


IMPOSSIBLE_STEPS: list[tuple[dict[str, Any], int, str]] = [
    ({"kind": "merge", "item": "c99"}, 400, "no paragraph"),
    ({"kind": "marker", "item": "c2.2", "marker": 0, "cites": ["77"]}, 400, "no '77'"),
    ({"kind": "reference", "item": "r5", "doi": "page 5"}, 422, "is not a DOI"),
    ({"kind": "reference", "item": "r5", "url": "javascript:x"}, 422, "is not a URL"),
    ({"kind": "explode"}, 422, "kind"),
    ({"kind": "accept", "item": "c1", "more": 1}, 422, "not permitted"),
    ({"kind": "front", "title": "x" * 30_000}, 422, "at most"),
]


def test_impossible_steps_are_refused(client: TestClient, folder: Path) -> None:
    for body, status, message in IMPOSSIBLE_STEPS:
        answer = step(client, 0, **body)
        assert (answer.status_code, message in answer.json()["message"]) == (status, True)
    assert not (folder / "one.decisions.json").exists()


def test_what_is_in_files_is_shown_as_text(client: TestClient, folder: Path) -> None:
    Review(folder).decide("one", ChangeFront(title=EVIL), 0)
    for path in ("/", "/papers/one"):
        page = client.get(path, headers={"Accept": "text/html"}).text
        assert EVIL not in page
        assert "&lt;img src=x" in page


def test_papers_that_are_not_in_the_folder_are_not_found(client: TestClient) -> None:
    for stem in ("three", "..%2Fone", "one.review.json", "%00", "%2Fetc%2Fpasswd"):
        answer = client.get(f"/papers/{stem}/stand")
        assert answer.status_code in (400, 404)


def test_a_page_is_a_picture_as_wide_as_the_screen_wants(client: TestClient) -> None:
    answer = client.get("/papers/one/pages/0.png?width=790")
    assert answer.headers["content-type"] == "image/png"
    assert answer.content[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(answer.content[16:20]) == pytest.approx(800, abs=1)
    assert client.get("/papers/one/pages/0.png?width=790").content == answer.content
    for wrong in ("1.png", "-1.png", "0.png?width=9000", "0.png?width=x"):
        assert client.get(f"/papers/one/pages/{wrong}").status_code in (400, 404, 422)


def test_the_text_of_a_box_on_a_page(client: TestClient) -> None:
    stand = client.get("/papers/one/stand").json()
    sentence = stand["paragraphs"][0]["sentences"][0]
    (page, left, top, right, bottom), *_ = sentence["boxes"]
    box = {"left": left, "top": top, "right": right, "bottom": bottom}
    answer = client.get(f"/papers/one/pages/{page}/text", params=box)
    assert "Whoever writes a paper" in answer.json()["text"]
    assert "Early systems counted" not in answer.json()["text"]
    assert client.get("/papers/one/pages/7/text", params=box).status_code == 400
    assert client.get("/papers/one/pages/0/text", params={**box, "top": "nan"}).status_code == 422


def test_only_the_pdf_that_was_read_is_drawn(client: TestClient, folder: Path) -> None:
    """A stranger's review file opens no other file."""
    path = folder / "one.review.json"
    values = json.loads(path.read_text("utf-8"))
    values["pdf"] = str(folder / "two.pdf")
    values["pdf_sha256"] = "0" * 64
    path.write_text(json.dumps(values), "utf-8")
    answer = client.get("/papers/one/pages/0.png")
    assert answer.status_code == 400
    assert "not the PDF" in answer.json()["message"]


def test_a_pdf_that_breaks_the_library_breaks_nothing_else(
    client: TestClient, folder: Path
) -> None:
    broken = b"%PDF-1.4\n" + b"\xff" * 500
    (folder / "one.pdf").write_bytes(broken)
    path = folder / "one.review.json"
    values = json.loads(path.read_text("utf-8"))
    values["pdf"], values["pdf_sha256"] = "", hashlib.sha256(broken).hexdigest()
    path.write_text(json.dumps(values), "utf-8")
    answer = client.get("/papers/one/pages/0.png")
    assert (answer.status_code, "page 1 of 'one.pdf'" in answer.json()["message"]) == (400, True)
    assert client.get("/papers/two/pages/0.png").status_code == 200


ODD: tuple[Any, ...] = (
    *(None, "x", "<b>\u202e\ud800", -1, 1e999, 10**30),
    *(True, [], [[]], {}, {"x": 1}, float("nan")),
)


def _leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each value with its container and its name or index."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(inner, dict | list):
            yield from _leaves(inner)


@pytest.mark.parametrize("start", range(12))
def test_a_review_file_of_somebody_else_may_hold_anything(
    client: TestClient, folder: Path, start: int
) -> None:
    """The pages report or show whatever replaces a value."""
    path = folder / "one.review.json"
    before = path.read_text("utf-8")
    odd = ODD[start]
    places = len(list(_leaves(json.loads(before)["annotation"])))
    for number in range(start, places, 151):
        values = json.loads(before)
        holder, key = list(_leaves(values["annotation"]))[number]
        holder[key] = odd
        path.write_text(json.dumps(values), "utf-8")
        for page in ("/", "/papers/one", "/papers/one/stand", "/papers/one/pages/0.png"):
            assert client.get(page, headers={"Accept": "text/html"}).status_code in (200, 400)
        assert client.post("/export").status_code in (200, 400)


def test_damaged_decisions_are_reported_in_the_list_and_on_the_page(
    client: TestClient, folder: Path
) -> None:
    (folder / "one.decisions.json").write_text("{", "utf-8")
    assert "one.decisions.json" in client.get("/").text
    assert client.get("/papers/one", headers={"Accept": "text/html"}).status_code == 400
    assert client.post("/export").status_code == 400
    assert (folder / "one.decisions.json").read_text("utf-8") == "{"


def test_all_is_written_and_it_is_said_what_is_not_confirmed(
    client: TestClient, folder: Path
) -> None:
    Review(folder).decide("two", Accept(item="c1.1"), 0)
    step(client, 0, kind="reference", item="r9", url="https://example.org/nine")
    step(client, 1, kind="finish")
    answer = client.post("/export").json()
    assert (answer["papers"], answer["unfinished"]) == (2, 1)
    assert "1 paper not fully confirmed yet" in answer["message"]
    assert "[9]\thttps://example.org/nine\n" in (folder / "one.dois").read_text("utf-8")
    page = client.get("/").text
    assert "1 of 2 confirmed" in page


PROGRAM = """
import sys
from pathlib import Path
from citebed.web.review import serve_review

serve_review(Path(sys.argv[1]), browser=False, started=lambda at: print(at, flush=True))
print("stopped")
"""


def test_ctrl_c_ends_it_and_the_child_that_draws(folder: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]
        address = urlsplit(process.stdout.readline().strip())
        connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=30)
        connection.request("GET", f"/?{address.query}")
        first = connection.getresponse()
        first.read()
        cookie = {"Cookie": first.headers["set-cookie"].partition(";")[0]}
        connection.request("GET", "/papers/one/pages/0.png", headers=cookie)
        assert connection.getresponse().read()[:4] == b"\x89PNG"
        process.send_signal(signal.SIGINT)
        said, complained = process.communicate(timeout=30)
        connection.close()
    assert (said, complained, process.returncode) == ("stopped\n", "", 0)
