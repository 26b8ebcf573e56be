"""A folder held open, in which files are moved and removed without following any link.

A folder may come from a stranger, with links at any depth. Every folder below is opened by a single
part of its name from the one above it, and never through a link; what is moved or removed is named
by its folder's handle. So nothing outside is reached, whatever lies there, also if it is exchanged
meanwhile.

A secret of the user's, kept outside of all collections: it tells what this user wrote.

A file that is to be acted upon later (a journal) carries a seal made with it. What came from
somebody else, or was changed, has no seal that fits.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from citebed.errors import CitebedError
from citebed.files.places import state_folder
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


# --- A secret of one's own --------------------------------------------------------------------


_BYTES = 32
_NAME = "secret"


def seal(content: str) -> str:
    """What only this user, or this process where no secret can be kept, can say of a content."""
    return hmac.new(own_secret(), content.encode(), hashlib.sha256).hexdigest()


def is_sealed(content: str, claimed: object) -> bool:
    """Whether a seal is this user's, of this content."""
    return isinstance(claimed, str) and hmac.compare_digest(
        seal(content).encode(), claimed.encode("utf-8", "replace")
    )


def own_secret() -> bytes:
    """The user's secret, made when it is first asked for.

    Where none can be kept, or others may know it, the process has one of its own: what it seals is
    a stranger's to the next process, which says so where it matters.
    """
    try:
        return _kept(state_folder())
    except (OSError, CitebedError):  # the latter: there is no home
        return _of_process()


def forget() -> None:
    """Read the secret anew when it is next asked for, as a new process would."""
    _kept.cache_clear()
    _of_process.cache_clear()


@lru_cache(maxsize=1)
def _of_process() -> bytes:
    return secrets.token_bytes(_BYTES)


@lru_cache(maxsize=4)
def _kept(folder: Path) -> bytes:
    path = folder / _NAME
    if not os.path.lexists(path):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(path)
    return _read(path)


def _make(path: Path) -> None:
    """The file, whole at once; of two processes that make it, the faster has made it."""
    draft = path.with_name(f".{_NAME}-{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()


def _read(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        kind = os.fstat(handle)
        is_private = kind.st_uid == os.geteuid() and not stat.S_IMODE(kind.st_mode) & 0o077
        if not (stat.S_ISREG(kind.st_mode) and is_private and kind.st_size == _BYTES):
            raise PermissionError(f"{path} is no secret of this user's")
        return file.read(_BYTES)
