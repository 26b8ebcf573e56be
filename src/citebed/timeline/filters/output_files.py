"""Files of an unfinished filter run: drafts beside the output, renamed when they are complete.

The run is in ``OUT.partial``, its checkpoint in ``OUT.checkpoint``, and the optional list of
skipped lines in ``LIST.partial``. A later run must find them, so their names are predictable, and
another user with access to the folder could put something else there. Therefore citebed neither
reads nor writes links, hard-linked files, devices or files of another user.
"""

from __future__ import annotations

import fcntl
import gzip
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from citebed.errors import CitebedError
from citebed.files.input_files import open_input
from citebed.files.output_files import replace_files, translate_write_errors
from citebed.wording import printable

_CAREFUL = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Drafts(NamedTuple):
    """The drafts, open for appending."""

    run: BinaryIO
    listing: BinaryIO | None


class OutputFiles:
    """The paths of a run's files, and the operations on them."""

    def __init__(self, output: Path, skipped: Path | None = None) -> None:
        self._typed = {"-o": output, "--skipped": skipped}
        self.is_packed = output.suffix == ".gz"
        self.output = _place(output)
        self.skipped = _place(skipped) if skipped else None
        self.partial = Path(f"{self.output}.partial")
        self.checkpoint = Path(f"{self.output}.checkpoint")
        self.listing = Path(f"{self.skipped}.partial") if self.skipped else None

    def all(self) -> list[Path]:
        """Return every file that the run may write."""
        made = [self.output, self.partial, self.checkpoint]
        return [*made, *(path for path in (self.skipped, self.listing) if path)]

    def check_place(self, read: Sequence[Path]) -> None:
        """Check that all outputs are plain files, distinct, and not among the files to read."""
        for option, path in self._typed.items():
            if path is not None and (path.is_dir() or not path.name):
                raise CitebedError(f"'{printable(path)}' is a folder; name a file with {option}.")
        written = self.all()
        for made in written:
            name = printable(made)
            if made.exists() and not made.is_file():
                raise CitebedError(f"'{name}' is a device or a pipe; name a plain file.")
            if any(path.exists() and made.exists() and path.samefile(made) for path in read):
                raise CitebedError(f"'{name}' is one of the files that are read; name another.")
            parents = Path(os.path.realpath(made)).parents
            inside = any(path.is_dir() and Path(os.path.realpath(path)) in parents for path in read)
            mine = made not in (self.output, self.skipped) or not made.exists() or _is_ours(made)
            if inside and not mine:
                raise CitebedError(
                    f"'{name}' is part of the collection that is read; name another."
                )
        names = [made.absolute() for made in written]
        twice = next((made for made in written if names.count(made.absolute()) > 1), None)
        if twice is not None:
            raise CitebedError(
                f"'{printable(twice)}' would be written by both -o and --skipped; name another."
            )

    def check(self, overwrite: bool) -> None:
        """Raise an error if an output exists, unless ``overwrite``."""
        for path in filter(None, (self.output, self.skipped)):
            if path.exists() and not overwrite:
                raise CitebedError(
                    f"'{printable(path)}' already exists; add --overwrite to replace it"
                )

    @contextmanager
    def alone(self) -> Iterator[Drafts]:
        """Open and lock the drafts; the locks end with the process."""
        paths = [path for path in (self.partial, self.listing) if path]
        new = [path for path in paths if not os.path.lexists(path)]
        try:
            with ExitStack() as locks:
                files = []
                for path in paths:
                    with translate_write_errors(path):
                        path.parent.mkdir(parents=True, exist_ok=True)
                        files.append(locked_draft(path))
                    locks.callback(_close, files[-1])
                yield Drafts(files[0], files[1] if self.listing else None)
        finally:
            for path in new:
                if path.exists() and not path.stat().st_size:  # the run was refused at the start
                    path.unlink()

    def put_in_place(self, drafts: Drafts) -> None:
        """Give the drafts their final names.

        The checkpoint is removed last: until then a failed run can resume, and a checkpoint without
        its draft marks a completed run.
        """
        with translate_write_errors(self.output):
            if self.is_packed:
                # Without name and time, so that equal content gives equal bytes.
                with (
                    replace_files(self.output) as (packed,),
                    read_draft(self.partial) as source,
                    packed.open("wb") as raw,
                    gzip.GzipFile("", "wb", 6, raw, mtime=0) as zipped,
                ):
                    shutil.copyfileobj(source, zipped, 1 << 20)
                self.partial.unlink()
            else:
                _take_mode(drafts.run, self.output)
                self.partial.replace(self.output)
            self.put_list_in_place(drafts)
            self.checkpoint.unlink(missing_ok=True)

    def put_list_in_place(self, drafts: Drafts) -> None:
        """Give the list of skipped lines its final name."""
        if self.listing and self.skipped and drafts.listing:
            _take_mode(drafts.listing, self.skipped)
            self.listing.replace(self.skipped)

    def remove(self) -> None:
        """Remove drafts and checkpoint."""
        for path in (self.partial, self.checkpoint, self.listing):
            if path:
                path.unlink(missing_ok=True)


def _is_ours(path: Path) -> bool:
    """Return True for a filter run or a list of skipped lines, which may be overwritten."""
    with open_input(path) as file:
        start = file.read(2)
    return start in (b"#{", b"") or path.suffix in (".txt", ".log")


def _close(draft: BinaryIO) -> None:
    """Close a draft; ignore errors, since everything needed was flushed before."""
    with suppress(OSError):
        draft.close()


def _place(path: Path) -> Path:
    """Resolve a symbolic link."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _take_mode(draft: BinaryIO, place: Path) -> None:
    """Give a draft the permissions of the file that it replaces."""
    if place.exists():
        os.fchmod(draft.fileno(), stat.S_IMODE(place.stat().st_mode))


# --- safe opening: plain files of this user with one name -------------------------------------


def locked_draft(path: Path) -> BinaryIO:
    """Open a draft for appending, create it if missing, and lock it for this process."""
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
        file.close()  # the process that held the lock has just renamed it


def read_draft(path: Path) -> BinaryIO:
    """Open a draft for reading."""
    return os.fdopen(_opened(path, os.O_RDONLY), "rb")


def _opened(path: Path, flags: int) -> int:
    if os.path.lexists(path):
        _check(path, path.lstat())
    handle = os.open(path, flags | _CAREFUL, 0o666)
    try:
        _check(path, os.fstat(handle))  # another file may have replaced it since the first check
    except CitebedError:
        os.close(handle)
        raise
    return handle


def _check(path: Path, status: os.stat_result) -> None:
    what = ""
    if stat.S_ISLNK(status.st_mode):
        what = "a link"
    elif not stat.S_ISREG(status.st_mode):
        what = "not a plain file"
    elif status.st_nlink > 1:
        what = "a hard-linked file"
    elif status.st_uid != os.geteuid():
        what = "a file of another user"
    if what:
        raise CitebedError(
            f"{printable(path)} is {what}; citebed uses only its own plain files. Remove it or "
            "choose another output."
        )


def _is_at(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
