"""Errors of the operating system: found behind exceptions of any kind, and told in words.

A disk that fails while a file is read is not a file that is damaged: who is told of damage throws
away what the next try could read.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

from citebed.errors import CitebedError
from citebed.wording import printable

_BUFFER = 1 << 17


def system_error(error: BaseException) -> OSError | None:
    """The operating system's error behind an exception, if there is one.

    polars tells those of its own writing only in words: ``… (os error 28)``, and those of a
    handle of ours as ``… [Errno 28] …``.
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error
    match = re.search(r"\(os error (\d{1,4})\)|\[Errno (\d{1,4})\]", str(error))
    if match:
        number = int(match[1] or match[2])
        return OSError(number, os.strerror(number))
    return OSError(None, str(error)) if isinstance(error, OSError) else None


def why_not(error: OSError) -> str:
    """Why the system did not let us write, in words; a place that is read-only is called so."""
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"it is read-only ({error.strerror})"
    return error.strerror or str(error)


def describe_error(error: OSError) -> str:
    """Return what an error of the system says, with the file that it names."""
    file = error.filename
    return f"{printable(file)}: {why_not(error)}" if isinstance(file, str) else why_not(error)


@contextlib.contextmanager
def translate_read_errors(path: Path) -> Iterator[None]:
    """Around reading a file: an error of the system is told with the file, and is no damage.

    Damage may lead to places that no file has, which the system calls invalid arguments. A file
    that is not there is for whoever reads it to tell.
    """
    try:
        yield
    except (CitebedError, FileNotFoundError):
        raise
    except BaseException as error:  # those in panics too
        cause = system_error(error)
        if cause is None or cause.errno in (None, errno.EINVAL):
            raise
        raise CitebedError(f"cannot read {printable(path)}: {cause.strerror}") from error


def heed_interrupts() -> None:
    """Let Ctrl-C end waiting for a pipe, or for the reader of ours.

    polars, once it is loaded, makes the system go on waiting.
    """
    signal.siginterrupt(signal.SIGINT, True)


def open_translated(path: Path) -> io.BufferedReader:
    """A file opened to be read, whose errors of the system are told with its name."""
    with translate_read_errors(path):
        return io.BufferedReader(_Translated(path), _BUFFER)


class _Translated(io.FileIO):
    """What is read into the buffer; ``read`` itself would not come by here."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        self._path = path

    def readinto(self, buffer: object) -> int:
        with translate_read_errors(self._path):
            return super().readinto(buffer)  # type: ignore[arg-type]

    def readall(self) -> bytes:
        with translate_read_errors(self._path):
            return super().readall()
