"""Engines: open a Spark session at an address, for any kind of Spark.

``sc://host:15002`` is a server that speaks Spark Connect (Spark 4, Sail). ``local`` starts Sail in
this process. Any other address is a Spark master (``local[4]``, ``spark://host:7077``, ``yarn``,
``k8s://…``) and needs all of pyspark, and Java.
"""

from __future__ import annotations

import atexit
import os
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from citebed.distributed.arrow import ERROR, raise_errors
from citebed.distributed.errors import debugging, translate_error, translate_errors
from citebed.distributed.masters import MASTERS, SECONDS, check_reachable, open_master_session
from citebed.errors import CitebedError, import_extra

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


_EVERY, _MANY = 0.3, 10
"""Seconds between two checks of tasks, and number of tasks to check."""
_FOR_GOOD = "PYTHON_VERSION_MISMATCH|Cannot run program"
_GROUP, _OF_GROUP = "citebed: whether workers have what they need", "spark.jobGroup.id"


def check_workers(session: SparkSession) -> None:
    """Raise if workers lack citebed or a package that it needs."""

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Spark sends a nested function by value, not by the name of its module.
        import pyarrow as pa

        for _ in batches:
            missing = None
            try:
                import citebed.distributed.arrow  # noqa: F401
            except ModuleNotFoundError as error:
                missing = str(error)
            yield pa.record_batch({"missing": pa.array([missing], pa.string())})

    asked = session.range(0, 1, 1, 1).mapInArrow(look, "missing string")
    with _first_failure(session):
        told = asked.toArrow()
    for missing in told["missing"].to_pylist():
        if missing is not None:
            raise CitebedError(translate_error(ModuleNotFoundError(missing)))


@contextmanager
def _first_failure(session: SparkSession) -> Iterator[None]:
    """Cancel the job if a task finds no Python or another version: retries would fail too."""
    context: Any = getattr(session, "_sc", None)
    if context is None or debugging():  # the tasks of a server are not visible here
        yield
        return
    done, said = threading.Event(), list[str]()

    def watch() -> None:
        with suppress(Exception):  # Java may be gone; the caller gets that error
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
            raise CitebedError(translate_error(RuntimeError(said[0]))) from error
        raise
    finally:
        done.set()
        watching.join()
        with suppress(Exception):
            context.setLocalProperty(_OF_GROUP, before)


def _failures(context: Any) -> Iterator[str]:
    """Yield the errors of tasks that have failed so far."""
    tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
    jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup(_GROUP))
    for stage in (stage for job in jobs if job for stage in job.stageIds):
        tasks = store.taskList(stage, 0, _MANY)
        for task in map(tasks.apply, range(tasks.length())):
            if task.errorMessage().isDefined():
                yield task.errorMessage().get()


LOCAL = "local"
_CONNECT = "sc://"
_PATTERN = set("*?[{")
_LEAST = 4
"""The first version of Spark with all functions that citebed uses."""
_WHOLE = {"spark.sql.pyspark.jvmStacktrace.enabled": "true"}
"""With this setting errors include everything that the engine knows."""
_MODE = "SPARK_CONNECT_MODE_ENABLED"
_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"


class Engine:
    """A Spark session for citebed; ``checked`` waits for the check of its workers."""

    def __init__(
        self, session: SparkSession, on: str, checked: Callable[[], None] = lambda: None
    ) -> None:
        self.on, self._session, self._checked = on, session, checked

    @property
    def session(self) -> SparkSession:
        """The session, after the check that workers have what they need."""
        self._checked()
        return self._session

    def lines(self, path: str) -> DataFrame:
        """Return the lines of a text file or folder, packed or not, in a column ``value``."""
        return self.session.read.text(self.place(path))

    def table(self, path: str) -> DataFrame:
        """Return the rows of Parquet files."""
        return self.session.read.parquet(self.place(path))

    def place(self, path: str) -> str:
        """Return a path as the engine takes it: local paths become absolute, since its folder
        differs.

        Sail treats a missing file as an empty one, so this raises an error first.
        """
        if Path(path).exists():
            return str(Path(path).absolute())
        if self.on == LOCAL and "://" not in path and not _PATTERN & set(path):
            raise CitebedError(f"no such file: {path}")
        return path


@contextmanager
def session(on: str, conf: Iterable[str] = ()) -> Iterator[tuple[SparkSession, Callable[[], None]]]:
    """Open the session at an address, and close it at the end; ``conf`` are settings as
    ``key=value``.

    A thread checks meanwhile that the workers have what they need. The function returned with the
    session waits for that check and raises its error. Errors of the engine are translated.
    """
    settings = dict(_WHOLE) if debugging() else {}
    for each in conf:
        name, mark, value = each.partition("=")
        if not mark or not name.strip():
            raise CitebedError(f"'{each}' is not a Spark setting; expected key=value.")
        settings[name.strip()] = value
    with _main_with_a_file(), ExitStack() as stack:
        with _quiet():
            opened = stack.enter_context(_opened(on, settings))
        beside = ThreadPoolExecutor(1)
        try:
            with translate_errors():
                # Workers in this process need no check.
                asked = beside.submit(check_workers, opened) if on != LOCAL else None
                yield opened, asked.result if asked else lambda: None
        finally:
            beside.shutdown(wait=False)  # workers that never answer must not keep Ctrl-C waiting


