"""The command line: a thin door, no logic of its own."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys


def run() -> None:
    """The console script ``citebed``."""
    # Modules being loaded are never garbage: looking for some at every 700 objects costs a
    # twentieth of a second.
    gc.set_threshold(100_000, 20, 20)
    os.environ["MPLBACKEND"] = "agg"  # pictures are files; a name it does not know is an error
    if os.environ.get("POLARS_MAX_THREADS") == "0":  # at which polars panics
        del os.environ["POLARS_MAX_THREADS"]
    if not os.environ.get("CITEBED_DEBUG"):  # a panic is told in a line, without its stack
        os.environ["RUST_BACKTRACE"] = "0"
    _open_streams()
    from citebed.cli.app import main

    _leave(main())


def _open_streams() -> None:
    """Standard streams that take every character, and are there.

    What a terminal cannot show, or no encoding holds, is written ``\\xe9`` rather than being an
    error; a stream that was closed before we started (``>&-``) takes everything.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        else:
            stream.reconfigure(errors="backslashreplace")


def _leave(code: int) -> None:
    """End the process without taking it apart first.

    Python would free every module and table one by one, which takes up to a tenth of a second
    after the result is printed; the system does it at once. What asked to be called at the end is.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # a reader that has gone needs no more
            stream.flush()
    os._exit(code)


__all__ = ["run"]
