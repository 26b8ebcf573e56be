"""Errors of the operating system: found inside other exceptions, and described for users.

If a disk fails while citebed reads a file, the file need not be damaged. A user who reads "damaged"
may delete a file that the next attempt could read.
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


def find_system_error(error: BaseException) -> OSError | None:
    """Return the operating system's error behind an exception, or ``None``.

    polars reports such errors only in words: ``… (os error 28)`` when it writes itself, and
    ``… [Errno 28] …`` when it writes to a Python file.
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error
    match = re.search(r"\(os error (\d{1,4})\)|\[Errno (\d{1,4})\]", str(error))
    if match:
        number = int(match[1] or match[2])
        return OSError(number, os.strerror(number))
    return OSError(None, str(error)) if isinstance(error, OSError) else None


def error_reason(error: OSError) -> str:
    """Return the reason of a failed write, e.g. ``it is read-only (Permission denied)``."""
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"it is read-only ({error.strerror})"
    return error.strerror or str(error)


def describe_error(error: OSError) -> str:
    """Return the reason of an error with the file that it names."""
    file = error.filename
    return (
        f"{printable(file)}: {error_reason(error)}"
        if isinstance(file, str)
        else error_reason(error)
    )


@contextlib.contextmanager
def translate_read_errors(path: Path) -> Iterator[None]:
    """Turn system errors, also those inside panics, into errors that name the file.

    A missing file is left to the caller, and so is ``EINVAL``: a damaged file can contain offsets
    that no file has, which the system calls invalid arguments.
    """
    try:
        yield
    except (CitebedError, FileNotFoundError):
        raise
    except BaseException as error:
        cause = find_system_error(error)
        if cause is None or cause.errno in (None, errno.EINVAL):
            raise
        raise CitebedError(f"cannot read {printable(path)}: {cause.strerror}") from error


def allow_interrupts() -> None:
    """Let Ctrl-C end a wait for a pipe; once polars is loaded, the system would keep waiting."""
    signal.siginterrupt(signal.SIGINT, True)


def open_for_reading(path: Path) -> io.BufferedReader:
    """Open a file whose system errors name the file."""
    with translate_read_errors(path):
        return io.BufferedReader(_TranslatedFile(path), _BUFFER)


class _TranslatedFile(io.FileIO):
    """Overrides what a buffered reader calls, which is never ``read``."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        self._path = path

    def readinto(self, buffer: object) -> int:
        with translate_read_errors(self._path):
            return super().readinto(buffer)  # type: ignore[arg-type]

    def readall(self) -> bytes:
        with translate_read_errors(self._path):
            return super().readall()
