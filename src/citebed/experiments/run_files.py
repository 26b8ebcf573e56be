"""The files of experiments in a collection: runs with their metadata, and judgements.

Names and metadata come from files that may be a stranger's. citebed shows them, but does not
trust them and follows no link.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from citebed.collection import Collection
from citebed.errors import CitebedError, UnknownName
from citebed.files.file_kinds import MANIFEST
from citebed.files.input_files import read_small
from citebed.files.output_files import check_not_link, find_free_path, temporary_folder
from citebed.files.uploads import Upload, clean_path
from citebed.retrieval.execution.run_files import RUNS
from citebed.runs.reader import read_qrels, read_run, run_name
from citebed.wording import count, printable

QRELS = "qrels"
_RUN_ENDINGS = (".run", ".run.gz", ".txt", ".txt.gz", ".parquet", ".tsv")
_QRELS_ENDINGS = (".qrels", ".qrels.gz", ".txt", ".parquet")
_MOST_FACTS = 1 << 20
_FIRST_LINES, _FIRST_BYTES = 2000, 1 << 18
_FIELDS = 6
"""The number of fields in a line of a TREC run; the third is the document."""


@dataclass(frozen=True)
class RunFile:
    """A run of a collection: ``run`` is its file's name, ``name`` its name in tables.

    The other fields come from the metadata file next to it.
    """

    run: str
    name: str
    path: Path
    bytes: int
    model: str = ""
    queries: str = ""
    depth: int | None = None
    time: str = ""
    command: str = ""

    def row(self) -> dict[str, Any]:
        """Return a flat row without the path."""
        return {name: value for name, value in vars(self).items() if name != "path"}


@dataclass(frozen=True)
class JudgementFile:
    """Judgements of a collection: ``qrels`` is their name, ``origin`` where they come from."""

    qrels: str
    origin: str
    path: Path

    def row(self) -> dict[str, Any]:
        """Return a flat row without the path."""
        return {"qrels": self.qrels, "origin": self.origin}


def list_runs(folder: Path) -> list[RunFile]:
    """Return the runs of a collection, the latest first."""
    found = [_load_run(path) for path in _files(folder / RUNS, _RUN_ENDINGS)]
    return sorted(found, key=lambda each: (each.time, each.run), reverse=True)


def list_judgements(collection: Collection) -> list[JudgementFile]:
    """Return the judgements of a collection: of query sets, other files, and of campaigns."""
    own = {run_name(path): path for path in _files(collection.folder / QRELS, _QRELS_ENDINGS)}
    sets = [name for name in collection.query_sets if name in own]
    found = [JudgementFile(name, "query set", own.pop(name)) for name in sets]
    found += [JudgementFile(name, "judgements", path) for name, path in sorted(own.items())]
    for folder in _folders(collection.folder):
        for path in _files(folder / QRELS, _QRELS_ENDINGS):
            name = printable(folder.name)
            found.append(JudgementFile(f"{name}/{run_name(path)}", f"campaign {name}", path))
    return found


def judged_queries(path: Path) -> frozenset[str]:
    """Return the ids of judged queries in a file; none if it cannot be read."""
    try:
        return frozenset(read_qrels(path).table["query_id"].unique())
    except CitebedError:
        return frozenset()


def run_paths(folder: Path, wanted: Iterable[str]) -> list[Path]:
    """Return the files of the named runs; raise `UnknownName` for an unknown one."""
    known = {each.run: each.path for each in list_runs(folder)}
    return [_look_up("run", name, known) for name in dict.fromkeys(wanted)]


def judgements_path(collection: Collection, wanted: str) -> Path:
    """Return the file of the named judgements; raise `UnknownName` for unknown ones."""
    known = {each.qrels: each.path for each in list_judgements(collection)}
    return _look_up("judgement set", wanted, known)


def add_files(folder: Path, dropped: Sequence[Upload]) -> tuple[list[str], list[dict[str, str]]]:
    """Add runs and judgements to a collection.

    Each file is first read as a run, else as judgements; none replaces an existing file. Return
    the places of the added files, and the ``file`` and ``why`` of each refused one.
    """
    if not dropped:
        raise CitebedError("no files were sent. Choose or drop at least one.")
    taken: list[str] = []
    refused: list[dict[str, str]] = []
    with temporary_folder(check_not_link(folder / RUNS)) as draft:
        check_not_link(folder / QRELS)
        for name, file in dropped:
            path = find_free_path(draft / clean_path(name).name)
            with path.open("xb") as made:
                shutil.copyfileobj(file, made)
            try:
                place = _choose_place(folder, path)
                place.parent.mkdir(exist_ok=True)
                free = find_free_path(place)
                os.rename(path, free)
                taken.append(f"{free.parent.name}/{free.name}")
            except CitebedError as error:
                refused.append({"file": printable(path.name), "why": str(error)})
    if not taken:
        raise CitebedError("\n".join(each["why"] for each in refused))
    return taken, refused


def remove_run(folder: Path, wanted: str) -> str:
    """Remove a run and its metadata from a collection; return its file's name."""
    (path,) = run_paths(folder, [wanted])
    path.unlink()
    path.with_name(f"{path.name}.json").unlink(missing_ok=True)
    return printable(path.name)


