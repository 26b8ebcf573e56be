"""The folder of a run on an engine, ``OUT.parts``: a folder for each part of the stream.

What is in it is written whole or not at all, by whoever does a part, so that a part that was done
is not done again: not by a worker that takes the place of another, nor by the next run.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import NamedTuple

from citebed.errors import CitebedError
from citebed.files.output_files import translate_write_errors
from citebed.wording import printable


class Part(NamedTuple):
    """The files of a part; ``summary`` and ``scored`` are written last."""

    folder: Path

    @property
    def reads(self) -> Path:
        """What its documents say."""
        return self.folder / "reads.arrow"

    @property
    def skipped(self) -> Path:
        """Its lines that are no documents."""
        return self.folder / "skipped.jsonl"

    @property
    def summary(self) -> Path:
        """What was counted in it."""
        return self.folder / "summary.npz"

    @property
    def told(self) -> Path:
        """The documents of it that are learned from, and some before them."""
        return self.folder / "told.arrow"

    @property
    def state(self) -> Path:
        """What the filter knows at its beginning."""
        return self.folder / "begin.npz"

    @property
    def lines(self) -> Path:
        """Its lines of the run."""
        return self.folder / "lines.txt"

    @property
    def scored(self) -> Path:
        """What was written of it."""
        return self.folder / "scored.npz"


class WorkFolder(NamedTuple):
    """``OUT.parts``, which the workers must see too."""

    path: Path

    @property
    def plan(self) -> Path:
        """What is run, and where the stream is cut."""
        return self.path / "plan.npz"

    @property
    def stream(self) -> Path:
        """The lines of a stream that is no plain file."""
        return self.path / "stream.jsonl"

    def part(self, number: int) -> Part:
        """The files of a part."""
        return Part(self.path / f"{number:06d}")

    def make(self) -> None:
        """Make the folder, or take the one that a run before has left."""
        with translate_write_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        self._check_ours()

    def remove(self) -> None:
        """Take it away, with all that is in it."""
        if os.path.lexists(self.path):
            self._check_ours()
            with translate_write_errors(self.path):
                shutil.rmtree(self.path)

    def _check_ours(self) -> None:
        """Its name can be foreseen, so somebody may have put something else there."""
        status = self.path.lstat()
        is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        made = {entry.name for entry in self.path.iterdir()} if is_ours else set()
        if not is_ours or (made and not self._is_known(made)):
            raise CitebedError(
                f"{printable(self.path)} is no folder of ours; remove it, or choose another output"
            )

    def _is_known(self, names: set[str]) -> bool:
        known = {self.plan.name, self.stream.name}
        return all(
            name in known or name.isdecimal() or name.startswith(".citebed-") for name in names
        )
