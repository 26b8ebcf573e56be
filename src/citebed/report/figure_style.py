"""Style, file names and reproducible output of all figures."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from citebed.errors import UnknownName
from citebed.files.output_files import add_files, write_file
from citebed.report.tables import text_width
from citebed.text.identifiers import FreeIds

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
OPEN: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}
"""The style of figures without frames around their panels."""

_UNDATED: dict[str, Any] = {
    "svg": {"Date": None, "Creator": "citebed"},
    "png": {"Software": "citebed"},
    "pdf": {"CreationDate": None},
}


def drawn(
    make: Callable[[], Figure], *endings: str, style: dict[Any, Any] | None = None, **how: Any
) -> list[bytes]:
    """Render a figure as ``svg``, ``png`` or ``pdf``, reproducibly and with text as text.

    ``style`` overrides the default style; ``how`` is passed to matplotlib (``dpi``,
    ``transparent``).
    """
    files = []
    with mpl.rc_context({**STYLE, **(style or {})}), warnings.catch_warnings():
        # The reader's fonts render the text, so that missing glyphs here do not matter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = make()
        for ending in endings:
            whole = io.BytesIO()
            figure.savefig(whole, format=ending, metadata=_UNDATED[ending], **how)
            files.append(whole.getvalue())
    return files


def svg(make: Callable[[], Figure]) -> bytes:
    """Render a figure as SVG with a transparent background."""
    return drawn(make, "svg", transparent=True)[0]


def panels(
    number: int, columns: int, base: tuple[float, float], each: tuple[float, float], **shared: Any
) -> tuple[Figure, list[Axes]]:
    """Make a figure with a grid of panels, of size ``base`` plus ``each`` per panel (in inches)."""
    rows = -(-number // columns)
    size = (base[0] + each[0] * columns, base[1] + each[1] * rows)
    figure = Figure(figsize=size, layout="constrained")
    grid = list(figure.subplots(rows, columns, squeeze=False, **shared).ravel())
    for axes in grid[number:]:
        axes.set_visible(False)
    return figure, grid[:number]


def label(text: str, at_most: int = 30) -> str:
    """Shorten a name and replace its control characters, for a figure."""
    plain = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return plain if len(plain) <= at_most else f"{plain[: at_most - 1]}…"


def lines_of(name: str, across: int, most: int = 4) -> str:
    """Wrap a name into lines of ``across`` characters; cut the middle beyond ``most`` lines."""
    plain = label(name, len(name) + 1)
    lines = _wrapped(plain, across)
    if len(lines) > most:
        head = most // 2
        lines = [*lines[:head], "…" + lines[head][1:], *lines[len(lines) - most + head + 1 :]]
    return "\n".join(lines)


def _wrapped(text: str, across: int) -> list[str]:
    lines = [""]
    for letter in text:
        if text_width(lines[-1] + letter) > across:
            lines.append("")
        lines[-1] += letter
    return lines


class FileNames:
    """Makes file names from arbitrary names, distinct even if case is ignored."""

    def __init__(self) -> None:
        self._names = FreeIds(fold=str.lower)

    def __call__(self, *parts: str) -> str:
        each = (re.sub(r"[^\w.+@=-]+", "-", part).strip("-.") for part in parts)
        plain = "_".join(filter(None, each))[:120] or "figure"
        return self._names.take(plain)


def draw_file(
    make: Callable[[], Figure], path: str | Path, endings: Sequence[str], style: dict[Any, Any]
) -> None:
    """Write a figure to a file, atomically and reproducibly; the ending decides the format."""
    ending = picture_ending(path, endings)
    write_file(Path(path), *drawn(make, ending, style=style, dpi=200))


def picture_ending(path: str | Path, endings: Sequence[str]) -> str:
    """Return the format of a figure's file by its ending, or raise an error."""
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in endings:
        raise UnknownName("picture format", ending or Path(path).name, endings)
    return ending


def write_files(folder: Path, files: Iterable[tuple[str, bytes]]) -> list[Path]:
    """Write files into a folder, which is created if missing; all files appear together."""
    names = []
    with add_files(folder) as draft:
        for name, content in files:
            (draft / name).write_bytes(content)
            names.append(name)
    return [folder / name for name in names]
