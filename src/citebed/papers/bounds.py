"""How much a PDF may take to read, and how what was read of it travels between processes."""

from __future__ import annotations

import struct
from typing import Any

from citebed.papers.paper import Box, PlacedText

MEMORY = 3 << 29
"""Bytes of address space that a child may take."""
FILE_BYTES = 200 << 20
MOST_PAGES = 2000
"""A longer file is no paper, but many of them."""
SECONDS, SECONDS_A_PAGE, MOST_SECONDS = 20, 0.25, 240
"""Of the processor, for a paper and for each of its pages: five times what a dense page takes."""
WALL_SECONDS = 280.0
"""What all of it may take, on a machine that is busy with other things; an import gives its own
workers a little more."""

_PLACE = struct.Struct("<i4f")


def packed(text: PlacedText) -> tuple[Any, ...]:
    """A text with its places as two strings of bytes, as ``pickle`` wants to be told: as objects
    they would take several times as much."""
    starts = struct.pack(f"<{len(text.starts)}I", *text.starts)
    places = b"".join(_PLACE.pack(*place) for place in text.places)
    return unpacked, (text.text, starts, places)


def unpacked(text: str, starts: bytes, places: bytes) -> PlacedText:
    """The text that ``packed`` took apart."""
    return PlacedText(
        text,
        struct.unpack(f"<{len(starts) // 4}I", starts),
        tuple(Box(*place) for place in _PLACE.iter_unpack(places)),
    )
