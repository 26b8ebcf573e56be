"""An import that lacks disk, memory or workers reports it and leaves the collection unchanged."""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests import starving
from tests.sampling import FULL, sized
from tests.starving import EARLIER, NEW, PAGE, Tried

from citebed import processes
from citebed.collection import ImportOptions, import_sources, open_collection
from citebed.collection.building.import_report import ImportReport
from citebed.collection.formats import FORMATS
from citebed.collection.formats.base import Chunk
from citebed.collection.reading import parser, sources
from citebed.collection.storing import store
from citebed.errors import CitebedError
from citebed.records import Record


def entry(number: int, words: int = 80) -> str:
    abstract = "words " * words
    return f"@article{{k{number}, title={{Paper Number {number}}}, abstract={{{abstract}}}}}\n"


def do_import(target: Path, *paths: Path, **options: object) -> ImportReport:
    return import_sources(target, paths, ImportOptions(**options))  # type: ignore[arg-type]


def run_cli(*words: str | Path, limit: int | None = None, **env: str) -> tuple[int, str]:
    """The real command, with files of at most ``limit`` blocks; gives its code and stderr."""
    command = [sys.executable, "-m", "citebed", *map(str, words)]
    if limit is not None:
        command = ["sh", "-c", f'ulimit -f {limit}; exec "$@"', "sh", *command]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **env}
    )
    return done.returncode, done.stderr


# --- a disk that is full ----------------------------------------------------------------------


def test_a_full_disk_ends_a_large_import_and_the_next_reads_all(tmp_path: Path) -> None:
    small, large = tmp_path / "small.bib", tmp_path / "large.bib"
    small.write_text("@article{small, title={A Small Paper}}")
    large.write_text("".join(entry(number, 8000) for number in range(150)))
    do_import(tmp_path / "c", small)
    before = starving.snapshot(tmp_path / "c")
    code, said = run_cli("import", tmp_path / "c", large, limit=100)
    assert code == 1
    assert said.splitlines()[-1].startswith(f"citebed: cannot write to '{tmp_path / 'c'}': File to")
    assert "Traceback" not in said
    assert starving.snapshot(tmp_path / "c") == before
    report = do_import(tmp_path / "c", large)
    assert (report.documents, report.unchanged, report.problems.height) == (151, 0, 0)


def test_an_import_without_any_room_creates_no_collection(tmp_path: Path) -> None:
    (tmp_path / "a.bib").write_text(entry(1))
    code, said = run_cli("import", tmp_path / "c", tmp_path / "a.bib", limit=0)
    assert (code, said.count("\n")) == (1, 1)
    assert "Nothing was imported" in said
    assert not (tmp_path / "c").exists()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("starved")
    starving.prepare(folder)
    return folder


def assert_as_it_was(tried: Tried, cause: str) -> None:
    assert tried.code == 1, tried
    assert tried.said.startswith("citebed: cannot write"), tried
    assert cause in tried.said, tried
    assert tried.said.count("\n") == 1, tried
    assert tried.kept, tried
    assert tried.documents == EARLIER + NEW, tried


