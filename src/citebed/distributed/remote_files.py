"""Files that only the engine reaches (``s3a://…``, ``hdfs://…``).

Its workers copy them one by one to a folder that this machine and all workers share.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from citebed.distributed.arrow import Batches
from citebed.distributed.sessions import Engine, collect_arrow, one_row_batches
from citebed.errors import CitebedError
from citebed.wording import printable

if TYPE_CHECKING:
    import pyarrow as pa


_ADDRESS = re.compile(r"([A-Za-z][\w+.-]+):/+(.*)", re.DOTALL)
_PATTERN = re.compile(r"/[^/]*[*?\[{].*", re.DOTALL)


def as_address(path: str | Path) -> str | None:
    """Return a path as an address of the engine (a `Path` has lost a slash), or ``None`` if it is a
    path of a file system."""
    text = os.fspath(path)
    found = _ADDRESS.fullmatch(text)
    if found is None or os.path.exists(text):
        return None
    slashes = "///" if found[1] == "file" else "//"
    return f"{found[1]}:{slashes}{found[2]}"


class Copies(NamedTuple):
    """Copies from an address: the file or folder that stands for it, and all files."""

    root: Path
    files: list[Path]


def fetch_files(engine: Engine, address: str, folder: Path) -> Copies:
    """Copy the file, or all files of the folder or pattern, at an address to ``folder``, which this
    machine and the workers must see."""
    root = _in_store(_PATTERN.sub("", address))
    place = str(folder.absolute())

    def write(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            names = batch["path"].to_pylist()
            for name, data in zip(names, batch["content"], strict=True):
                if os.path.isdir(place):  # a new folder would be invisible to the others
                    _write(Path(place, _below(root, name)), data.as_buffer())
            yield batch.select(["path"])

    with one_row_batches(engine):  # a worker holds one file at a time
        reader = engine.session.read.format("binaryFile").option("recursiveFileLookup", "true")
        copied = reader.load(address).select("path", "content")
        names = collect_arrow(copied.mapInArrow(write, "path string"))["path"].to_pylist()
    files = sorted(folder / _below(root, name) for name in names)
    if not files:
        raise CitebedError(f"{printable(address)}: the engine finds no such file.")
    if not all(file.is_file() for file in files):
        raise CitebedError(
            f"the engine's workers do not see '{printable(folder)}': choose a folder of a file "
            "system that this machine and all workers share, at the same path."
        )
    return Copies(folder / root.rpartition("/")[2], files)


def _in_store(address: str) -> str:
    """Return the path of an address within its file system or bucket. For files, Spark returns the
    whole address, with one slash, two or three, and Sail only this path."""
    rest = re.sub(r"^file:/+|^[\w+.-]+://[^/]*/?", "", address)
    return rest.strip("/")


def _below(root: str, name: str) -> str:
    """Return the path of a copy, below the last part of the given address."""
    path = _in_store(name)
    inside = path.removeprefix(f"{root}/" if root else "")
    parts = [*root.split("/")[-1:], *(inside.split("/") if path != root else ())]
    if (inside == path and root not in ("", path)) or ".." in parts:
        raise CitebedError(f"the engine returned '{printable(name)}', which is not below {root}.")
    return "/".join(filter(None, parts))


def _write(path: Path, data: pa.Buffer) -> None:
    """Write a file completely or not at all, even if another worker writes it too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        file.write(data)
    os.replace(file.name, path)
