"""The checkpoint of a filter: where it stands in the stream and in its output, and what it knows.

Written whole or not at all, beside the output, so that whoever is killed goes on from it.
"""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from citebed.errors import CitebedError
from citebed.records import Problem
from citebed.timeline.filters.base import State

_ABOUT = "about"
_STATE = "state/"
LISTED = 100
"""How many problems are listed; all of them are counted."""


@dataclass
class Progress:
    """How far a filter has come: in the stream (bytes with their CRC-32, lines, documents) and
    in its output (bytes, lines)."""

    offset: int = 0
    crc: int = 0
    line: int = 1
    documents: int = 0
    last_time: int | None = None
    output: int = 0
    written: int = 0
    skipped: int = 0
    problems: list[Problem] = field(default_factory=list)


def save(path: Path, identity: dict[str, Any], progress: Progress, state: State) -> None:
    """Replace the checkpoint by a new one, at once."""
    about = json.dumps({"identity": identity, "progress": asdict(progress)})
    arrays = {_STATE + name: array for name, array in state.items()}
    draft = path.with_name(path.name + ".new")
    with draft.open("wb") as handle:
        np.savez(handle, allow_pickle=False, **{_ABOUT: np.array(about)}, **arrays)
        handle.flush()
        os.fsync(handle.fileno())
    draft.replace(path)


def load(path: Path) -> tuple[dict[str, Any], Progress, State]:
    """The identity, progress and state of a checkpoint."""
    try:
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as arrays:
            about = json.loads(str(arrays[_ABOUT]))
            names = [name for name in arrays.files if name.startswith(_STATE)]
            state = {name.removeprefix(_STATE): arrays[name] for name in names}
        progress = Progress(**about["progress"])
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError) as error:
        raise CitebedError(
            f"the checkpoint {path} cannot be read ({error}); add --restart to start over"
        ) from None
    progress.problems = [Problem(*problem) for problem in progress.problems]
    return about["identity"], progress, state


def check_identity(path: Path, then: dict[str, Any], now: dict[str, Any]) -> None:
    """Refuse to go on with other options than those of the checkpoint."""
    now = json.loads(json.dumps(now))
    for name in {**then, **now}:
        if then.get(name) != now.get(name):
            raise CitebedError(
                f"the checkpoint {path} was made with {name} {then.get(name)!r}, and now it is "
                f"{now.get(name)!r}. Run with the same options, or add --restart to start over"
            )
