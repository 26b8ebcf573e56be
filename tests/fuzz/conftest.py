"""Fixtures that the tests of the fuzzer share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fuzz.bases import make
from tests.fuzz.fuzzing import Worker
from tests.shared import Once


@pytest.fixture(scope="session")
def bases(once: Once) -> Path:
    """The starting points of cases; do not change them."""
    return once("fuzz-bases", make)


@pytest.fixture(scope="session")
def worker(tmp_path_factory: pytest.TempPathFactory, bases: Path) -> Iterator[Worker]:
    made = Worker(tmp_path_factory.mktemp("worker"), bases)
    yield made
    made.close()
