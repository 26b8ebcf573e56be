"""The errors a user can meet; each says what was found, what was expected and what to do."""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from citebed.wording import for_terminal, printable


class CitebedError(Exception):
    """Something the user can fix; the command line prints the message and exits with 1.

    A message often quotes a file or its name: bytes that are no text, and what a terminal would
    obey, are spelled in it.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(for_terminal(printable(message)))


class FormatError(CitebedError):
    """A file is not what its format says; carries the place."""

    def __init__(self, path: str | Path, line: int | None, what: str) -> None:
        self.path = printable(path)
        self.line = line
        self.what = what
        place = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{place}: {what}")


class UnknownName(CitebedError):
    """A name that is not in a table of ours; suggests the nearest one.

    ``more`` ends the message; ``usual`` are names from elsewhere, with what they mean here.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        known: Iterable[str],
        more: str = "",
        usual: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.known = sorted(known)
        self.did_you_mean = _nearest(name, self.known, usual or {})
        hint = f" Did you mean '{self.did_you_mean[0]}'?" if self.did_you_mean else ""
        known = f"Known: {', '.join(self.known)}." if self.known else "There is none."
        super().__init__(f"unknown {kind} '{name}'.{hint} {known} {more}".rstrip())


def _nearest(name: str, known: Iterable[str], usual: Mapping[str, str]) -> list[str]:
    """The known name that is most like a name, in whatever case; none where none is like it."""
    lower = {**usual, **{each.lower(): each for each in known}}
    return [lower[each] for each in difflib.get_close_matches(name.lower(), lower, n=1)]


class MissingExtra(CitebedError):
    """A feature whose optional dependency is not installed; carries the exact install line."""

    def __init__(self, extra: str, package: str) -> None:
        from citebed.installing import install_line  # slow to load, and few ask

        self.extra = extra
        super().__init__(
            f"this needs '{package}', which is not installed. Run: {install_line(extra, package)}"
        )


def import_extra(extra: str, package: str) -> Any:
    """An optional package; where it is not installed the error says how to install it.

    ONNX Runtime tells its makers of what it runs unless this is said before it is loaded.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingExtra(extra, package) from error


def is_interrupt(error: BaseException) -> bool:
    """Whether a library's panic is Ctrl-C, which came while the library called Python."""
    return not isinstance(error, Exception) and "<class 'KeyboardInterrupt'>" in str(error)


class CollectionError(CitebedError):
    """A collection folder that is missing, locked, broken or of another version."""
