"""Errors for users; each message says what is wrong, what citebed expected and what to do."""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from citebed.wording import for_terminal, printable


class CitebedError(Exception):
    """An error that the user can fix; the command line prints the message and exits with 1.

    Messages often quote a file or its name, so invalid bytes and terminal control characters are
    escaped.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(for_terminal(printable(message)))


class FormatError(CitebedError):
    """A file violates its format; holds the place."""

    def __init__(self, path: str | Path, line: int | None, what: str) -> None:
        self.path = printable(path)
        self.line = line
        self.what = what
        place = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{place}: {what}")


class UnknownName(CitebedError):
    """An unknown name; suggests the most similar known one.

    ``more`` ends the message; ``usual`` maps names from other tools to citebed's names.
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
    """Return the most similar known names, ignoring case, or nothing."""
    lower = {**usual, **{each.lower(): each for each in known}}
    return [lower[each] for each in difflib.get_close_matches(name.lower(), lower, n=1)]


class MissingExtra(CitebedError):
    """An optional dependency is not installed; the message holds the exact install command."""

    def __init__(self, extra: str, package: str) -> None:
        from citebed.install_commands import install_command  # slow to load and rarely needed

        self.extra = extra
        name = package.partition(".")[0]  # the package itself is missing, not one of its modules
        super().__init__(
            f"this needs '{name}', which is not installed. Run: {install_command(extra, name)}"
        )


def import_extra(extra: str, package: str) -> Any:
    """Import an optional package; if it is missing, the error says how to install it.

    ONNX Runtime sends telemetry unless this variable is set before it is loaded.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingExtra(extra, package) from error


def is_interrupt(error: BaseException) -> bool:
    """Return True if a library's panic is a Ctrl-C that arrived while the library called Python."""
    return not isinstance(error, Exception) and "<class 'KeyboardInterrupt'>" in str(error)


class CollectionError(CitebedError):
    """A collection folder is missing, locked, broken or of another version."""
