"""Everything that waits ends: at Ctrl-C, with its parent, or after a timeout."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from citebed.distributed import sessions
from citebed.errors import CitebedError
from citebed.files import output_files
from citebed.files.output_files import update_file
from citebed.processes import Worker, WorkerDied
from citebed.web.server import serve_app

COMMAND = [sys.executable, "-m", "citebed"]
LONG = 60.0
ROOT = str(Path(__file__).resolve().parents[2])


def make_files(folder: Path) -> None:
    """Judgements and a run with more lines of scores than a pipe holds."""
    queries = range(3000)
    (folder / "x.qrels").write_text("".join(f"a-long-name-{q} 0 d 1\n" for q in queries))
    (folder / "x.run").write_text("".join(f"a-long-name-{q} Q0 d 1 1 t\n" for q in queries))


@contextmanager
def full_pipe(path: Path) -> Iterator[None]:
    """A pipe that a process holds open without reading or writing."""
    os.mkfifo(path)
    handle = os.open(path, os.O_RDWR)
    try:
        yield
    finally:
        os.close(handle)


def wait_asleep(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process that has loaded polars does nothing any more."""
    until, before, still = time.monotonic() + LONG, 0, 0
    maps = Path(f"/proc/{process.pid}/maps")
    while still < 10:
        assert time.monotonic() < until
        assert process.poll() is None
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2].split()
        spent = int(fields[11]) + int(fields[12])
        still = still + 1 if spent == before and "polars" in maps.read_text() else 0
        before = spent
        time.sleep(0.05)


@contextmanager
def started(command: list[str], folder: Path, out: Any = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is gone afterwards."""
    with subprocess.Popen(command, cwd=folder, stdout=out) as process:
        try:
            yield process
        finally:
            process.kill()


with_proc = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc here")


@with_proc
@pytest.mark.parametrize(
    "words", ["evaluate x.qrels pipe", "evaluate pipe x.run", "qrels stats pipe"]
)
def test_ctrl_c_ends_waiting_for_a_pipe(words: str, tmp_path: Path) -> None:
    make_files(tmp_path)
    command = [*COMMAND, *words.split()]
    with full_pipe(tmp_path / "pipe"), started(command, tmp_path) as process:
        wait_asleep(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(LONG) == 130


@with_proc
def test_ctrl_c_ends_waiting_for_a_reader(tmp_path: Path) -> None:
    make_files(tmp_path)
    command = [*COMMAND, "trec_eval", "-q", "-m", "map", "x.qrels", "x.run"]
    with (
        full_pipe(tmp_path / "pipe"),
        (tmp_path / "pipe").open("wb") as out,
        started(command, tmp_path, out) as process,
    ):
        wait_asleep(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(LONG) == 130


@pytest.mark.parametrize("engine", [[], ["--on", "local"]], ids=["alone", "on an engine"])
def test_a_background_job_ignores_interrupts_and_ends(engine: list[str], tmp_path: Path) -> None:
    """A shell that runs a script has its background jobs ignore SIGINT."""
    if engine:
        pytest.importorskip("pysail", reason="the extra 'spark' is not installed")
    make_files(tmp_path)
    shell = ["sh", "-c", "trap '' INT; echo ready; exec \"$@\"", "sh"]
    words = ["evaluate", "x.qrels", "x.run", "-m", "AP", "--no-intervals", "--csv"]
    command = [*shell, *COMMAND, *words, *engine]
    with started(command, tmp_path, subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        until = time.monotonic() + LONG
        while process.poll() is None and time.monotonic() < until:
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        assert process.poll() == 0
        assert b"x,AP,all,1.0" in process.stdout.read()


def test_a_server_hears_interrupts_before_its_address_is_known() -> None:
    """A script waits for the address, and may end the server at once."""
    told = []

    def started(port: int) -> None:
        told.append(port)
        os.kill(os.getpid(), signal.SIGINT)

    async def app(scope: Any, receive: Any, send: Any) -> None: ...

    try:
        serve_app(app, "127.0.0.1", 0, started)
    except KeyboardInterrupt:
        pytest.fail("the server was not listening for the signal")
    assert told


def test_workers_that_never_answer_do_not_keep_ctrl_c_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = threading.Event()

    @contextmanager
    def opened(*_: Any) -> Iterator[Any]:
        yield SimpleNamespace()

    monkeypatch.setattr(sessions, "_opened", opened)
    monkeypatch.setattr(sessions, "check_workers", lambda _: answers.wait(LONG))
    before = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt), sessions.session("spark://there:7077"):
            raise KeyboardInterrupt
        assert time.monotonic() - before < LONG / 2
    finally:
        answers.set()


def test_a_folder_that_is_locked_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A process that can read a folder can lock it."""
    monkeypatch.setattr(output_files, "LOCK_SECONDS", 0.2)
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    failed = list[BaseException]()

    def change() -> None:
        try:
            update_file(tmp_path / "refs.bib", lambda before: before + b"x")
        except CitebedError as error:
            failed.append(error)

    thread = threading.Thread(target=change, daemon=True)
    thread.start()
    thread.join(LONG / 2)
    assert not thread.is_alive()
    assert "another program has locked" in str(failed[0])
    os.close(handle)
    update_file(tmp_path / "refs.bib", lambda before: before + b"x")
    assert (tmp_path / "refs.bib").read_bytes() == b"x"


def hold_python(begun: str) -> None:
    """Work in C that lets no other thread run; there is a file once it does."""
    Path(begun).touch()
    sum(range(10**12))


def test_a_child_that_does_not_end_is_killed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("citebed.processes._ENDING", 0.2)
    monkeypatch.setenv("PYTHONPATH", ROOT)
    worker = Worker(f"{__name__}:hold_python", patience=LONG)

    def work() -> None:
        with pytest.raises(WorkerDied):
            worker.run(str(tmp_path / "begun"))

    working = threading.Thread(target=work, daemon=True)
    working.start()
    assert wait_for((tmp_path / "begun").exists)
    process = worker._process
    assert process is not None
    worker.close()
    assert process.poll() == -signal.SIGKILL
    working.join(LONG)


PARENT = """
import sys, threading, time
from citebed.processes import Worker
worker = Worker("tests.unit.test_waiting:hold_python", patience=10)
threading.Thread(target=worker.run, args=(sys.argv[1],), daemon=True).start()
while worker._process is None:
    time.sleep(0.01)
print(worker._process.pid, flush=True)
time.sleep(60)
"""


def test_a_child_ends_after_its_parent_whatever_it_does(tmp_path: Path) -> None:
    """A library that holds Python's lock lets no thread look for the parent."""
    command = [sys.executable, "-c", PARENT, str(tmp_path / "begun")]
    environment = {**os.environ, "PYTHONPATH": ROOT}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert wait_for((tmp_path / "begun").exists)
        parent.kill()
    assert wait_for(lambda: not _is_running(child))


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][:1]


def wait_for(ready: Callable[[], bool]) -> bool:
    until = time.monotonic() + LONG / 2
    while not ready():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
