"""Terminal output: escapes control characters, and shows progress bars.

A title, an id or a file name may come from anyone, and a terminal obeys what it reads: escape
sequences move the cursor and set the window title, and bidirectional control characters change
the order in which text is shown. Everything that a command prints (results, notes, errors,
library warnings) goes through ``escape_terminal_output``. Output for programs (JSON, CSV) goes
through ``exact`` and is not changed.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TextIO, cast

from citebed.wording import for_terminal

if TYPE_CHECKING:
    from rich.console import Console

    from citebed.collection.progress import Progress


class EscapingStream:
    """A text stream that escapes control characters, for example as ``\\x1b``."""

    def __init__(self, stream: TextIO) -> None:
        self.exact = stream

    def write(self, text: str) -> int:
        """Write an escaped text."""
        self.exact.write(for_terminal(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several escaped texts."""
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> Any:
        """Not available, because bytes would bypass the escaping."""
        raise AttributeError("buffer")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.exact, name)


@contextlib.contextmanager
def escape_terminal_output() -> Iterator[None]:
    """Escape everything that is printed to the standard streams in this context."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, EscapingStream(exact(stream))) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def exact(stream: TextIO | None = None) -> TextIO:
    """Return the stream behind an escaping stream (default: standard output), for programs."""
    stream = sys.stdout if stream is None else stream
    return stream.exact if isinstance(stream, EscapingStream) else stream


def console(*, err: bool = False) -> Console:
    """Return a console for tables and progress that uses citebed's own colours only."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.text import Text

    class Harmless(Console):
        def render_str(self, text: str, **how: Any) -> Text:
            return super().render_str(for_terminal(text), **how)

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterator[Segment]:
            for part in super().render(renderable, options):
                text = part.text if part.control else for_terminal(part.text)
                yield part if text == part.text else part._replace(text=text)

    return Harmless(file=exact(sys.stderr if err else sys.stdout), stderr=err, highlight=False)


@contextlib.contextmanager
def progress_bar(quiet: bool = False, unit: str = "bytes") -> Iterator[Progress]:
    """Show a progress bar on standard error, if it is a terminal or a notebook."""
    from citebed.collection.progress import Progress

    is_notebook = type(exact(sys.stderr)).__module__.startswith("ipykernel.")
    if quiet or not (sys.stderr.isatty() or is_notebook):
        yield Progress()
        return
    from rich import progress as rich

    amount = (
        (rich.DownloadColumn(), rich.TransferSpeedColumn())
        if unit == "bytes"
        else (rich.MofNCompleteColumn(), rich.TextColumn("{task.fields[unit]}"))
    )
    columns = (
        rich.TextColumn("{task.description:<9}"),
        rich.BarColumn(),
        *amount,
        rich.TextColumn("left"),
        rich.TimeRemainingColumn(),
        rich.TimeElapsedColumn(),
    )
    with rich.Progress(*columns, console=console(err=True), transient=True) as bar:
        task = bar.add_task("reading", total=None, unit=unit)

        def step(name: str, total: int) -> None:
            what, _, counted = name.partition(": ")
            bar.update(task, description=what, unit=counted or unit)
            if total:
                bar.update(task, total=total, completed=0)

        yield Progress(step=step, add=lambda amount: bar.advance(task, amount))
