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
    """What a command answers on a cluster that nothing befalls."""
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


def test_a_worker_that_is_killed_changes_nothing(
    work: Work, folder: Path, cluster: Cluster, plain: Plain
) -> None:
    with halting(cluster, middle(work, folder, cluster)) as pipe:
        command = Command(folder, [*work.words, *on(cluster)])
        kill(halted(pipe, command).executor)
        assert answered(work, folder, command) == plain(work)


def test_a_driver_that_is_killed_leaves_nothing_half_written(
    work: Work, folder: Path, cluster: Cluster, plain: Plain
) -> None:
    before = written(work, folder)
    with halting(cluster, middle(work, folder, cluster)) as pipe:
        command = Command(folder, [*work.words, *on(cluster)])
        worker = halted(pipe, command).worker
        kill(command.process.pid)
        assert command.ended() == (-9, "")
        kill(worker)
    assert written(work, folder) == before
    assert played(work, folder, cluster) == plain(work)
