"""Reading the files of an import on workers, which hash, split and parse them.

Workers write tables to the staging folder of the collection, each attempt to a folder of its own,
so that a repeated task does no harm. The driver gets the paths of the tables.
"""

from __future__ import annotations

import itertools
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from citebed.collection.formats import FORMATS
from citebed.collection.formats.base import Chunk
from citebed.collection.formats.detection import FormatDetector
from citebed.collection.reading.parser import RECORDS, ParsedJob, Piece, make_jobs, run_job
from citebed.collection.reading.reader import Reader, split_file
from citebed.collection.reading.sources import SourceFile, translate_os_errors
from citebed.collection.tables import read_ipc
from citebed.distributed.sessions import Engine
from citebed.distributed.shuffle import (
    Given,
    Message,
    collect_values,
    map_partitions,
    pack_json,
    send_values,
    unpack_json,
)
from citebed.errors import CitebedError
from citebed.files.input_files import hash_file
from citebed.records import Problem
from citebed.wording import printable

AT_ONCE = 32 << 20
"""Bytes that a worker gets to read at a time."""
_PACKED = 8
"""A packed file may unpack to this many times its size; citebed then looks into it."""
_MOST_SHARES = 16
"""Maximum number of workers that read a packed file: each unpacks it from the beginning."""

_COMPARED = 4 << 10
"""Number of bytes that show whether a piece is in the file as it is, or was unpacked."""

Cut = tuple[int, int, int, str]
"""Offset, size, first line and format of a piece of a file."""
Share = tuple[int, int, int]
"""A range of pieces (first, end), and their bytes."""
Looked = tuple[str, list[Cut] | None, list[Share] | None, int]
"""The hash of a file, the places to cut it, or else how to share it, and its size."""


class PartNote(NamedTuple):
    """A file of records: its path, counts by source, types, languages, and whether a record has a
    crossref."""

    path: str
    counts: dict[str, int]
    types: list[str]
    languages: list[str]
    crossrefs: bool


@dataclass
class EngineReader(Reader):
    """Reads the files of an import on an engine; ``notes`` describe the ``record_files``."""

    engine: Engine = field(kw_only=True)
    notes: list[PartNote] = field(default_factory=list)

    def _parse_files(
        self, files: list[SourceFile], pruned: set[str], folder: Path
    ) -> list[ParsedJob]:
        settings = folder / "settings.json"
        names = [file.name for file in files]
        values = {"only": self.only, "forced": self.forced_format, "names": names}
        settings.write_text(json.dumps(values), encoding="utf-8")
        self._looked = _looked_at(self.engine, files, settings)
        found = list(self._select_changed(files, pruned))
        specs = []
        for file, _ in found:
            lent = self._strings.find_used(file)
            _, cuts, shares, size = self._looked[file.name]
            place = {"path": os.fspath(file.path.absolute()), "name": file.name, "lent": lent}
            specs.append({**place, "cuts": cuts, "shares": shares, "size": size})
        batches = list(_batches(specs))
        answers = _answers(self.engine, "job", partial(_parse, str(settings)), batches)
        formats: dict[str, dict[str, None]] = {}
        for answer in answers:
            self.problems += [(source, Problem(*told)) for source, *told in answer["problems"]]
            for name, used in answer["formats"].items():
                formats.setdefault(name, {}).update(dict.fromkeys(used))
            self.notes += [PartNote(*note) for note in answer["notes"]]
        for file, row in found:
            self.sources.append({**row, "format": ", ".join(formats.get(file.name, ()))})
        return [
            ParsedJob(tuple(number), {name: Path(path) for name, path in own.items()}, *rest)
            for answer in answers
            for number, own, *rest in answer["parsed"]
        ]

    def _hash_file(self, file: SourceFile) -> str:
        digest: str = self._looked[file.name][0]
        return digest


