"""Jobs: what takes long, each in a process of its own, watched, cancelled and remembered here.

Of each collection one runs at a time, for a change holds the collection; others queue. A job
belongs to the server, not to the page that began it: whoever reloads finds it again.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from citebed.collection.storing.store import read_state
from citebed.errors import CitebedError
from citebed.web.workbench.job_process import Outcome, command

State = Literal["queued", "running", "done", "failed", "cancelled"]
AT_ONCE = 2
"""Jobs that run at the same time, each of another collection."""
MOST_QUEUED, MOST_KEPT = 20, 100
PATIENCE = 5.0
"""Seconds that a job has to end by itself when it is cancelled."""
_OVER = ("done", "failed", "cancelled")
_DIED = "its process ended without a word ({})."
_SAME, _CHANGED = "The collection is as it was.", "What was imported stays; index it again."


class TooManyJobs(CitebedError):
    """No more jobs are taken for now."""


class NoSuchJob(CitebedError):
    """There is no job of that id, or no longer."""


@dataclass
class Job:
    """A job: what is to be done, how far it is, what came of it."""

    job_id: str
    kind: str
    what: str
    collection: str
    state: State = "queued"
    step: str = ""
    done: int = 0
    total: int = 0
    asked: str = ""
    started: str = ""
    ended: str = ""
    message: str = ""
    outcome: Outcome = field(default_factory=Outcome)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state in _OVER

    def row(self, *, whole: bool = False) -> dict[str, Any]:
        """A flat row; the ``whole`` has what came of it too."""
        own = {name: value for name, value in vars(self).items() if name != "outcome"}
        return own | (vars(self.outcome) if whole else {"summary": self.outcome.summary})


def _nothing(_: bool) -> None:
    """What most jobs leave needs no order."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """What a job is to do: its kind and words for it, the collection's name and folder, and what
    the task is asked.

    ``after`` puts in order what it leaves, and is told whether the job was done or has changed the
    collection before it ended; the job is over when that is.
    """

    kind: str
    what: str
    collection: str
    folder: Path
    asked: dict[str, Any] = field(default_factory=dict)
    after: Callable[[bool], None] = _nothing


@dataclass
class _Work:
    """A job at work."""

    job: Job
    order: Order
    thread: threading.Thread | None = None
    process: subprocess.Popen[bytes] | None = None
    is_cancelled: bool = False


class Jobs:
    """All jobs of a server."""

    def __init__(self) -> None:
        self._turn = threading.RLock()
        self._works: dict[str, _Work] = {}
        self._closed = False

    def begin(self, order: Order) -> Job:
        """Begin a job, or queue it; `TooManyJobs` where too many wait.

        What is asked for without more words, such as an index, is not done twice: a job of that
        kind that is not over is given. An order that is refused is cleaned up, as one that failed.
        """
        try:
            return self._accept(order)
        except TooManyJobs:
            order.after(False)
            raise

    def _accept(self, order: Order) -> Job:
        with self._turn:
            for each in self._works.values():
                same = (each.order.kind, each.order.folder) == (order.kind, order.folder)
                if same and not order.asked and not each.job.is_over:
                    return each.job
            waiting = sum(each.job.state == "queued" for each in self._works.values())
            if waiting >= MOST_QUEUED or self._closed:
                raise TooManyJobs("too many jobs wait already. Try again when some are done.")
            name = secrets.token_hex(8)
            job = Job(name, order.kind, order.what, order.collection, asked=_now())
            self._works[name] = _Work(job, order)
            self._forget()
            self._start_some()
            return job

    def __iter__(self) -> Iterator[Job]:
        """All jobs, the latest first."""
        with self._turn:
            return iter([each.job for each in reversed(self._works.values())])

    def get(self, job_id: str) -> Job:
        """A job by its id."""
        return self._work(job_id).job

    def _work(self, job_id: str) -> _Work:
        with self._turn:
            if job_id not in self._works:
                raise NoSuchJob("there is no such job, or it was long ago.")
            return self._works[job_id]

    def cancel(self, job_id: str) -> Job:
        """Let a job end; one that is over stays as it is."""
        work = self._work(job_id)
        with self._turn:
            if work.job.state == "queued":
                self._end(work, "cancelled", "it was cancelled before it began.")
            elif work.job.state == "running" and not work.is_cancelled:
                work.is_cancelled, work.job.step = True, "ending"
                _tell_to_end(work.process)
        return work.job

    def close(self) -> None:
        """End all jobs: the server stops."""
        with self._turn:
            self._closed = True
            running = [each for each in self._works.values() if not each.job.is_over]
        for work in running:
            with contextlib.suppress(CitebedError):
                self.cancel(work.job.job_id)
        for work in running:
            if work.thread is not None:
                work.thread.join(PATIENCE + 1)

    # --- what runs -----------------------------------------------------------------------------

    def _forget(self) -> None:
        over = [name for name, each in self._works.items() if each.job.is_over]
        for name in over[: max(0, len(over) - MOST_KEPT)]:
            del self._works[name]

    def _start_some(self) -> None:
        running = [each for each in self._works.values() if each.job.state == "running"]
        held = {each.order.folder for each in running}
        for work in self._works.values():
            if len(held) >= AT_ONCE or self._closed:
                return
            if work.job.state == "queued" and work.order.folder not in held:
                held.add(work.order.folder)
                work.job.state, work.job.started = "running", _now()
                work.thread = threading.Thread(target=self._run, args=(work,), daemon=True)
                work.thread.start()

    def _run(self, work: _Work) -> None:
        before = read_state(work.order.folder)
        try:
            last = self._watch(work)
        except OSError as error:
            last = {"message": f"its process could not be started: {error.strerror}."}
        is_changed = read_state(work.order.folder) != before
        if "outcome" in last:
            work.job.outcome = Outcome(**last["outcome"])
            self._end(work, "done", "", is_changed=True)
            return
        state: State = "cancelled" if work.is_cancelled else "failed"
        why = "it was cancelled." if work.is_cancelled else str(last["message"])
        rest = _CHANGED if is_changed else _SAME
        self._end(work, state, f"{why.rstrip('.')}. {rest}", is_changed=is_changed)

    def _watch(self, work: _Work) -> dict[str, Any]:
        """Start the process and hear it to its end; gives its last word."""
        job, last = work.job, dict[str, Any]()
        with _process() as process:
            assert process.stdin is not None
            assert process.stdout is not None
            with self._turn:
                work.process = process
                if work.is_cancelled:
                    _tell_to_end(process)
            asked = {**work.order.asked, "kind": job.kind, "folder": str(work.order.folder)}
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(asked).encode() + b"\n")
                process.stdin.flush()
            for line in process.stdout:
                last = json.loads(line)
                if "step" in last and not work.is_cancelled:
                    job.step, job.done, job.total = last["step"], last["done"], last["total"]
            code = process.wait()
        return last if last.keys() & {"outcome", "message"} else {"message": _DIED.format(code)}

    def _end(self, work: _Work, state: State, message: str, *, is_changed: bool = False) -> None:
        """Put in order what a job leaves, keep how it ended, and begin the next."""
        job = work.job
        try:
            work.order.after(is_changed)
        except (CitebedError, OSError) as error:
            state, message = "failed", str(error)
        with self._turn:
            job.state, job.message, job.ended = state, message, _now()
            self._start_some()


@contextlib.contextmanager
def _process() -> Iterator[subprocess.Popen[bytes]]:
    """A process for a task, which is gone afterwards; it ends when nobody holds its input."""
    package_root = str(Path(__file__).resolve().parents[3])
    path = os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH"))))
    process = subprocess.Popen(
        command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None if os.environ.get("CITEBED_DEBUG") else subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C is for the server, which ends its jobs
    )
    try:
        yield process
    finally:
        process.kill()
        with contextlib.suppress(OSError):
            process.stdin.close()  # type: ignore[union-attr]
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


def _tell_to_end(process: subprocess.Popen[bytes] | None) -> None:
    """Tell a process to end, and kill it if it does not."""
    if process is None:
        return  # it is told as soon as it is there
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    killer = threading.Timer(PATIENCE, process.kill)
    killer.daemon = True
    killer.start()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
