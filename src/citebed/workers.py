"""Child processes that do Python work, one per core.

They are plain children that take jobs on their standard input and answer on their standard
output. They need no guard in the user's script (as ``multiprocessing`` does), and one that
dies costs its job alone. What goes wrong inside one comes back as a value and is raised here.
A child ends when the process that started it is gone, whatever it is doing.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
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
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from citebed.errors import CitebedError
from citebed.files.system_errors import system_error

T = TypeVar("T")
PATIENCE = 300.0
"""Seconds after which a job is given up."""

_HEARING = 0.2
_READY = pickle.dumps(None)
_NO_START = "a worker process could not be started ({}). Nothing was changed; try fewer workers."
_NO_MEMORY = "a worker process was refused memory. Nothing was changed; try fewer workers."


class Died(Exception):
    """A child ended before it answered, or took longer than it may and was killed.

    ``code`` is its exit code, below 0 the number of the signal that ended it.
    """

    def __init__(self, code: int = 0, *, late: bool = False) -> None:
        super().__init__()
        self.code, self.late = code, late


class NotStarted(CitebedError):
    """A child could not be started: nothing is known of its job."""


class _Ended(Exception):
    """A job for a worker that was told to end."""


class WorkerError(Exception):
    """A bug of ours in a child; what it raised there is the cause."""


class Failure(NamedTuple):
    """What went wrong in a child, as a value: not every exception can be sent."""

    kind: type[Exception]
    arguments: tuple[Any, ...]
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """``OSError`` stands for the system, ``CitebedError`` for the user, others are bugs."""
        if isinstance(error, MemoryError):
            return cls(CitebedError, (_NO_MEMORY,), "")
        trace = "".join(traceback.format_exception(error))
        if isinstance(error, CitebedError):
            return cls(CitebedError, (str(error),), trace)
        if (cause := system_error(error)) is not None:
            return cls(OSError, (cause.errno, cause.strerror, cause.filename), trace)
        return cls(WorkerError, (f"{type(error).__name__}: {error}",), trace)

    def raised(self) -> Exception:
        """The exception to raise where the answer was waited for."""
        error = self.kind(*self.arguments)
        error.__cause__ = _InChild(self.trace)
        return error


class _InChild(Exception):
    """The traceback of a child, for those who look for the cause."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class Worker:
    """A child process that calls ``target`` ("module:function") with jobs, one at a time.

    The child is started with the first job, and anew after it died. ``prepare`` is called in it
    before the first job; a job is given up after ``patience`` seconds. What a child answers that
    reads strangers' files is not believed: of it only what is made with the types and functions
    ``known`` is taken.
    """

    def __init__(
        self,
        target: str,
        prepare: str = "",
        patience: float | None = None,
        known: Collection[Callable[..., Any]] | None = None,
    ) -> None:
        self._target, self._prepare, self._patience_s = target, prepare, patience
        self._load = pickle.load if known is None else partial(_load_known, (*known, *_TOLD))
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = threading.Event()

    def run(self, job: object) -> Any:
        """What ``target`` answers; what it raises is raised here, ``Died`` without an answer."""
        self._check()
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        with self._patience(process) as late:
            try:
                self._check()  # again: whoever ended us may not have seen the new child
                _send(process.stdin, pickle.dumps((self._target, job), protocol=5))
                _heard_of(process.stdout)
                answer = self._load(process.stdout)
            except (BrokenPipeError, ConnectionResetError, EOFError, pickle.UnpicklingError):
                self.close()
                raise Died(process.returncode, late=late.is_set()) from None
            except BaseException:  # Ctrl-C: the answer to come is not the one to the next job
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
        command = f"from citebed.workers import serve; serve({self._prepare!r})"
        package_root = str(Path(__file__).resolve().parents[1])
        path = os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH"))))
        try:
            process = self._process = subprocess.Popen(
                # -P: a json.py in the user's folder must not take the place of Python's own
                [sys.executable, "-P", "-c", command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # what goes wrong in a child is told once, by us
                stderr=None if os.environ.get("CITEBED_DEBUG") else subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path, "POLARS_MAX_THREADS": "1"},
                start_new_session=True,
            )
        except OSError as error:
            raise NotStarted(_NO_START.format(error.strerror)) from error
        assert process.stdout is not None
        try:
            with self._patience(process):
                self._load(process.stdout)
        except EOFError:
            self.close()
            raise NotStarted(_NO_START.format(f"exit code {process.returncode}")) from None
        return process

    @contextlib.contextmanager
    def _patience(self, process: subprocess.Popen[bytes]) -> Iterator[threading.Event]:
        """Kill the child if this takes too long; the event tells whether it did."""
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
        """Take no more jobs, and give up the one at hand; called by another thread."""
        self._ended.set()
        if (process := self._process) is not None:
            process.kill()

    def close(self) -> None:
        """End the child and wait for it."""
        if (process := self._process) is None:
            return
        self._process = None
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        process.wait()
        process.stdout.close()


