"""Commands that are killed: at each of their steps on disk, or at any moment.

A process that has everything loaded makes a copy of itself for every try, so that hundreds of
them take seconds. A step is what Python tells its audit hooks: a file opened to write, a folder
made, something renamed, exchanged or removed. The copy is killed just before it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

KILLED = -9
_DRIVER = """
import importlib, json, os, signal, sys, time

arguments, modules, exchanging = json.loads(sys.argv[1])
for name in ("citebed.cli.app", "citebed.files.writing", *modules):
    importlib.import_module(name)
from citebed.cli.app import main
from citebed.files import writing

if not exchanging:
    writing.exchange = lambda *_: False
NAMES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.truncate")

def watch(steps):
    def hook(event, given):
        nonlocal steps
        writes = event == "open" and given[2] & (os.O_WRONLY | os.O_RDWR)
        swaps = event == "ctypes.dlsym" and given[1] == "renameat2"
        if writes or swaps or event in NAMES:
            if steps == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            steps -= 1
    sys.addaudithook(hook)

for line in sys.stdin:
    what, number = line.split()
    child = os.fork()
    if child == 0:
        if what == "steps":
            watch(int(number))
        os.dup2(2, 1)
        code = main(arguments)
        while what == "after" and code == 0:
            code = main(arguments)
        os._exit(code)
    if what == "after":
        time.sleep(float(number))
        os.kill(child, signal.SIGKILL)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Victim:
    """A command that can be run again and again, to its end or not."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, what: str, number: float) -> int:
        """Its exit code, ``KILLED`` if it was killed ``after`` seconds or so many ``steps``."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{what} {number}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def to_the_end(self) -> int:
        """Its exit code when nobody kills it."""
        return self.run("steps", -1)


@contextmanager
def victim(
    arguments: Sequence[str], folder: Path, *, modules: Sequence[str] = (), exchanging: bool = True
) -> Iterator[Victim]:
    """A command in a folder; ``exchanging`` tells whether paths can change places in one step."""
    import json

    given = json.dumps([list(arguments), list(modules), exchanging])
    with subprocess.Popen(
        [sys.executable, "-c", _DRIVER, given],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder,
    ) as process:
        yield Victim(process)


def content(path: Path) -> dict[str, bytes]:
    """All files at and below a path, by their names from there; none where nothing is."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}
