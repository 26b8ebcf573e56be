"""Files and folders put in place whole, or not at all.

Everything is written beside its place first, under a hidden name that nobody can foresee and that
is made anew, so no link that waits there is followed. Whoever is killed leaves such a draft behind;
it is locked as long as its maker lives, so the next to write there knows it for a leftover and
takes it away. Only what has exactly such a name is a draft: a user's own ``.citebed-notes`` is not.
"""

from __future__ import annotations

import contextlib
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
from citebed.files.system_errors import system_error, why_not
from citebed.wording import printable

DRAFT = ".citebed-"
"""What the names of all drafts start with; 16 digits follow, 0 to f."""
_DRAFT_NAME = re.compile(re.escape(DRAFT) + "[0-9a-f]{16}")
_SWEPT = 20
"""So often at most a draft is swept before its maker has locked it."""
FORMER = "former"
"""In the draft of a folder: what was there before, while it is replaced."""
LOCK_SECONDS = 20.0
"""How long to wait for a lock that others of ours hold for milliseconds: anybody who can read a
file or folder can lock it."""


def wait_for_lock(handle: int, path: Path) -> None:
    """Lock an open file or folder, waiting for others; raise if somebody holds on to it."""
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
    """Make sure that renamings and removals in ``folder`` have reached the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    """Make sure that what was written to a file has reached the disk."""
    with path.open("rb") as handle:
        os.fsync(handle.fileno())


def _sync_all(folder: Path) -> None:
    for path in folder.rglob("*"):
        (sync_folder if path.is_dir() else sync_file)(path)
    sync_folder(folder)


@contextlib.contextmanager
def whole_files(*paths: Path, private: bool = False) -> Iterator[list[Path]]:
    """Drafts to be filled, put in place together once all of them are written.

    Whatever goes wrong before leaves what was there as it was. The others speak of the first: a
    kill may leave them without it or it without them, never beside a first that they are not of.
    A file that is replaced keeps its permissions, a new one has those that the umask leaves;
    ``private`` ones can be read by their owner only. The first may be a link to its place; the
    others' names nobody chose, and links there are replaced.
    """
    with contextlib.ExitStack() as held, translate_os_errors(paths[0]):
        first = Path(os.path.realpath(paths[0])) if paths[0].is_symlink() else paths[0]
        places = [_plain_target(path) for path in (first, *paths[1:])]
        drafts = []
        for place in places:
            held.enter_context(_folder(place.parent))
            drafts.append(held.enter_context(draft_file(place, private=private)))
        yield drafts
        for draft, place in zip(drafts, places, strict=True):
            if not private and place.is_file() and not place.is_symlink():
                draft.chmod(stat.S_IMODE(place.stat().st_mode))
            sync_file(draft)
        _place(drafts, places)


@contextlib.contextmanager
def _folder(folder: Path) -> Iterator[None]:
    """A folder to write to, made where it is missing; made in vain, it goes again."""
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if made:
            with contextlib.suppress(OSError):  # somebody may have put something there
                folder.rmdir()
        raise


def _place(drafts: list[Path], places: list[Path]) -> None:
    pairs = list(zip(drafts, places, strict=True))
    if not places[0].exists():  # so that the first, once there, has the others beside it
        pairs.reverse()
    else:
        for other in places[1:]:
            other.unlink(missing_ok=True)
    for draft, place in pairs:
        draft.replace(place)


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """A file with this content; text as UTF-8."""
    with whole_files(path, private=private) as (draft,):
        draft.write_bytes(content.encode() if isinstance(content, str) else content)


def create_private(path: Path, content: bytes) -> None:
    """Create a file that only its owner may read; raise `FileExistsError` if the name is taken.

    The name appears when the whole content is on the disk. The content is written by handle, so
    nobody who can write to the folder can redirect it.
    """
    sweep(path.parent)
    draft, handle = _locked(path.parent, lambda name: _new_file(name, 0o600))
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


def write_own(path: Path, content: str) -> None:
    """A file of ours, whose name nobody chose: a link in its place is replaced, not followed."""
    with several_files(path.parent, path) as draft:
        (draft / path.name).write_text(content, "utf-8")


def is_own(path: Path) -> bool:
    """Whether a name of ours is free or a file: no link, pipe or folder that somebody put there."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return True


def own_folder(path: Path) -> Path:
    """A folder of ours to write to; a link in its place may lead anywhere and is refused."""
    if path.is_symlink():
        raise CitebedError(
            f"'{printable(path)}' is a link; inside a collection nothing is written through links. "
            "Put a folder in its place."
        )
    return path


def append_own(path: Path) -> io.FileIO:
    """A file of ours to write at its end, made where it is missing; a link or pipe is an error."""
    careful = os.O_NOFOLLOW | os.O_NONBLOCK
    return io.FileIO(path, "a", opener=lambda name, flags: os.open(name, flags | careful, 0o666))


@contextlib.contextmanager
def several_files(folder: Path, only: Path | None = None) -> Iterator[Path]:
    """An empty folder to be filled with files, all of which are then put into ``folder``.

    Other files there stay. Nothing is placed before all is written. What cannot be written is told
    as the ``only`` one of them, if there is one, else as the folder.
    """
    with translate_os_errors(only or folder), workshop(folder, only) as draft:
        yield draft
        _sync_all(draft)
        for made in sorted(draft.iterdir()):
            made.replace(folder / made.name)


