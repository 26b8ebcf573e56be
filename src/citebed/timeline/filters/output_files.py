"""The files of a run on its way: drafts beside the output, which get its name when they are whole.

The run stands in ``OUT.partial``, the checkpoint in ``OUT.checkpoint``; the list of skipped lines,
where one is wanted, in ``LIST.partial``. A run that was stopped must find them again, so their
names can be foreseen, and whoever may write beside an output could have put something else there.
What is no file of ours, and ours alone, is neither written nor read.
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
from citebed.files.reading import opened
from citebed.files.writing import translate_os_errors, whole_files
from citebed.wording import printable

_CAREFUL = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Drafts(NamedTuple):
    """The drafts, open to be written at their ends."""

    run: BinaryIO
    listing: BinaryIO | None


class OutputFiles:
    """Where a run is written, and what becomes of it."""

    def __init__(self, output: Path, skipped: Path | None = None) -> None:
        self._typed = {"-o": output, "--skipped": skipped}
        self.is_packed = output.suffix == ".gz"
        self.output = _place(output)
        self.skipped = _place(skipped) if skipped else None
        self.partial = Path(f"{self.output}.partial")
        self.checkpoint = Path(f"{self.output}.checkpoint")
        self.listing = Path(f"{self.skipped}.partial") if self.skipped else None

    def all(self) -> list[Path]:
        """Every file that may be written."""
        made = [self.output, self.partial, self.checkpoint]
        return [*made, *(path for path in (self.skipped, self.listing) if path)]

    def check_place(self, read: Sequence[Path]) -> None:
        """What is written goes to plain files, over nothing that is read, and nothing twice."""
        for option, path in self._typed.items():
            if path is not None and (path.is_dir() or not path.name):
                raise CitebedError(f"'{printable(path)}' is a folder; name a file with {option}.")
        written = self.all()
        for made in written:
            self._check_file(made, read)
        names = [made.absolute() for made in written]
        twice = next((made for made in written if names.count(made.absolute()) > 1), None)
        if twice is not None:
            raise CitebedError(
                f"'{printable(twice)}' would be written by both -o and --skipped; name another."
            )

    def _check_file(self, made: Path, read: Sequence[Path]) -> None:
        name = printable(made)
        if made.exists() and not made.is_file():
            raise CitebedError(f"'{name}' is a device or a pipe; name a plain file.")
        if any(path.exists() and made.exists() and path.samefile(made) for path in read):
            raise CitebedError(f"'{name}' is one of the files that are read; name another.")
        parents = Path(os.path.realpath(made)).parents
        inside = any(path.is_dir() and Path(os.path.realpath(path)) in parents for path in read)
        mine = made not in (self.output, self.skipped) or not made.exists() or _is_ours(made)
        if inside and not mine:
            raise CitebedError(f"'{name}' is part of the collection that is read; name another.")

    def check(self, overwrite: bool) -> None:
        """Refuse to replace what is there, unless that is wanted."""
        for path in filter(None, (self.output, self.skipped)):
            if path.exists() and not overwrite:
                raise CitebedError(
                    f"'{printable(path)}' is there already; add --overwrite to replace it"
                )

    @contextmanager
    def alone(self) -> Iterator[Drafts]:
        """Keep the drafts to one process; the locks go with the process."""
        paths = [path for path in (self.partial, self.listing) if path]
        new = [path for path in paths if not os.path.lexists(path)]
        try:
            with ExitStack() as locks:
                files = []
                for path in paths:
                    with translate_os_errors(path):
                        path.parent.mkdir(parents=True, exist_ok=True)
                        files.append(locked_draft(path))
                    locks.callback(_close, files[-1])
                yield Drafts(files[0], files[1] if self.listing else None)
        finally:
            for path in new:
                if path.exists() and not path.stat().st_size:  # refused before it began
                    path.unlink()

    def put_in_place(self, drafts: Drafts) -> None:
        """Make the drafts what they are drafts of. The checkpoint goes last: up to then whatever
        fails can be gone on from, and without its draft it is a leftover of a run that is done."""
        with translate_os_errors(self.output):
            if self.is_packed:
                with whole_files(self.output) as (packed,):
                    _pack(self.partial, packed)
                self.partial.unlink()
            else:
                _take_mode(drafts.run, self.output)
                self.partial.replace(self.output)
            self.put_list_in_place(drafts)
            self.checkpoint.unlink(missing_ok=True)

    def put_list_in_place(self, drafts: Drafts) -> None:
        """Give the list of skipped lines its name."""
        if self.listing and self.skipped and drafts.listing:
            _take_mode(drafts.listing, self.skipped)
            self.listing.replace(self.skipped)

    def remove(self) -> None:
        """Leave no draft and no checkpoint."""
        for path in (self.partial, self.checkpoint, self.listing):
            if path:
                path.unlink(missing_ok=True)


def _is_ours(path: Path) -> bool:
    """Whether a file is a filter run or a list of skipped lines, which may be made anew."""
    with opened(path) as file:
        start = file.read(2)
    return start in (b"#{", b"") or path.suffix in (".txt", ".log")


def _close(draft: BinaryIO) -> None:
    """What was not written by now is of no use to anybody, and may not fit on the disk."""
    with suppress(OSError):
        draft.close()


def _place(path: Path) -> Path:
    """Where a file stands: what a link leads to."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _take_mode(draft: BinaryIO, place: Path) -> None:
    """What replaces a file has its permissions."""
    if place.exists():
        os.fchmod(draft.fileno(), stat.S_IMODE(place.stat().st_mode))


def _pack(plain: Path, packed: Path) -> None:
    """Without a name or a time in it, so that equal lines make equal files."""
    with (
        read_draft(plain) as source,
        packed.open("wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as zipped,
    ):
        shutil.copyfileobj(source, zipped, 1 << 20)


# --- files of ours, and ours alone ------------------------------------------------------------


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


def _check(path: Path, status: os.stat_result) -> None:
    what = ""
    if stat.S_ISLNK(status.st_mode):
        what = "a link"
    elif not stat.S_ISREG(status.st_mode):
        what = "no plain file"
    elif status.st_nlink > 1:
        what = "a file with two names"
    elif status.st_uid != os.geteuid():
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
