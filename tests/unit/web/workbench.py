"""A workbench to ask without a network, and what its jobs are waited for with."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from citebed.web.access import LOCAL, Keys
from citebed.web.workbench.app import create_workbench
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
    """The workbench over some collections, for one who has the key."""
    shelf = OpenCollections(folders, home)
    app = create_workbench(shelf, Keys(KEY), hosts=frozenset(LOCAL), allowed=allowed)
    with TestClient(app, base_url="http://127.0.0.1") as made:
        made.headers["Authorization"] = f"Bearer {KEY}"
        yield made


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
