"""What the tests of verbs share."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.commands import Run, command_line


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Run:
    """The command line, in an empty folder and on wide paper."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return command_line(capsys)
