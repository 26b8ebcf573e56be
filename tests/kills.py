"""Commands that are killed, at each of their steps on disk or at any moment; and full disks.

A process that has everything loaded makes a copy of itself for every try, so that hundreds of
them take seconds; what one copy had to load besides is there for the next. A step is what Python
tells its audit hooks: a file opened to write, a folder made, something renamed, exchanged or
removed. The copy is killed just before it. A full disk is one on which no file may have more than
some bytes; one that fails answers calls of some kinds with an error (``failing_disk.c``).
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

KILLED = -9
CALLS = {"read": 1, "write": 2, "sync": 4, "rename": 8, "make": 16, "remove": 32, "open": 64}
"""The kinds of calls that a disk may answer with an error, as ``failing_disk.c`` numbers them."""
_DRIVER = """
import contextlib, ctypes, importlib, json, os, resource, signal, sys, tempfile, time

for name in ("citebed.cli.app", "citebed.files.output_files", *sys.argv[1:]):
    importlib.import_module(name)
from citebed.cli.app import main
from citebed.files import output_files

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

def run(words, folder, what, number, exchanging, disk):
    os.chdir(folder)
    if what == "calls":
        failing.disk_fails(os.fsencode(disk["where"]), disk["kinds"], number, *disk["how"])
    if not exchanging:
        output_files.exchange_paths = lambda *_: False
    if what == "steps":
        watch(number)
    if what == "bytes":
        resource.setrlimit(resource.RLIMIT_FSIZE, (number, number))
    code = main(words)
    while what == "after" and code == 0:
        code = main(words)
    sys.stdout.flush()
    if what == "steps":
        needed.write(json.dumps(list(sys.modules)))
        needed.flush()
    return code

def load_what_was_needed():
    needed.seek(0)
    for name in json.loads(needed.read() or "[]"):
        if name not in sys.modules:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    needed.seek(0)
    needed.truncate()

needed = tempfile.TemporaryFile("w+")
failing = ctypes.CDLL(os.environ["LD_PRELOAD"]) if "LD_PRELOAD" in os.environ else None
for line in sys.stdin:
    given = json.loads(line)
    reading, pipe = os.pipe()
    child = os.fork()
    if child == 0:
        said = os.open(os.devnull, os.O_WRONLY) if given["what"] == "after" else pipe
        os.dup2(said, 1)
        os.dup2(said, 2)
        os._exit(run(**given))
    os.close(pipe)
    if given["what"] == "after":
        time.sleep(given["number"])
        os.kill(child, signal.SIGKILL)
    with open(reading, "rb") as pipe:
        said = pipe.read().decode()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    failed = failing.disk_failed() if given["what"] == "calls" else 0
    print(json.dumps([code, said, failed]), flush=True)
    load_what_was_needed()
"""


class Disk(NamedTuple):
    """A disk that fails: where, which kinds of calls (`CALLS`), with which error of the system,
    and whether for good or once only."""

    where: Path
    kinds: Sequence[str] = tuple(CALLS)
    error: int = errno.EIO
    lasting: bool = True


@dataclass
class Victims:
    """Runs commands to their end or not; ``said`` is all that the last one printed, ``failed`` how
    many of its calls a disk answered with an error."""

    process: subprocess.Popen[str]
    said: str = field(default="", init=False)
    failed: int = field(default=0, init=False)

    def run(
        self,
        words: Sequence[str],
        folder: Path,
        what: str = "steps",
        number: float = -1,
        *,
        exchanging: bool = True,
        disk: Disk | None = None,
    ) -> int:
        """Return the exit code; ``KILLED`` if it was killed ``after`` seconds or ``steps``.

        ``bytes`` limits the size of the files that it writes. The first ``calls`` on files of the
        ``disk`` succeed, later ones fail. ``exchanging`` says whether the system can exchange two
        paths in one step.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        given = {"words": list(words), "folder": str(folder), "what": what, "number": number}
        given |= {"exchanging": exchanging, "disk": disk and _as_told(disk)}
        self.process.stdin.write(json.dumps(given) + "\n")
        self.process.stdin.flush()
        code, self.said, self.failed = json.loads(self.process.stdout.readline())
        return int(code)


def _as_told(disk: Disk) -> dict[str, object]:
    kinds = sum(CALLS[kind] for kind in disk.kinds)
    return {"where": str(disk.where), "kinds": kinds, "how": [disk.error, int(disk.lasting)]}


@contextmanager
def victims(*modules: str, library: Path | None = None) -> Iterator[Victims]:
    """Start a process that runs commands, with the modules that they need.

    ``library`` comes from `failing_disk` and makes disks fail.
    """
    with subprocess.Popen(
        [sys.executable, "-c", _DRIVER, *modules],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **({"LD_PRELOAD": str(library)} if library else {})},
    ) as process:
        yield Victims(process)


def failing_disk(folder: Path) -> Path:
    """The library that lets calls fail, compiled into ``folder``; skips where that cannot be."""
    made, source = folder / "failing_disk.so", Path(__file__).with_name("failing_disk.c")
    compiler = shutil.which("cc") if sys.platform == "linux" else None
    if compiler is None:
        pytest.skip("a disk that fails takes Linux and a C compiler (cc)")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", made, source, "-ldl"], check=True)
    return made


def content(path: Path) -> dict[str, bytes]:
    """All files at and below a path, by their names from there; none where nothing is."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


class Killed(BaseException):
    """Stands for a process that is gone."""


def killed_after(monkeypatch: pytest.MonkeyPatch, steps: int, *acts: tuple[Any, str]) -> None:
    """Let acts (an object and the name of its function) not happen any more after so many."""
    left = [steps]

    def guarded(original: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return original(*args, **options)

        return call

    for owner, name in acts:
        monkeypatch.setattr(owner, name, guarded(getattr(owner, name)))
