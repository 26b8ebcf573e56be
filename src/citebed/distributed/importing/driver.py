"""An import whose steps run on an engine, instead of in `citebed.collection.importing`.

The driver commits everything that concerns the whole collection: citing papers, queries and
judgements. Workers read, merge and name documents and write the shards. The memory of the driver
grows with citing papers and the number of files, not with documents.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from citebed.collection.building.assembling import resolve_crossrefs
from citebed.collection.building.citing import are_asked, asked
from citebed.collection.building.combining import BEFORE
from citebed.collection.building.import_report import Became, Files, ImportReport
from citebed.collection.building.known_records import ASIDE
from citebed.collection.building.records import Parts
from citebed.collection.importing import (
    DEFAULTS,
    KNOWN,
    Import,
    ImportOptions,
    known_aside,
    run_import,
)
from citebed.collection.progress import SILENT, Progress
from citebed.collection.reading.reader import Reader
from citebed.collection.rules import check_languages, check_types
from citebed.collection.storing import store, table_files
from citebed.collection.tables import SET_ASIDE, TABLES, Frames, read_ipc, write_ipc
from citebed.distributed.importing import merged_records, output_tables
from citebed.distributed.importing.existing_records import (
    Piece,
    earlier_records,
    has_columns,
    keys_of_before,
    pieces_of,
)
from citebed.distributed.importing.merged_records import Part, Place, merged, parts_of, seeds
from citebed.distributed.importing.reader import EngineReader
from citebed.distributed.remote_files import as_address, brought
from citebed.distributed.sessions import Engine
from citebed.distributed.shuffle import (
    Given,
    Message,
    Work,
    check_folder,
    collect_messages,
    concat_tables,
    map_partitions,
    pack_json,
    pack_table,
    persist,
    select_kinds,
    send_messages,
    unpack_table,
)
from citebed.errors import CitebedError
from citebed.wording import printable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Shard(NamedTuple):
    """The file of a shard's documents, and the number of texts with LaTeX left."""

    path: Path
    latex: int


class Made(NamedTuple):
    """The result for all records: files of shards and of records set aside, in order, and the table
    of records set aside, if there are any."""

    told: Became
    shards: list[Shard]
    aside: list[Path]
    set_aside: Path | None


def documents_of(place: Place, parts: list[Part], before: list[Piece]) -> Made:
    """Merge the records of all parts, name their documents, and write these in shards; documents
    that existed ``before`` keep their cite keys."""
    start = send_messages(place.engine, seeds(parts))
    fates = merged(place, start, parts)
    fates = start.unionByName(select_kinds(fates, "fate", "made", "count"))
    rows = sum(part.rows for part in parts), sum(piece.size for piece in before)
    buckets = merged_records.buckets_for(max(rows))
    given = select_kinds(fates, "part", "fate", "made")
    known = given
    if before:
        work = partial(output_tables.ask_ids, place.rules, buckets)
        _write_renamed(place, merged_records.ids(map_partitions(given, work, len(parts)), buckets))
        known = given.unionByName(keys_of_before(place, given, len(parts), before, buckets))
    work = partial(output_tables.ask, place.rules, buckets, not before)
    asked = _kept(place, map_partitions(known, work, len(parts)), "asked")
    counts = [json.loads(data) for _, data in collect_messages(select_kinds(asked, "count"))]
    merges = [json.loads(data) for _, data in collect_messages(select_kinds(fates, "count"))]
    told = _became([*counts, *merges])
    if not told.documents:
        return Made(told, [], [], None)
    names = _kept(place, merged_records.named(asked, buckets), "named")
    if not before:
        _write_renamed(place, names)
    given = given.unionByName(select_kinds(names, "key"))
    given = given.unionByName(send_messages(place.engine, _bases(parts, counts)))
    work = partial(output_tables.place, place.rules, place.size, str(place.folder))
    placed = _kept(place, map_partitions(given, work, len(parts)), "placed")
    return Made(told, *_written(place, placed, told))


def _kept(place: Place, frame: DataFrame, name: str) -> DataFrame:
    return persist(place.engine, frame, place.folder / name)


def _became(counts: list[dict[str, Any]]) -> Became:
    """Add up the outcomes of records that workers counted."""
    totals: Counter[str] = Counter()
    aside: Counter[str] = Counter()
    files: Files = {}
    for each in counts:
        owners = sum(each.get("owners", {}).values())
        totals.update(documents=owners, **{n: each.get(n, 0) for n in ("records", "doubtful")})
        aside.update(each.get("set_aside", {}))
        for name, numbers in each["files"].items():
            own = files.setdefault(name, {})
            own.update({kind: own.get(kind, 0) + number for kind, number in numbers.items()})
    reasons = dict(aside.most_common())
    return Became(totals["records"], totals["documents"], reasons, totals["doubtful"], files)


def _bases(parts: list[Part], counts: list[dict[str, Any]]) -> list[Message]:
    """Return, for each part, the positions of the first documents of its sources among all."""
    bases: list[dict[str, int]] = [{} for _ in parts]
    base = 0
    sources = [(source, at) for at, part in enumerate(parts) for source in part.starts]
    for source, at in sorted(sources):
        bases[at][source] = base
        base += counts[at]["owners"].get(source, 0)
    return [Message("bases", at, pack_json(each)) for at, each in enumerate(bases)]


def _write_renamed(place: Place, names: DataFrame) -> None:
    """Write the new ids of documents that wanted an id in use. Only these come to the driver."""
    fresh = concat_tables(data for _, data in collect_messages(select_kinds(names, "id")))
    if fresh is None:
        fresh = pl.DataFrame(schema={"row": pl.Int64(), "fresh": pl.String()})
    write_ipc(place.folder / output_tables.RENAMED, fresh)