def count_renamed_documents(collection: Collection, runs: Iterable[Path]) -> dict[str, int]:
    """Return how many of a run's first documents no longer have their ids in the collection.

    Only runs older than the last import are checked, and only runs with such documents returned.
    """
    imported = (collection.folder / MANIFEST).stat().st_mtime
    older = [path for path in runs if path.stat().st_mtime < imported]
    if not older:
        return {}
    known = set(collection.scan_documents().select("doc_id").collect()["doc_id"])
    missing = {printable(path.name): len(_first_documents(path) - known) for path in older}
    return {name: number for name, number in missing.items() if number}


def format_renamed_note(number: int) -> str:
    """Return a note on a run whose documents were renamed by an import."""
    were = "was" if number == 1 else "were"
    documents = count(number, "document")
    return f"older than the last import: {documents} {were} renamed since. Search again"


def _first_documents(path: Path) -> set[str]:
    """Return the ids of a run's first documents; none if the file cannot be read."""
    try:
        if path.name.endswith(".parquet"):
            return set(pl.read_parquet(path, columns=["doc_id"], n_rows=_FIRST_LINES)["doc_id"])
        is_packed = path.name.endswith(".gz")
        with gzip.open(path, "rb") if is_packed else path.open("rb") as file:
            parts = (line.split() for line in file.read(_FIRST_BYTES).splitlines()[:_FIRST_LINES])
            return {each[2].decode("utf-8", "replace") for each in parts if len(each) == _FIELDS}
    except (OSError, EOFError, zlib.error, pl.exceptions.PolarsError):
        return set()


def _choose_place(folder: Path, path: Path) -> Path:
    """Return the path of a new file, by whether it is a run or judgements."""
    try:
        results = read_run(path).table.height
        if results:
            ending = "" if path.name.endswith(_RUN_ENDINGS) else ".run"
            return folder / RUNS / f"{path.name}{ending}"
        why = "it is empty"
    except CitebedError as error:
        why = str(error).replace(str(path), path.name)
    try:
        judged = read_qrels(path).table
    except CitebedError:
        raise CitebedError(f"'{path.name}' is neither a run nor judgements: {why}") from None
    if not judged.height:
        raise CitebedError(f"'{path.name}' is empty.")
    ending = "" if path.name.endswith(_QRELS_ENDINGS) else ".qrels"
    return folder / QRELS / f"{path.name}{ending}"


def _load_run(path: Path) -> RunFile:
    facts = _load_facts(path.with_name(f"{path.name}.json"))
    queries = facts.get("queries")
    depth, command = facts.get("depth"), facts.get("command")
    return RunFile(
        printable(path.name),
        run_name(path),
        path,
        path.stat().st_size,
        _text(facts.get("model")),
        _text(queries.get("set")) if isinstance(queries, dict) else "",
        depth if isinstance(depth, int) and depth > 0 else None,
        _text(facts.get("time")),
        " ".join(map(_text, command))[:500] if isinstance(command, list) else "",
    )


def _load_facts(path: Path) -> dict[str, Any]:
    """Read the metadata file of a run; return {} if it cannot be read."""
    try:
        if path.is_symlink() or path.stat().st_size > _MOST_FACTS:
            return {}
        facts = json.loads(read_small(path, _MOST_FACTS))
    except (CitebedError, OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _text(value: object) -> str:
    return printable(value)[:300] if isinstance(value, str) else ""


def _files(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """Return the plain files of a folder with one of these endings; ignore links."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    paths = (path for path in folder.iterdir() if path.name.lower().endswith(endings))
    return sorted(
        path
        for path in paths
        if not path.name.startswith(".") and path.is_file() and not path.is_symlink()
    )


def _folders(folder: Path) -> list[Path]:
    """Return the folders that may contain exports of campaigns."""
    found = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    return sorted(path for path in found if not path.name.startswith("."))


def _look_up(kind: str, wanted: str, known: dict[str, Path]) -> Path:
    if wanted not in known:
        raise UnknownName(kind, wanted, known)
    return known[wanted]
