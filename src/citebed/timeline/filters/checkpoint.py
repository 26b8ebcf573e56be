"""Checkpoints of a filter run: position in the stream and the output, and the model's state.

A checkpoint is written atomically beside the output, so that a killed run can resume.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from citebed.errors import CitebedError
from citebed.files.output_files import add_files, sync_file
from citebed.files.system_errors import translate_read_errors
from citebed.records import Problem
from citebed.timeline.filters.output_files import read_draft
from citebed.timeline.filters.topics import State
from citebed.wording import printable

_ABOUT = "about"
_STATE = "state/"
LISTED = 100
"""Problems kept in memory; all of them are counted."""

Identity = dict[str, Any]
"""Settings that must match when a run resumes, by a name for messages."""


@dataclass
class Progress:
    """The position of a filter run.

    In the stream: bytes with their CRC-32, lines and documents. In the output: bytes, lines, and
    the topics with a line. ``listing`` is the length of the list of skipped lines in bytes.
    """

    offset: int = 0
    crc: int = 0
    line: int = 1
    documents: int = 0
    last_time: int | None = None
    output: int = 0
    written: int = 0
    topics: list[str] = field(default_factory=list)
    skipped: int = 0
    repeated: int = 0
    listing: int = 0
    problems: list[Problem] = field(default_factory=list)


def save(path: Path, identity: Identity, progress: Progress, state: State) -> None:
    """Replace the checkpoint atomically."""
    about = json.dumps({"identity": identity, "progress": asdict(progress)})
    arrays = {_STATE + name: array for name, array in state.items()}
    with add_files(path.parent, path) as folder:  # a link in its place is not followed
        draft = folder / path.name
        with draft.open("wb") as handle:
            np.savez(handle, allow_pickle=False, **{_ABOUT: np.array(about)}, **arrays)
        sync_file(draft)


def load(path: Path, identity: Identity) -> tuple[Progress, State]:
    """Load a checkpoint; raise an error unless a run with the same settings wrote it."""
    try:
        with (
            translate_read_errors(path),
            read_draft(path) as handle,
            np.load(handle, allow_pickle=False) as arrays,
        ):
            about = json.loads(str(arrays[_ABOUT]))
            names = [name for name in arrays.files if name.startswith(_STATE)]
            state = {name.removeprefix(_STATE): arrays[name] for name in names}
        # Before the rest is read: another version may have written it differently.
        then, now = about["identity"], json.loads(json.dumps(identity))
        differ = [name for name in {**now, **then} if then.get(name) != now.get(name)]
        # Settings that only one side has follow from others: the model "names" has no analyser.
        differ = [name for name in differ if name in then and name in now] or differ
        if differ:
            what = ", ".join(_difference(name, then.get(name), now.get(name)) for name in differ)
            raise CitebedError(
                f"the checkpoint {printable(path)} does not fit: it was made with {what}. Run with "
                "the same options and files to go on from it, or add --restart to start over"
            )
        progress = Progress(**about["progress"])
    except CitebedError:
        raise
    except Exception as error:  # numpy raises many kinds of errors for a damaged file
        raise CitebedError(
            f"the checkpoint {printable(path)} cannot be read ({error}); add --restart to start "
            "over"
        ) from None
    progress.problems = [Problem(*problem) for problem in progress.problems]
    return progress, state


def _difference(name: str, *values: Any) -> str:
    if all(isinstance(value, dict) for value in values):
        return f"other {name}"  # a hash of something long, which says nothing to a reader
    then, now = ("not given" if value is None else f"'{value}'" for value in values)
    return f"{name} {then} (now {now})"
