"""The command line: a thin door, no logic of its own."""

from __future__ import annotations


def run() -> None:
    """The console script ``citebed``."""
    from citebed.cli.app import main

    raise SystemExit(main())


__all__ = ["run"]
