"""Whether the network may be used: ``CITEBED_OFFLINE=1`` forbids it, whoever asks."""

from __future__ import annotations

import os

from citebed.errors import CitebedError

VARIABLE = "CITEBED_OFFLINE"
_NO = ("", "0", "no", "off", "false")


def is_offline() -> bool:
    """Whether the user forbids the network."""
    return os.environ.get(VARIABLE, "").strip().lower() not in _NO


def refuse_offline(what: str, instead: str) -> None:
    """Raise where the network is forbidden, with what would be fetched and what to do instead."""
    if is_offline():
        raise CitebedError(
            f"{what}, and the network is not to be used (--offline, {VARIABLE}). {instead}"
        )
