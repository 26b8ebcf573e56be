"""Drafts that a run which was stopped must find again, so their names can be foreseen.

Whoever may write beside an output could have put something else there. What is no file of ours,
and ours alone, is neither written nor read.
"""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path
from typing import BinaryIO

from citebed.errors import CitebedError
from citebed.wording import printable

_CAREFUL = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def locked_draft(path: Path) -> BinaryIO:
    """A draft to write at its end, made where it is missing, for this process alone."""
    while True:
        file = os.fdopen(_opened(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise CitebedError(
                f"another process is writing {printable(path)}; wait for it, or choose another "
                "output"
            ) from None
        if _is_at(path, file):
            return file
        file.close()  # whoever had it has put it in its place meanwhile


def read_draft(path: Path) -> BinaryIO:
    """A draft to be read."""
    return os.fdopen(_opened(path, os.O_RDONLY), "rb")


def _opened(path: Path, flags: int) -> int:
    if os.path.lexists(path):
        _check(path, path.lstat())
    handle = os.open(path, flags | _CAREFUL, 0o666)
    try:
        _check(path, os.fstat(handle))  # something else may be there by now
    except CitebedError:
        os.close(handle)
        raise
    return handle


def _check(path: Path, found: os.stat_result) -> None:
    what = ""
    if stat.S_ISLNK(found.st_mode):
        what = "a link"
    elif not stat.S_ISREG(found.st_mode):
        what = "no plain file"
    elif found.st_nlink > 1:
        what = "a file with two names"
    elif found.st_uid != os.geteuid():
        what = "a file of another user"
    if what:
        raise CitebedError(
            f"{printable(path)} is {what}, not a draft of ours; remove it, or choose another output"
        )


def _is_at(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