def _opened(on: str, settings: Mapping[str, str]) -> AbstractContextManager[SparkSession]:
    if on == LOCAL:
        return _in_this_process(settings)
    if on.startswith(_CONNECT):
        return _connected(on, settings)
    if MASTERS.fullmatch(on):
        return open_master_session(on, settings)
    raise CitebedError(
        f"'{on}' is not an engine. Expected local (on this machine), sc://host:15002 (Spark "
        "Connect), or a Spark master: local[4], spark://host:7077, yarn, k8s://…"
    )


@contextmanager
def _main_with_a_file() -> Iterator[None]:
    """Give ``__main__`` a file name. Without one (``python -c``, a worker), pyspark ends the
    program.
    """
    main = sys.modules["__main__"]
    if hasattr(main, "__file__"):
        yield
        return
    main.__file__ = ""
    try:
        yield
    finally:
        del main.__file__


@contextmanager
def _in_this_process(settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Start a Sail server in this process, and open a session."""
    os.environ.setdefault("RUST_LOG", "error")
    spark = import_extra("spark", "pysail.spark")
    import_extra("spark", "pyspark.sql")  # before a server runs that could be interrupted
    server = spark.SparkConnectServer("127.0.0.1", 0)
    try:
        with _ignored_interrupts(), suppress(TimeoutError):  # which `_connected` reports
            server.start(background=True)
            host, port = server.listening_address
            _greet(f"{_CONNECT}{host}:{port}")
        with _connected(f"{_CONNECT}{host}:{port}", settings) as opened:
            yield opened
    finally:
        server.stop()


@contextmanager
def _ignored_interrupts() -> Iterator[None]:
    """Ignore SIGINT from now on if this process ignores it, as a script's background job does.

    A Sail server listens for SIGINT and stops; its client would wait forever if it were not
    interrupted too. Only the main thread may set a signal's handler.
    """
    ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    if not ignored or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # the server's threads too
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # discards signals that came meanwhile
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _connected(address: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Open a session of a server that speaks Spark Connect."""
    sql = import_extra("spark", "pyspark.sql")
    check_reachable(address, 15002, "the server (start-connect-server.sh)")
    with ExitStack() as stack:
        if _MODE not in os.environ:  # Spark sets it for good; a master may be next in this process
            stack.callback(lambda: os.environ.pop(_MODE, None))
        try:
            _greet(address)
            builder = sql.SparkSession.builder.remote(address)
            for name, value in settings.items():
                builder = builder.config(name, value)
            opened: SparkSession = builder.create()
            stack.callback(_stopped, opened)
            version = opened.version
        except Exception as error:
            for frame, _ in traceback.walk_tb(error.__traceback__):
                made = frame.f_locals.get("session")
                if hasattr(made, "client"):  # a session that was being created
                    stack.callback(_stopped, made)
            otherwise = f"the server at {address} does not offer Spark Connect of Spark {_LEAST}"
            raise CitebedError(translate_error(error, otherwise=otherwise)) from error
        major = version.partition(".")[0]
        if not major.isdigit() or int(major) < _LEAST:
            raise CitebedError(
                f"the server at {address} is Spark {version}; citebed needs Spark {_LEAST} or "
                "later on the cluster."
            )
        yield opened


def _greet(address: str) -> None:
    """Wait until a server speaks gRPC: otherwise Spark's client would try for minutes."""
    grpc = import_extra("spark", "grpc")
    from pyspark.sql.connect.client import DefaultChannelBuilder

    with DefaultChannelBuilder(address).toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(SECONDS)
        except grpc.FutureTimeoutError:
            raise TimeoutError("the server there does not speak gRPC") from None


def _stopped(session: Any) -> None:
    """End a session whose server may be gone. Otherwise its client would retry for minutes, now and
    when the process ends."""
    with suppress(Exception):
        atexit.unregister(session.client._on_exit)
        session.client.set_retry_policies([])
        session.stop()


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide Spark's warnings about versions of its dependencies."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def collect_arrow(frame: DataFrame) -> Any:
    """Return the rows of a frame as an Arrow table."""
    with short_errors():
        return frame.toArrow()


def collect_frame(frame: DataFrame) -> pl.DataFrame:
    """Return the rows of a frame. Raise the error of a worker, if there is one."""
    table = pl.DataFrame(collect_arrow(frame))
    raise_errors(table)
    return table.drop(ERROR)


@contextmanager
def short_errors() -> Iterator[None]:
    """Translate the engine's errors, and hide its warnings."""
    with translate_errors(), _quiet():
        yield


@contextmanager
def one_row_batches(engine: Engine) -> Iterator[None]:
    """Use batches of one row, for rows of megabytes: an engine has no memory for the usual
    thousands."""
    conf = engine.session.conf
    before = conf.get(_ROWS, None)
    conf.set(_ROWS, "1")
    try:
        yield
    finally:
        conf.unset(_ROWS) if before is None else conf.set(_ROWS, before)
