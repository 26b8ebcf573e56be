"""Work in threads whose results come in order, with few of them waiting."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


def prefetch(items: Iterable[Result]) -> Iterator[Result]:
    """Yield the items, while a thread computes the next one."""
    iterator = iter(items)
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, iterator, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, iterator, None)
            yield item


def in_threads(
    work: Callable[[Job], Result], jobs: Iterable[Job], threads: int
) -> Iterator[Result]:
    """Yield the result of each job in order. At most twice as many jobs as threads wait."""
    if threads == 1:
        yield from map(work, jobs)
        return
    ahead: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for job in jobs:
                ahead.append(pool.submit(work, job))
                if len(ahead) > 2 * threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()
