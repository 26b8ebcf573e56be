"""Every command on a real Spark: as on one machine, also where a worker or the driver is killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.spark.clusters import Cluster, Command, counted, halted, halting, kill, on
from tests.spark.conftest import Answer, answered, written
from tests.spark.works import Work

pytestmark = pytest.mark.spark
Plain = Callable[[Work], Answer]
tasks: dict[tuple[str, str], int] = {}
"""How many tasks a command is on a cluster, as was counted."""


def played(work: Work, folder: Path, cluster: Cluster) -> Answer:
    """Return the result of a command on an undisturbed cluster."""
    counted(cluster)
    answer = answered(work, folder, Command(folder, [*work.words, *on(cluster)]))
    tasks[work.name, cluster.on] = counted(cluster)
    return answer


def middle(work: Work, folder: Path, cluster: Cluster) -> int:
    """A task on the way of a command, which is played for it unless it was before: one that a busy
    machine, which may do some twice, comes to all the same."""
    if (work.name, cluster.on) not in tasks:
        beside = folder / "beside"
        beside.mkdir()
        work.prepare(beside)
        played(work, beside, cluster)
    return max(1, tasks[work.name, cluster.on] // 3)


def test_the_answer_is_that_of_one_machine(
    work: Work, folder: Path, cluster: Cluster, plain: Plain
) -> None:
    assert played(work, folder, cluster) == plain(work)
    assert tasks[work.name, cluster.on]


def test_after_any_kill_nothing_is_lost(
    work: Work, folder: Path, cluster: Cluster, plain: Plain
) -> None:
    """The driver, which leaves nothing half-written; and in the second try, a worker."""
    before, halt = written(work, folder), middle(work, folder, cluster)
    with halting(cluster, halt) as pipe:
        command = Command(folder, [*work.words, *on(cluster)])
        worker = halted(pipe, command).worker
        kill(command.process.pid)
        assert command.ended() == (-9, "")
        kill(worker)
    assert written(work, folder) == before
    with halting(cluster, halt) as pipe:
        command = Command(folder, [*work.words, *on(cluster)])
        kill(halted(pipe, command).executor)
        assert answered(work, folder, command) == plain(work)
