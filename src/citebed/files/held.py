"""A folder held open, in which files are moved and removed without following any link.

A folder may come from a stranger, with links at any depth. Every folder below is opened by a single
part of its name from the one above it, and never through a link; what is moved or removed is named
by its folder's handle. So nothing outside is reached, whatever lies there, also if it is exchanged
meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from citebed.errors import CitebedError
from citebed.wording import printable

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NO_FOLDER = (errno.ELOOP, errno.ENOTDIR)


class Misplaced(CitebedError):
    """Something else than a file or a folder is where one should be."""


@contextlib.contextmanager
def held(folder: Path) -> Iterator[Held]:
    """A folder held open; it itself may be a link, since whoever opens it named it."""
    with contextlib.ExitStack() as handles:
        yield Held(os.open(folder, _FOLDER), handles)


class Held:
    """Files below a folder, by names like ``queries/a.jsonl``; ``held`` makes one."""

    def __init__(self, root: int, handles: contextlib.ExitStack) -> None:
        handles.callback(os.close, root)
        self._handles, self._open = handles, {"": root}

    def folder(self, name: str, *, make: bool = False) -> int | None:
        """The handle of a folder; ``None`` where there is none and none is to be made."""
        if name in self._open:
            return self._open[name]
        above, _, part = name.rpartition("/")
        parent = self.folder(above, make=make)
        if parent is None:
            return None
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(_single(part), dir_fd=parent)
        try:
            handle = os.open(_single(part), _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno not in _NO_FOLDER:  # a disk that fails says nothing of what is there
                raise
            raise Misplaced(f"'{printable(name)}' is a link, or no folder") from None
        self._handles.callback(os.close, handle)
        self._open[name] = handle
        return handle

    def has(self, name: str) -> bool:
        """Whether there is a file of this name; a link or a folder in its place is refused."""
        folder, part = self._place(name)
        if folder is None:
            return False
        try:
            status = os.stat(part, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(status.st_mode):
            raise Misplaced(f"'{printable(name)}' is not a plain file")
        return True

    def move(self, name: str, new: str) -> None:
        """Give a file another name; what has that name is replaced."""
        (source, old_part), (target, new_part) = self._place(name), self._place(new)
        os.replace(old_part, new_part, src_dir_fd=source, dst_dir_fd=target)

    def remove(self, name: str) -> None:
        """Take a file away, or a link in its place, if there is one."""
        folder, part = self._place(name)
        if folder is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part, dir_fd=folder)

    def sync(self) -> None:
        """Make sure that all that was moved and removed has reached the disk."""
        for handle in self._open.values():
            os.fsync(handle)

    def _place(self, name: str) -> tuple[int | None, str]:
        folder, _, part = name.rpartition("/")
        return self.folder(folder), _single(part)


def _single(part: str) -> str:
    """A single part of a name: it leads nowhere else."""
    if part in ("", ".", "..") or "/" in part or "\0" in part:
        raise Misplaced(f"'{printable(part)}' is no name of a file or folder")
    return part
