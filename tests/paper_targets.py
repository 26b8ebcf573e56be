"""Kinds of harm that a PDF can do to its reader, recognised by the file's bytes."""

from __future__ import annotations

import os
import resource
import time
from typing import Any

from citebed.papers.paper import limit_process
from citebed.papers.pdf_reader import read_pdf


def prepare() -> None:
    """As a child gets ready, with less memory: what takes without end has it sooner."""
    limit_process()
    resource.setrlimit(resource.RLIMIT_AS, (450 << 20,) * 2)


def read(data: bytes) -> Any:
    """The paper, or what the bytes ask for."""
    if data == b"crash":
        os.abort()
    if data == b"hang":
        time.sleep(600)
    if data == b"spin":
        used = int(resource.getrusage(resource.RUSAGE_SELF).ru_utime)
        resource.setrlimit(resource.RLIMIT_CPU, (used + 1, resource.RLIM_INFINITY))
        while True:
            pass
    if data == b"eat":
        raise MemoryError
    if data == b"bug":
        raise ZeroDivisionError("of ours")
    return _Gift() if data == b"trick" else read_pdf(data)


class _Gift:
    """An answer that would have something called where it is taken."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch tricked",)
