"""Spark masters: Spark with Java, driven from this process.

Java's output goes to a temporary file, because a start prints a dozen lines of warnings. Use
``--debug``, or a Spark setting for its log, to see it.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from citebed.distributed.errors import debugging, translate_error
from citebed.errors import CitebedError, import_extra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SECONDS = 20
"""The timeout of a connection."""


def check_reachable(address: str, port: int, who: str) -> None:
    """Raise if nothing listens at an address. ``port``: the default; ``who``: the server."""
    try:
        found = urlsplit(address)
        place = (found.hostname or "", found.port or port)
        socket.create_connection(place, SECONDS).close()
    except (OSError, ValueError) as error:
        raise CitebedError(
            f"no answer from {address} ({getattr(error, 'strerror', None) or error}). Is {who} "
            "running at this address?"
        ) from error


MASTERS = re.compile(r"local\[[^\]]+\]|local-cluster\[.+\]|spark://.+|yarn|k8s://.+")
_STANDALONE = "spark://"
_LONGEST = 22
"""Maximum seconds to wait for a master. With the start of Java, an error appears within half a
minute.
"""
_LOUD = {"spark.log.level", "spark.ui.showConsoleProgress"}
"""Each of these settings makes Spark's output visible."""


@contextmanager
def open_master_session(master: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Open a session of a Spark that this process drives."""
    import_extra("spark-full", "pyspark.core.context")
    _check_installed()
    # Spark would try for a minute to reach an address that does not answer.
    if master.startswith(_STANDALONE):
        hosts = master.removeprefix(_STANDALONE).split(",")
        _reach_any([f"{_STANDALONE}{each}" for each in hosts])
    elif master.startswith("k8s://"):
        address = master.removeprefix("k8s://")
        check_reachable(
            address if "://" in address else f"https://{address}", 443, "Kubernetes' API server"
        )
    if master.startswith("local"):  # workers on this machine use its Python
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        session = _started(master, settings, log)
        try:
            yield session
        except CitebedError as error:
            if _is_running():
                raise
            log.seek(0)
            raise CitebedError(translate_error(error, log.read())) from error
        finally:
            with suppress(Exception):  # the session may be gone
                session.stop()


def _started(master: str, settings: Mapping[str, str], log: IO[str]) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("citebed")
    for name, value in settings.items():
        builder = builder.config(name, value)
    loud = debugging() or bool(_LOUD & settings.keys())
    try:
        with _printing_to(None if loud else log), _for_seconds(master):
            session: SparkSession = builder.getOrCreate()
            # Workers run the configured Python: pyspark only reads the environment. A worker has
            # the cores of one task, but polars would use all cores of the machine.
            spark = session.sparkContext
            conf = spark.getConf()
            spark.pythonExec = conf.get("spark.pyspark.python") or spark.pythonExec
            environment: dict[str, str] = spark.environment
            environment.setdefault("POLARS_MAX_THREADS", conf.get("spark.task.cpus") or "1")
            if not loud:
                from pyspark import accumulators

                # A thread of pyspark prints an error when Java ends.
                accumulators.AccumulatorTCPServer.handle_error = lambda *_: None  # type: ignore[method-assign]
    except Exception as error:
        log.seek(0)
        told = translate_error(error, log.read())
        _end_java()
        context = _context()
        context._gateway = context._jvm = None
        raise CitebedError(f"Spark does not start with master {master}: {told}") from error
    return session


def _check_installed() -> None:
    """Raise if Java is missing, or if ``SPARK_HOME`` has another version of Spark than pyspark."""
    import pyspark

    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home, "bin")) if home else None)
    if found is None:
        place = f"in JAVA_HOME ({home})" if home else "in PATH"
        raise CitebedError(
            f"a Spark master needs Java 17, but java was not found {place}. Install it "
            "(openjdk-17-jre-headless), or work without Java: --on local, or --on sc://host:15002."
        )
    home = os.environ.get("SPARK_HOME")
    jars = Path(home, "jars").glob("spark-core_*.jar") if home else ()
    for jar in jars:
        version = jar.stem.rpartition("-")[2]
        if version.split(".")[:2] != pyspark.__version__.split(".")[:2]:
            raise CitebedError(
                f"SPARK_HOME ({home}) is Spark {version}, and pyspark here is "
                f"{pyspark.__version__}; both must be the same: unset SPARK_HOME, or install "
                f"pyspark=={version} if that is Spark 4."
            )


def _reach_any(addresses: Iterable[str]) -> None:
    errors = []
    for address in addresses:
        try:
            check_reachable(address, 7077, "the master (start-master.sh)")
        except CitebedError as error:
            errors.append(error)
        else:
            return
    raise errors[0]


@contextmanager
def _for_seconds(master: str) -> Iterator[None]:
    """End Java if a standalone master does not accept the application in time.

    Spark would keep trying, even if the server is another version of Spark or no Spark at all.
    """
    if not master.startswith(_STANDALONE):
        yield
        return
    done, ended = threading.Event(), threading.Event()
    threading.Thread(target=_watch, args=(done, ended), daemon=True).start()
    try:
        yield
    except Exception as error:
        if ended.is_set():
            raise ConnectionError("All masters are unresponsive") from error
        raise
    finally:
        done.set()


def _watch(done: threading.Event, ended: threading.Event) -> None:
    """Wait from the start of Java, longer on a busy machine; then end Java."""
    while _context()._gateway is None:
        if done.wait(0.1):
            return
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    if not done.wait(min(_LONGEST, SECONDS * max(1, busy))):
        ended.set()
        _end_java()


def _is_running() -> bool:
    """Return True if Java is running. Java ends itself when it runs out of memory."""
    gateway: Any = _context()._gateway
    return gateway is not None and gateway.proc.poll() is None


def _end_java() -> None:
    gateway: Any = _context()._gateway
    if gateway is not None:
        gateway.proc.kill()


def _context() -> Any:
    from pyspark.core.context import SparkContext

    return SparkContext


@contextmanager
def _printing_to(log: IO[str] | None) -> Iterator[None]:
    """Let processes that start during the block print their errors to a file."""
    if log is None:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
