"""Jobs: begun, watched, cancelled, killed; whatever happens, the collection is whole."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.unit.web.workbench import (  # noqa: F401 - a fixture
    PATIENCE,
    _jobs_here,
    entry,
    files,
    finished,
    workbench,
)

import citebed
from citebed.errors import CitebedError
from citebed.web.workbench import jobs as keeping
from citebed.web.workbench.jobs import JobRequest, Jobs, TooManyJobs

MANY = "".join(entry(number) for number in range(20_000))
"""A file that takes a second or two to read."""
AT = "/api/collections/demo"


@pytest.fixture
def folder(demo_indexed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_indexed, tmp_path / "demo"))


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    with workbench(folder, home=folder.parent) as made:
        yield made


def until(is_so: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def process_of(client: TestClient, job_id: str) -> subprocess.Popen[bytes]:
    """The process of a job, once it has said something."""
    works = client.app.state.site.jobs._entries  # type: ignore[attr-defined]
    until(lambda: works[job_id].job.step)
    process = works[job_id].process
    assert process is not None
    return process


def contents(folder: Path) -> dict[str, bytes]:
    """All that is in a collection, but for its lock."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.mark.usefixtures("_jobs_here")
def test_a_search_puts_its_run_among_the_collections(client: TestClient, folder: Path) -> None:
    asked = {"queries": "paragraphs", "model": "bm25", "depth": 50}
    begun = client.post(f"{AT}/jobs/search", json=asked)
    assert begun.status_code == 202
    job = finished(client, begun.json()["job_id"])
    assert (job["state"], job["files"][0]) == ("done", "runs/bm25.paragraphs.run")
    written = (folder / "runs" / "bm25.paragraphs.run").read_bytes()
    again = finished(client, client.post(f"{AT}/jobs/search", json=asked).json()["job_id"])
    assert again["files"][0] == "runs/bm25.paragraphs-2.run"
    assert (folder / "runs" / "bm25.paragraphs.run").read_bytes() == written
    listed = client.get("/api/jobs").json()["rows"]
    assert [each["job_id"] for each in listed] == [again["job_id"], job["job_id"]]


def test_impossible_searches_are_refused_at_once(client: TestClient) -> None:
    for asked in (
        {"queries": "none of these"},
        {"queries": "../../etc/passwd"},
        {"queries": "paragraphs", "model": "no such model"},
        {"queries": "paragraphs", "model": "bm25+rerank(with=/etc)"},
        {"queries": "paragraphs", "model": "bm25+learned(with=/etc/passwd)"},
        {"queries": "paragraphs", "fields": "no such field"},
    ):
        answer = client.post(f"{AT}/jobs/search", json=asked)
        assert answer.status_code == 400
        assert answer.json()["message"]
    assert not client.get("/api/jobs").json()["rows"]
    assert client.get("/api/jobs/0").status_code == 404


def test_a_job_that_is_cancelled_leaves_nothing(client: TestClient, folder: Path) -> None:
    before = contents(folder)
    begun = client.post(f"{AT}/import/files", files=files(("many.bib", MANY))).json()
    process_of(client, begun["job_id"])
    client.post(f"/api/jobs/{begun['job_id']}/cancel")
    job = finished(client, begun["job_id"])
    assert job["state"] == "cancelled"
    assert contents(folder) == before
    assert client.post(f"/api/jobs/{begun['job_id']}/cancel").json()["state"] == "cancelled"


def test_a_job_that_is_killed_leaves_the_collection_whole(client: TestClient, folder: Path) -> None:
    before = contents(folder)
    begun = client.post(f"{AT}/import/files", files=files(("many.bib", MANY))).json()
    process_of(client, begun["job_id"]).kill()
    job = finished(client, begun["job_id"])
    assert job["state"] == "failed"
    assert "unchanged" in job["message"]
    # The next change of the collection removes its unfinished files.
    one = client.post(f"{AT}/import/files", files=files(("one.bib", entry(1)))).json()
    assert finished(client, one["job_id"])["state"] == "done"
    assert citebed.open(folder).documents.height == 154
    kept = {name: data for name, data in contents(folder).items() if name in before}
    assert kept["queries/paragraphs.jsonl"] == before["queries/paragraphs.jsonl"]


