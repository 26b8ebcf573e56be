"""How much is read of a file that could be without end: what is packed, a pipe, a small list.

``CITEBED_MAX_BYTES`` (a number, or one like ``20G``) raises all of these limits at once.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from citebed.errors import CitebedError, FormatError

VARIABLE = "CITEBED_MAX_BYTES"
SMALL = 256 << 20
"""Of a file that is read whole: topics, lists, profiles, headers."""
MODEL = 4 << 30
"""Of a model's file of weights."""
PIPE = 64 << 30
"""Of a pipe, which is kept on disk while it is read."""
BOMB_BYTES = 100 << 20
"""Of a packed stream, if it unpacks to more than ``BOMB_RATIO`` times its size."""
FILE_BYTES = 400 << 20
"""Of all streams in a packed file together, likewise."""
BOMB_RATIO = 200

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d{1,15})\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


def limit(default: int) -> int:
    """The limit that holds: ``default``, or what the user raised it to."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return default
    match = _SIZE.fullmatch(text)
    if match is None:
        raise CitebedError(f"{VARIABLE} is '{text}'; expected a number of bytes, like 20G.")
    return max(default, int(match[1]) * _UNITS[match[2].upper()])


def check_size(path: Path, most: int) -> None:
    """Raise if a file is larger than is read of its kind; how much it takes on the disk, which may
    be next to nothing, does not matter."""
    size, most = path.stat().st_size, limit(most)
    if size > most:
        what = f"has {size:,} bytes, more than {shown(most)}. {how_to_raise()}"
        raise FormatError(path, None, what)


def how_to_raise() -> str:
    """What a message about a limit ends with."""
    return f"If you trust it, set {VARIABLE} (say, to 20G) and try again."


def shown(size: int) -> str:
    """A limit in words: ``256 MiB``."""
    unit, name = (1 << 30, "GiB") if size >= 1 << 30 else (1 << 20, "MiB")
    return f"{size / unit:g} {name}" if size >= 1 << 20 else f"{size:,} bytes"


class Allowance:
    """How much the records of a text may borrow from others in it, all together.

    A name is a few letters and stands for as much as one likes, also for other names: thirty of
    BibTeX's strings that are each the one before them twice stand for more than a machine holds.
    What a text of ``size`` borrows is a few times that at most, in whatever way it is written.
    """

    FREE = 1 << 16
    TIMES = 10
    SHARE = 4

    def __init__(self, size: int) -> None:
        self._left = self.FREE + self.TIMES * size

    def covers(self, size: int) -> bool:
        """Whether so many more characters may be borrowed; if so, they are.

        Nothing takes more than a share of what is left, so that there is enough for short names
        behind one that stands for very much.
        """
        if size > self._left // self.SHARE:
            return False
        self._left -= size
        return True