def _answers(
    engine: Engine, kind: str, work: Any, batches: list[list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Return the answers of workers to batches, in order."""
    if not batches:
        return []
    return collect_values(map_partitions(send_values(engine, kind, batches), work, len(batches)))


# --- Looking ----------------------------------------------------------------------------------


def _looked_at(engine: Engine, files: list[SourceFile], settings: Path) -> dict[str, Looked]:
    """Return hash, cuts and shares of each file."""
    specs = []
    for file in files:
        with translate_os_errors(file.path):
            size = file.path.stat().st_size
        where = {"path": os.fspath(file.path.absolute()), "name": file.name}
        specs.append({**where, "size": size})
    looked: dict[str, Looked] = {}
    work = partial(_look, str(settings))
    for answer in _answers(engine, "files", work, list(_batches(specs))):
        looked |= {name: (digest, *rest) for name, digest, *rest in answer["files"]}
    return looked


def _look(settings: str, number: int, given: Given) -> Iterator[Message]:
    """On a worker: hash files, and find out where they can be cut."""
    if not Path(settings).is_file():
        raise CitebedError(
            f"the engine's workers do not see '{printable(Path(settings).parent)}'. This machine "
            "and all workers must see the collection and its sources at the same path: choose a "
            "folder of a shared file system."
        )
    told = []
    for spec in unpack_json(given, "files"):
        file = SourceFile(Path(spec["path"]), spec["name"])
        with translate_os_errors(file.path):
            digest = hash_file(file.path)
        size = spec["size"]
        cuts = _cuts(file, settings) if size > AT_ONCE else None
        shared = cuts is None and size * _PACKED > AT_ONCE
        shares = _shares(file, settings) if shared else None
        told.append((file.name, digest, cuts, shares, size))
    yield Message("looked", number, pack_json({"files": told}))


def _shares(file: SourceFile, settings: str) -> list[Share] | None:
    """Divide the pieces of a file among workers, which also read everything before their own."""
    sizes = [
        len(piece.chunk.data) if isinstance(piece, Piece) else 0
        for piece in split_file(file, _recogniser(settings), _settings(settings)["only"], {})
    ]
    count = min(_MOST_SHARES, sum(sizes) // AT_ONCE)
    if count < 2:
        return None
    shares: list[Share] = []
    start = read = 0
    for number, size in enumerate(sizes):
        read += size
        if read >= sum(sizes) / count or number + 1 == len(sizes):
            shares.append((start, number + 1, read))
            start, read = number + 1, 0
    return shares


def _cuts(file: SourceFile, settings: str) -> list[Cut] | None:
    """Return the pieces of a file; ``None`` unless they are parts of it that can be read alone."""
    if _settings(settings)["only"]:
        return None
    cuts: list[Cut] = []
    at = 0
    for piece in split_file(file, _recogniser(settings), (), {}):
        if not isinstance(piece, Piece) or not _is_apart(piece, file, at):
            return None
        size = len(piece.chunk.data)
        cuts.append((at, size, piece.chunk.line, piece.format))
        at += size
    return cuts


def _is_apart(piece: Piece, file: SourceFile, at: int) -> bool:
    """Return True if a piece is in the file at this place and can be read without earlier ones."""
    format = FORMATS[piece.format]
    if (
        piece.chunk.source != file.name
        or format.split is None
        or format.collect_context is not None
    ):
        return False
    with translate_os_errors(file.path), file.path.open("rb") as stream:
        stream.seek(at)
        head = piece.chunk.data[:_COMPARED]
        return stream.read(len(head)) == head


@cache
def _settings(path: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(Path(path).read_text("utf-8"))
    return values


def _recogniser(settings: str) -> FormatDetector:
    """Return a new detector for each task: it learns names, and a task may run twice."""
    values = _settings(settings)
    return FormatDetector(values["forced"], values["names"])


def _batches(specs: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Group files, and parts of cut files, until a group is worth a task."""
    waiting: list[dict[str, Any]] = []
    size = 0
    for spec in itertools.chain.from_iterable(map(_parts, specs)):
        if waiting and size + spec["size"] > AT_ONCE:
            yield waiting
            waiting, size = [], 0
        waiting.append(spec)
        size += spec["size"]
    if waiting:
        yield waiting


def _parts(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts of a file that can be cut or shared."""
    for first, stop, size in spec.get("shares") or ():
        yield {**spec, "shares": [first, stop], "size": size}
    if not spec.get("cuts"):
        yield from () if spec.get("shares") else (spec,)
        return
    some: list[Cut] = []
    for cut in spec["cuts"]:
        if some and sum(size for _, size, *_ in some) + cut[1] > AT_ONCE:
            yield {**spec, "cuts": some, "size": sum(size for _, size, *_ in some)}
            some = []
        some.append(cut)
    yield {**spec, "cuts": some, "size": sum(size for _, size, *_ in some)}


# --- Parsing ----------------------------------------------------------------------------------


def _parse(settings: str, number: int, given: Given) -> Iterator[Message]:
    """On a worker: parse some files, or parts of one, into tables beside the settings."""
    only, recogniser = _settings(settings)["only"], _recogniser(settings)
    folder = Path(tempfile.mkdtemp(dir=Path(settings).parent))
    problems: list[tuple[str, Problem]] = []
    formats: dict[str, dict[str, None]] = {}

    def found() -> Iterator[Piece]:
        for spec in unpack_json(given, "job"):
            file = SourceFile(Path(spec["path"]), spec["name"])
            if spec["cuts"]:
                with translate_os_errors(file.path), file.path.open("rb") as stream:
                    for start, size, line, format in spec["cuts"]:
                        stream.seek(start)
                        formats.setdefault(file.name, {})[format] = None
                        yield Piece(format, Chunk(stream.read(size), file.name, line))
                continue
            whole = split_file(file, recogniser, only, spec["lent"])
            for piece in itertools.islice(whole, *(spec["shares"] or (None,))):
                if isinstance(piece, Piece):
                    formats.setdefault(file.name, {})[piece.format] = None
                    yield piece
                else:
                    problems.append(piece)

    parsed = [run_job(job) for job in make_jobs(found(), folder)]
    answer = {
        "parsed": [
            (
                (number, *each.number),
                {name: os.fspath(path) for name, path in each.files.items()},
                each.counts,
                each.unread,
                each.problems,
            )
            for each in parsed
        ],
        "notes": [make_note(each.files[RECORDS]) for each in parsed if RECORDS in each.files],
        "problems": [(source, told.line, told.what, told.kind) for source, told in problems],
        "formats": {name: list(used) for name, used in formats.items()},
    }
    yield Message("parsed", number, pack_json(answer))


def make_note(path: Path) -> PartNote:
    records = read_ipc(path, ("source", "type", "language", "crossref"))
    counts = records["source"].value_counts().sort("source").iter_rows()
    types = records["type"].unique().sort().to_list()
    languages = records["language"].drop_nulls().unique().sort().to_list()
    lending = records["crossref"].count() > 0
    return PartNote(os.fspath(path), dict(counts), types, languages, lending)
