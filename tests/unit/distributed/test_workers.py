"""Whether workers have what they need: asked once where a second try would say the same."""

from __future__ import annotations

import threading
from types import SimpleNamespace as Made
from typing import Any

import pytest

from citebed.distributed import sessions
from citebed.errors import CitebedError

MISMATCH = (
    "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than that in driver: "
    "3.11, PySpark cannot run with different minor versions."
)


class Session:
    """A Spark driver whose tasks fail and are retried until the test ends that, or for a second."""

    def __init__(self, said: str) -> None:
        self._sc, self.said = self, said
        self.cancelled, self.properties = threading.Event(), dict[str, Any]()

    # what Spark has of it
    def range(self, *_: int) -> Session:
        return self

    def mapInArrow(self, *_: Any) -> Session:
        return self

    def toArrow(self) -> Any:
        ended = self.cancelled.wait(1)
        raise RuntimeError("cancelled" if ended else "failed four times")

    def getLocalProperty(self, name: str) -> Any:
        return self.properties.get(name)

    def setLocalProperty(self, name: str, value: Any) -> None:
        self.properties[name] = value

    def cancelJobGroup(self, group: str) -> None:
        assert group == self.properties["spark.jobGroup.id"]
        self.cancelled.set()

    def statusTracker(self) -> Any:
        return Made(
            getJobIdsForGroup=lambda group: [1, 2] if group in self.properties.values() else [],
            getJobInfo=lambda job: Made(stageIds=[7]) if job == 1 else None,
        )

    @property
    def _jsc(self) -> Any:
        fine, failed = Made(isDefined=lambda: False), Made(isDefined=lambda: True)
        failed.get = lambda: self.said
        tasks = [Made(errorMessage=lambda each=each: each) for each in (fine, failed)]
        found = Made(length=lambda: len(tasks), apply=tasks.__getitem__)
        return Made(sc=lambda: Made(statusStore=lambda: Made(taskList=lambda *_: found)))


def test_another_python_is_reported_at_the_first_try() -> None:
    session: Any = Session(MISMATCH)
    with pytest.raises(CitebedError, match=r"workers run Python 3\.12, and this is Python 3\.11"):
        sessions.check_workers(session)
    assert session.cancelled.is_set()
    assert session.properties == {"spark.jobGroup.id": None}


@pytest.mark.parametrize("said", ["ExecutorLostFailure: exit code 137", "something else"])
def test_what_may_be_well_the_next_time_is_tried_again(said: str) -> None:
    session: Any = Session(said)
    with pytest.raises(RuntimeError, match="four times"):
        sessions.check_workers(session)
