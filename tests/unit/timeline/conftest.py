"""What the tests of timelines share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from citebed.timeline.streams import stream_runs as runs
from citebed.timeline.streams import tally as streams


@pytest.fixture(params=["as it is", "batches of three lines"])
def batching(request: pytest.FixtureRequest) -> Iterator[None]:
    """Once as runs are read, once in many small batches for several workers."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "as it is":
            patch.setattr(runs, "_ROWS", 3)
            patch.setattr(streams, "_WORKERS", 4)
        yield
