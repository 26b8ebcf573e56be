"""Fixtures of the tests of commands."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from tests.commands import Run, command_line
from tests.sampling import FULL


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Run:
    """The command line, in an empty folder and on wide paper."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return command_line(capsys)


@pytest.fixture
def blank_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write figures without drawing them, which would take most of a command's time."""

    def save(_: Figure, file: io.BytesIO, **__: object) -> None:
        file.write(b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"></svg>')

    if not FULL:
        monkeypatch.setattr(Figure, "savefig", save)
