"""Files that somebody dropped on a page: put below a folder of ours, under names made clean.

A name comes from a stranger's machine and may be anything. No part of it leads out of the folder,
and nothing that is there is replaced.
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
from citebed.files.places import free_place
from citebed.files.writing import own_folder, translate_os_errors, workshop

LONGEST = 120
DEEPEST = 8
_UNFIT = frozenset('<>:"|?*\\/')
_CHUNK = 1 << 20

Dropped = tuple[str, IO[bytes]]
"""A file as it was sent: its name, perhaps with folders before it, and what is in it."""


def clean_name(name: str, otherwise: str = "file") -> str:
    """One part of a path that any system takes: no dots or dashes in front, no signs that lead
    elsewhere."""
    text = unicodedata.normalize("NFC", name.encode("utf-8", "replace").decode())
    fit = "".join("_" if c in _UNFIT or not c.isprintable() else c for c in text)
    fit = fit.lstrip(" .-").encode()[:LONGEST].decode("utf-8", "ignore").strip(" .")
    return fit or otherwise


def clean_path(name: str) -> Path:
    """A name with its folders, each part clean; ``..`` and what is empty are passed over."""
    parts = [part for part in name.replace("\\", "/").split("/") if part.strip(" .")]
    return Path(*(clean_name(part) for part in parts[-DEEPEST:])) if parts else Path("file")


def put(dropped: Iterable[Dropped], folder: Path) -> tuple[list[Path], list[Path]]:
    """Put files into a folder; gives the paths to read, and those of them that are new.

    Each file or folder at the top gets a place of its own; a file that is there already with the
    same content is that one.
    """
    own_folder(folder)
    with translate_os_errors(folder), workshop(folder) as draft:
        for name, file in dropped:
            _write(draft, clean_path(name), file)
        tops = sorted(draft.iterdir())
        if not tops:
            raise CitebedError("no files were uploaded. Choose at least one.")
        found = [_placed(top, folder) for top in tops]
    return [path for path, _ in found], [path for path, is_new in found if is_new]


def _write(draft: Path, name: Path, file: IO[bytes]) -> None:
    place = draft / name
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        place = draft / "_".join(name.parts)  # its folder has the name of a file that was sent too
    with free_place(place).open("xb") as made:
        shutil.copyfileobj(file, made, _CHUNK)


def _placed(top: Path, folder: Path) -> tuple[Path, bool]:
    place = folder / top.name
    is_file = top.is_file() and place.is_file() and not place.is_symlink()
    if is_file and filecmp.cmp(top, place, shallow=False):
        return place, False
    free = _reserve(place, top.is_dir())
    os.rename(top, free)  # onto the empty file or folder that reserves the name
    return free, True


def _reserve(place: Path, is_folder: bool) -> Path:
    """Create an empty file or folder at a free name, which no other upload can then take."""
    while True:
        free = free_place(place)
        with suppress(FileExistsError):
            free.mkdir() if is_folder else free.touch(exist_ok=False)
            return free


def take_away(paths: Iterable[Path]) -> None:
    """Take away what was put there in vain."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def within(path: str, allowed: Iterable[Path]) -> Path:
    """A path below one of the allowed folders, links resolved, and none below it that leads out."""
    folders = [folder.resolve() for folder in allowed]
    try:
        whole = Path(path).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        whole = None
    if whole is None or not any(whole.is_relative_to(folder) for folder in folders):
        named = ", ".join(map(str, folders)) or "none"
        raise CitebedError(
            f"that path is not below a folder that may be read from here ({named}). "
            "Allow others by: citebed serve --allow FOLDER"
        )
    for inside, names, files in os.walk(whole):
        for name in (*names, *files):
            one = Path(inside, name)
            if one.is_symlink() and not one.resolve().is_relative_to(whole):
                raise CitebedError(f"in that folder '{name}' is a link that leads out of it.")
    return whole
