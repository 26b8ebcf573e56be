"""The user's folders outside collections, and whether citebed may use the network."""

from __future__ import annotations

import os
from pathlib import Path

from citebed.errors import CitebedError

OFFLINE = "CITEBED_OFFLINE"
_NO = ("", "0", "no", "off", "false")


def is_offline() -> bool:
    """Return True if ``CITEBED_OFFLINE=1`` forbids the network."""
    return os.environ.get(OFFLINE, "").strip().lower() not in _NO


def check_online(what: str, instead: str) -> None:
    """Raise if the network is forbidden; the message says what needs it and what to do instead."""
    if is_offline():
        raise CitebedError(
            f"{what}, but the network is switched off (--offline, {OFFLINE}). {instead}"
        )


def models_folder() -> Path:
    """Return the folder of downloaded models, in the user's data folder (``XDG_DATA_HOME``)."""
    return _user_folder("XDG_DATA_HOME", ".local/share") / "models"


def state_folder() -> Path:
    """Return the folder of the user's keys and settings (``XDG_STATE_HOME``)."""
    return _user_folder("XDG_STATE_HOME", ".local/state")


def vectors_folder() -> Path:
    """Return the folder of vectors that citebed can compute again (``XDG_CACHE_HOME``)."""
    return _user_folder("XDG_CACHE_HOME", ".cache") / "vectors"


def handbook_folder() -> Path:
    """Return the folder of the documentation site, which ``citebed docs`` rebuilds."""
    return _user_folder("XDG_CACHE_HOME", ".cache") / "handbook"


def _user_folder(variable: str, default: str) -> Path:
    folder = Path(os.environ.get(variable, ""))
    if folder.is_absolute():  # the XDG specification says to ignore a relative path
        return folder / "citebed"
    try:
        return Path.home() / default / "citebed"
    except RuntimeError:
        raise CitebedError(f"this user has no home folder. Name a folder in {variable}.") from None
