"""The command line, called in this process."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.shared import Once

from citebed.cli.app import main

Run = Callable[..., tuple[int, str, str]]
"""Takes the words of a command; gives its code and what it said on either output."""


def command_line(capsys: pytest.CaptureFixture[str]) -> Run:
    """Calls ``citebed`` with words; a bug of ours fails whatever test finds it."""

    def run(*words: str) -> tuple[int, str, str]:
        code = main(words)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert "internal error" not in err
        return code, out, err

    return run


def indexed(once: Once, name: str, files: Mapping[str, str]) -> None:
    """Puts files, and the indexed collection ``c`` of those in ``in/``, into the folder one is in.

    It is imported and indexed once for all tests, which each get a copy.
    """

    def make(folder: Path) -> None:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
        with contextlib.chdir(folder):
            assert main(["import", "c", "in", "-q"]) == 0
            assert main(["index", "c", "-q"]) == 0

    shutil.copytree(once(name, make), ".", dirs_exist_ok=True)
