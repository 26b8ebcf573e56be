"""Worker processes for Python work, one per core.

They are plain child processes that take jobs on standard input and send results on standard output.
Unlike ``multiprocessing`` they need no guard in the user's script, and a crash costs only its own
job. An exception in a worker is sent back as a value and raised here. A worker exits as soon as its
parent process is gone.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import math
import os
import pickle
import queue
import select
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from citebed.errors import CitebedError
from citebed.files.system_errors import find_system_error

T = TypeVar("T")
PATIENCE = 300.0
"""Timeout of a job in seconds."""

_ENDING = 10.0
"""Seconds that an idle worker gets to exit."""
_HEARING = 0.2
_READY = pickle.dumps(None)
_NO_START = "a worker process could not start ({}). Nothing was changed. Use fewer --workers."
_NO_MEMORY = "a worker process ran out of memory. Nothing was changed. Use fewer --workers."


class WorkerDied(Exception):
    """A worker exited before it sent its result, or exceeded its timeout and was killed. ``code``
    is its exit code; a negative one is the number of the signal.
    """

    def __init__(self, code: int = 0, *, late: bool = False) -> None:
        super().__init__()
        self.code, self.late = code, late


class WorkerNotStarted(CitebedError):
    """A worker could not start; its job did not run."""


class _Ended(Exception):
    """A job for a worker that was closed."""


class WorkerError(Exception):
    """An internal error in a worker; the cause is the worker's exception."""


class Failure(NamedTuple):
    """A failure in a worker as a value, because not every exception can be pickled."""

    kind: type[Exception]
    arguments: tuple[Any, ...]
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """``OSError`` means the system, ``CitebedError`` the user; all others are bugs."""
        if isinstance(error, MemoryError):
            return cls(CitebedError, (_NO_MEMORY,), "")
        trace = "".join(traceback.format_exception(error))
        if isinstance(error, CitebedError):
            return cls(CitebedError, (str(error),), trace)
        if (cause := find_system_error(error)) is not None:
            return cls(OSError, (cause.errno, cause.strerror, cause.filename), trace)
        return cls(WorkerError, (f"{type(error).__name__}: {error}",), trace)

    def raised(self) -> Exception:
        """Return the exception to raise in the parent."""
        error = self.kind(*self.arguments)
        error.__cause__ = _InChild(self.trace)
        return error


