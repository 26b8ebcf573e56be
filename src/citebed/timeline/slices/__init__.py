"""Ways to slice time, one file each, and the table of them.

A slicing is written ``7d`` (also 12h, 2w, 1mo), ``all``, ``equal:20``, ``random:30``, ``burst``,
``burst:7d/1d``, or as the path of a file of boundaries.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from citebed.errors import CitebedError
from citebed.timeline.slices.base import Range, Slices
from citebed.timeline.slices.boundaries import read_boundaries
from citebed.timeline.slices.burst import COARSE, FINE, burst
from citebed.timeline.slices.equal import equal
from citebed.timeline.slices.uniform import seconds_of, uniform
from citebed.timeline.slices.visits import random_visits
from citebed.wording import printable

__all__ = ["SLICINGS", "Range", "Slices", "slices_of", "usual_slicing"]

Slicing = Callable[[str, Range, int], Slices]


def _whole(_: str, over: Range, __: int) -> Slices:
    """Everything in one slice: the evaluation that knows no time."""
    return Slices("all", np.array([over.since, over.until], np.int64))


def _equal(text: str, over: Range, _: int) -> Slices:
    return equal(_number("equal", text), over)


def _random(text: str, over: Range, seed: int) -> Slices:
    return random_visits(_number("random", text), over, seed)


def _burst(text: str, over: Range, _: int) -> Slices:
    coarse, slash, fine = text.partition("/")
    if text and not slash:
        raise CitebedError(f"burst:{text}: expected two lengths, as in burst:{COARSE}/{FINE}.")
    return burst(coarse or COARSE, fine or FINE, over)


SLICINGS: dict[str, Slicing] = {
    "all": _whole,
    "equal": _equal,
    "random": _random,
    "burst": _burst,
}


def usual_slicing(over: Range) -> str:
    """Weeks; days or hours where there are not two of the longer ones; else all in one."""
    fitting = (text for text in ("7d", "1d", "1h") if 2 * seconds_of(text) <= over.length)
    return next(fitting, "all")


def slices_of(text: str, over: Range, *, seed: int = 0, utc: bool = False) -> Slices:
    """The slices that a text names, over a range of time."""
    name, _, rest = text.partition(":")
    if name in SLICINGS:
        return SLICINGS[name](rest, over, seed)
    if re.fullmatch(r"\d+(mo|h|d|w)", text):
        return uniform(text, over)
    if Path(text).is_file() or Path(text).is_fifo():
        if over.start is not None or over.end is not None:
            raise CitebedError(
                f"{printable(text)} says where slices start and end: give no --from and no --to "
                "with it."
            )
        return read_boundaries(text, utc=utc)
    raise CitebedError(
        f"cannot read the slicing '{printable(text)}': it is no length like 12h, 7d or 1mo, none "
        f"of {', '.join(SLICINGS)}, and no file of boundaries."
    )


def _number(name: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,18}", text):
        raise CitebedError(f"{name}:{text}: expected a whole number, as in {name}:20.")
    return int(text)
