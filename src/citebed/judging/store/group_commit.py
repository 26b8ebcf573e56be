"""Many small changes in one transaction: each is told of when all of them are on the disk.

A commit waits for the disk, so one at a time would let two hundred judges wait for two hundred
waits. One thread takes whatever has come in since its last commit, does it in the order in which
it came, each in a savepoint of its own, commits, and only then answers.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from citebed.errors import CitebedError
from citebed.judging.store.engine import Database
from citebed.judging.store.judgements import in_turn

_T = TypeVar("_T")
Work = Callable[[Connection], Any]
MOST_AT_ONCE = 200


class Unavailable(CitebedError):
    """The database did not take a change; trying again later may help."""


class _Job(NamedTuple):
    work: Work
    done: Future[Any]


class GroupCommit:
    """A thread that writes for all others; ``submit`` is answered after the commit."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, work: Callable[[Connection], _T]) -> Future[_T]:
        """Have something written; what it returns, or the `CitebedError` it refuses with."""
        job = _Job(work, Future())
        with self._changed:
            if self._closed:
                raise Unavailable("the server is being stopped.")
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
                self._thread.start()
            self._waiting.append(job)
            self._changed.notify()
        return job.done

    def close(self) -> None:
        """Write what waits, and stop."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while jobs := self._next():
            try:
                told = self._together(jobs)
            except IntegrityError:
                told = [self._alone(job) for job in jobs]
            except Exception as error:  # whatever it is, those who wait must hear of it
                told = [_unavailable(error)] * len(jobs)
            for job, outcome in zip(jobs, told, strict=True):
                if isinstance(outcome, BaseException):
                    job.done.set_exception(outcome)
                else:
                    job.done.set_result(outcome)

    def _next(self) -> list[_Job]:
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            return [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_AT_ONCE))]

    def _together(self, jobs: Sequence[_Job]) -> list[Any]:
        with self._database.writing() as connection:
            return [_attempt(connection, job.work) for job in jobs]

    def _alone(self, job: _Job) -> Any:
        """Once more where another process was faster with the same thing."""
        try:
            return in_turn(self._database, job.work)
        except Exception as error:
            known = isinstance(error, CitebedError) and error.__cause__ is None
            return error if known else _unavailable(error)


def _attempt(connection: Connection, work: Work) -> Any:
    """Do one thing; one that is refused leaves no trace and holds nobody else up."""
    try:
        with connection.begin_nested():
            return work(connection)
    except CitebedError as error:
        return error


def _unavailable(error: Exception) -> Unavailable:
    return error if isinstance(error, Unavailable) else Unavailable(str(error))
