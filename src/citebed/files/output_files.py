"""Output files: written completely or not at all, moved and removed without following links.

citebed writes each file or folder to a draft beside its place, then renames the draft. The draft's
name is hidden, random and new, so no link can wait there. A kill leaves the draft behind. Its
writer locks it, so the next process that writes to the folder recognises an unlocked draft as stale
and removes it. Only names of exactly this form are drafts; a user's ``.citebed-notes`` is not.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from citebed.errors import CitebedError
from citebed.files.system_errors import error_reason, find_system_error
from citebed.wording import printable

DRAFT_PREFIX = ".citebed-"
"""Start of the name of every draft; 16 hexadecimal digits follow."""
_DRAFT_NAME = re.compile(re.escape(DRAFT_PREFIX) + "[0-9a-f]{16}")
FORMER = "former"
"""Folder inside a draft that holds the folder being replaced."""
LOCK_SECONDS = 20.0
"""Timeout of a lock, which citebed itself holds for milliseconds. Anyone who can read a file or
folder can lock it."""
_DRAFT_TRIES = 20
_UPDATE_TRIES = 100
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)
_COMPRESSED = (".gz", ".xz", ".bz2", ".zst")


class UnexpectedFile(CitebedError):
    """A link, device or other file where citebed expects a plain file or a folder."""


# --- Whole files and folders ------------------------------------------------------------------


def write_file(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write a file, text as UTF-8; see ``replace_files``."""
    with replace_files(path, private=private) as (draft,):
        draft.write_bytes(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def replace_files(*paths: Path, private: bool = False) -> Iterator[list[Path]]:
    """Yield drafts to write; put all of them in place when the block ends without error.

    The other files belong to the first: after a kill, one of them may be missing, but an old one
    never stays beside a new first file. A replaced file keeps its permissions; only its owner can
    read a ``private`` one. If the first path is a link, its target is replaced; links at the other
    paths, which citebed named itself, are replaced.
    """
    with contextlib.ExitStack() as stack, translate_write_errors(paths[0]):
        first = Path(os.path.realpath(paths[0])) if paths[0].is_symlink() else paths[0]
        places = [_check_replaceable(path) for path in (first, *paths[1:])]
        drafts = []
        for place in places:
            stack.enter_context(_parent_folder(place.parent))
            drafts.append(stack.enter_context(draft_file(place, private=private)))
        yield drafts
        for draft, place in zip(drafts, places, strict=True):
            if not private and place.is_file() and not place.is_symlink():
                draft.chmod(stat.S_IMODE(place.stat().st_mode))
            sync_file(draft)
        pairs = list(zip(drafts, places, strict=True))
        if not places[0].exists():  # the first file comes last, so that it is never alone
            pairs.reverse()
        else:
            for other in places[1:]:
                other.unlink(missing_ok=True)
        for draft, place in pairs:
            draft.replace(place)


def _check_replaceable(path: Path) -> Path:
    if path.is_symlink():
        return path
    if path.is_dir() or not path.name:
        raise CitebedError(f"cannot write {printable(path)}: it is a folder. Name a file.")
    if path.exists() and not path.is_file():
        raise CitebedError(
            f"cannot write {printable(path)}: it is a device or a pipe. Name a plain file, because "
            "citebed replaces files."
        )
    return path


@contextlib.contextmanager
def _parent_folder(folder: Path) -> Iterator[None]:
    """Create a missing folder; remove it if the block fails."""
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):  # another program may have put a file there
                folder.rmdir()
        raise


@contextlib.contextmanager
def add_files(folder: Path, only: Path | None = None) -> Iterator[Path]:
    """Yield an empty folder to fill with files; then move all of them into ``folder``.

    Other files in ``folder`` stay. Errors name ``only`` if that is the only file to write.
    """
    with translate_write_errors(only or folder), temporary_folder(folder, only) as draft:
        yield draft
        _sync_all(draft)
        for new in sorted(draft.iterdir()):
            new.replace(folder / new.name)


