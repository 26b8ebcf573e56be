"""Limits on the size of a PDF, and on the memory and time that reading it may take."""

from __future__ import annotations

import contextlib
import resource

from citebed.files.limits import effective_limit

MEMORY = 3 << 29
"""Bytes of address space for a child process."""
FILE_BYTES = 200 << 20
MAX_PAGES = 2000
"""A longer file is not a paper, but a book or a volume of papers."""
CPU_SECONDS, CPU_SECONDS_PER_PAGE, MAX_CPU_SECONDS = 20, 0.25, 240
"""Processor time per paper, and more for each page: five times what a dense page needs."""
WALL_SECONDS = 280.0
"""Time limit on a busy machine; imports give their own workers a little more."""


def limit_process() -> None:
    """Limit this process for good: its memory, no files written, no core dumps."""
    for kind, value in (
        (resource.RLIMIT_AS, effective_limit(MEMORY)),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # macOS cannot limit memory
            resource.setrlimit(kind, (_at_most(kind, value),) * 2)


def allow_cpu_seconds(seconds: int) -> None:
    """Let this process use more processor time from now on; then the system ends it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + 1 + seconds
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (_at_most(resource.RLIMIT_CPU, until), hard))


def _at_most(kind: int, value: int) -> int:
    hard = resource.getrlimit(kind)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
