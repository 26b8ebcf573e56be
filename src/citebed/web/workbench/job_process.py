"""Long tasks that run in a separate process and report progress.

The process reads one line of JSON, ``{"kind": …, "folder": …, …}``, from its standard input and
writes lines of JSON to its standard output: ``step``, ``done`` and ``total`` while it works, and
last the result, or a ``message`` with the error. Each kind calls the same function as the command
of that name. The process exits at once when the other end of its input closes; this is safe because
changes to a collection are atomic.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from citebed.collection.progress import Progress
from citebed.errors import CitebedError
from citebed.files.system_errors import describe_error, find_system_error
from citebed.processes import end_with_parent

_EVERY = 0.1
"""Seconds between two progress reports."""
_NICE = 5
"""Niceness: tasks run at lower priority than the interactive server."""


@dataclass
class Outcome:
    """The result of a task: flat rows as ``--json`` prints them, lines for people (a label and a
    sentence), notes, and the created files."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    summary: str = ""


Task = Callable[[Path, dict[str, Any], Progress], Outcome]


# --- the tasks ---------------------------------------------------------------------------------


def _import(folder: Path, asked: dict[str, Any], progress: Progress) -> Outcome:
    """Run ``citebed import``, then ``citebed index``."""
    from citebed.collection import ImportOptions, import_sources
    from citebed.wording import count

    options = ImportOptions(name=asked.get("name"))
    report = import_sources(folder, asked["paths"], options, progress)
    summary = f"{count(report.documents, 'document')} in the collection"
    skipped = report.new_problems.filter(kind="skipped").height if report.new_problems.height else 0
    if skipped:
        summary += f"; {count(skipped, 'entry or file', 'entries or files')} could not be read"
    made = Outcome(report.rows(), report.lines(), summary=summary)
    return _indexed(folder, made, progress) if asked.get("index", True) else made


def _demo(folder: Path, _: dict[str, Any], progress: Progress) -> Outcome:
    """Create the demo collection and its index, like ``citebed demo``."""
    from citebed.collection.demo import import_demo

    report = import_demo(folder, progress)
    return _indexed(folder, Outcome(report.rows(), report.lines()), progress)


def _index(folder: Path, _: dict[str, Any], progress: Progress) -> Outcome:
    """Run ``citebed index``."""
    return _indexed(folder, Outcome(), progress)


def _indexed(folder: Path, made: Outcome, progress: Progress) -> Outcome:
    from citebed.collection import open_collection
    from citebed.report.collection import index_lines
    from citebed.retrieval.index.builder import IndexOptions
    from citebed.retrieval.ranking.weight_fit import build_index

    progress.step("indexing: documents", 0)
    report = build_index(open_collection(folder), IndexOptions(), progress)
    lines = index_lines(Path(folder.name), report)
    made.lines += [("index" if at == 0 else "", line) for at, line in enumerate(lines)]
    made.rows += [] if made.rows else [report._asdict()]
    made.summary = made.summary or lines[0]
    return made


def _search(folder: Path, asked: dict[str, Any], progress: Progress) -> Outcome:
    """Run ``citebed search``; keep an existing run of that name and number the new one."""
    import shlex

    from citebed.files.output_files import find_free_path
    from citebed.retrieval.execution.run_files import SearchRequest, run_file, search_to_file
    from citebed.retrieval.execution.runner import RunOptions
    from citebed.retrieval.search.fields import fields_of

    queries, model, depth = asked["queries"], asked["model"], asked["depth"]
    options = RunOptions(depth, fields_of(asked["fields"]), as_is=asked["as_is"])
    command = ["citebed", "search", folder.name, "--queries", queries, "--model", model]
    command += ["--depth", str(depth), "--fields", asked["fields"]]
    output = find_free_path(run_file(folder, model, queries))
    found = search_to_file(
        folder,
        SearchRequest(
            queries=queries, model=model, options=options, output=output, command=command
        ),
        progress,
    )
    files = [str(path.relative_to(folder)) for path in found.files]
    row = {"run": output.name, "queries": queries, "model": model, "depth": depth}
    lines = [("command", shlex.join(command)), ("run", files[0])]
    summary = found.summary.partition(": ")[0]
    return Outcome([row], lines, list(found.notes), files, summary)


def _lint(folder: Path, _: dict[str, Any], progress: Progress) -> Outcome:
    """Run ``citebed lint``: report what each check found and how to fix it."""
    from citebed.collection import open_collection
    from citebed.report.lint import linted

    progress.step("checking", 0)
    found = linted(open_collection(folder))
    checks = {each.check.name: each.check for each in found}
    rows = [
        {**row, "title": checks[row["check"]].title, "mend": checks[row["check"]].mend}
        for row in found.rows
    ]
    hits = sum(1 for each in found if each.count)
    return Outcome(rows, summary=f"{len(found)} checks, {hits} found something")


TASKS: dict[str, Task] = {
    "import": _import, "demo": _demo, "index": _index, "search": _search, "lint": _lint,
}  # fmt: skip
"""The kinds of task by name."""


# --- the process -------------------------------------------------------------------------------


def work(lines: IO[str], output: IO[str]) -> int:
    """Run the task of the first line, report on it and return the exit code."""
    asked = json.loads(lines.readline())
    reporter = _Reporter(output)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = TASKS[asked["kind"]](Path(asked["folder"]), asked, reporter.progress)
    except (CitebedError, OSError) as error:
        cause = find_system_error(error)
        reporter.write({"message": str(error) if cause is None else describe_error(cause)})
        return 1
    except KeyboardInterrupt:
        reporter.write({"message": "it was cancelled."})
        return 130
    reporter.write({"outcome": vars(found)})
    return 0


class _Reporter:
    """Writes reports, and progress at a limited rate."""

    def __init__(self, output: IO[str]) -> None:
        self._output, self._turn = output, threading.Lock()
        self._step, self._done, self._total, self._last = "", 0, 0, 0.0
        self.progress = Progress(self._begin, self._add)

    def _begin(self, step: str, total: int) -> None:
        self._step = step
        if total:
            self._done, self._total = 0, total
        self._say()

    def _add(self, amount: int) -> None:
        self._done += amount
        if time.monotonic() - self._last > _EVERY:
            self._say()

    def _say(self) -> None:
        self._last = time.monotonic()
        self.write({"step": self._step, "done": self._done, "total": self._total})

    def write(self, what: dict[str, Any]) -> None:
        """Write one line."""
        with self._turn, contextlib.suppress(BrokenPipeError):
            self._output.write(json.dumps(what, default=str) + "\n")
            self._output.flush()


def main() -> int:
    """Run the process."""
    for kind in (signal.SIGTERM, signal.SIGINT):  # a background server ignores SIGINT
        signal.signal(kind, signal.default_int_handler)
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of libraries must not mix with the lines
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    lines = sys.stdin
    threading.Thread(target=end_with_parent, daemon=True).start()
    return work(lines, output)


def command() -> Sequence[str]:
    """The code that starts such a process."""
    return [
        sys.executable,
        "-P",
        "-c",
        "from citebed.web.workbench.job_process import main; raise SystemExit(main())",
    ]
