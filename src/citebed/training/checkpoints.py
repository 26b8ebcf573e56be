"""Where a run stands, in a file from which it goes on as if it had never stopped.

The file is an ``.npz`` of plain arrays (weights, the optimiser's, what a stage keeps) and a JSON
text that says what it belongs to; it is written whole or not at all, and nothing is unpickled.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citebed.errors import CitebedError
from citebed.files.output_files import replace_files
from citebed.files.system_errors import open_for_reading
from citebed.retrieval.vectors.model_files import Arrays
from citebed.wording import printable

_ABOUT = "about"
_SAYS = "To begin anew, add --restart (restart=True in Python)."


@dataclass(frozen=True)
class Standing:
    """Where a run stands: before ``step`` of ``stage``; ``notes`` are what it has to tell so far.

    ``weights`` are the model's arrays, ``optimiser`` those of the optimiser, ``kept`` what the
    stage made from the model when it began.
    """

    stage: int = 0
    step: int = 0
    notes: Mapping[str, Any] = field(default_factory=dict)
    weights: Arrays = field(default_factory=dict)
    optimiser: Arrays = field(default_factory=dict)
    kept: Arrays = field(default_factory=dict)


def write_checkpoint(path: Path, belongs: Mapping[str, Any], standing: Standing) -> None:
    """Put a checkpoint in the place of the last; ``belongs`` is what must be the same later."""
    about = {"belongs": belongs, "stage": standing.stage, "step": standing.step}
    text = json.dumps({**about, "notes": standing.notes}, sort_keys=True)
    arrays = {_ABOUT: np.frombuffer(text.encode(), np.uint8)}
    for part in ("weights", "optimiser", "kept"):
        arrays |= {f"{part}|{name}": each for name, each in getattr(standing, part).items()}
    with replace_files(path) as (draft,), draft.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def read_checkpoint(path: Path, belongs: Mapping[str, Any]) -> Standing | None:
    """The checkpoint at a path, if there is one; one of other data or settings is refused."""
    if not path.exists():
        return None
    try:
        with open_for_reading(path) as stream, np.load(stream, allow_pickle=False) as stored:
            about = json.loads(bytes(stored[_ABOUT]))
            _check_same(path, about["belongs"], json.loads(json.dumps(belongs)))
            parts: dict[str, dict[str, NDArray[Any]]] = {}
            for name in stored.files:
                part, _, inside = name.partition("|")
                parts.setdefault(part, {})[inside] = stored[name]
            arrays = [parts.get(part, {}) for part in ("weights", "optimiser", "kept")]
            return Standing(about["stage"], about["step"], about["notes"], *arrays)
    except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile) as error:
        what = f"'{printable(path)}' is no checkpoint, or damaged ({error})."
        raise CitebedError(f"{what} {_SAYS}") from None


def _check_same(path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for name in sorted({*found, *wanted}):
        there, here = found.get(name), wanted.get(name)
        if isinstance(there, dict) and isinstance(here, dict):
            _check_same(path, there, here)
        elif there != here:
            raise CitebedError(
                f"'{printable(path)}' is the checkpoint of another run: its {name} is {there!r}, "
                f"not {here!r}. Give the same data and settings to go on with it. {_SAYS}"
            )