@contextlib.contextmanager
def replace_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; then put it in place of ``target``, a folder or file.

    If the system can, it exchanges the two in one step. Otherwise a kill between two renames leaves
    the former folder in the draft, and the next process that writes there moves it back.
    """
    with translate_write_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with _draft(target.parent, _create_folder) as draft:
            new = draft / target.name
            new.mkdir()
            yield new
            if target.is_dir():
                new.chmod(stat.S_IMODE(target.stat().st_mode))
            _sync_all(new)
            if not os.path.lexists(target):
                new.replace(target)
            elif not exchange_paths(new, target):
                former = draft / FORMER / target.name
                former.parent.mkdir()
                target.replace(former)
                new.replace(target)
            sync_folder(target.parent)


@contextlib.contextmanager
def temporary_folder(folder: Path, only: Path | None = None) -> Iterator[Path]:
    """Yield an empty folder inside ``folder``; remove it when the block ends."""
    if folder.exists() and not folder.is_dir():
        raise CitebedError(f"'{printable(folder)}' is a file; name a folder.")
    with contextlib.ExitStack() as stack:
        with translate_write_errors(only or folder):
            folder.mkdir(parents=True, exist_ok=True)
            draft = stack.enter_context(_draft(folder, _create_folder))
        yield draft


def create_private(path: Path, content: bytes) -> None:
    """Create a file that only its owner may read; raise `FileExistsError` if the name is taken.

    The name appears when the whole content is on the disk. The content is written by handle, so
    other users who can write to the folder cannot redirect it.
    """
    remove_stale_drafts(path.parent)
    draft, handle = _lock_draft(path.parent, lambda name: _create_file(name, 0o600))
    try:
        with open(handle, "wb", closefd=False) as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        os.link(draft, path, follow_symlinks=False)
        sync_folder(path.parent)
    finally:
        draft.unlink(missing_ok=True)
        os.close(handle)


def find_free_path(path: Path) -> Path:
    """Return the path, or, if something exists there, the path with a number before its ending."""
    ending = "".join(path.suffixes[-2:]) if path.suffix in _COMPRESSED else path.suffix
    stem, number, free = path.name.removesuffix(ending), 1, path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{stem}-{number}{ending}")
    return free


@contextlib.contextmanager
def translate_write_errors(place: Path) -> Iterator[None]:
    """Turn system errors, also those inside panics, into errors that name the place."""
    try:
        yield
    except BaseException as error:
        cause = find_system_error(error)
        if cause is None:
            raise
        raise CitebedError(f"cannot write {printable(place)}: {error_reason(cause)}") from error


# --- Files inside a collection, which may come from a stranger --------------------------------


def write_own_file(path: Path, content: str) -> None:
    """Write a file that citebed named itself: a link in its place is replaced, not followed."""
    with add_files(path.parent, path) as draft:
        (draft / path.name).write_text(content, "utf-8")


def is_plain_or_missing(path: Path) -> bool:
    """Return True if a path is a plain file or does not exist: no link, pipe or folder."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return True


def check_not_link(path: Path) -> Path:
    """Return the path of a folder to write to; raise if it is a link, which may lead anywhere."""
    if path.is_symlink():
        raise CitebedError(
            f"'{printable(path)}' is a link; citebed follows no links inside a collection. Replace "
            "it by a folder."
        )
    return path


def open_to_append(path: Path) -> io.FileIO:
    """Open a file to append to, or create it; a link or pipe is an error."""
    no_link = os.O_NOFOLLOW | os.O_NONBLOCK
    return io.FileIO(path, "a", opener=lambda name, flags: os.open(name, flags | no_link, 0o666))


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@contextlib.contextmanager
def open_folder(folder: Path) -> Iterator[FolderHandle]:
    """Open a folder; the folder itself may be a link, because the user named it."""
    with contextlib.ExitStack() as stack:
        yield FolderHandle(os.open(folder, _FOLDER), stack)


