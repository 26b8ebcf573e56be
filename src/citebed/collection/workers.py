"""Child processes that do Python work, one per core.

They are plain children that take jobs on their standard input and answer on their standard
output. They need no guard in the user's script (as ``multiprocessing`` does), and one that
dies costs its job alone.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from citebed.errors import CitebedError

PATIENCE = 300.0
"""Seconds after which a job is given up."""


class Worker:
    """A child process that calls ``target`` ("module:function") with jobs, one at a time.

    ``extra`` arguments are passed after each job.
    """

    def __init__(self, target: str, stop: threading.Event, *extra: object) -> None:
        self._stop = stop
        command = "from citebed.collection.workers import serve; serve()"
        package_root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            # -P: a json.py in the user's folder must not take the place of Python's own
            [sys.executable, "-P", "-c", command, target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path, "POLARS_MAX_THREADS": "1"},
            start_new_session=True,
        )
        assert self._process.stdin is not None
        _send(self._process.stdin, extra)

    def run(self, job: object) -> Any:
        """What ``target`` answers, or ``None`` if the child died or was too slow and was killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        watchdog = threading.Timer(PATIENCE, self._process.kill)
        watchdog.start()
        try:
            _send(self._process.stdin, job)
            return _receive(self._process.stdout)
        except (BrokenPipeError, ConnectionResetError):
            return None
        finally:
            watchdog.cancel()

    def close(self) -> None:
        """End the child; one that still works after ``stop`` was set is killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        if self._stop.is_set():
            self._process.kill()
        self._process.wait()
        self._process.stdout.close()


def run_all(target: str, jobs: Iterable[object], workers: int) -> Iterator[Any]:
    """The answers of ``target`` to all jobs, as they come; a child that dies is an error."""
    waiting = iter(jobs)
    guard = threading.Condition()
    answers: list[Any] = []
    failures: list[BaseException] = []
    stop = threading.Event()

    def feed() -> None:
        worker: Worker | None = None
        try:
            worker = Worker(target, stop)
            while not stop.is_set():
                with guard:
                    job = next(waiting, None)
                if job is None:
                    return
                answer = worker.run(job)
                with guard:
                    if answer is None and not stop.is_set():
                        failures.append(CitebedError(_DIED))
                        stop.set()
                    answers.append(answer)
                    guard.notify()
        except BaseException as error:
            failures.append(error)
            stop.set()
        finally:
            if worker is not None:
                worker.close()
            with guard:
                guard.notify()

    threads = [threading.Thread(target=feed, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    try:
        yield from _collect(answers, threads, guard, stop)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]


_DIED = (
    "a worker process was ended from outside or gave up (out of memory?). "
    "Nothing was changed; try again, or with fewer workers."
)


def _collect(
    answers: list[Any],
    threads: list[threading.Thread],
    guard: threading.Condition,
    stop: threading.Event,
) -> Iterator[Any]:
    while not stop.is_set():
        with guard:
            if not answers:
                if not any(thread.is_alive() for thread in threads):
                    return
                guard.wait(timeout=0.2)
            ready, answers[:] = answers[:], []
        for answer in ready:
            if answer is not None:
                yield answer


def _send(stream: IO[bytes], message: object) -> None:
    data = pickle.dumps(message, protocol=5)
    stream.write(struct.pack("<Q", len(data)))
    stream.write(data)
    stream.flush()


def _receive(stream: IO[bytes]) -> Any:
    head = stream.read(8)
    if len(head) < 8:
        return None
    (size,) = struct.unpack("<Q", head)
    data = stream.read(size)
    return pickle.loads(data) if len(data) == size else None


def serve() -> None:
    """The life of a worker: answer jobs from standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get between the answers
    gc.disable()  # records hold no cycles, and collecting took half of the time
    module, _, function = sys.argv[1].partition(":")
    work = getattr(importlib.import_module(module), function)
    extra = _receive(sys.stdin.buffer) or ()
    while (job := _receive(sys.stdin.buffer)) is not None:
        _send(answers, work(job, *extra))
