"""A collection over HTTP: what is in it, files that come in, and new collections."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.web.workbench import (  # noqa: F401 - a fixture
    _jobs_here,
    entry,
    files,
    finished,
    workbench,
)

import citebed
from citebed.errors import CitebedError
from citebed.files.uploads import check_allowed_path, clean_name, clean_path

AT = "/api/collections/demo"
TITLE = "On the migration of arctic terns over frozen lakes"


pytestmark = pytest.mark.usefixtures("_jobs_here")


@pytest.fixture
def folder(demo_indexed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_indexed, tmp_path / "here" / "demo"))


@pytest.fixture
def client(folder: Path, tmp_path: Path) -> Iterator[TestClient]:
    (tmp_path / "may").mkdir()
    with workbench(folder, home=tmp_path / "here", allowed=[tmp_path / "may"]) as made:
        yield made


def test_what_is_in_it_is_what_stats_says(client: TestClient, folder: Path) -> None:
    found = client.get(f"{AT}/stats").json()
    assert found["rows"] == citebed.open(folder).stats().rows
    assert found["tables"][0]["caption"] == "Paragraphs and sentences"
    stands = client.get(AT).json()
    assert (stands["documents"], stands["index"], stands["problems"]) == (153, "current", 0)
    assert client.get("/api/collections").json()["rows"] == [stands]
    assert client.get(f"{AT}/sources").json()["total"] == 2
    assert client.get(f"{AT}/problems").json() == {"rows": [], "total": 0}


def test_files_that_come_in_are_kept_indexed_and_found(client: TestClient, folder: Path) -> None:
    sent = files(("mine/new.bib", entry(1, TITLE) + entry(2)), ("notes.bib", entry(3)))
    begun = client.post(f"{AT}/import/files", files=sent)
    assert begun.status_code == 202
    assert begun.headers["Location"] == f"/api/jobs/{begun.json()['job_id']}"
    job = finished(client, begun.json()["job_id"])
    assert job["state"] == "done", job
    labels = [label for label, _ in job["lines"]]
    assert {"read", "kept", "index"} <= set(labels)
    account = {row["name"]: row["value"] for row in job["rows"] if row["group"] == "account"}
    assert (account["documents"], account["missing"]) == (156, 0)
    assert (folder / "sources" / "mine" / "new.bib").is_file()
    asked = {"text": "terns migrate over frozen lakes in the arctic", "min_probability": 0}
    rows = client.post(f"{AT}/recommend", json=asked).json()["rows"]
    assert rows[0]["title"] == TITLE


def test_the_same_file_again_is_the_same_and_another_of_its_name_is_another(
    client: TestClient, folder: Path
) -> None:
    for text in (entry(1), entry(1), entry(2)):
        begun = client.post(f"{AT}/import/files", files=files(("a.bib", text))).json()
        assert finished(client, begun["job_id"])["state"] == "done"
    assert sorted(os.listdir(folder / "sources")) == ["a-2.bib", "a.bib"]
    assert citebed.open(folder).documents.height == 155


def test_what_cannot_be_read_is_reported_and_not_kept(client: TestClient, folder: Path) -> None:
    begun = client.post(f"{AT}/import/files", files=files(("a.bib", "no bibliography"))).json()
    job = finished(client, begun["job_id"])
    assert job["state"] == "failed"
    assert "nothing was imported" in job["message"]
    assert os.listdir(folder / "sources") == []


def test_no_name_leads_out(client: TestClient, folder: Path, tmp_path: Path) -> None:
    names = ("../../out.bib", "/abs.bib", "..\\..\\back.bib", ".hidden/.x.bib")
    sent = files(*((name, entry(at)) for at, name in enumerate(names)))
    begun = client.post(f"{AT}/import/files", files=sent).json()
    assert finished(client, begun["job_id"])["state"] == "done"
    inside = {str(path.relative_to(folder / "sources")) for path in folder.rglob("*.bib")}
    assert inside == {"out.bib", "abs.bib", "back.bib", "hidden/x.bib"}
    assert not [path for path in tmp_path.rglob("*.bib") if folder not in path.parents]


def test_only_files_come_in(client: TestClient) -> None:
    assert client.post(f"{AT}/import/files", json={"files": ["/etc/passwd"]}).status_code == 400
    assert client.post(f"{AT}/import/files", files={"other": b"x"}).status_code == 400
    assert client.post(f"{AT}/import/files", data={"name": "x"}).status_code == 400


def test_sources_that_are_a_link_are_refused(
    client: TestClient, folder: Path, tmp_path: Path
) -> None:
    (folder / "sources").symlink_to(tmp_path / "may")
    answer = client.post(f"{AT}/import/files", files=files(("a.bib", entry(1))))
    assert answer.status_code == 400
    assert "link" in answer.json()["message"]


def test_paths_of_the_machine_only_where_it_is_allowed(client: TestClient, tmp_path: Path) -> None:
    inside, outside = tmp_path / "may" / "a.bib", tmp_path / "b.bib"
    inside.write_text(entry(1))
    outside.write_text(entry(2))
    (tmp_path / "may" / "link.bib").symlink_to(outside)
    refused = [outside, tmp_path / "may" / "link.bib", tmp_path / "may" / ".." / "b.bib"]
    refused += [tmp_path / "may", tmp_path / "none", Path("/etc/passwd"), Path("a\0b")]
    for path in refused:
        answer = client.post(f"{AT}/import", json={"paths": [str(path)]})
        assert answer.status_code == 400, path
    begun = client.post(f"{AT}/import", json={"paths": [str(inside)]}).json()
    assert finished(client, begun["job_id"])["state"] == "done"


def test_nothing_is_allowed_unless_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match="--allow"):
        check_allowed_path(str(tmp_path), [])


def test_a_new_collection_is_made_of_files(client: TestClient) -> None:
    sent = {"files": files(("a.bib", entry(1) + entry(2))), "data": {"name": "My / papers.."}}
    begun = client.post("/api/collections/files", **sent).json()  # type: ignore[arg-type]
    job = finished(client, begun["job_id"])
    assert job["state"] == "done", job
    assert job["collection"] == "My _ papers"
    stands = client.get("/api/collections/My _ papers").json()
    assert (stands["documents"], stands["index"]) == (2, "current")
    again = client.post("/api/collections/files", **sent)  # type: ignore[arg-type]
    assert again.status_code == 400
    assert "already exists" in again.json()["message"]


def test_a_new_collection_that_comes_to_nothing_leaves_no_folder(
    client: TestClient, tmp_path: Path
) -> None:
    sent = {"files": files(("a.bib", "no bibliography")), "data": {"name": "none"}}
    begun = client.post("/api/collections/files", **sent).json()  # type: ignore[arg-type]
    assert finished(client, begun["job_id"])["state"] == "failed"
    assert os.listdir(tmp_path / "here") == ["demo"]
    assert client.get("/api/collections/none").status_code == 404
    nameless = client.post("/api/collections/files", files=files(("a.bib", entry(1))))
    assert nameless.status_code == 400
    assert client.post("/api/collections/files", data={"name": "x"}).status_code == 400
    assert os.listdir(tmp_path / "here") == ["demo"]


def test_without_a_collection_the_front_door_offers_one(tmp_path: Path) -> None:
    with workbench(home=tmp_path) as client:
        page = client.get("/", headers={"Accept": "text/html"})
        assert "Try the demo" in page.text
        job = finished(client, client.post("/api/demo").json()["job_id"])
        assert job["state"] == "done"
        assert client.get("/").url.path == "/c/demo-collection/recommend"
        assert "demo-collection" in client.get("/?all=1").text
    assert os.listdir(tmp_path) == ["demo-collection"]


def test_the_demo_leaves_others_work_alone(tmp_path: Path) -> None:
    (tmp_path / "demo-collection").mkdir()
    (tmp_path / "demo-collection" / "thesis.tex").write_text("mine")
    with workbench(home=tmp_path) as client:
        job = finished(client, client.post("/api/demo").json()["job_id"])
    assert job["collection"] == "demo-collection-2"


def test_a_check_says_what_is_wrong_and_how_to_fix_it(client: TestClient, folder: Path) -> None:
    begun = client.post(f"{AT}/jobs/lint").json()
    job = finished(client, begun["job_id"])
    wanted = citebed.open(folder).lint().rows
    assert [{name: row[name] for name in wanted[0]} for row in job["rows"]] == wanted
    assert all(row["mend"] for row in job["rows"])


@given(st.text())
def test_any_name_is_made_clean(name: str) -> None:
    clean = clean_name(name)
    assert clean
    assert not clean.startswith((".", "-"))
    assert len(clean.encode()) <= 120
    assert clean_name(clean) == clean
    path = clean_path(name)
    assert not path.is_absolute()
    assert ".." not in path.parts