class _InChild(Exception):
    """The traceback of a worker, for debugging."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class Worker:
    """A worker process that calls ``target`` ("module:function") with jobs, one at a time. It
    starts with the first job, and again after a crash. It calls ``prepare`` before the first job; a
    job times out after ``patience`` seconds. A worker that reads untrusted files is not trusted:
    its results may use only the ``known`` types and functions.
    """

    def __init__(
        self,
        target: str,
        prepare: str = "",
        patience: float | None = None,
        known: Collection[Callable[..., Any]] | None = None,
    ) -> None:
        self._target, self._prepare, self._patience_s = target, prepare, patience
        self._load: Callable[[IO[bytes]], Any] = pickle.load
        if known is not None:
            self._load = lambda stream: _Known(stream, (*known, *_TOLD)).load()
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = threading.Event()

    def run(self, job: object) -> Any:
        """Return the result of ``target``; raise its exception, or ``WorkerDied``."""
        self._check()
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        with self._patience(process) as late:
            try:
                self._check()  # again: the closing thread may not have seen the new child
                _send(process.stdin, pickle.dumps((self._target, job), protocol=5))
                # Wait until there is a result or the pipe closes; Ctrl-C interrupts only this wait.
                watched = select.poll()
                watched.register(process.stdout, select.POLLIN)
                watched.poll()
                answer = self._load(process.stdout)
            except (BrokenPipeError, ConnectionResetError, EOFError, pickle.UnpicklingError):
                self.close()
                raise WorkerDied(process.returncode, late=late.is_set()) from None
            except BaseException as error:
                if isinstance(error, ValueError) and process.stdout.closed:
                    # Another thread closed the worker while this one waited for its result.
                    raise WorkerDied(process.returncode, late=late.is_set()) from None
                # After Ctrl-C the next result would belong to this job, not to the next one.
                process.kill()
                self.close()
                raise
        if isinstance(answer, Failure):
            raise answer.raised()
        return answer

    def _check(self) -> None:
        if self._ended.is_set():
            raise _Ended

    def _start(self) -> subprocess.Popen[bytes]:
        alarm = math.ceil(self._patience_s or PATIENCE) + 1
        command = f"from citebed.processes import serve; serve({self._prepare!r}, {alarm})"
        package_root = str(Path(__file__).resolve().parents[1])
        path = os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH"))))
        try:
            process = self._process = subprocess.Popen(
                # -P: a json.py in the user's folder must not replace Python's own
                [sys.executable, "-P", "-c", command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # the parent reports errors of workers, once
                stderr=None if os.environ.get("CITEBED_DEBUG") else subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path, "POLARS_MAX_THREADS": "1"},
                start_new_session=True,
            )
        except OSError as error:
            raise WorkerNotStarted(_NO_START.format(error.strerror)) from error
        assert process.stdout is not None
        try:
            with self._patience(process):
                self._load(process.stdout)
        except EOFError:
            self.close()
            raise WorkerNotStarted(_NO_START.format(f"exit code {process.returncode}")) from None
        return process

    @contextlib.contextmanager
    def _patience(self, process: subprocess.Popen[bytes]) -> Iterator[threading.Event]:
        """Kill the child if this takes too long; the event says whether that happened."""
        late = threading.Event()

        def give_up() -> None:
            late.set()
            process.kill()

        watchdog = threading.Timer(self._patience_s or PATIENCE, give_up)
        with _translate_thread_errors():
            watchdog.start()
        try:
            yield late
        finally:
            watchdog.cancel()

    def end(self) -> None:
        """Accept no more jobs and cancel the current one; called by another thread."""
        self._ended.set()
        if (process := self._process) is not None:
            process.kill()

    def close(self) -> None:
        """Stop the worker and wait for it."""
        if (process := self._process) is None:
            return
        self._process = None
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


Run = Callable[[Any], Any]
Apart = Callable[[Any, Run], Iterable[Any]]
"""Handles a job that crashed its worker: returns its results by running smaller jobs."""


def run_all(target: str, jobs: Iterable[object], workers: int, apart: Apart) -> Iterator[Any]:
    """Yield the results of ``target`` for all jobs in the order of completion. Jobs are taken from
    ``jobs`` when a worker has room.
    """
    crew = [Worker(target) for _ in range(workers)]
    idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
    for worker in crew:
        idle.put(worker)
    threads = ThreadPoolExecutor(workers)
    running: set[Future[list[Any]]] = set()
    try:
        for job in jobs:
            if len(running) == 2 * workers:
                yield from _heard(running)
            with _translate_thread_errors():
                running.add(threads.submit(_answers, idle, job, apart))
        while running:
            yield from _heard(running)
    finally:
        for worker in crew:
            worker.end()
        threads.shutdown(cancel_futures=True)
        for worker in crew:
            worker.close()


def _heard(running: set[Future[list[Any]]]) -> Iterator[Any]:
    """Wait for the next finished jobs and return their results."""
    done = first_done(running)
    running -= done
    for future in done:
        yield from future.result()


def first_done(running: Iterable[Future[T]]) -> set[Future[T]]:
    """Wait until some futures are done and return them; Ctrl-C works meanwhile. If polars is
    loaded, the system keeps waiting for a lock after a signal, so Python sees the signal only after
    it gets the lock or after a timeout.
    """
    while not (done := wait(running, timeout=_HEARING, return_when=FIRST_COMPLETED).done):
        pass
    return done


def _answers(idle: queue.SimpleQueue[Worker], job: object, apart: Apart) -> list[Any]:
    worker = idle.get()
    try:
        return [worker.run(job)]
    except WorkerDied:
        return list(apart(job, worker.run))
    finally:
        idle.put(worker)


@contextlib.contextmanager
def _translate_thread_errors() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:  # Python's message if the system allows no more threads
        raise WorkerNotStarted(_NO_START.format(error)) from error


def _send(stream: IO[bytes], message: bytes) -> None:
    stream.write(message)
    stream.flush()


class _Known(pickle.Unpickler):
    """Unpickle values made of known types and functions; call and import nothing else."""

    def __init__(self, stream: IO[bytes], known: Iterable[Callable[..., Any]]) -> None:
        super().__init__(stream)
        self._known = {(kind.__module__, kind.__qualname__): kind for kind in known}

    def find_class(self, module: str, name: str) -> Any:
        """Return the object with this name if it is known."""
        if (module, name) not in self._known:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed in a worker's result")
        return self._known[module, name]


_TOLD = (Failure, CitebedError, WorkerError, OSError)


# --- In a worker --------------------------------------------------------------------------------


def serve(prepare: str = "", alarm: int = 0) -> None:
    """Run a worker: process jobs from standard input until it closes.

    The system kills the process after ``alarm`` seconds of one job, because the thread that ends
    it with its parent cannot run while a library holds Python's lock.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with the results
    gc.disable()  # records have no cycles, and garbage collection took half of the time
    if prepare:
        _named(prepare)()
    _send(answers, _READY)
    with contextlib.suppress(BrokenPipeError):
        while sys.stdin.buffer.peek(1):  # type: ignore[union-attr]
            signal.alarm(alarm)
            answer = _answer()
            signal.alarm(0)
            _send(answers, answer)


def end_with_parent() -> None:
    """Exit at once when the parent is gone, because a job can take very long."""
    watched = select.poll()
    watched.register(
        sys.stdin.fileno(), 0
    )  # the system always reports that the other end is closed
    while not watched.poll():
        pass
    os._exit(1)


def _named(name: str) -> Callable[..., Any]:
    """Return the object that "module:function" names."""
    module, _, function = name.partition(":")
    work: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return work


def _answer() -> bytes:
    """Return the pickled result of the next job, or its failure."""
    try:
        target, job = pickle.load(sys.stdin.buffer)
        return pickle.dumps(_named(target)(job), protocol=5)
    except BaseException as error:  # polars' panic is not an Exception
        return pickle.dumps(Failure.of(error), protocol=5)
