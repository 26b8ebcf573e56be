"""Engines: an address becomes a session of Spark, whichever kind of Spark it is.

``sc://host:15002`` is a server that speaks Spark Connect (Spark 4, Sail); ``local`` starts Sail in
this process; anything else is a master of Spark's (``local[4]``, ``spark://host:7077``, ``yarn``,
``k8s://…``) and needs the whole of pyspark, and Java.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from citebed.errors import CitebedError, import_extra
from citebed.wording import printable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOCAL = "local"
_CONNECT = "sc://"
_MASTERS = re.compile(r"local\[[^\]]+\]|local-cluster\[.+\]|spark://.+|yarn|k8s://.+|mesos://.+")
SECONDS = 25
"""So long a server that does not answer is waited for."""


class Engine:
    """A session of Spark, as citebed uses it."""

    def __init__(self, session: SparkSession, on: str) -> None:
        self.session, self.on = session, on

    def lines(self, path: str) -> DataFrame:
        """The lines of a text file, or of all in a folder, packed or not, in a column ``value``."""
        return self.session.read.text(path)

    def table(self, path: str) -> DataFrame:
        """The rows of Parquet files."""
        return self.session.read.parquet(path)


@contextmanager
def session(on: str, conf: Iterable[str] = ()) -> Iterator[SparkSession]:
    """The session at an address, until it is done with; ``conf`` are settings as ``key=value``."""
    settings = dict(_setting(each) for each in conf)
    with ExitStack() as stack:
        stack.enter_context(_main_with_a_file())
        if on == LOCAL:
            address = stack.enter_context(_sail())
        elif on.startswith(_CONNECT):
            address = on
        elif _MASTERS.fullmatch(on):
            address = ""
        else:
            raise CitebedError(
                f"'{on}' is no engine. Expected local (on this machine), sc://host:15002 (Spark "
                "Connect), or a master of Spark's: local[4], spark://host:7077, yarn, k8s://…"
            )
        opened = _connected(address, settings) if address else _mastered(on, settings)
        stack.callback(opened.stop)
        yield opened


@contextmanager
def _main_with_a_file() -> Iterator[None]:
    """A program that is no file (``python -c``, a worker) pyspark takes for its own tests, and ends
    it."""
    main = sys.modules["__main__"]
    if hasattr(main, "__file__"):
        yield
        return
    main.__file__ = ""
    try:
        yield
    finally:
        del main.__file__


def _setting(text: str) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark or not name.strip():
        raise CitebedError(f"'{text}' is no setting of Spark's; expected key=value.")
    return name.strip(), value


@contextmanager
def _sail() -> Iterator[str]:
    """A server of Sail in this process."""
    os.environ.setdefault("RUST_LOG", "error")
    spark = import_extra("spark", "pysail.spark")
    server = spark.SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    try:
        host, port = server.listening_address
        yield f"{_CONNECT}{host}:{port}"
    finally:
        server.stop()


def _connected(address: str, settings: Mapping[str, str]) -> SparkSession:
    """A session of a server that speaks Spark Connect."""
    with _quiet():
        sql = import_extra("spark", "pyspark.sql")
        _reach(address)
        try:
            builder = sql.SparkSession.builder.remote(address)
            for name, value in settings.items():
                builder = builder.config(name, value)
            session: SparkSession = builder.create()
            session.version  # noqa: B018 - asked now, so that what is wrong is told now
        except Exception as error:
            raise CitebedError(
                f"the server at {address} is no Spark Connect of Spark 4: {reason(error)}"
            ) from error
    return session


def _reach(address: str) -> None:
    """Whether somebody listens at an address: Spark's client would try for minutes."""
    import socket
    from urllib.parse import urlsplit

    try:
        found = urlsplit(address)
        place = (found.hostname or "", found.port or 15002)
        socket.create_connection(place, SECONDS).close()
    except (OSError, ValueError) as error:
        raise CitebedError(
            f"nobody answers at {address} ({getattr(error, 'strerror', None) or error}). Is the "
            "server running (start-connect-server.sh), and is this its address?"
        ) from error


def _mastered(master: str, settings: Mapping[str, str]) -> SparkSession:
    """A session of a Spark that is driven from here, which takes Java."""
    with _quiet():
        import_extra("spark-full", "pyspark.core.context")
        from pyspark.sql import SparkSession

        if master.startswith("local"):  # the workers are on this machine, and so is their Python
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        try:
            builder = SparkSession.builder.master(master).appName("citebed")
            for name, value in settings.items():
                builder = builder.config(name, value)
            return builder.getOrCreate()
        except Exception as error:
            raise CitebedError(
                f"Spark does not start with master {master}: {reason(error)}"
            ) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Spark's remarks on the versions of what it uses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def reason(error: BaseException) -> str:
    """What a user of Spark's can do something with: the first line, and nothing of Java's stack."""
    said = str(getattr(error, "desc", None) or error).strip() or type(error).__name__
    causes = re.findall(r"(?:Caused by: |Error: )([^\n]+)", said)
    return printable((causes[-1] if causes else said.splitlines()[0])[:500])


def collected(frame: DataFrame) -> Any:
    """The rows of a frame as an Arrow table; what the engine says when it fails is told shortly."""
    with told_shortly():
        return frame.toArrow()


@contextmanager
def told_shortly() -> Iterator[None]:
    """Around work of the engine's: what it says when it fails is told shortly."""
    try:
        with _quiet():
            yield
    except Exception as error:
        text = str(error)
        if "No module named 'citebed'" in text or "ModuleNotFoundError" in text:
            raise CitebedError(
                "the engine's workers have no citebed: install the same version of citebed in the "
                f"Python that they run ({reason(error)})"
            ) from error
        raise CitebedError(f"the engine gave up: {reason(error)}") from error
