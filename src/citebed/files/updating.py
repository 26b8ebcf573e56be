"""Changing a file of the user's own, which others may change at the same time.

Processes of ours take turns. Editors do not: what one saves while we write is put back, and the
change is made to that.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from citebed.errors import CitebedError
from citebed.files.writing import (
    draft_file,
    exchange,
    sync_file,
    sync_folder,
    translate_os_errors,
    wait_for_lock,
)
from citebed.wording import printable

_TRIES = 100
"""So often a file may be saved by others while it is changed."""
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)


def update(path: Path, change: Callable[[bytes], bytes | None]) -> None:
    """Put in place what ``change`` makes of a file's content, nothing for a new one.

    It is called again with what somebody saved in between; ``None`` leaves the file as it is. So
    does a file without permission to write, and a folder that is not there, which are errors.
    """
    place = Path(os.path.realpath(path))
    _check(path, place)
    with translate_os_errors(path), _turn(place.parent):
        for _ in range(_TRIES):
            before = place.read_bytes() if place.exists() else None
            after = change(before or b"")
            if after is None or _put(place, before, after):
                return
    raise CitebedError(f"{printable(path)} is changed by another program all the time; try later")


def _check(path: Path, place: Path) -> None:
    name = printable(path)
    if not place.parent.is_dir():
        missing = f"there is no folder '{printable(path.parent)}'"
        raise CitebedError(f"{name}: {missing}. Make it first, or mend the name.")
    if place.exists():
        writable = stat.S_IMODE(place.stat().st_mode) & 0o222 and os.access(place, os.W_OK)
        if not writable:
            raise CitebedError(
                f"{name} is read-only and was left alone. Allow writing to it (chmod u+w), or name "
                "another file."
            )


@contextlib.contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Wait for the others of ours that change a file in this folder.

    The folder itself is locked: a file is replaced by another, and may not be there yet.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            wait_for_lock(handle, folder)
        except OSError as error:
            if error.errno not in _NO_LOCKS:  # without locks, what was saved is compared still
                raise
        yield
    finally:
        os.close(handle)


def _put(place: Path, before: bytes | None, after: bytes) -> bool:
    """Put a content in place of ``before``; not if something else is there by now."""
    with draft_file(place) as draft:
        draft.write_bytes(after)
        if before is not None:
            draft.chmod(stat.S_IMODE(place.stat().st_mode))
        sync_file(draft)
        done = _put_new(draft, place) if before is None else _put_over(draft, place, before, after)
    sync_folder(place.parent)
    return done


def _put_new(draft: Path, place: Path) -> bool:
    try:
        os.link(draft, place)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if place.exists():
            return False
        draft.replace(place)
    return True


def _put_over(draft: Path, place: Path, before: bytes, after: bytes) -> bool:
    """The two change places, so that what was there is seen before it goes."""
    if not exchange(draft, place):
        if not place.exists() or place.read_bytes() != before:
            return False
        draft.replace(place)
        return True
    placed, saved = after, draft.read_bytes()
    if saved == before:
        return True
    while True:  # back with it, and with what was saved in the meantime
        exchange(draft, place)
        taken = draft.read_bytes()
        if taken == placed:
            return False
        placed, saved = saved, taken
