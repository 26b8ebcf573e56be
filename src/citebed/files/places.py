"""Where files of a user's are kept that belong to no collection: models, vectors, a secret."""

from __future__ import annotations

import os
from pathlib import Path

from citebed.errors import CitebedError

_PACKED = (".gz", ".xz", ".bz2", ".zst")


def models_folder() -> Path:
    """The folder of fetched models, in the user's data folder (``XDG_DATA_HOME``)."""
    return _of_user("XDG_DATA_HOME", ".local/share") / "models"


def state_folder() -> Path:
    """The folder of what citebed has to remember of a user (``XDG_STATE_HOME``)."""
    return _of_user("XDG_STATE_HOME", ".local/state")


def vectors_folder() -> Path:
    """The folder of vectors that can be made again (``XDG_CACHE_HOME``)."""
    return _of_user("XDG_CACHE_HOME", ".cache") / "vectors"


def handbook_folder() -> Path:
    """The folder of the documentation as a site, made anew by ``citebed docs``."""
    return _of_user("XDG_CACHE_HOME", ".cache") / "handbook"


def names_file(text: str | Path) -> bool:
    """Whether a text names a file (a pipe, a device); one that can name nothing does not."""
    return os.path.exists(text) and not os.path.isdir(text)


def names_folder(text: str | Path) -> bool:
    """Whether a text names a folder; one that can name nothing, as it is too long, does not."""
    return os.path.isdir(os.path.expanduser(text))


def free_place(path: Path) -> Path:
    """A path at which nothing is: this one, or one with a number before its ending."""
    ending = "".join(path.suffixes[-2:]) if path.suffix in _PACKED else path.suffix
    stem, number, free = path.name.removesuffix(ending), 1, path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{stem}-{number}{ending}")
    return free


def _of_user(variable: str, otherwise: str) -> Path:
    folder = Path(os.environ.get(variable, ""))
    if folder.is_absolute():  # by the rule of the XDG folders a relative path is as good as none
        return folder / "citebed"
    try:
        return Path.home() / otherwise / "citebed"
    except RuntimeError:
        raise CitebedError(f"this user has no home folder. Name a folder in {variable}.") from None