class FolderHandle:
    """Moves and removes files below an open folder, named like ``queries/a.jsonl``.

    The folder may come from a stranger, with links at any depth. Every folder below is opened from
    its parent's handle, by one part of its name and never through a link. So nothing outside is
    reached, even if another program exchanges folders meanwhile.
    """

    def __init__(self, root: int, stack: contextlib.ExitStack) -> None:
        stack.callback(os.close, root)
        self._stack, self._open = stack, {"": root}

    def open_below(self, name: str, *, make: bool = False) -> int | None:
        """Return the handle of a folder below; ``None`` if it is missing and not to be made."""
        if name in self._open:
            return self._open[name]
        above, _, part = name.rpartition("/")
        parent = self.open_below(above, make=make)
        if parent is None:
            return None
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(_check_part(part), dir_fd=parent)
        try:
            handle = os.open(_check_part(part), _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):  # e.g. a disk that fails
                raise
            raise UnexpectedFile(f"'{printable(name)}' is a link, or not a folder") from None
        self._stack.callback(os.close, handle)
        self._open[name] = handle
        return handle

    def has(self, name: str) -> bool:
        """Return True if a file exists; raise if there is a link or a folder instead."""
        folder, part = self._locate(name)
        if folder is None:
            return False
        try:
            status = os.stat(part, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(status.st_mode):
            raise UnexpectedFile(f"'{printable(name)}' is not a plain file")
        return True

    def move(self, name: str, new: str) -> None:
        """Rename a file and replace an existing one."""
        (source, old_part), (target, new_part) = self._locate(name), self._locate(new)
        os.replace(old_part, new_part, src_dir_fd=source, dst_dir_fd=target)

    def remove(self, name: str) -> None:
        """Delete a file, or a link in its place, if it exists."""
        folder, part = self._locate(name)
        if folder is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part, dir_fd=folder)

    def sync(self) -> None:
        """Wait until all changes are on the disk."""
        for handle in self._open.values():
            os.fsync(handle)

    def _locate(self, name: str) -> tuple[int | None, str]:
        folder, _, part = name.rpartition("/")
        return self.open_below(folder), _check_part(part)


def _check_part(part: str) -> str:
    if part in ("", ".", "..") or "/" in part or "\0" in part:
        raise UnexpectedFile(f"'{printable(part)}' is not the name of a file or folder")
    return part


# --- A user's file that others may change meanwhile -------------------------------------------


def update_file(path: Path, change: Callable[[bytes], bytes | None]) -> None:
    """Replace a file's content by ``change(content)``; a missing file has empty content.

    Processes of citebed wait for each other. Editors do not: if one saves meanwhile, citebed puts
    that version back and applies ``change`` to it. ``None`` leaves the file unchanged. A read-only
    file and a missing folder are errors.
    """
    place, name = Path(os.path.realpath(path)), printable(path)
    if not place.parent.is_dir():
        missing = f"there is no folder '{printable(path.parent)}'"
        raise CitebedError(f"{name}: {missing}. Create it, or correct the name.")
    if place.exists() and not (place.stat().st_mode & 0o222 and os.access(place, os.W_OK)):
        raise CitebedError(
            f"{name} is read-only and was left alone. Allow writing to it (chmod u+w), or name "
            "another file."
        )
    with translate_write_errors(path), locked_folder(place.parent):
        for _ in range(_UPDATE_TRIES):
            before = place.read_bytes() if place.exists() else None
            after = change(before or b"")
            if after is None or _replace_unchanged(place, before, after):
                return
    raise CitebedError(f"{name} is changed by another program all the time; try again later.")


