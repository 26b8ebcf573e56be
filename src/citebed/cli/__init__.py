"""The command line. Commands parse options and print; the rest of the package does the work."""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import os
import sys
from typing import Any

from citebed.files.system_errors import allow_interrupts


def run() -> None:
    """The console script ``citebed``."""
    # Loading modules creates no garbage, and collecting after every 700 objects costs 0.05 s.
    gc.set_threshold(100_000, 20, 20)
    # citebed draws into files only, and an unknown name of a backend would be an error.
    os.environ["MPLBACKEND"] = "agg"
    if os.environ.get("POLARS_MAX_THREADS") == "0":  # at which polars panics
        del os.environ["POLARS_MAX_THREADS"]
    if not os.environ.get("CITEBED_DEBUG"):  # report a panic in one line, without its stack
        os.environ["RUST_BACKTRACE"] = "0"
    _open_streams()
    from citebed.cli.app import INTERRUPTED, main

    code = main()
    _leave(code, flushed=code != INTERRUPTED)


def _open_streams() -> None:
    """Make the standard streams accept every character, and open them if they are closed.

    A character that the terminal cannot show or the encoding cannot represent is written ``\\xe9``
    instead of raising an error. A stream that was closed at the start (``>&-``) becomes the null
    device.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        else:
            stream.reconfigure(errors="backslashreplace")
            if name == "stdout":
                sys.stdout = io.TextIOWrapper(
                    io.BufferedWriter(_Output(stream.fileno(), "w", closefd=False)),
                    stream.encoding, stream.errors, line_buffering=bool(stream.line_buffering),
                )  # fmt: skip


class _Output(io.FileIO):
    """Standard output that names itself in write errors, such as on a full disk."""

    def write(self, data: Any) -> int:
        """Write bytes and return how many were written."""
        allow_interrupts()  # the reader may accept no more
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, "standard output") from error


def _leave(code: int, *, flushed: bool) -> None:
    """Exit without freeing memory first. ``flushed`` is false after an interrupt, because the
    reader of the output may accept no more.

    Python would free every module and table one by one, which takes up to 0.1 s after the result is
    printed; the operating system does it at once. Registered exit functions still run.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr) if flushed else ():
        with contextlib.suppress(OSError, ValueError):  # the reader has closed the pipe
            stream.flush()
    os._exit(code)


__all__ = ["run"]
