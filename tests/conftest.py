"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


def find_shared_data() -> Path | None:
    """The folder of real data: ``$CITEBED_DATA``, else ``../shared/data`` beside the checkout."""
    given = os.environ.get("CITEBED_DATA")
    folder = Path(given) if given else REPOSITORY.parent / "shared" / "data"
    return folder if (folder / "README.md").is_file() else None


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data that is not part of the project; the test is reported as not run without it."""
    folder = find_shared_data()
    if folder is None:
        pytest.skip("real data is not here: set CITEBED_DATA to its folder")
    return folder
