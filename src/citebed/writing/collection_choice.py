"""Find the collection that a draft is checked or completed with."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from citebed.errors import CitebedError
from citebed.files.file_kinds import MANIFEST
from citebed.wording import printable

COLLECTION = "CITEBED_COLLECTION"
"""The environment variable with the folder of the collection."""


def find_collection(near: Path, given: str | Path | None = None) -> Path:
    """Return the folder of the collection to use for files in ``near``.

    The first of these counts: ``given``; the environment variable ``CITEBED_COLLECTION``; ``near``
    or one of its parent folders, if it is a collection or contains exactly one. The search ends
    at a folder where anybody may write (``/tmp``): a collection there may be a stranger's.
    """
    named, origin = given, "" if given else f" (from {COLLECTION})"
    if not named:
        named = os.environ.get(COLLECTION)
    if named:
        folder = Path(named).expanduser()
        if not (folder / MANIFEST).is_file():
            raise CitebedError(
                f"{printable(folder)}{origin} is not a collection: it has no {MANIFEST}. "
                "Create one with: citebed import COLLECTION FILES"
            )
        return folder
    near = near.resolve()
    for folder in (near, *near.parents[:-1]):
        if folder.stat().st_mode & stat.S_IWOTH:
            break
        if (folder / MANIFEST).is_file():
            return folder
        try:
            inside = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}") if path.is_file())
        except OSError:  # a folder that cannot be read has none
            inside = []
        if len(inside) > 1:
            names = ", ".join(printable(path.name) for path in inside)
            raise CitebedError(
                f"{printable(folder)} contains several collections: {names}. "
                f"Name one, or set {COLLECTION}."
            )
        if inside:
            return inside[0]
    raise CitebedError(
        f"no collection in {printable(near)} or its parent folders. Name one, set {COLLECTION}, "
        "or create one with: citebed import COLLECTION FILES"
    )
