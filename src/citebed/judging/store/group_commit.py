"""Group commit: write many small changes in one transaction.

Each commit waits for the disk; with separate commits, 200 judges would wait for 200 disk writes.
One thread takes all changes that arrived since its last commit, applies them in order, commits,
and then completes their futures. If a change fails, the transaction is rolled back and each change
is retried in its own transaction, so that a failing change does not affect the others.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

from sqlalchemy.exc import DataError

from citebed.errors import CitebedError
from citebed.judging.store.campaign_store import CampaignStore, Transaction
from citebed.judging.store.database import Unavailable, WriteConflict

_T = TypeVar("_T")
_Item = TypeVar("_Item")
Together = Callable[[Transaction, Sequence[_Item]], Sequence[_T | CitebedError]]
"""A function that applies many changes of one kind and returns a result or error for each."""
MOST_AT_ONCE = 200


class _Job(NamedTuple):
    together: Together[Any, Any]
    item: Any
    done: Future[Any]

    def alone(self, tx: Transaction) -> Any:
        [outcome] = self.together(tx, [self.item])
        return outcome


class GroupCommit:
    """A thread that writes for all others; futures complete after the commit."""

    def __init__(self, store: CampaignStore) -> None:
        self._store = store
        self._waiting: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, work: Callable[[Transaction], _T]) -> Future[_T]:
        """Queue a change; the future has its result or its `CitebedError`."""
        return self.submit_to(_one_by_one, work)

    def submit_to(self, together: Together[_Item, _T], item: _Item) -> Future[_T]:
        """Queue a change for a function that applies many such changes at once."""
        job = _Job(together, item, Future())
        with self._changed:
            if self._closed:
                raise Unavailable("the server is shutting down.")
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
                self._thread.start()
            self._waiting.append(job)
            self._changed.notify()
        return job.done

    def open(self) -> None:
        """Accept changes again after ``close``."""
        with self._changed:
            self._closed = False

    def close(self) -> None:
        """Write the queued changes and stop."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        """Commit the queued changes in groups until ``close``; leave out cancelled ones."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return
                number = min(len(self._waiting), MOST_AT_ONCE)
                jobs = [self._waiting.popleft() for _ in range(number)]
            jobs = [job for job in jobs if job.done.set_running_or_notify_cancel()]
            if not jobs:
                continue
            try:
                with self._store.writing(in_turn=False) as tx:
                    outcomes = [
                        outcome
                        for together, alike in groupby(jobs, key=lambda job: job.together)
                        for outcome in together(tx, [job.item for job in alike])
                    ]
            except Exception as error:  # every waiting future must complete
                outcomes = self._one_transaction_each(jobs, error)
            for job, outcome in zip(jobs, outcomes, strict=True):
                if isinstance(outcome, BaseException):
                    job.done.set_exception(outcome)
                else:
                    job.done.set_result(outcome)

    def _one_transaction_each(self, jobs: Sequence[_Job], failed: Exception) -> list[Any]:
        """Apply each job in its own transaction while the database responds."""
        outcomes: list[Any] = []
        for job in jobs:
            if isinstance(failed, Unavailable) and not isinstance(failed, WriteConflict):
                outcomes.append(failed)
                continue
            try:
                outcomes.append(self._store.run_with_retry(job.alone))
            except DataError:
                outcomes.append(CitebedError("the database cannot store this value."))
            except Exception as error:
                failed = error
                is_known = isinstance(error, Unavailable)
                outcomes.append(error if is_known else Unavailable(str(error)))
        return outcomes


def _one_by_one(tx: Transaction, works: Sequence[Callable[[Transaction], Any]]) -> list[Any]:
    """Apply changes one after the other; roll back a refused one and continue."""
    outcomes: list[Any] = []
    for work in works:
        try:
            with tx.connection.begin_nested():
                outcomes.append(work(tx))
        except CitebedError as error:
            outcomes.append(error)
    return outcomes
