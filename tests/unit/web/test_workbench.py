"""The workbench's front door: who comes in, and that the API is the one door's answer."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import citebed
from citebed.web.access import LOCAL, TOKEN_HEADER, Keys
from citebed.web.workbench.app import create_workbench
from citebed.web.workbench.open_collections import OpenCollections

KEY = "the key of this test"
TEXT = "When a query is short, pseudo-relevance feedback adds terms from the documents found first."


@pytest.fixture(scope="module")
def folder(demo_indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(demo_indexed, tmp_path_factory.mktemp("workbench") / "demo"))


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    app = create_workbench(OpenCollections([folder]), Keys(KEY), hosts=frozenset(LOCAL))
    with TestClient(app, base_url="http://127.0.0.1") as made:
        made.headers["Authorization"] = f"Bearer {KEY}"
        yield made


def test_the_api_answers_as_the_python_door(client: TestClient, folder: Path) -> None:
    answer = client.post("/api/collections/demo/recommend", json={"text": TEXT})
    rows = answer.json()["rows"]
    assert rows
    assert [row["doc_id"] for row in rows] == [
        each.doc_id for each in citebed.open(folder).recommend(TEXT, each="text")
    ]


def test_only_the_key_lets_in(client: TestClient) -> None:
    del client.headers["Authorization"]
    assert client.get("/api/openapi.json").status_code == 401
    assert client.get("/?key=wrong").status_code == 403
    assert client.get(f"/?key={KEY}").status_code == 200  # and a cookie is had from now on
    assert client.get("/api/openapi.json").status_code == 200


def test_a_page_from_elsewhere_has_the_cookie_and_no_token(client: TestClient) -> None:
    del client.headers["Authorization"]
    client.get(f"/?key={KEY}")
    asked = {"text": TEXT}
    assert client.post("/api/collections/demo/recommend", json=asked).status_code == 403
    own = {TOKEN_HEADER: Keys(KEY).token}
    assert client.post("/api/collections/demo/recommend", json=asked, headers=own).is_success


def test_other_names_of_this_machine_get_no_answer(client: TestClient) -> None:
    answer = client.get("/", headers={"Host": "attacker.example"})
    assert answer.status_code == 421


def test_a_draft_keeps_its_basket_and_what_was_said(client: TestClient) -> None:
    made = client.post("/api/collections/demo/drafts", json={"text": TEXT}).json()
    at = f"/api/collections/demo/drafts/{made['draft_id']}"
    client.post(f"{at}/basket", json={"doc_id": "a"})
    client.post(f"{at}/basket", json={"doc_id": "b"})
    client.post(f"{at}/basket", json={"doc_id": "a", "taken": False})
    client.post(f"{at}/judgements", json={"doc_id": "c", "relevance": 0})
    found = client.get(at).json()
    assert (found["text"], found["basket"], found["judged"]) == (TEXT, ["b"], {"c": 0})
    assert client.get(f"{at}x").status_code == 404