@pytest.mark.parametrize("seed", range(sized(1, 3)))
def test_files_that_cannot_grow(prepared: Path, seed: int) -> None:
    largest = (prepared / "after/citebed.toml").stat().st_size
    rng = random.Random(seed)
    parts = range(0, 9, sized(2, 1))
    rooms = [rng.randrange(part * largest // 9, (part + 1) * largest // 9) for part in parts]
    outcomes = starving.run("files", prepared, [rng.randrange(PAGE), *rooms])
    for tried in outcomes:
        assert_as_it_was(tried, "File too large")
    assert {"parse_all", "to_toml"} <= {tried.step for tried in outcomes}


needs_mount = pytest.mark.skipif(
    not starving.may_mount(), reason="this machine lets nobody mount a small disk"
)


def written(prepared: Path) -> int:
    """The room that an import takes beside what is there."""
    return starving.pages(prepared / "after", prepared / "c")


@needs_mount
@pytest.mark.parametrize("seed", range(sized(1, 3)))
def test_a_disk_that_fills_up(prepared: Path, seed: int) -> None:
    earlier, more = starving.pages(prepared / "c"), written(prepared)
    rng = random.Random(seed)
    parts = range(1, 8, 2) if not FULL else range(8)
    rooms = [rng.randrange(part * more // 8, (part + 1) * more // 8) for part in parts]
    rooms = [earlier + room for room in (PAGE, *rooms)]
    outcomes = starving.run("disk", prepared, rooms)
    for tried in outcomes:
        assert_as_it_was(tried, "No space left on device")
    assert {"parse_all", "to_toml"} <= {tried.step for tried in outcomes}


@needs_mount
def test_a_disk_that_fills_up_at_the_very_end(prepared: Path) -> None:
    full = starving.pages(prepared / "c") + written(prepared)
    outcomes = starving.run("disk", prepared, [full + PAGE * more for more in (-1, 0, 1, 2)])
    failed = [tried for tried in outcomes if tried.code]
    for tried in failed:
        assert_as_it_was(tried, "No space left on device")
    assert failed[-1].step == "commit_change"
    assert {tried.documents for tried in outcomes} == {EARLIER + NEW}
    assert outcomes[-1].code == 0


def test_a_manifest_that_cannot_be_written_leaves_no_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    (tmp_path / "a.bib").write_text(entry(1))
    monkeypatch.setattr(store, "write_own_file", full)
    with pytest.raises(CitebedError, match="No space left"):
        do_import(tmp_path / "c", tmp_path / "a.bib")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("name", ["citebed.toml", "documents.parquet", "keys.parquet"])
def test_a_disk_that_fails_while_files_are_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "a.bib").write_text(entry(1))
    (tmp_path / "b.bib").write_text(entry(2))
    do_import(tmp_path / "c", tmp_path / "a.bib")
    original = os.replace

    def failing(source: str, target: str, **folders: int) -> None:
        if Path(target).name == name:
            raise OSError(5, "Input/output error")
        original(source, target, **folders)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", failing)
        with pytest.raises(CitebedError, match=r"Input/output error\. Nothing is lost"):
            do_import(tmp_path / "c", tmp_path / "b.bib")
    assert open_collection(tmp_path / "c").files["source"].to_list() == ["a.bib", "b.bib"]
    assert keys(tmp_path / "c") == ["k1", "k2"]


# --- workers that die or fail -----------------------------------------------------------------

PATCH = """
import os, signal
from citebed.collection.reading import parser
original = parser.{name}
def patched(given, *rest):
    if b"special" in str(given).encode(): {action}
    return original(given, *rest)
parser.{name} = patched
parser.IN_PROCESS_BYTES = 0
"""
"""Worker start-up: disturbs the part that has 'special' in it."""
KILL = "os.kill(os.getpid(), signal.SIGKILL)"


@pytest.fixture
def patched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Patches the workers (not this process): calls of a function with the special piece."""

    def patch(action: str, name: str = "parse_piece") -> None:
        (tmp_path / "patch").mkdir(exist_ok=True)
        text = PATCH.format(action=action, name=name)
        (tmp_path / "patch/sitecustomize.py").write_text(text)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "patch"))

    monkeypatch.setattr(parser, "IN_PROCESS_BYTES", 0)
    return patch


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Six files, so few that one job has them all; the third is special."""
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(6):
        key = "special" if number == 2 else f"k{number}"
        text = (
            f"@misc{{{key}, title={{Paper {number}}}}}\n@misc{{x{number}, title={{Next {number}}}}}"
        )
        (folder / f"{number}.bib").write_text(text)
    return folder


def keys(folder: Path) -> list[str]:
    return sorted(open_collection(folder).documents["doc_id"])


ALL = sorted(["k0", "k1", "special", "k3", "k4", "k5", *(f"x{n}" for n in range(6))])


def test_a_worker_killed_once_loses_nothing(
    tmp_path: Path, source: Path, patched: Callable[..., None]
) -> None:
    mark = str(tmp_path / "mark")
    patched(f"os.path.exists({mark!r}) or (os.mkdir({mark!r}), {KILL})")
    report = do_import(tmp_path / "c", source, workers=2)
    assert (tmp_path / "mark").exists()
    assert report.problems.is_empty()
    do_import(tmp_path / "other", source, workers=1)
    here, there = (open_collection(tmp_path / name) for name in ("c", "other"))
    assert here.documents.equals(there.documents)
    assert here.files.equals(there.files)


def test_a_piece_that_kills_its_worker_is_reported_and_tried_again(
    tmp_path: Path, source: Path, patched: Callable[..., None]
) -> None:
    patched(KILL)
    for _ in range(2):  # the second time it is tried again, not taken for read
        report = do_import(tmp_path / "c", source, workers=2)
        assert report.problems.select("line", "kind").rows() == [(1, "skipped")]
        assert report.problems["source"][0].endswith("in/2.bib")
        assert "The next import tries again" in report.problems["what"][0]
        assert keys(tmp_path / "c") == [key for key in ALL if key not in ("special", "x2")]
    assert report.unchanged == 5
    patched("pass")
    report = do_import(tmp_path / "c", source, workers=2)
    assert (report.unchanged, report.problems.height) == (5, 0)
    assert keys(tmp_path / "c") == ALL
    assert do_import(tmp_path / "c", source).unchanged == 6


def test_no_piece_of_a_dead_worker_is_parsed_in_this_process(
    tmp_path: Path, source: Path, patched: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = str(tmp_path / "mark")
    patched(f"os.path.exists({mark!r}) or (os.mkdir({mark!r}), {KILL})")
    monkeypatch.setattr(parser, "parse_piece", None)  # a call would be an error
    report = do_import(tmp_path / "c", source, workers=2)
    assert (tmp_path / "mark").exists()
    assert report.problems.is_empty()
    assert keys(tmp_path / "c") == ALL


def test_the_next_import_reads_the_source_of_a_failing_reader_again(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bibtex = FORMATS["bibtex"]

    def parse(chunk: Chunk) -> Iterator[Record]:
        yield from bibtex.parse(chunk)
        if b"special" in chunk.data:
            raise ZeroDivisionError("of ours")

    with monkeypatch.context() as patch:
        patch.setitem(FORMATS, "bibtex", replace(bibtex, parse=parse))
        report = do_import(tmp_path / "c", source)
    assert "ZeroDivisionError: of ours" in report.problems["what"][0]
    report = do_import(tmp_path / "c", source)
    assert (report.unchanged, report.problems.height) == (5, 0)
    assert keys(tmp_path / "c") == ALL


def test_a_bug_in_a_worker_is_reported_without_a_traceback(
    tmp_path: Path, source: Path, patched: Callable[..., None]
) -> None:
    patched("1 / 0", "_write_tables")
    words = ("import", tmp_path / "c", source, "--workers", "2")
    code, said = run_cli(*words)
    assert code == 2
    assert "internal error: WorkerError: ZeroDivisionError: division by zero" in said
    assert "Traceback" not in said
    code, said = run_cli(*words, CITEBED_DEBUG="1")
    assert code == 2
    assert "in run_job" in said
    assert not (tmp_path / "c").exists()


OF_POLARS = 'exec(\'raise __import__("polars").exceptions.ComputeError("(os error 28)")\')'


@pytest.mark.parametrize(
    ("name", "action", "message"),
    [
        ("parse_piece", "raise MemoryError", "memory"),
        ("parse_piece", "raise OSError(5, 'I/O error')", "cannot write to .*: I/O error"),
        ("_write_tables", "raise MemoryError", "memory"),
        ("_write_tables", OF_POLARS, "No space"),
    ],
)
def test_a_worker_without_memory_or_disk_ends_the_import(
    tmp_path: Path, source: Path, patched: Callable[..., None], name: str, action: str, message: str
) -> None:
    patched(action, name)
    with pytest.raises(CitebedError, match=message):
        do_import(tmp_path / "c", source, workers=2)
    assert not (tmp_path / "c").exists()


def test_an_import_leaves_no_threads_or_staging_files(tmp_path: Path, source: Path) -> None:
    threads = threading.active_count()
    do_import(tmp_path / "c", source)
    assert threading.active_count() == threads
    assert not (tmp_path / "c/.staging").exists()


def test_a_worker_that_is_too_slow_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = processes.Worker("time:sleep")
    worker.run(0)
    monkeypatch.setattr(processes, "PATIENCE", 0.1)
    with pytest.raises(processes.WorkerDied):
        worker.run(600)
    worker.close()


def test_a_worker_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "false")
    with pytest.raises(CitebedError, match=r"could not start \(exit code 1\)"):
        processes.Worker("time:sleep").run(0)


def test_a_machine_that_gives_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    original, started = threading.Thread.start, list[threading.Thread]()

    def start(thread: threading.Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        original(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(CitebedError, match=r"not start \(can't start new thread\)"):
        list(processes.run_all("builtins:len", ["one", "two"], 2, lambda *_: ()))
    assert not started[0].is_alive()


# --- sources that cannot be read --------------------------------------------------------------


def test_a_source_that_cannot_be_read_ends_the_import(tmp_path: Path, source: Path) -> None:
    do_import(tmp_path / "c", source / "0.bib")
    before = starving.snapshot(tmp_path / "c")
    broken = source / "broken.bib"
    broken.symlink_to("/proc/self/mem")  # a regular file; to read it from the start is an error
    with pytest.raises(CitebedError, match=r"cannot read .*broken\.bib: Input/output error"):
        do_import(tmp_path / "c", source)
    assert starving.snapshot(tmp_path / "c") == before
    broken.unlink()
    broken.write_text(entry(7))
    assert do_import(tmp_path / "c", source).unchanged == 1
    assert keys(tmp_path / "c") == sorted([*ALL, "k7"])


def zipped(data: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("a.bib", data)
    return made.getvalue()


def tarred(data: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", compresslevel=0) as archive:
        info = tarfile.TarInfo("a.bib")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


@pytest.mark.parametrize("pack", [bytes, zipped, tarred])
def test_an_error_of_the_disk_is_not_taken_for_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    class Disk(io.FileIO):
        def readinto(self, buffer: object) -> int:
            reads.append(self)
            if len(reads) > after:
                raise OSError(5, "Input/output error")
            return super().readinto(buffer)  # type: ignore[arg-type]

    class Counted(sources._Counted, Disk):
        """A file on that disk."""

    reads: list[object] = []
    text = "".join(entry(number, 8000) for number in range(70))
    (tmp_path / "a").write_bytes(pack(text.encode()))
    for after in range(3):
        reads.clear()
        with monkeypatch.context() as patch:
            patch.setattr(sources, "_Counted", Counted)
            with pytest.raises(CitebedError, match=r"cannot read .*: Input/output error"):
                do_import(tmp_path / "c", tmp_path / "a")
        assert len(reads) == after + 1
        assert not (tmp_path / "c").exists()
    assert do_import(tmp_path / "c", tmp_path / "a", workers=1).documents == 70
