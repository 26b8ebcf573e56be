"""One engine for all tests of a process: Sail, which starts in a moment and needs no Java."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import citebed
from citebed.distributed.engine import Engine


@pytest.fixture(scope="package")
def engine() -> Iterator[Engine]:
    pytest.importorskip("pysail", reason="the extra 'spark' is not installed")
    with citebed.engine("local") as opened:
        yield opened
