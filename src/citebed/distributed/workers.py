"""Whether workers have what they need, asked before they are given work.

What asks them needs nothing of citebed, and tells what is missing as a row: a task that fails is
tried four times by Spark, each in a Python that starts anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from citebed.distributed.troubles import in_our_words
from citebed.errors import CitebedError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    Look = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def check_workers(session: SparkSession) -> None:
    """Refuse workers that have no citebed, or not what it needs."""
    told = session.range(0, 1, 1, 1).mapInArrow(_looking(), "missing string").toArrow()
    for missing in told["missing"].to_pylist():
        if missing is not None:
            raise CitebedError(in_our_words(ModuleNotFoundError(missing)))


def _looking() -> Look:
    """A function within another travels whole, and not as the name of a module that has it."""

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import importlib

        import pyarrow as pa

        for _ in batches:
            missing = None
            try:
                importlib.import_module("citebed.distributed.arrow")
            except ModuleNotFoundError as error:
                missing = str(error)
            yield pa.record_batch({"missing": pa.array([missing], pa.string())})

    return look
