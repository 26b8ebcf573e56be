"""An import whose steps run on an engine: `citebed.collection.importing`, with other hands.

What is the collection's as a whole, its citing papers, queries and judgements, is put together here
and committed as ever; documents are read, merged, named and put into shards by workers. So the
memory of this machine follows the citing papers and the number of files, not that of documents.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from citebed.collection.building.assembling import resolve_crossrefs
from citebed.collection.building.citing import asked
from citebed.collection.building.combining import BEFORE
from citebed.collection.building.import_report import Became, ImportReport
from citebed.collection.building.known_records import ASIDE
from citebed.collection.building.records import Parts
from citebed.collection.importing import DEFAULTS, Import, ImportOptions, run_import
from citebed.collection.progress import SILENT, Progress
from citebed.collection.reading.reader import Reader
from citebed.collection.rules import check_languages, check_types
from citebed.collection.storing import store, table_files
from citebed.collection.tables import SET_ASIDE, Frames
from citebed.distributed.bringing import as_address, brought
from citebed.distributed.importing.deciding import Made, documents_of
from citebed.distributed.importing.earlier import earlier_records, has_columns, pieces_of
from citebed.distributed.importing.knowing import known
from citebed.distributed.importing.merging import Place, parts_of
from citebed.distributed.importing.reading import EngineReader
from citebed.distributed.parcels import check_folder
from citebed.distributed.sessions import Engine
from citebed.errors import CitebedError
from citebed.wording import printable

SHARD_SIZE = 250_000
"""So many documents are in a shard that an engine makes, unless another number is asked for."""


def import_on(
    engine: Engine,
    folder: str | Path,
    paths: Iterable[str | Path],
    options: ImportOptions = DEFAULTS,
    progress: Progress = SILENT,
) -> ImportReport:
    """Import files and folders into the collection at ``folder``, on an engine: what
    `import_sources` gives with the same ``shard_size``.

    The folder and the sources must be at the same paths here and on the workers; or sources are
    addresses that the engine reads (``s3a://…``, ``hdfs://…``), which are copied first. It happens
    whole or not at all, whatever becomes of workers or of this process.
    """
    if as_address(folder):
        raise CitebedError(
            f"'{printable(folder)}' is no path of a file system. Sources may be anything that the "
            "engine reads; a collection is a folder that this machine and the workers see at the "
            "same path (NFS, Lustre, a bucket that is mounted on all of them)."
        )
    check_folder(Path(folder))
    make = partial(EngineImport, engine=engine, options=options, progress=progress)
    return run_import(Path(folder), list(paths), make)


class EngineImport(Import):
    """One import in the making, on an engine."""

    def __init__(
        self,
        folder: Path,
        staging: Path,
        engine: Engine,
        options: ImportOptions,
        progress: Progress,
    ) -> None:
        self.engine, self.aside = engine, list[Path]()
        super().__init__(folder, staging.absolute(), options, progress)
        if self.is_old or not has_columns(folder, BEFORE):
            raise CitebedError(
                f"'{printable(folder)}' was made by an earlier version of citebed: import once "
                "without --on, or into another folder."
            )
        if options.shard_size == 0:
            raise CitebedError("--on needs --shard-size above 0.")
        self.shards.size = self.shards.size or SHARD_SIZE

    def _with_copies(self, paths: list[str | Path]) -> list[str | Path]:
        return [self._here(path) for path in super()._with_copies(paths)]

    def _here(self, path: str | Path) -> str | Path:
        """A path, or for an address a copy of what is there, named as a file there would be."""
        address = as_address(path)
        if address is None:
            return path
        self.progress.step(f"copying {printable(address)}", 0)
        place = self.parts.parent / "copies"
        place.mkdir(exist_ok=True)
        copy = brought(self.engine, address, Path(tempfile.mkdtemp(dir=place))).root
        self.names.stand_in(copy, address)
        return copy

    def _reader(self, only: tuple[str, ...], workers: int) -> Reader:
        return EngineReader(
            self.known, self.parts, only, workers, self.progress, self.options.format,
            engine=self.engine,
        )  # fmt: skip

    def _make_documents(self, dropped: set[str]) -> Became:
        assert isinstance(self.reader, EngineReader)
        before = pieces_of(self.folder, "documents")
        earlier = [*before, *pieces_of(self.folder, ASIDE)]
        notes = self.reader.notes + earlier_records(
            self.engine, earlier, dropped, Path(tempfile.mkdtemp(dir=self.parts))
        )
        if not notes:
            return super()._make_documents(dropped)
        check_types(self.rules, {name for note in notes for name in note.types})
        check_languages(self.rules, {name for note in notes for name in note.languages})
        files = Parts(self.parts, (Path(note.path) for note in notes))
        problems = resolve_crossrefs(files) if any(note.crossrefs for note in notes) else []
        # A name of its own: tasks of an import that was killed may still write elsewhere.
        folder = Path(tempfile.mkdtemp(dir=self.parts))
        place = Place(self.engine, folder, self.rules, self.shards.size)
        made = documents_of(place, parts_of(notes, files), before)
        self.aside, self.is_any_aside = made.aside, bool(made.aside)
        self._take(made)
        return replace(made.told, problems=problems)

    def _take(self, made: Made) -> None:
        """Put what workers wrote to where it is committed; of no documents there is a shard that is
        empty."""
        table = self.ready / f"{ASIDE}.parquet"
        if made.set_aside is None:
            table_files.write_frames(table, iter(()), SET_ASIDE)
        else:
            table.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(made.set_aside, table)
        if not made.shards:
            self.shards.write_documents(())
        for number, shard in enumerate(made.shards):
            name = store.shard_name(number)
            target = self.ready / store.SHARDS / name
            target.mkdir(parents=True)
            shutil.move(shard.path, target / "documents.parquet")
            self.shards.names = (*self.shards.names, name)
            self.latex_left.texts += shard.latex

    def _known(self, state: Frames) -> tuple[pl.DataFrame, pl.DataFrame]:
        names, titles = asked(state)
        if names.is_empty() and titles.is_empty():
            return super()._known({name: table.clear() for name, table in state.items()})
        self.parts.mkdir(exist_ok=True)
        paths = self.shards.documents()
        return known(self.engine, paths, self.aside, (names, titles), self.parts)

    def _write(self) -> list[str]:
        remove = super()._write()
        shutil.rmtree(self.parts, ignore_errors=True)  # the disk may have better use for the room
        return remove