@contextlib.contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Lock a folder to change a file in it, which is replaced and may not exist yet."""
    handle = os.open(folder, _FOLDER)
    try:
        try:
            wait_for_lock(handle, folder)
        except OSError as error:
            if error.errno not in _NO_LOCKS:  # not every disk has locks
                raise
        yield
    finally:
        os.close(handle)


def _replace_unchanged(place: Path, before: bytes | None, after: bytes) -> bool:
    """Replace the content ``before`` (``None``: no file); return False if it changed meanwhile."""
    with draft_file(place) as draft:
        draft.write_bytes(after)
        if before is not None:
            draft.chmod(stat.S_IMODE(place.stat().st_mode))
        sync_file(draft)
        if before is None:
            done = _link_new(draft, place)
        else:
            done = _exchange_unchanged(draft, place, before, after)
    sync_folder(place.parent)
    return done


def _link_new(draft: Path, place: Path) -> bool:
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


def _exchange_unchanged(draft: Path, place: Path, before: bytes, after: bytes) -> bool:
    """Exchange the two files, then compare: so no version is lost unseen."""
    if not exchange_paths(draft, place):
        if not place.exists() or place.read_bytes() != before:
            return False
        draft.replace(place)
        return True
    placed, saved = after, draft.read_bytes()
    if saved == before:
        return True
    while True:  # put the other version back, and any version that was saved in the meantime
        exchange_paths(draft, place)
        taken = draft.read_bytes()
        if taken == placed:
            return False
        placed, saved = saved, taken


def exchange_paths(one: Path, other: Path) -> bool:
    """Exchange two paths in one step; return False if the system cannot."""
    import ctypes
    import sys

    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin" and hasattr(library, "renamex_np"):
        return bool(library.renamex_np(*names, 2) == 0)  # RENAME_SWAP
    if not hasattr(library, "renameat2"):
        return False
    here = -100  # AT_FDCWD
    return bool(library.renameat2(here, names[0], here, names[1], 2) == 0)  # RENAME_EXCHANGE


# --- Drafts -----------------------------------------------------------------------------------


def draft_file(place: Path, *, private: bool = False) -> contextlib.AbstractContextManager[Path]:
    """Yield an empty file beside its place; remove it at the end unless it was put in place.

    Only the owner can open it if it is ``private`` or replaces a file, which may be private:
    otherwise others could open it before its mode changes, and read what is written later.
    """
    exists = place.is_file() and not place.is_symlink()
    mode = 0o600 if private or exists else 0o666
    return _draft(place.parent, partial(_create_file, mode=mode))


@contextlib.contextmanager
def _draft(folder: Path, create: Callable[[Path], int]) -> Iterator[Path]:
    """Yield a locked draft in ``folder``; remove it at the end."""
    remove_stale_drafts(folder)
    path, handle = _lock_draft(folder, create)
    try:
        yield path
    finally:
        _discard(path)
        os.close(handle)


def _lock_draft(folder: Path, create: Callable[[Path], int]) -> tuple[Path, int]:
    """Create and lock a draft; repeat if another process removes it before it is locked."""
    tries = 0
    while True:
        path = folder / f"{DRAFT_PREFIX}{secrets.token_hex(8)}"
        try:
            handle = create(path)
        except FileNotFoundError:
            tries += 1
            if folder.is_dir() and tries < _DRAFT_TRIES:  # removed before it was opened
                continue
            raise  # or a folder such as /proc, in which no file can be created
        with contextlib.suppress(OSError):  # without locks, processes do not remove drafts either
            wait_for_lock(handle, path)  # another process locks it only for an instant
        if path.exists():
            return path, handle
        os.close(handle)


def _create_file(path: Path, mode: int = 0o666) -> int:
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW, mode)


def _create_folder(path: Path) -> int:
    path.mkdir(mode=0o700)  # the folder that it replaces may be private
    return os.open(path, os.O_RDONLY)


def remove_stale_drafts(folder: Path) -> None:
    """Remove the drafts in ``folder`` whose writers were killed."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in [entry for entry in entries if _DRAFT_NAME.fullmatch(entry.name)]:
            with contextlib.suppress(OSError):
                handle = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    # Another user's draft may contain anything.
                    if os.fstat(handle).st_uid == os.geteuid():
                        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        _discard(Path(entry.path))
                finally:
                    os.close(handle)


def _discard(draft: Path) -> None:
    """Move a folder that was set aside but not replaced back to its place; remove the draft."""
    former = draft / FORMER
    if former.is_dir() and not former.is_symlink():
        for folder in former.iterdir():
            place = draft.parent / folder.name
            if not os.path.lexists(place):
                folder.replace(place)
    if draft.is_dir() and not draft.is_symlink():
        shutil.rmtree(draft, ignore_errors=True)
    else:
        draft.unlink(missing_ok=True)


# --- Locks and the disk -----------------------------------------------------------------------


def wait_for_lock(handle: int, path: Path) -> None:
    """Lock an open file or folder; raise if another program holds the lock too long."""
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                what = f"another program has locked '{printable(path)}' for {LOCK_SECONDS:.0f} s"
                raise CitebedError(f"{what}. End it, then try again.") from None
            time.sleep(0.01)


def sync_folder(folder: Path) -> None:
    """Wait until renames and removals in ``folder`` are on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    """Wait until a file's content is on the disk."""
    with path.open("rb") as handle:
        os.fsync(handle.fileno())


def _sync_all(folder: Path) -> None:
    for path in folder.rglob("*"):
        (sync_folder if path.is_dir() else sync_file)(path)
    sync_folder(folder)
