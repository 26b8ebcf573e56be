"""Real Sparks for tests: two executors, each a process of its own, driven from here or by a Connect
server; and commands on them that are halted in the middle."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

MASTER = "local-cluster[2,1,1024]"
WORKERS = Path(__file__).with_name("workers")
_QUIET = ("spark.ui.enabled=false", "spark.sql.shuffle.partitions=8")


class Cluster(NamedTuple):
    """A Spark at an address, and the folder by which its workers are halted."""

    on: str
    conf: tuple[str, ...]
    halts: Path


def settings(halts: Path) -> tuple[str, ...]:
    """Settings with which workers count their tasks and halt."""
    return (
        *_QUIET,
        "spark.python.worker.module=pyspark_halting",
        f"spark.executorEnv.PYTHONPATH={WORKERS}",
        f"spark.executorEnv.CITEBED_HALTS={halts}",
    )


@contextmanager
def connect_server(conf: Sequence[str], folder: Path) -> Iterator[str]:
    """The address of a server of Spark Connect, which has a cluster of its own."""
    import pyspark

    home = Path(pyspark.__file__).parent
    name = "org.apache.spark.sql.connect.service.SparkConnectServer"
    words = [str(home / "bin" / "spark-submit"), "--class", name, "--master", MASTER]
    for each in ("spark.connect.grpc.binding.port=0", *conf):
        words += ["--conf", each]
    environment = {
        **os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable,
        "SPARK_CONNECT_MODE": "0",
    }  # fmt: skip
    with subprocess.Popen(
        [*words, "spark-internal"], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
    ) as server:  # fmt: skip
        port, reader = _port(server.stdout)
        try:
            yield f"sc://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()
            reader.join()


def _port(said: IO[str] | None) -> tuple[int, threading.Thread]:
    """The port that a server says it listens at; and who reads what it says after that."""
    assert said is not None
    for line in said:
        if "Spark Connect server started at" in line:
            reader = threading.Thread(target=lambda: list(said))
            reader.start()
            return int(line.strip().rpartition(":")[2]), reader
    raise AssertionError("the server of Spark Connect did not start")


class Command:
    """``citebed`` in a process of its own, in a folder."""

    def __init__(self, folder: Path, words: Sequence[str]) -> None:
        self._out = folder / "printed"
        with self._out.open("w") as out, (folder / "notes").open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "citebed", *words], cwd=folder, stdout=out, stderr=err
            )
        self._err = folder / "notes"

    def ended(self) -> tuple[int, str]:
        """The exit code and what it printed, when it ends; what it said besides is ``notes``."""
        return self.process.wait(), self._out.read_text()

    @property
    def notes(self) -> str:
        """Return the notes on standard error."""
        return self._err.read_text()


def on(cluster: Cluster) -> list[str]:
    """The options of a command that works on a cluster."""
    return ["--on", cluster.on, *(word for each in cluster.conf for word in ("--spark-conf", each))]


def counted(cluster: Cluster) -> int:
    """How many tasks workers began since this was asked last."""
    begun = list(cluster.halts.glob("task-*"))
    for each in begun:
        each.unlink()
    return len(begun)


class Halted(NamedTuple):
    """A Python worker that waits before a task to be killed, and whose executor's it is."""

    worker: int
    executor: int


@contextmanager
def halting(cluster: Cluster, before: int) -> Iterator[int]:
    """Let a worker halt before a task; return the end of a pipe that announces it."""
    counted(cluster)
    pipe = cluster.halts / "halted"
    os.mkfifo(pipe)
    (cluster.halts / "halt-before").write_text(str(before))
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield reading
    finally:
        os.close(reading)
        pipe.unlink()
        (cluster.halts / "halt-before").unlink(missing_ok=True)


def halted(reading: int, command: Command) -> Halted:
    """The worker that has halted; fails where the command ends before."""
    ends = os.pidfd_open(command.process.pid)
    try:
        ready, _, _ = select.select([reading, ends], [], [])
        assert reading in ready, f"the command ended before the task: {command.notes}"
    finally:
        os.close(ends)
    worker, executor = map(int, os.read(reading, 100).split())
    return Halted(worker, executor)


def kill(process: int) -> None:
    """Kill a process as the machine would that runs out of memory."""
    os.kill(process, signal.SIGKILL)


def has_spark() -> str | None:
    """Why no real Spark can be started, if none can."""
    try:
        import pyspark.core.context  # noqa: F401
    except ImportError:
        return "the whole of pyspark is not installed (the extra 'spark-full')"
    return None if shutil.which("java") else "Java is not installed"
