"""What figures share: the house's style, file names, and SVG that is the same twice."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from citebed.files.writing import several_files

INK, MARK, LIGHT, RULE = "#222222", "#27415f", "#b4c3d3", "#9a9a9a"

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "svg.hashsalt": "citebed",
    "svg.fonttype": "none",
}


def svg(make: Callable[[], Figure]) -> bytes:
    """A figure as SVG: text as text, no background, no date, so that it is the same each time."""
    whole = io.BytesIO()
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # The reader's fonts draw the text; that ours lacks a letter is no reason to complain.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        make().savefig(
            whole, format="svg", transparent=True, metadata={"Date": None, "Creator": "citebed"}
        )
    return whole.getvalue()


def label(text: str, at_most: int = 30) -> str:
    """A name as a figure can show it: no control characters, not too long."""
    plain = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return plain if len(plain) <= at_most else f"{plain[: at_most - 1]}…"


class FileNames:
    """File names from names that may hold anything, each once, whatever the letters' case."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def __call__(self, *parts: str) -> str:
        each = (re.sub(r"[^\w.+@=-]+", "-", part).strip("-.") for part in parts)
        plain = "_".join(filter(None, each))[:120] or "figure"
        name, number = plain, 1
        while name.lower() in self._seen:
            number += 1
            name = f"{plain}-{number}"
        self._seen.add(name.lower())
        return name


def write_files(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Put files into a folder (made where it is missing): all are written before one is placed."""
    with several_files(folder) as draft:
        for name, content in files.items():
            (draft / name).write_bytes(content)
    return [folder / name for name in files]
