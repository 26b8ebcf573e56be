"""Work that takes the processor: a few at a time, not too many waiting, and none for nobody."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from fastapi import Request

from citebed.errors import CitebedError

AT_ONCE = 3
MOST_WAITING = 200
SECONDS = 30.0
_T = TypeVar("_T")


class Busy(CitebedError):
    """Too much is asked at once, or something took too long."""


class Gone(Exception):
    """Whoever asked has gone away: nobody reads an answer."""


class _Threads:
    """Threads that nobody waits for at the end: what they compute then is for nobody."""

    def __init__(self, number: int) -> None:
        self._works: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]
        self._works = queue.SimpleQueue()
        self._number, self._begun = number, 0
        self._is_closed = False

    def submit(self, work: Callable[[], _T]) -> Future[_T]:
        """Have something done by the next thread that is free."""
        done: Future[_T] = Future()
        self._works.put((done, work))
        if self._begun < self._number:
            self._begun += 1
            name = f"citebed-request-{self._begun}"
            threading.Thread(target=self._work, name=name, daemon=True).start()
        return done

    def _work(self) -> None:
        while (taken := self._works.get()) is not None:
            done, work = taken
            if not done.set_running_or_notify_cancel():
                continue
            try:
                result = work()
            except BaseException as error:  # a library written in Rust panics with no Exception
                if not self._is_closed:
                    done.set_exception(error)
            else:
                if not self._is_closed:  # else the loop is, and nobody is to be told
                    done.set_result(result)
                del result
            del taken, done, work  # an idle thread holds nothing

    def close(self) -> None:
        """Begin nothing more."""
        self._is_closed = True
        for _ in range(self._begun):
            self._works.put(None)


class Turns:
    """Threads for requests that compute; each takes its turn."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._threads = _Threads(at_once)
        self._free = asyncio.Semaphore(at_once)
        self._waiting = 0

    async def run(self, request: Request, work: Callable[[], _T], seconds: float = SECONDS) -> _T:
        """What ``work`` gives; `Busy` if it would wait or take too long.

        One who types sends a request a moment after the last, and goes away from that: what has not
        begun by then is not done.
        """
        if self._waiting >= MOST_WAITING:
            raise Busy("too many requests at once. Try again in a moment.")
        try:
            await self._begin(seconds)
            return await self._in_thread(request, work, seconds)
        except asyncio.CancelledError:  # nobody does that but a server that has to end
            raise Busy("the server is stopping.") from None

    async def _begin(self, seconds: float) -> None:
        self._waiting += 1
        try:
            async with asyncio.timeout(seconds):
                await self._free.acquire()
        except TimeoutError:
            raise Busy("too many requests at once. Try again in a moment.") from None
        finally:
            self._waiting -= 1

    async def _in_thread(self, request: Request, work: Callable[[], _T], seconds: float) -> _T:
        try:
            if await request.is_disconnected():
                raise Gone
            done = asyncio.wrap_future(self._threads.submit(work))
        except BaseException:  # also where whoever asks is cancelled: a place is never lost
            self._free.release()
            raise
        # The thread's place is free when it has ended, not when nobody waits for it any more.
        done.add_done_callback(self._ended)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(done)
        except TimeoutError:
            raise Busy(f"this takes longer than {seconds:.0f} s, and was given up.") from None

    def _ended(self, done: asyncio.Future[Any]) -> None:
        self._free.release()
        if not done.cancelled():
            done.exception()  # seen, also where nobody waits for it any more

    def close(self) -> None:
        """Begin nothing more."""
        self._threads.close()
