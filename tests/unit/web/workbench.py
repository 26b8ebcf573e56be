"""A workbench that tests call without a network, and how they wait for its jobs."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from citebed.web.access import LOCAL, Keys
from citebed.web.workbench import jobs
from citebed.web.workbench.app import create_workbench
from citebed.web.workbench.job_process import work
from citebed.web.workbench.open_collections import OpenCollections

KEY = "the key of this test"
PATIENCE = 120.0


def entry(number: int, title: str = "") -> str:
    """A made-up paper in BibTeX."""
    named = title or f"A made up paper on subject number {number}"
    return (
        f"@article{{made{number},\n  title = {{{named}}},\n  author = {{Maker, Ann}},\n"
        f"  year = {{2019}},\n  abstract = {{We look at subject {number} in some depth.}},\n}}\n"
    )


@contextmanager
def workbench(
    *folders: Path, home: Path | None = None, allowed: Sequence[Path] = ()
) -> Iterator[TestClient]:
    """Return a workbench with some collections, for a user with the key."""
    shelf = OpenCollections(folders, home)
    app = create_workbench(shelf, Keys(KEY), hosts=frozenset(LOCAL), allowed=allowed)
    with TestClient(app, base_url="http://127.0.0.1") as made:
        made.headers["Authorization"] = f"Bearer {KEY}"
        yield made


class _TaskHere:
    """A job's process, for tests that are not about processes: the task runs in this one."""

    def __init__(self) -> None:
        self.stdin, self.stdout = io.BytesIO(), self._run()
        self._code = 0

    def _run(self) -> Iterator[bytes]:
        output = io.StringIO()
        self._code = work(io.StringIO(self.stdin.getvalue().decode()), output)
        yield from output.getvalue().encode().splitlines()

    def wait(self) -> int:
        return self._code


@pytest.fixture
def _jobs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run jobs in this process, which is many times faster."""
    monkeypatch.setattr(jobs, "_start_process", lambda: nullcontext(_TaskHere()))


def finished(client: TestClient, job_id: str) -> dict[str, Any]:
    """A job, once it is over."""
    end = time.monotonic() + PATIENCE
    while True:
        job: dict[str, Any] = client.get(f"/api/jobs/{job_id}").json()
        if job["state"] in ("done", "failed", "cancelled"):
            return job
        assert time.monotonic() < end, job
        time.sleep(0.05)


def files(*named: tuple[str, str]) -> list[tuple[str, tuple[str, bytes]]]:
    """Files as a form sends them: names and texts."""
    return [("files", (name, text.encode())) for name, text in named]
