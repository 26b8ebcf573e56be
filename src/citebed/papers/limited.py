"""A paper read in a process that may use so much memory and time, and no more.

PDFium is a large C++ library, and a PDF may ask it for anything: what it cannot do within these
limits, or does wrong, ends this process alone.
"""

from __future__ import annotations

import contextlib
import copyreg
import resource

from citebed.files.limits import limit, shown
from citebed.papers.bounds import MEMORY, MOST_SECONDS, SECONDS, SECONDS_A_PAGE, packed
from citebed.papers.checking import Refused, checked, opened
from citebed.papers.paper import PlacedText, ReadPaper
from citebed.papers.reading import read_document


def prepare() -> None:
    """Limit this process for good: its memory, no file written, no core dumped."""
    for kind, most in (
        (resource.RLIMIT_AS, limit(MEMORY)),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # macOS has no such limit of memory
            resource.setrlimit(kind, (_at_most(kind, most),) * 2)
    copyreg.pickle(PlacedText, packed)


def read_limited(data: bytes) -> ReadPaper:
    """The paper in the bytes of a PDF; raises ``Refused`` for what is none."""
    _allow(SECONDS)
    try:
        document = opened(data)
        _allow(min(SECONDS + int(SECONDS_A_PAGE * len(document)), MOST_SECONDS))
        try:
            return checked(document, read_document(document), data)
        finally:
            document.close()
    except MemoryError:
        raise Refused(f"takes more than {shown(limit(MEMORY))} of memory to read") from None


def _allow(seconds: int) -> None:
    """So much more time of the processor from now on; the system ends us after it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + 1 + seconds
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (_at_most(resource.RLIMIT_CPU, until), hard))


def _at_most(kind: int, most: int) -> int:
    hard = resource.getrlimit(kind)[1]
    return most if hard == resource.RLIM_INFINITY else min(most, hard)
