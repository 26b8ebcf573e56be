"""Fixtures that are made once for all test processes."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

Once = Callable[[str, Callable[[Path], object]], Path]


def once_for_all(factory: pytest.TempPathFactory) -> Once:
    """A function that gives the folder of a name, made by the first process that asks for it.

    What makes it is given a folder that is not there yet. Nobody may change it afterwards.
    """
    root = factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        root = root.parent

    def once(name: str, make: Callable[[Path], object]) -> Path:
        folder, made = root / name, root / f"{name}.made"
        with (root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                shutil.rmtree(folder, ignore_errors=True)
                make(folder)
                made.touch()
        return folder

    return once
