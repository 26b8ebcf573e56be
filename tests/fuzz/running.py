"""Run a case, and check what must always hold.

A reader returns a value or raises a ``CitebedError``, and a command ends with 0 or 1 and a
message. Nothing but the outputs changes, nothing is left behind, and nothing is printed that is not
meant for the user.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl
from tests.fuzz.cases import Case
from tests.fuzz.readers import READERS

from citebed.cli.app import main
from citebed.errors import CitebedError
from citebed.runs.reader import read_qrels, read_run

SOURCE = "/citebed/"
_LEFTOVER = re.compile(r"(^|/)(\.citebed-|\.staging|\.commit)|\.(tmp|new)$")
_WARNING = re.compile(r"^\S+\.py:\d+: \w*Warning: .*", re.MULTILINE)
_ERROR = re.compile(r"^[\w.]+: .*|^[\w.]+Error$", re.MULTILINE)
_OBEYED = re.compile(  # all that is a control to Unicode but line feeds and tabs, and directions
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
_FRAME = re.compile(r'File "([^"]+)", line (\d+),? in (\S+)')


class Failure(NamedTuple):
    """A failure: its kind, its place in the source, and a description."""

    kind: str
    where: str
    what: str
    details: str = ""

    @property
    def key(self) -> str:
        """The part of a failure that makes it equal to another."""
        return f"{self.kind} {self.where}"


class Ran(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: bytes
    err: str


State = dict[str, tuple[int, int, int] | str]


def state(folder: Path) -> State:
    """Return every file and folder with the facts that show whether it changed."""
    found: State = {}
    for where, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = os.path.join(where, name)
            facts = os.lstat(path)
            kept = (facts.st_size, facts.st_mtime_ns, facts.st_ino)
            is_link = os.path.islink(path)
            key = os.path.relpath(path, folder)
            found[key] = os.readlink(path) if is_link else (0, 0, 0) if name in folders else kept
    return found


def changes(before: State, after: State) -> list[str]:
    """Return the files that were made, changed or removed."""
    return sorted(
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    )


class Place:
    """The folders for cases, beside others that must not change."""

    def __init__(self, root: Path, bases: Path) -> None:
        self.bases = bases
        self.case = root / "around" / "case"
        self.around = root / "around"
        self.temporary = root / "tmp"
        for folder in (self.around, self.temporary):
            folder.mkdir(parents=True, exist_ok=True)
        for name in ("x", "x.bib", "climbed.bib"):  # what ../x and the like would reach
            (self.around / name).write_text("@misc{kept, title={Nobody may touch this}}\n")
        os.environ["TMPDIR"] = tempfile.tempdir = str(self.temporary)
        os.environ["CITEBED_DEBUG"] = "1"  # for where a bug is

    def run(self, case: Case) -> Failure | None:
        """Run a case in a new folder; the first thing that does not hold."""
        shutil.rmtree(self.case, ignore_errors=True)  # of a worker that died
        self.case.mkdir()
        here = os.getcwd()
        try:
            case.lay(self.case, self.bases)
            os.chdir(self.case)
            before = state(self.around)
            failure = _read(case) if case.target.startswith("read ") else _command(case)
            return failure or self._strayed(case, before)
        finally:
            os.chdir(here)
            shutil.rmtree(self.case, ignore_errors=True)
            for left in self.temporary.iterdir():
                shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()

    def _strayed(self, case: Case, before: State) -> Failure | None:
        """Whether something was changed that should not have been, or left behind."""
        left = [path.name for path in self.temporary.iterdir()]
        if left:
            return Failure("leftover", case.target, f"in the folder of temporary files: {left[0]}")
        reads = case.target.startswith("read ")
        for name in changes(before, state(self.around)):
            inside = name.removeprefix("case/")
            if inside != name and (reads or _may_change(inside, case)):
                if not _LEFTOVER.search(inside) or inside in case.files:
                    continue
                return Failure("leftover", case.target, inside)
            return Failure("strayed", case.target, f"{inside!r} was changed or made")
        return None


def _may_change(name: str, case: Case) -> bool:
    """Return True if the case writes this path, or a companion of it."""
    return any(
        wanted in (".", name) or name.startswith((f"{wanted}/", f"{wanted}."))
        for wanted in case.writes
    )


# --- readers --------------------------------------------------------------------------------


def _read(case: Case) -> Failure | None:
    path = Path(case.given).absolute()
    err = io.StringIO()
    try:
        with contextlib.redirect_stderr(err), _all_warnings():
            READERS[case.target.removeprefix("read ")].read(path)
    except CitebedError as error:
        message = str(error).strip()
        return None if message else Failure("silent", case.target, "an error without a message")
    except BaseException as error:
        return _raised(error)
    return _noise(err.getvalue())


@contextlib.contextmanager
def _all_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        yield


def _raised(error: BaseException) -> Failure:
    text = "".join(traceback.format_exception(error))
    name = type(error).__name__
    what = f"{name}: {error}".splitlines()[0][:300]
    return Failure(f"raised {name}", place_of(text), what, text)


def place_of(text: str) -> str:
    """The last line of ours in a traceback, or of the tests where it came from there."""
    frames = _FRAME.findall(text)
    ours = [frame for frame in frames if SOURCE in frame[0]] or frames or [("?", "?", "?")]
    path, line, function = ours[-1]
    short = path.rpartition(SOURCE)[2]
    return f"{short}:{line} {function}"


def _noise(err: str) -> Failure | None:
    found = _WARNING.search(err)
    if found:
        short = found[0].rpartition(SOURCE)[2]
        return Failure("warning", short.partition(": ")[0], short[:300], err)
    return None


# --- verbs ----------------------------------------------------------------------------------


def _command(case: Case) -> Failure | None:
    for words in case.commands:
        arguments = [word.replace("{here}", os.getcwd()) for word in words]
        try:
            ran = _run(arguments, case.stdin)
        except BaseException as error:
            return _raised(error)
        failure = _badly_ended(ran, arguments, case) or _badly_written(ran, arguments, case)
        if failure:
            return failure
    return None


def _run(arguments: list[str], stdin: str) -> Ran:
    """Run a command in this process, with the strict streams of a shell."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace", write_through=True)
    given = io.BytesIO(stdin.encode("utf-8", "surrogateescape"))
    was, sys.stdin = sys.stdin, io.TextIOWrapper(given, "utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _all_warnings():
            code = main(arguments)
    finally:
        sys.stdin = was
    said = err.buffer.getvalue().decode("utf-8", "replace")
    return Ran(code, out.buffer.getvalue(), said)


_WITH_FINDINGS = ("check", "lint")
"""Commands that print findings and exit with 1."""


def _badly_ended(ran: Ran, arguments: list[str], case: Case) -> Failure | None:
    verb = case.target
    told = ran.code == 1 and "MemoryError" not in ran.err  # then tracebacks are for CITEBED_DEBUG
    if ran.code not in (0, 1) or ("Traceback" in ran.err and not told):
        what = (_ERROR.findall(ran.err) or [""])[-1]
        return Failure(f"exit {ran.code}", place_of(ran.err), what[:300], ran.err)
    if ran.code == 1 and "citebed: " not in ran.err and arguments[0] not in _WITH_FINDINGS:
        return Failure("silent", verb, f"exit 1 without a message: {ran.err[-200:]!r}")
    if ran.code == 0 and "--json" in arguments and "--help" not in arguments:
        try:
            json.loads(ran.out, parse_constant=_no_number)
        except ValueError as error:
            return Failure("no JSON", verb, str(error)[:300], ran.out.decode("utf-8", "replace"))
    return _noise(ran.err) or _obeyed(ran, arguments, case)


def _obeyed(ran: Ran, arguments: list[str], case: Case) -> Failure | None:
    """Whether something was printed for people that a terminal would obey."""
    is_exact = "--csv" in arguments or "csv" in arguments  # --json is harmless, too
    said = ran.err + ("" if is_exact else ran.out.decode("utf-8", "replace"))
    found = _OBEYED.search(said)
    if found is None:
        return None
    around = said[max(0, found.start() - 60) : found.end() + 60]
    return Failure("obeyed", case.target, f"U+{ord(found[0]):04X} is printed: {around!r}")


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _badly_written(ran: Ran, arguments: list[str], case: Case) -> Failure | None:
    """Whether what was written, and written whole, can be read."""
    if ran.code:
        return None
    if arguments[0] == "import":
        return _reader_failed(Path(arguments[1]) / "import" / "problems.parquet", case)
    read = read_qrels if case.target.startswith("qrels ") else read_run
    for name in case.writes if case.target in _MAKES else ():
        if name.startswith("out.") and Path(name).is_file() and name not in case.files:
            try:
                read(Path(name))
            except (CitebedError, pl.exceptions.PolarsError) as error:
                return Failure("unreadable", case.target, str(error)[:300])
    return None


_MAKES = ("fuse", "search", "qrels sample", "qrels subset", "qrels merge", "qrels expand")
"""The verbs that write a run or judgements."""


def _reader_failed(problems: Path, case: Case) -> Failure | None:
    """An import goes on where one of our readers fails, and says so: a failure all the same."""
    if not problems.is_file():
        return None
    with problems.open("rb") as file:  # polars takes no name that is not UTF-8
        said = pl.read_parquet(file)["what"].to_list()
    failed = [what for what in said if "reader failed" in what]
    return Failure("reader failed", case.target, failed[0][:300]) if failed else None
