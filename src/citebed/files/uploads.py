"""Files uploaded in the browser: stored in a folder of citebed's under cleaned names.

An uploaded file's name may be anything. It never leads out of the folder, and no existing file is
replaced.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

from citebed.errors import CitebedError
from citebed.files.output_files import (
    check_not_link,
    find_free_path,
    temporary_folder,
    translate_write_errors,
)

MAX_NAME_BYTES = 120
MAX_DEPTH = 8
_FORBIDDEN = frozenset('<>:"|?*\\/')
_CHUNK = 1 << 20

Upload = tuple[str, IO[bytes]]
"""An uploaded file: its name, perhaps with folders, and its content."""


def clean_name(name: str, default: str = "file") -> str:
    """Return one part of a path that is valid on any system and starts with no dot or dash."""
    text = unicodedata.normalize("NFC", name.encode("utf-8", "replace").decode())
    allowed = "".join("_" if c in _FORBIDDEN or not c.isprintable() else c for c in text)
    allowed = allowed.lstrip(" .-").encode()[:MAX_NAME_BYTES].decode("utf-8", "ignore")
    return allowed.strip(" .") or default


def clean_path(name: str) -> Path:
    """Return a name with its folders, each part cleaned, without ``..`` and empty parts."""
    parts = [part for part in name.replace("\\", "/").split("/") if part.strip(" .")]
    return Path(*(clean_name(part) for part in parts[-MAX_DEPTH:])) if parts else Path("file")


def store_uploads(uploads: Iterable[Upload], folder: Path) -> tuple[list[Path], list[Path]]:
    """Store files in a folder; return the paths to read, and the new paths among them.

    Each file or folder gets a free name, unless the same file with the same content exists.
    """
    check_not_link(folder)
    with translate_write_errors(folder), temporary_folder(folder) as draft:
        for name, content in uploads:
            target = draft / clean_path(name)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
            except FileExistsError:  # another upload has the name of its folder
                target = draft / "_".join(clean_path(name).parts)
            with find_free_path(target).open("xb") as file:
                shutil.copyfileobj(content, file, _CHUNK)
        stored = [_move(top, folder) for top in sorted(draft.iterdir())]
    if not stored:
        raise CitebedError("no files were uploaded. Choose at least one.")
    return [path for path, _ in stored], [path for path, is_new in stored if is_new]


def _move(top: Path, folder: Path) -> tuple[Path, bool]:
    place = folder / top.name
    is_file = top.is_file() and place.is_file() and not place.is_symlink()
    if is_file and filecmp.cmp(top, place, shallow=False):
        return place, False
    while True:  # reserve a free name by an empty file or folder, which no other upload can take
        free = find_free_path(place)
        with suppress(FileExistsError):
            free.mkdir() if top.is_dir() else free.touch(exist_ok=False)
            os.rename(top, free)
            return free, True


def remove_paths(paths: Iterable[Path]) -> None:
    """Delete files and folders; links are deleted, not followed."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def check_allowed_path(path: str, allowed: Iterable[Path]) -> Path:
    """Resolve a path; raise unless it and everything in it lie below one of the allowed folders."""
    folders = [folder.resolve() for folder in allowed]
    try:
        whole = Path(path).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        whole = None
    if whole is None or not any(whole.is_relative_to(folder) for folder in folders):
        named = ", ".join(map(str, folders)) or "none"
        raise CitebedError(
            f"that path is not below an allowed folder ({named}). "
            "Allow other folders with: citebed serve --allow FOLDER"
        )
    for inside, names, files in os.walk(whole):
        for name in (*names, *files):
            one = Path(inside, name)
            if one.is_symlink() and not one.resolve().is_relative_to(whole):
                raise CitebedError(f"'{name}' in that folder is a link that leads out of it.")
    return whole