@pytest.mark.parametrize(
    ("where", "how"),
    [(f"{AT}/import/files", "cancelled"), ("/api/collections/files", "failed")],
)
def test_an_import_whose_index_is_not_made_stays_with_its_files(
    client: TestClient, folder: Path, where: str, how: str
) -> None:
    some = "".join(entry(number) for number in range(20_000))
    sent = files(("some.bib", some))
    begun = client.post(where, files=sent, data={"name": "fresh"}).json()
    work = client.app.state.site.jobs._entries[begun["job_id"]]  # type: ignore[attr-defined]
    until(lambda: work.job.step.startswith("indexing") or work.job.is_over)
    if how == "cancelled":
        client.post(f"/api/jobs/{begun['job_id']}/cancel")
    else:
        work.process.kill()
    job = finished(client, begun["job_id"])
    assert job["state"] == how
    assert job["message"].endswith("The imported records are stored. Index the collection again.")
    name = "demo" if where.startswith(AT) else "fresh"
    listed = client.get("/api/collections").json()["rows"]
    assert name in [each["collection"] for each in listed]
    made = citebed.open(folder.parent / name)
    assert made.documents.height >= 2000
    assert any(each["path"].endswith("sources/some.bib") for each in made.sources)
    assert (made.folder / "sources" / "some.bib").read_text() == some


def test_one_at_a_time_and_those_that_wait_can_be_cancelled(client: TestClient) -> None:
    first = client.post(f"{AT}/import/files", files=files(("many.bib", MANY))).json()
    second = client.post(f"{AT}/jobs/index").json()
    assert (first["state"], second["state"]) == ("running", "queued")
    cancelled = client.post(f"/api/jobs/{second['job_id']}/cancel").json()
    assert cancelled["state"] == "cancelled"
    client.post(f"/api/jobs/{first['job_id']}/cancel")
    assert finished(client, first["job_id"])["state"] == "cancelled"


def test_not_more_than_so_many_wait(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MOST_QUEUED", 1)
    jobs = Jobs()
    asked: dict[str, Any] = {"paths": []}
    order = JobRequest(kind="import", what="A", collection="demo", folder=folder, asked=asked)
    check = JobRequest(kind="lint", what="Check", collection="demo", folder=folder)
    try:
        jobs.begin(order)
        assert jobs.begin(check) is jobs.begin(check)  # what is not over need not be done twice
        with pytest.raises(TooManyJobs):
            jobs.begin(order)
    finally:
        jobs.close()
    assert all(job.is_over for job in jobs)
    with pytest.raises(CitebedError):
        jobs.get("no such job")


SERVER = """
import sys
from pathlib import Path
from citebed.web.workbench.server import serve_workbench
tell = lambda address: print(address, flush=True)
serve_workbench([Path(sys.argv[1])], port=0, browser=False, started=tell)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_job_outlives_its_server(folder: Path, tmp_path: Path, how: signal.Signals) -> None:
    import httpx

    before = contents(folder)
    surroundings = os.environ | {"XDG_STATE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", SERVER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=surroundings) as server:
        assert server.stdout is not None
        address, _, key = server.stdout.readline().strip().partition("/?key=")
        with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}) as client:
            begun = client.post(f"{AT}/import/files", files=files(("many.bib", MANY))).json()
            until(lambda: client.get(f"/api/jobs/{begun['job_id']}").json()["step"])
        children = children_of(server.pid)
        assert children
        server.send_signal(how)
        server.wait(60)
    until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
    assert citebed.open(folder).documents.height == 153
    same = contents(folder)
    assert all(same[name] == data for name, data in before.items())


def children_of(parent: int) -> list[int]:
    """The processes that a process has started, and theirs."""
    threads = Path(f"/proc/{parent}/task")
    own = [
        int(pid) for task in threads.iterdir() for pid in (task / "children").read_text().split()
    ]
    return own + [each for child in own for each in children_of(child)]


def test_a_full_temporary_folder_is_named_and_nothing_is_left(
    client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = client.post(f"{AT}/drafts", json={"text": "a draft"}).json()["draft_id"]
    before = contents(folder)

    def fail(_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.SpooledTemporaryFile.rollover", fail)
    sent = files(("large.bib", "%" * (2 << 20)))
    for path in (f"{AT}/import/files", "/api/collections/files", f"{AT}/drafts/{draft}/files"):
        answer = client.post(path, files=sent, data={"name": "fresh"})
        told = {"message": f"{tempfile.gettempdir()}: No space left on device"}
        assert (answer.status_code, answer.json()) == (503, told)
    assert contents(folder) == before
    assert not (folder.parent / "fresh").exists()


@pytest.mark.usefixtures("_jobs_here")
def test_uploads_that_are_refused_leave_no_files_and_keep_no_name(
    client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = files(("new.bib", entry(1)))
    before = contents(folder)
    with monkeypatch.context() as crowded:
        crowded.setattr(keeping, "MOST_QUEUED", 0)
        assert client.post(f"{AT}/import/files", files=sent).status_code == 429
        new = client.post("/api/collections/files", files=sent, data={"name": "fresh"})
        assert new.status_code == 429
    assert contents(folder) == before
    assert not (folder.parent / "fresh").exists()
    again = client.post("/api/collections/files", files=sent, data={"name": "fresh"})
    assert again.status_code == 202
    assert finished(client, again.json()["job_id"])["state"] == "done"
