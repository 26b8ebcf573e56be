"""Collections with an index."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from citebed.retrieval.index.building import IndexOptions, build_index


@pytest.fixture(scope="session")
def acm_cr_indexed(acm_cr: Path) -> Path:
    """ACM-CR with an index, in a folder beside the collection; made once, not to be changed."""
    folder = acm_cr.with_name("acm-cr-indexed")
    with acm_cr.with_name("acm-cr-indexed.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "index" / "index.json").exists():
            folder.mkdir(exist_ok=True)
            for path in acm_cr.iterdir():
                if not path.name.startswith(".") and not (folder / path.name).exists():
                    (folder / path.name).symlink_to(path)
            build_index(folder, IndexOptions())
    return folder
