"""Sources that only the engine reaches (``s3a://…``, ``hdfs://…``): its workers bring them to the
staging folder, file by file, to be read as all others are."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from citebed.distributed.arrow import Batches
from citebed.distributed.sessions import Engine, collected
from citebed.errors import CitebedError
from citebed.wording import printable

if TYPE_CHECKING:
    import pyarrow as pa

_ADDRESS = re.compile(r"([A-Za-z][\w+.-]+):/+(.*)", re.DOTALL)
_PATTERN = re.compile(r"/[^/]*[*?\[{].*", re.DOTALL)
_A_ROW = {"spark.sql.execution.arrow.maxRecordsPerBatch": "1"}
"""A worker holds one file at a time."""


def as_address(path: str | Path) -> str | None:
    """A path as an engine takes it that is none of a file system's (a `Path` has lost a slash);
    ``None`` for others."""
    text = os.fspath(path)
    found = _ADDRESS.fullmatch(text)
    if found is None or os.path.exists(text):
        return None
    slashes = "///" if found[1] == "file" else "//"
    return f"{found[1]}:{slashes}{found[2]}"


def brought(engine: Engine, address: str, folder: Path) -> Path:
    """A copy of the file, or of all files of the folder or pattern, at an address: below
    ``folder``, which this machine and the workers see."""
    root = _in_store(_PATTERN.sub("", address))
    place = str(folder.absolute())

    def write(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            names = batch["path"].to_pylist()
            for name, data in zip(names, batch["content"], strict=True):
                _write(Path(place, _below(root, name)), data.as_buffer())
            yield batch.select(["path"])

    with _set(engine, _A_ROW):
        files = engine.session.read.format("binaryFile").option("recursiveFileLookup", "true")
        copied = files.load(address).select("path", "content")
        count = collected(copied.mapInArrow(write, "path string")).num_rows
    if not count:
        raise CitebedError(f"{printable(address)}: the engine finds no file there.")
    return folder / root.rpartition("/")[2]


def _in_store(address: str) -> str:
    """The path of an address within its file system or bucket: of files, Spark gives the whole
    address, with one slash, two or three, and Sail nothing but this."""
    rest = re.sub(r"^file:/+|^[\w+.-]+://[^/]*/?", "", address)
    return rest.strip("/")


def _below(root: str, name: str) -> str:
    """Where the copy of a file goes: under the last part of the address that was given."""
    path = _in_store(name)
    inside = path.removeprefix(f"{root}/" if root else "")
    parts = [*root.split("/")[-1:], *(inside.split("/") if path != root else ())]
    if (inside == path and root not in ("", path)) or ".." in parts:
        raise CitebedError(f"the engine gives '{printable(name)}' for a file below {root}.")
    return "/".join(filter(None, parts))


def _write(path: Path, data: pa.Buffer) -> None:
    """Whole or not at all, whoever else does the same task."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        file.write(data)
    os.replace(file.name, path)


@contextmanager
def _set(engine: Engine, settings: dict[str, str]) -> Iterator[None]:
    """The session with other settings."""
    conf = engine.session.conf
    before = {name: conf.get(name, None) for name in settings}
    for name, value in settings.items():
        conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            conf.unset(name) if earlier is None else conf.set(name, earlier)