@contextlib.contextmanager
def workshop(folder: Path, only: Path | None = None) -> Iterator[Path]:
    """An empty folder in ``folder`` for as long as it is needed."""
    if folder.exists() and not folder.is_dir():
        raise CitebedError(f"'{printable(folder)}' is a file; name a folder.")
    with contextlib.ExitStack() as held:
        with translate_os_errors(only or folder):
            folder.mkdir(parents=True, exist_ok=True)
            draft = held.enter_context(_draft(folder, _new_folder))
        yield draft


@contextlib.contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """An empty folder to be filled, which then takes the place of ``target``, folder or file.

    Where the system can, the two are exchanged in one step; else a kill between two renamings
    leaves the former folder aside, and the next to write there puts it back first.
    """
    with translate_os_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with _draft(target.parent, _new_folder) as draft:
            made = draft / target.name
            made.mkdir()
            yield made
            if target.is_dir():
                made.chmod(stat.S_IMODE(target.stat().st_mode))
            _sync_all(made)
            _put_in_place(made, target, draft)


def _put_in_place(made: Path, target: Path, draft: Path) -> None:
    if not os.path.lexists(target):
        made.replace(target)
    elif not exchange(made, target):
        former = draft / FORMER / target.name
        former.parent.mkdir()
        target.replace(former)
        made.replace(target)
    sync_folder(target.parent)


def exchange(one: Path, other: Path) -> bool:
    """Let two paths change places in one step; ``False`` where the system cannot."""
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


def _plain_target(path: Path) -> Path:
    """Where a file is put in place: never a folder or a device."""
    if path.is_symlink():
        return path
    if path.is_dir() or not path.name:
        raise CitebedError(f"cannot write {printable(path)}: it is a folder. Name a file.")
    if path.exists() and not path.is_file():
        raise CitebedError(
            f"cannot write {printable(path)}: it is a device or a pipe, and files are put in "
            "place whole. Name a plain file."
        )
    return path


@contextlib.contextmanager
def translate_os_errors(place: Path) -> Iterator[None]:
    """Errors of the system as one that says what could not be written; those in panics too."""
    try:
        yield
    except BaseException as error:
        cause = system_error(error)
        if cause is None:
            raise
        raise CitebedError(f"cannot write {printable(place)}: {why_not(cause)}") from error


# --- drafts ---------------------------------------------------------------------------------


@contextlib.contextmanager
def _draft(folder: Path, make: Callable[[Path], int]) -> Iterator[Path]:
    """A draft in ``folder``, locked while it is in use and gone afterwards."""
    sweep(folder)
    path, handle = _locked(folder, make)
    try:
        yield path
    finally:
        _put_back(path)
        _remove(path)
        os.close(handle)


def draft_file(place: Path, *, private: bool = False) -> contextlib.AbstractContextManager[Path]:
    """An empty file beside its place that is gone afterwards, unless it was put there.

    Only its owner can open it if it is ``private`` or replaces a file, which may be private:
    whoever opened it sooner could read what is written to it after its mode was changed.
    """
    is_there = place.is_file() and not place.is_symlink()
    mode = 0o600 if private or is_there else 0o666
    return _draft(place.parent, partial(_new_file, mode=mode))


def _locked(folder: Path, make: Callable[[Path], int]) -> tuple[Path, int]:
    swept = 0
    while True:
        path = folder / f"{DRAFT}{secrets.token_hex(8)}"
        try:
            handle = make(path)
        except FileNotFoundError:
            swept += 1
            if folder.is_dir() and swept < _SWEPT:  # someone swept it before it was opened
                continue
            raise  # or it is a folder, as /proc, in which there are no files to make
        with contextlib.suppress(OSError):  # a disk without locks has no sweeping either
            wait_for_lock(handle, path)  # whoever has it is sweeping, and done at once
        if path.exists():  # else it was swept before it was locked
            return path, handle
        os.close(handle)


def _new_file(path: Path, mode: int = 0o666) -> int:
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW, mode)


def _new_folder(path: Path) -> int:
    path.mkdir(mode=0o700)  # what it replaces may be private
    return os.open(path, os.O_RDONLY)


def sweep(folder: Path) -> None:
    """Take away the drafts in ``folder`` whose makers were killed."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in [entry for entry in entries if _DRAFT_NAME.fullmatch(entry.name)]:
            with contextlib.suppress(OSError):
                _sweep(Path(entry.path))


def _sweep(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if os.fstat(handle).st_uid != os.geteuid():  # another's, who may have put anything there
            return
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _put_back(path)
        _remove(path)
    finally:
        os.close(handle)


def _put_back(draft: Path) -> None:
    """A folder that was moved aside and never replaced goes back to its place."""
    aside = draft / FORMER
    if aside.is_dir() and not aside.is_symlink():
        for former in aside.iterdir():
            place = draft.parent / former.name
            if not os.path.lexists(place):
                former.replace(place)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
