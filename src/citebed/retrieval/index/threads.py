"""Work in threads, in order and without piling up."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


def prefetch(items: Iterable[Result]) -> Iterator[Result]:
    """Yield the items, and compute the next one in a thread meanwhile."""
    iterator = iter(items)
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, iterator, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, iterator, None)
            yield item


def in_threads(
    work: Callable[[Job], Result], jobs: Iterable[Job], threads: int
) -> Iterator[Result]:
    """What the work makes of each job, in their order, few of them ahead of their use."""
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
            for each in ahead:
                each.cancel()