Run = Callable[[Any], Any]
Apart = Callable[[Any, Run], Iterable[Any]]
"""What to do with a job that a child died of: its answers, got by running smaller jobs."""


def run_all(target: str, jobs: Iterable[object], workers: int, apart: Apart) -> Iterator[Any]:
    """The answers of ``target`` to all jobs, as they come.

    A job is taken from ``jobs`` when there is room for it.
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
    """The answers to those jobs that are done next; waits for them."""
    done = first_done(running)
    running -= done
    for future in done:
        yield from future.result()


def first_done(running: Iterable[Future[T]]) -> set[Future[T]]:
    """Those that are done, once there are some; Ctrl-C is heard meanwhile.

    Where polars is loaded the system goes on waiting for a lock after a signal, so that Python does
    not come to know of it before the lock is there, or the time over.
    """
    while not (done := wait(running, timeout=_HEARING, return_when=FIRST_COMPLETED).done):
        pass
    return done


def _answers(idle: queue.SimpleQueue[Worker], job: object, apart: Apart) -> list[Any]:
    worker = idle.get()
    try:
        return [worker.run(job)]
    except Died:
        return list(apart(job, worker.run))
    finally:
        idle.put(worker)


@contextlib.contextmanager
def _translate_thread_errors() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:  # how Python tells that the system gives no more threads
        raise NotStarted(_NO_START.format(error)) from error


def _heard_of(stream: IO[bytes]) -> None:
    """Wait until there is an answer, or its end; of all waiting only this ends with Ctrl-C."""
    watched = select.poll()
    watched.register(stream, select.POLLIN)
    watched.poll()


def _send(stream: IO[bytes], message: bytes) -> None:
    stream.write(message)
    stream.flush()


class _Known(pickle.Unpickler):
    """Reads values that are made with what is known; nothing else is called or imported."""

    def __init__(self, stream: IO[bytes], known: Iterable[Callable[..., Any]]) -> None:
        super().__init__(stream)
        self._known = {(kind.__module__, kind.__qualname__): kind for kind in known}

    def find_class(self, module: str, name: str) -> Any:
        """What has this name, if it is known."""
        if (module, name) not in self._known:
            raise pickle.UnpicklingError(f"{module}.{name} is not expected in an answer")
        return self._known[module, name]


_TOLD = (Failure, CitebedError, WorkerError, OSError)


def _load_known(known: Iterable[Callable[..., Any]], stream: IO[bytes]) -> Any:
    return _Known(stream, known).load()


# --- In the child -------------------------------------------------------------------------------


def serve(prepare: str = "") -> None:
    """The life of a worker: answer jobs from standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get between the answers
    gc.disable()  # records hold no cycles, and collecting took half of the time
    if prepare:
        _named(prepare)()
    _send(answers, _READY)
    with contextlib.suppress(BrokenPipeError):
        while sys.stdin.buffer.peek(1):  # type: ignore[union-attr]
            _send(answers, _answer())


def end_with_parent() -> None:
    """End at once when nobody is left to take the answer: what is read may take very long."""
    watched = select.poll()
    watched.register(sys.stdin.fileno(), 0)  # that the other end is closed is always told
    while not watched.poll():
        pass
    os._exit(1)


def _named(name: str) -> Callable[..., Any]:
    """What "module:function" names."""
    module, _, function = name.partition(":")
    work: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return work


def _answer() -> bytes:
    """What the target gives for the next job, or how it failed, ready to be sent."""
    try:
        target, job = pickle.load(sys.stdin.buffer)
        return pickle.dumps(_named(target)(job), protocol=5)
    except BaseException as error:  # polars' panic is none of Exception's
        return pickle.dumps(Failure.of(error), protocol=5)