def _written(
    place: Place, placed: DataFrame, told: Became
) -> tuple[list[Shard], list[Path], Path | None]:
    """Write shards and records set aside; return their files, and the table of the latter."""

    def notes(kind: str, work: Work, addresses: int, frame: DataFrame = placed) -> list[Any]:
        made = map_partitions(select_kinds(frame, kind), work, addresses)
        return [json.loads(data) for _, data in collect_messages(made)]

    folder = str(place.folder)
    count = -(-told.documents // place.size)
    shards = notes("document", partial(output_tables.write_shard, folder), count)
    spans = 1 + told.records // output_tables.SPAN
    aside = notes("aside", partial(output_tables.write_aside, folder), spans)
    files = [Shard(Path(each["path"]), each["latex"]) for each in shards]
    if not aside:
        return files, [], None
    paths = [each["path"] for each in aside]
    whole = send_messages(place.engine, [Message("aside", 0, pack_json(paths))])
    (table,) = notes("aside", partial(output_tables.write_set_aside, folder), 1, whole)
    return files, [Path(path) for path in paths], Path(table["path"])


Asked = tuple[pl.Series, pl.Series]
"""Names and folded titles."""


def known(
    engine: Engine, shards: list[Path], aside: list[Path], asked: Asked, folder: Path
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the documents and records set aside that have one of the requested names or titles."""
    ours, others = _found(engine, shards, aside, asked, folder / "asked")
    if others.height:  # a record set aside may have the id of a document
        names = pl.concat([asked[0], others["doc_id"].str.to_lowercase()]).unique()
        ours, others = _found(engine, shards, aside, (names, asked[1]), folder / "asked-again")
    return ours, others


def _found(
    engine: Engine, shards: list[Path], aside: list[Path], asked: Asked, place: Path
) -> tuple[pl.DataFrame, pl.DataFrame]:
    place.mkdir()
    for name, series in zip(("names", "titles"), asked, strict=True):
        write_ipc(place / f"{name}.arrow", series.to_frame("text"))
    paths = [*shards, *aside]
    parcels = [Message("file", at, pack_json(str(path))) for at, path in enumerate(paths)]
    work = partial(_look_up, str(place), len(shards))
    made = collect_messages(map_partitions(send_messages(engine, parcels), work, len(paths)))
    none = pl.DataFrame(schema={name: TABLES["documents"][name] for name in KNOWN})
    ours = [unpack_table(data) for at, data in made if at < len(shards)]
    others = [unpack_table(data) for at, data in made if at >= len(shards)]
    return pl.concat([none, *ours]), pl.concat([none, *others])


def _look_up(place: str, shards: int, number: int, given: Given) -> Iterator[Message]:
    """On a worker: look up names and titles in a file of documents, or of records set aside."""
    path = Path(json.loads(given["file"][0]))
    if number < shards:
        table = pl.read_parquet(path, columns=list(KNOWN), glob=False).select(KNOWN)
    else:
        table = known_aside(read_ipc(path).lazy()).collect()
    names, titles = (read_ipc(Path(place, f"{name}.arrow"))["text"] for name in ("names", "titles"))
    found = are_asked(table, names, titles)
    if found.height:
        yield Message("known", number, pack_table(found))


SHARD_SIZE = 250_000
"""Default number of documents in a shard on an engine."""


def import_on(
    engine: Engine,
    folder: str | Path,
    paths: Iterable[str | Path],
    options: ImportOptions = DEFAULTS,
    progress: Progress = SILENT,
) -> ImportReport:
    """Import files and folders into the collection at ``folder`` on an engine, with the results of
    `import_sources` with the same ``shard_size``.

    The folder and the sources must be at the same paths here and on the workers. Sources can also
    be addresses that the engine reads (``s3a://…``, ``hdfs://…``); they are copied first. The
    import happens completely or not at all, even if workers or this process end early.
    """
    if as_address(folder):
        raise CitebedError(
            f"'{printable(folder)}' is not a path of a file system. Sources may be anything that "
            "the engine reads; a collection is a folder that this machine and the workers see at "
            "the same path (NFS, Lustre, a bucket that is mounted on all of them)."
        )
    check_folder(Path(folder))
    make = partial(EngineImport, engine=engine, options=options, progress=progress)
    return run_import(Path(folder), list(paths), make)


class EngineImport(Import):
    """One import on an engine."""

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
        """Return a path; for an address, copy its content and return the path of the copy."""
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
        # A new folder: tasks of an import that was killed may still write to theirs.
        folder = Path(tempfile.mkdtemp(dir=self.parts))
        place = Place(self.engine, folder, self.rules, self.shards.size)
        made = documents_of(place, parts_of(notes, files), before)
        self.aside, self.is_any_aside = made.aside, bool(made.aside)
        self._take(made)
        return replace(made.told, problems=problems)

    def _take(self, made: Made) -> None:
        """Move the workers' files to where they are committed. Without documents, write one empty
        shard."""
        table = self.ready / f"{ASIDE}.parquet"
        if made.set_aside is None:
            table_files.write_frames(table, iter(()), SET_ASIDE)
        else:
            table.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(made.set_aside, table)
        if not made.shards:
            self.shards.write_documents(())
        for number, shard in enumerate(made.shards):
            name = store.format_shard_name(number)
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
        shutil.rmtree(self.parts, ignore_errors=True)  # free the disk space early
        return remove
