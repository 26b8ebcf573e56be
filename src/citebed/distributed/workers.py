"""Whether workers have what they need, asked before they are given work.

What asks them needs nothing of citebed, and tells what is missing as a row: a task that fails is
tried four times by Spark, each in a Python that starts anew. Where Python itself is missing or
another one, and Spark is driven from here, the first try is enough.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from citebed.distributed.troubles import debugging, in_our_words, known
from citebed.errors import CitebedError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    Look = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


_EVERY, _MANY = 0.3, 10
"""Seconds between two looks at tasks, and how many of them are looked at."""


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
    """End what is asked where a task fails for a reason that a second try would have, too."""
    context: Any = getattr(session, "_sc", None)
    if context is None or debugging():  # of a server tasks are not seen from here
        yield
        return
    done, told = threading.Event(), list[str]()

    def watch() -> None:
        with suppress(Exception):  # Java may be gone, which who asks is told
            while not (told or done.wait(_EVERY)):
                told.extend(words for text in _failures(context) if (words := known(text)))
            if told:
                context.cancelAllJobs()

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    except Exception as error:
        if told:
            raise CitebedError(told[0]) from error
        raise
    finally:
        done.set()
        watching.join()


def _failures(context: Any) -> Iterator[str]:
    """What the tasks said that have failed until now."""
    store = context._jsc.sc().statusStore()
    stages = store.activeStages()
    for stage in map(stages.apply, range(stages.length())):
        if stage.numFailedTasks():
            tasks = store.taskList(stage.stageId(), stage.attemptId(), _MANY)
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
