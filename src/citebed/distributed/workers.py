"""Whether workers have what they need, asked before they are given work.

What asks them needs nothing of citebed, and tells what is missing as a row: a task that fails is
tried four times by Spark, each in a Python that starts anew. Where Python itself is missing or
another one, and Spark is driven from here, the first try is enough.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from citebed.distributed.troubles import debugging, in_our_words
from citebed.errors import CitebedError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    Look = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


_EVERY, _MANY = 0.3, 10
"""Seconds between two looks at tasks, and how many of them are looked at."""
_FOR_GOOD = "PYTHON_VERSION_MISMATCH|Cannot run program"
_GROUP, _OF_GROUP = "citebed: whether workers have what they need", "spark.jobGroup.id"


def check_workers(session: SparkSession) -> None:
    """Refuse workers that have no citebed, or not what it needs."""
    asked = session.range(0, 1, 1, 1).mapInArrow(_looking(), "missing string")
    with _first_failure(session):
        told = asked.toArrow()
    for missing in told["missing"].to_pylist():
        if missing is not None:
            raise CitebedError(in_our_words(ModuleNotFoundError(missing)))


@contextmanager
def _first_failure(session: SparkSession) -> Iterator[None]:
    """End what is asked where a task finds no Python, or another one: so would the next try."""
    context: Any = getattr(session, "_sc", None)
    if context is None or debugging():  # of a server tasks are not seen from here
        yield
        return
    done, said = threading.Event(), list[str]()

    def watch() -> None:
        with suppress(Exception):  # Java may be gone, which who asks is told
            while not (said or done.wait(_EVERY)):
                said.extend(text for text in _failures(context) if re.search(_FOR_GOOD, text))
            if said:
                context.cancelJobGroup(_GROUP)

    watching = threading.Thread(target=watch, daemon=True)
    before = context.getLocalProperty(_OF_GROUP)
    context.setLocalProperty(_OF_GROUP, _GROUP)
    watching.start()
    try:
        yield
    except Exception as error:
        if said:
            raise CitebedError(in_our_words(RuntimeError(said[0]))) from error
        raise
    finally:
        done.set()
        watching.join()
        with suppress(Exception):
            context.setLocalProperty(_OF_GROUP, before)


def _failures(context: Any) -> Iterator[str]:
    """What the tasks said that have failed until now."""
    tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
    jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup(_GROUP))
    for stage in (stage for job in jobs if job for stage in job.stageIds):
        tasks = store.taskList(stage, 0, _MANY)
        for task in map(tasks.apply, range(tasks.length())):
            if task.errorMessage().isDefined():
                yield task.errorMessage().get()


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
