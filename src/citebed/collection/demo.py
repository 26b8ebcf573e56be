"""The demo collection that citebed contains."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

from citebed.collection.building.import_report import ImportReport
from citebed.collection.collection import Collection
from citebed.collection.importing import ImportOptions, import_sources
from citebed.collection.progress import SILENT, Progress
from citebed.collection.storing import store
from citebed.errors import CollectionError
from citebed.files.file_kinds import MANIFEST
from citebed.files.output_files import add_files
from citebed.runs.times import parse_time
from citebed.wording import printable

_NAME = "demo"
_SOURCES = ("landmarks.bib", "papers")


def import_demo(folder: str | Path, progress: Progress = SILENT) -> ImportReport:
    """Create or update the demo collection at ``folder``, which must contain nothing else."""
    check_demo_folder(Path(folder))
    with resources.as_file(resources.files("citebed") / "demo") as data:
        paths = [data / name for name in _SOURCES]
        return import_sources(folder, paths, ImportOptions(name=_NAME), progress)


def check_demo_folder(folder: Path) -> None:
    """Raise if a folder contains anything but the demo, so that no other collection is changed."""
    if not folder.is_dir():
        return
    if (folder / MANIFEST).is_file():
        manifest = store.read_manifest(folder)
        names = {Path(str(row["path"])).name for row in manifest.sources}
        if manifest.name == _NAME and names.issuperset(_SOURCES):
            return
        content = f"the collection '{manifest.name}'"
    elif any(not path.name.startswith(".") for path in folder.iterdir()):
        content = "files"
    else:
        return
    raise CollectionError(
        f"'{printable(folder)}' already contains {content}, which the demo would change. "
        "Name another folder: citebed demo demo-collection-2"
    )


def write_stream(collection: Collection, folder: Path) -> tuple[Path, Path]:
    """Write the documents as a stream by their years, and judgements with ids like TREC KBA's."""
    dated = collection.documents.drop_nulls("year").select("doc_id", "title", "year")
    rows = [
        {"doc_id": doc_id, "time": parse_time(f"{year}-01-01", utc=True), "title": title}
        for doc_id, title, year in dated.iter_rows()
    ]
    rows.sort(key=lambda row: (row["time"], row["doc_id"]))
    times = {row["doc_id"]: row["time"] for row in rows}
    data = (resources.files("citebed") / "demo" / "topics.qrels").read_text("utf-8")
    judged = (line.split() for line in data.splitlines())
    lines = [f"{q} 0 {times[d]:010d}-{d} {grade}\n" for q, _, d, grade in judged if d in times]
    stream, qrels = folder / "stream.jsonl", folder / "kba.qrels"
    with add_files(folder) as draft:
        (draft / stream.name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        (draft / qrels.name).write_text("".join(lines), "utf-8")
    return stream, qrels


def write_topics(folder: Path) -> tuple[Path, Path]:
    """Write the standing topics of the citing papers, and their citations as judgements."""
    data = resources.files("citebed") / "demo"
    topics, judged = folder / "topics.jsonl", folder / "topics.qrels"
    with add_files(folder) as draft:
        for path in (topics, judged):
            (draft / path.name).write_bytes((data / path.name).read_bytes())
    return topics, judged
