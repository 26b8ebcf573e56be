"""The demo collection that comes with citebed."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from citebed.collection.importing import ImportOptions, import_sources
from citebed.collection.progress import SILENT, Progress
from citebed.collection.storing.import_report import ImportReport
from citebed.files.writing import several_files


def import_demo(folder: str | Path, progress: Progress = SILENT) -> ImportReport:
    """Make (or bring up to date) the demo collection at ``folder``."""
    with resources.as_file(resources.files("citebed") / "demo") as data:
        paths = [data / "landmarks.bib", data / "papers"]
        return import_sources(folder, paths, ImportOptions(name="demo"), progress)


def write_topics(folder: Path) -> tuple[Path, Path]:
    """The standing topics of the demo's citing papers, and what they cite as judgements of it."""
    data = resources.files("citebed") / "demo"
    topics, judged = folder / "topics.jsonl", folder / "topics.qrels"
    with several_files(folder) as draft:
        for path in (topics, judged):
            (draft / path.name).write_bytes((data / path.name).read_bytes())
    return topics, judged
