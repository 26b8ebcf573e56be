"""How the command ends: output is complete, the exit code right, a closed pipe no error."""

from __future__ import annotations

import os
import subprocess
import sys

COMMAND = [sys.executable, "-m", "citebed"]


def test_output_and_exit_code_are_whole() -> None:
    wide = {**os.environ, "COLUMNS": "200"}  # readline, which pytest loads, may have set it
    done = subprocess.run(
        [*COMMAND, "measures"], capture_output=True, text=True, check=False, env=wide
    )
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("YAAP")
    done = subprocess.run(
        [*COMMAND, "measures", "nope"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "unknown measure 'nope'" in done.stderr


def test_a_reader_that_leaves_early_is_not_an_error() -> None:
    with subprocess.Popen(
        [*COMMAND, "measures"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_what_asked_to_be_called_at_the_end_is_called() -> None:
    script = (
        "import atexit, sys; from citebed.cli import run; atexit.register(print, 'bye'); "
        "sys.argv = ['citebed', '--version']; run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("citebed ")
    assert done.stdout.endswith("bye\n")
