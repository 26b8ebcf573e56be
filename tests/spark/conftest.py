"""Real Sparks, each once for all tests of a file, and the answers of one machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.kills import content
from tests.spark.clusters import MASTER, Cluster, Command, connect_server, has_spark, settings
from tests.spark.works import PART_SIZE, WORKS, Work

Answer = tuple[str, object]
"""The output of a command, and the files that it made."""


@pytest.fixture(scope="session", autouse=True)
def _spark_is_here() -> None:
    if why := has_spark():
        pytest.skip(why)


@pytest.fixture(scope="module", params=["local-cluster", "connect"])
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A Spark with two executors, driven by the command or by a Connect server of its own."""
    halts = tmp_path_factory.mktemp("halts")
    conf = settings(halts)
    if request.param == "local-cluster":
        yield Cluster(MASTER, conf, halts)
        return
    with connect_server(conf, tmp_path_factory.mktemp("server")) as address:
        yield Cluster(address, (), halts)


@pytest.fixture(params=WORKS, ids=lambda work: work.name)
def work(request: pytest.FixtureRequest) -> Work:
    """One command after the other."""
    return request.param


@pytest.fixture
def folder(work: Work, tmp_path: Path) -> Path:
    """A folder with what the command needs."""
    work.prepare(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Work], Answer]:
    """Return the result on one machine."""

    @cache
    def answer(work: Work) -> Answer:
        folder = tmp_path_factory.mktemp("plain")
        if work.alone:
            work.alone(folder)
            return "", compared(work, folder)
        work.prepare(folder)
        words = [word for word in work.words if word not in PART_SIZE]
        return answered(work, folder, Command(folder, words))

    return answer


def answered(work: Work, folder: Path, command: Command) -> Answer:
    """Return the output of a command that succeeds."""
    code, printed = command.ended()
    assert code == 0, command.notes
    assert not re.search(r"WARN|\[Stage|\tat ", command.notes)
    return printed, compared(work, folder)


def compared(work: Work, folder: Path) -> object:
    """Return the files of a command that must equal those of one machine."""
    files = [file for pattern in work.parts for file in sorted(folder.glob(pattern))]
    parts = {str(file.relative_to(folder)): file.read_bytes() for file in files}
    return {**written(work, folder), "parts": parts}


def written(work: Work, folder: Path) -> dict[str, dict[str, bytes]]:
    """The files of each of a command's outputs."""
    return {name: content(folder / name) for name in work.outputs}
