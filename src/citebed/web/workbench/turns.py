"""Work that takes the processor: a few at a time, not too many waiting, and none for nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

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


class Turns:
    """Threads for requests that compute; each takes its turn."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._threads = ThreadPoolExecutor(at_once, "citebed-request")
        self._free = asyncio.Semaphore(at_once)
        self._waiting = 0

    async def run(self, request: Request, work: Callable[[], _T], seconds: float = SECONDS) -> _T:
        """What ``work`` gives; `Busy` if it would wait or take too long.

        One who types sends a request a moment after the last, and goes away from that: what has not
        begun by then is not done.
        """
        if self._waiting >= MOST_WAITING:
            raise Busy("too many requests at once. Try again in a moment.")
        self._waiting += 1
        try:
            async with asyncio.timeout(seconds):
                await self._free.acquire()
        except TimeoutError:
            raise Busy("too many requests at once. Try again in a moment.") from None
        finally:
            self._waiting -= 1
        return await self._in_thread(request, work, seconds)

    async def _in_thread(self, request: Request, work: Callable[[], _T], seconds: float) -> _T:
        try:
            if await request.is_disconnected():
                raise Gone
            done = asyncio.get_running_loop().run_in_executor(self._threads, work)
        except BaseException:  # also where whoever asks is cancelled: a place is never lost
            self._free.release()
            raise
        # The thread's place is free when it has ended, not when nobody waits for it any more.
        done.add_done_callback(lambda _: self._free.release())
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(done)
        except TimeoutError:
            done.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            raise Busy(f"this takes longer than {seconds:.0f} s, and was given up.") from None

    def close(self) -> None:
        """Begin nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
