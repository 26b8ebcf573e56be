"""A case: what is tried, with which files. It is plain data, that can be kept and replayed."""

from __future__ import annotations

import base64
import json
import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Case:
    """One thing to try in a folder of its own.

    ``target`` is ``read NAME`` for a reader, which is given the file ``given``, or the verb whose
    ``commands`` are run one after another. ``base`` names a folder of the base (a collection, a
    filter that was stopped) that is copied first; ``files`` are laid over it, ``links`` are
    symbolic. Only ``writes`` (files, or folders with all in them) may change.
    """

    target: str
    given: str = ""
    commands: list[list[str]] = field(default_factory=list)
    base: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    writes: list[str] = field(default_factory=list)
    stdin: str = ""
    why: str = ""

    def lay(self, folder: Path, bases: Path) -> None:
        """Put everything the case needs into an empty folder."""
        if self.base:
            shutil.copytree(bases / self.base, folder / self.base, symlinks=True)
        for name, data in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        for name, target in self.links.items():
            if not os.path.lexists(folder / name):
                (folder / name).symlink_to(target)

    def to_json(self) -> str:
        """The case as text; files that are UTF-8 as they are, others in base64."""
        values = asdict(self)
        values["files"] = {name: _written(data) for name, data in self.files.items()}
        return json.dumps({name: value for name, value in values.items() if value}, indent=1)


def _written(data: bytes) -> str | dict[str, str]:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _read(written: str | dict[str, str]) -> bytes:
    if isinstance(written, str):
        return written.encode()
    return base64.b64decode(written["base64"])


def case_of(text: str) -> Case:
    """The case that a text was made of."""
    values = json.loads(text)
    values["files"] = {name: _read(data) for name, data in values.get("files", {}).items()}
    return Case(**values)
