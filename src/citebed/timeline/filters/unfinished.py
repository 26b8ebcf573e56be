"""The files of a run on its way: drafts beside the output, which get its name when they are whole.

The run stands in ``OUT.partial``, the checkpoint in ``OUT.checkpoint``; the list of skipped lines,
where one is wanted, in ``LIST.partial``.
"""

from __future__ import annotations

import fcntl
import gzip
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from citebed.errors import CitebedError


class Unfinished:
    """Where a run is written, and what becomes of it."""

    def __init__(self, output: Path, skipped: Path | None = None) -> None:
        self.output = output
        self.skipped = skipped
        self.partial = _beside(output, ".partial")
        self.packed = _beside(output, ".partial.gz")
        self.checkpoint = _beside(output, ".checkpoint")
        self.listing = _beside(skipped, ".partial") if skipped else None

    def all(self) -> list[Path]:
        """Every file that may be written."""
        draft = _beside(self.checkpoint, ".new")
        made = [self.output, self.partial, self.packed, self.checkpoint, draft]
        return [*made, *(path for path in (self.skipped, self.listing) if path)]

    def check(self, overwrite: bool) -> None:
        """Refuse to replace what is there, unless that is wanted."""
        for path in filter(None, (self.output, self.skipped)):
            if path.exists() and not overwrite:
                raise CitebedError(f"'{path}' is there already; add --overwrite to replace it")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep the drafts to one process; the locks go with the process."""
        drafts = [path for path in (self.partial, self.listing) if path]
        new = [path for path in drafts if not path.exists()]
        try:
            with ExitStack() as locks:
                for path in drafts:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    _lock(locks.enter_context(path.open("ab")))
                yield
        finally:
            for path in new:
                if path.exists() and not path.stat().st_size:  # refused before it began
                    path.unlink()

    def put_in_place(self) -> None:
        """Make the drafts what they are drafts of. The checkpoint goes first: without the other,
        each of them is understood, as a run that starts over or one that is done."""
        ready = self.partial
        if self.output.suffix == ".gz":
            ready = self.packed
            _pack(self.partial, ready)
        self.checkpoint.unlink()
        ready.replace(self.output)
        self.partial.unlink(missing_ok=True)
        self.put_list_in_place()

    def put_list_in_place(self) -> None:
        """Give the list of skipped lines its name."""
        if self.listing and self.skipped:
            self.listing.replace(self.skipped)

    def remove(self) -> None:
        """Leave no draft and no checkpoint."""
        for path in (self.partial, self.packed, self.checkpoint, self.listing):
            if path:
                path.unlink(missing_ok=True)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _lock(handle: IO[bytes]) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise CitebedError(
            f"another process is writing {handle.name}; wait for it, or choose another output"
        ) from None


def _pack(plain: Path, packed: Path) -> None:
    try:
        with plain.open("rb") as source, packed.open("wb") as raw:
            _compress(source, raw)
    except BaseException:
        packed.unlink(missing_ok=True)
        raise


def _compress(plain: IO[bytes], raw: IO[bytes]) -> None:
    """Without a name or a time in it, so that equal lines make equal files."""
    with gzip.GzipFile("", "wb", 6, raw, mtime=0) as zipped:
        shutil.copyfileobj(plain, zipped, 1 << 20)
