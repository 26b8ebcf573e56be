"""Jobs: long tasks, each in a process of its own, which can be watched and cancelled.

One job per collection runs at a time, because a change locks the collection; others wait. A job
belongs to the server, not to a page: a reloaded page finds it again.
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
"""Jobs that run at the same time, each for another collection."""
MOST_QUEUED, MOST_KEPT = 20, 100
PATIENCE = 5.0
"""Seconds that a cancelled job has to end by itself."""


class TooManyJobs(CitebedError):
    """Too many jobs are waiting."""


class NoSuchJob(CitebedError):
    """An unknown job id, or one of a job that was forgotten."""


@dataclass
class Job:
    """A job with its progress and its result."""

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
        """True if the job has ended."""
        return self.state in ("done", "failed", "cancelled")

    def row(self, *, whole: bool = False) -> dict[str, Any]:
        """Return a flat row, or the ``whole`` result too."""
        own = {name: value for name, value in vars(self).items() if name != "outcome"}
        return own | (vars(self.outcome) if whole else {"summary": self.outcome.summary})


@dataclass(frozen=True)
class JobRequest:
    """A job to begin: its kind, a description, the collection, and the options of the task.

    ``after`` cleans up before the job counts as over. Its argument is True if the job was done or
    has changed the collection.
    """

    kind: str
    what: str
    collection: str
    folder: Path
    asked: dict[str, Any] = field(default_factory=dict)
    after: Callable[[bool], None] = lambda _: None


@dataclass
class _Entry:
    """A job with its request, its thread and its process."""

    job: Job
    request: JobRequest
    thread: threading.Thread | None = None
    process: subprocess.Popen[bytes] | None = None
    is_cancelled: bool = False


class Jobs:
    """All jobs of a server."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._entries: dict[str, _Entry] = {}
        self._closed = False

    def begin(self, request: JobRequest) -> Job:
        """Begin a job, or queue it; raise `TooManyJobs` if too many wait.

        A request without options, such as an index, returns the job of that kind that is waiting or
        running. After a refusal, the request's ``after`` cleans up.
        """
        with self._lock:
            for each in self._entries.values():
                same = (each.request.kind, each.request.folder) == (request.kind, request.folder)
                if same and not request.asked and not each.job.is_over:
                    return each.job
            waiting = sum(each.job.state == "queued" for each in self._entries.values())
            if waiting < MOST_QUEUED and not self._closed:
                name = secrets.token_hex(8)
                job = Job(name, request.kind, request.what, request.collection, asked=_now())
                self._entries[name] = _Entry(job, request)
                over = [name for name, each in self._entries.items() if each.job.is_over]
                for old in over[: max(0, len(over) - MOST_KEPT)]:
                    del self._entries[old]
                self._start_waiting()
                return job
        request.after(False)
        raise TooManyJobs("too many jobs are waiting. Try again when some are done.")

    def __iter__(self) -> Iterator[Job]:
        """All jobs, the latest first."""
        with self._lock:
            return iter([each.job for each in reversed(self._entries.values())])

    def get(self, job_id: str) -> Job:
        """Return a job by its id."""
        return self._get_entry(job_id).job

    def _get_entry(self, job_id: str) -> _Entry:
        with self._lock:
            if job_id not in self._entries:
                raise NoSuchJob("this job does not exist, or is no longer listed.")
            return self._entries[job_id]

    def cancel(self, job_id: str) -> Job:
        """Cancel a job, unless it is over."""
        entry = self._get_entry(job_id)
        with self._lock:
            if entry.job.state == "queued":
                self._end(entry, "cancelled", "it was cancelled before it began.")
            elif entry.job.state == "running" and not entry.is_cancelled:
                entry.is_cancelled, entry.job.step = True, "ending"
                _interrupt(entry.process)
        return entry.job

    def close(self) -> None:
        """Cancel all jobs, because the server stops."""
        with self._lock:
            self._closed = True
            running = [each for each in self._entries.values() if not each.job.is_over]
        for entry in running:
            with contextlib.suppress(CitebedError):
                self.cancel(entry.job.job_id)
        for entry in running:
            if entry.thread is not None:
                entry.thread.join(PATIENCE + 1)

    def _start_waiting(self) -> None:
        running = [each for each in self._entries.values() if each.job.state == "running"]
        busy = {each.request.folder for each in running}
        for entry in self._entries.values():
            if len(busy) >= AT_ONCE or self._closed:
                return
            if entry.job.state == "queued" and entry.request.folder not in busy:
                busy.add(entry.request.folder)
                entry.job.state, entry.job.started = "running", _now()
                entry.thread = threading.Thread(target=self._run, args=(entry,), daemon=True)
                entry.thread.start()

    def _run(self, entry: _Entry) -> None:
        before = read_state(entry.request.folder)
        try:
            last = self._watch(entry)
        except OSError as error:
            last = {"message": f"its process could not be started: {error.strerror}."}
        is_changed = read_state(entry.request.folder) != before
        if "outcome" in last:
            entry.job.outcome = Outcome(**last["outcome"])
            self._end(entry, "done", "", is_changed=True)
            return
        state: State = "cancelled" if entry.is_cancelled else "failed"
        why = "it was cancelled" if entry.is_cancelled else str(last["message"]).rstrip(".")
        rest = "The collection is unchanged."
        if is_changed:
            rest = "The imported records are stored. Index the collection again."
        self._end(entry, state, f"{why}. {rest}", is_changed=is_changed)

    def _watch(self, entry: _Entry) -> dict[str, Any]:
        """Start the process, follow its progress, and return its last message."""
        job, last = entry.job, dict[str, Any]()
        with _start_process() as process:
            assert process.stdin is not None
            assert process.stdout is not None
            with self._lock:
                entry.process = process
                if entry.is_cancelled:
                    _interrupt(process)
            asked = {**entry.request.asked, "kind": job.kind, "folder": str(entry.request.folder)}
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(asked).encode() + b"\n")
                process.stdin.flush()
            for line in process.stdout:
                last = json.loads(line)
                if "step" in last and not entry.is_cancelled:
                    job.step, job.done, job.total = last["step"], last["done"], last["total"]
            code = process.wait()
        if last.keys() & {"outcome", "message"}:
            return last
        return {"message": f"the job's process crashed (exit code {code})."}

    def _end(self, entry: _Entry, state: State, message: str, *, is_changed: bool = False) -> None:
        """Clean up after a job, and begin the next one."""
        job = entry.job
        try:
            entry.request.after(is_changed)
        except (CitebedError, OSError) as error:
            state, message = "failed", str(error)
        with self._lock:
            job.state, job.message, job.ended = state, message, _now()
            self._start_waiting()


@contextlib.contextmanager
def _start_process() -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process for a task; it ends when its input is closed."""
    package_root = str(Path(__file__).resolve().parents[3])
    path = os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH"))))
    process = subprocess.Popen(
        command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None if os.environ.get("CITEBED_DEBUG") else subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C reaches only the server, which ends its jobs
    )
    try:
        yield process
    finally:
        process.kill()
        with contextlib.suppress(OSError):
            process.stdin.close()  # type: ignore[union-attr]
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


def _interrupt(process: subprocess.Popen[bytes] | None) -> None:
    """Ask a process to end, and kill it if it does not."""
    if process is None:
        return  # not started yet: it is interrupted at its start
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    killer = threading.Timer(PATIENCE, process.kill)
    killer.daemon = True
    killer.start()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
