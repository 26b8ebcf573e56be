"""Count the blanks of a long text, to show that each line has the fields it should have.

Asking polars for every field only to see that none is empty or too many takes several times as
long as comparing bytes with their neighbours.
"""

from __future__ import annotations

_BLOCK = 1 << 18
"""A block and what is computed from it fit into a processor's cache."""
_BLANK = 0x20


def blanks_in(text: bytes) -> int | None:
    """Count blanks, line ends and control characters; ``None`` if a field may be empty.

    That is so if two of them are neighbours, if the text starts with one, or if a line is a
    comment. If each of n lines has at least k fields, and the count is k * n, then each line has
    exactly k fields, none is empty, and only one kind of blank separates them.
    """
    import numpy as np

    if b"#" in text and (text.startswith(b"#") or b"\n#" in text):
        return None
    codes = np.frombuffer(text, np.uint8)
    is_last_blank, total = True, 0
    for begin in range(0, len(text), _BLOCK):
        is_blank = codes[begin : begin + _BLOCK] <= _BLANK
        if (is_last_blank and is_blank[0]) or (is_blank[1:] & is_blank[:-1]).any():
            return None
        is_last_blank = is_blank[-1]
        total += int(np.count_nonzero(is_blank))
    return total
