"""An import whose steps run on an engine, instead of in `citebed.collection.importing`.

The driver commits everything that concerns the whole collection: citing papers, queries and
judgements. Workers read, merge and name documents and write the shards. The memory of the driver
grows with citing papers and the number of files, not with documents.
"""

from __future__ import annotations

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
from citebed.collection.building.citing import collect_lookup_keys, find_matching_documents
from citebed.collection.building.combining import EARLIER_COLUMNS
from citebed.collection.building.import_report import Files, ImportReport, Outcome
from citebed.collection.building.known_records import SET_ASIDE_TABLE
from citebed.collection.building.records import Parts
from citebed.collection.importing import (
    DEFAULTS,
    LOOKUP_COLUMNS,
    Import,
    ImportOptions,
    run_import,
    select_excluded,
)
from citebed.collection.progress import SILENT, Progress
from citebed.collection.reading.reader import Reader
from citebed.collection.rules import check_languages, check_types
from citebed.collection.storing import store, table_files
from citebed.collection.tables import SET_ASIDE, TABLES, Frames, read_ipc, sort_counts, write_ipc
from citebed.distributed.importing import merged_records, output_tables
from citebed.distributed.importing.existing_records import (
    Piece,
    earlier_records,
    has_columns,
    list_pieces,
    send_earlier_keys,
)
from citebed.distributed.importing.merged_records import (
    ImportContext,
    Part,
    group_into_parts,
    merge_records,
)
from citebed.distributed.importing.reader import EngineReader
from citebed.distributed.remote_files import as_address, fetch_files
from citebed.distributed.sessions import Engine
from citebed.distributed.shuffle import (
    Given,
    Message,
    Work,
    check_folder,
    collect_messages,
    collect_values,
    concat_tables,
    map_partitions,
    pack_table,
    persist,
    select_kinds,
    send_values,
    unpack_json,
)
from citebed.errors import CitebedError
from citebed.wording import printable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class WrittenFiles(NamedTuple):
    """The result for all records: files of shards and of records set aside, in order, and the table
    of records set aside, if there are any.

    Each shard has the ``path`` of its documents and the number of texts with ``latex`` left.
    """

    outcome: Outcome
    shards: list[dict[str, Any]]
    aside_pieces: list[Path]
    aside_table: Path | None


def write_documents(
    context: ImportContext, parts: list[Part], earlier: list[Piece]
) -> WrittenFiles:
    """Merge the records of all parts, name their documents, and write these in shards; documents
    that existed before keep their citation keys."""
    start = send_values(context.engine, "part", parts)
    decisions = merge_records(context, start, parts)
    decisions = start.unionByName(select_kinds(decisions, "fate", "made", "count"))
    row_counts = sum(part.rows for part in parts), sum(piece.size for piece in earlier)
    buckets = 1 + max(row_counts) // merged_records.NAMES_AT_ONCE
    inputs = select_kinds(decisions, "part", "fate", "made")
    inputs_with_keys = inputs
    if earlier:
        work = partial(output_tables.request_ids, context.rules, buckets)
        _write_renamed(
            context, merged_records.assign_ids(map_partitions(inputs, work, len(parts)), buckets)
        )
        inputs_with_keys = inputs.unionByName(
            send_earlier_keys(context, inputs, len(parts), earlier, buckets)
        )
    work = partial(output_tables.request_keys, context.rules, buckets, not earlier)
    asked = _persist(context, map_partitions(inputs_with_keys, work, len(parts)), "asked")
    counts = collect_values(select_kinds(asked, "count"))
    merge_counts = collect_values(select_kinds(decisions, "count"))
    outcome = _add_outcomes([*counts, *merge_counts])
    if not outcome.documents:
        return WrittenFiles(outcome, [], [], None)
    assigned_names = _persist(context, merged_records.assign_names(asked, buckets), "named")
    if not earlier:
        _write_renamed(context, assigned_names)
    inputs = inputs.unionByName(select_kinds(assigned_names, "key"))
    bases = _first_numbers(parts, counts)
    inputs = inputs.unionByName(send_values(context.engine, "bases", bases))
    work = partial(output_tables.send_to_shards, context.rules, context.size, str(context.folder))
    routed = _persist(context, map_partitions(inputs, work, len(parts)), "placed")
    return WrittenFiles(outcome, *_write_files(context, routed, outcome))


def _persist(context: ImportContext, frame: DataFrame, name: str) -> DataFrame:
    return persist(context.engine, frame, context.folder / name)


def _add_outcomes(counts: list[dict[str, Any]]) -> Outcome:
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
    reasons = sort_counts(aside.items())
    return Outcome(totals["records"], totals["documents"], reasons, totals["doubtful"], files)


def _first_numbers(parts: list[Part], counts: list[dict[str, Any]]) -> list[dict[str, int]]:
    """Return, for each part, the positions of the first documents of its sources among all."""
    bases: list[dict[str, int]] = [{} for _ in parts]
    base = 0
    sources = [(source, at) for at, part in enumerate(parts) for source in part.starts]
    for source, at in sorted(sources):
        bases[at][source] = base
        base += counts[at]["owners"].get(source, 0)
    return bases


def _write_renamed(context: ImportContext, names: DataFrame) -> None:
    """Write the new ids of documents that wanted an id in use. Only these come to the driver."""
    told = (data for _, data in collect_messages(select_kinds(names, "id")))
    fresh = concat_tables(told, {"row": pl.Int64(), "fresh": pl.String()})
    write_ipc(context.folder / output_tables.RENAMED, fresh)


def _write_files(
    context: ImportContext, routed: DataFrame, outcome: Outcome
) -> tuple[list[dict[str, Any]], list[Path], Path | None]:
    """Write shards and records set aside; return their files, and the table of the latter."""

    def run_step(kind: str, work: Work, addresses: int, frame: DataFrame = routed) -> list[Any]:
        return collect_values(map_partitions(select_kinds(frame, kind), work, addresses))

    folder = str(context.folder)
    count = -(-outcome.documents // context.size)
    shards = run_step("document", partial(output_tables.write_shard, folder), count)
    aside_count = 1 + outcome.records // output_tables.SPAN
    aside = run_step("aside", partial(output_tables.write_aside, folder), aside_count)
    if not aside:
        return shards, [], None
    paths = [each["path"] for each in aside]
    whole = send_values(context.engine, "aside", [paths])
    (table,) = run_step("aside", partial(output_tables.write_set_aside, folder), 1, whole)
    return shards, [Path(path) for path in paths], Path(table["path"])


def _look_up_on_workers(
    engine: Engine,
    shards: list[Path],
    aside: list[Path],
    keys: tuple[pl.Series, pl.Series],
    folder: Path,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the documents and records set aside that have one of the names or folded titles."""
    folder.mkdir()
    for name, series in zip(("names", "titles"), keys, strict=True):
        write_ipc(folder / f"{name}.arrow", series.to_frame("text"))
    paths = [*shards, *aside]
    files = send_values(engine, "file", map(str, paths))
    work = partial(_look_up_in_file, str(folder), len(shards))
    replies = collect_messages(map_partitions(files, work, len(paths)))
    schema = {name: TABLES["documents"][name] for name in LOOKUP_COLUMNS}
    documents = concat_tables((data for at, data in replies if at < len(shards)), schema)
    excluded = concat_tables((data for at, data in replies if at >= len(shards)), schema)
    return documents, excluded


def _look_up_in_file(folder: str, shards: int, number: int, given: Given) -> Iterator[Message]:
    """On a worker: look up names and titles in a file of documents, or of records set aside."""
    path = Path(unpack_json(given, "file"))
    if number < shards:
        table = pl.read_parquet(path, columns=list(LOOKUP_COLUMNS), glob=False).select(
            LOOKUP_COLUMNS
        )
    else:
        table = select_excluded(read_ipc(path).lazy()).collect()
    names, titles = (
        read_ipc(Path(folder, f"{name}.arrow"))["text"] for name in ("names", "titles")
    )
    matching = find_matching_documents(table, names, titles)
    if matching.height:
        yield Message("known", number, pack_table(matching))


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
    create_import = partial(EngineImport, engine=engine, options=options, progress=progress)
    return run_import(Path(folder), list(paths), create_import)


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
        if self.needs_upgrade or not has_columns(folder, EARLIER_COLUMNS):
            raise CitebedError(
                f"'{printable(folder)}' was made by an earlier version of citebed: import once "
                "without --on, or into another folder."
            )
        if options.shard_size == 0:
            raise CitebedError("--on needs --shard-size above 0.")
        self.shards.size = self.shards.size or SHARD_SIZE

    def _make_local(self, path: str | Path) -> str | Path:
        """Return a path; for an address, that of a copy of its content."""
        address = as_address(path)
        if address is None:
            return super()._make_local(path)
        self.progress.step(f"copying {printable(address)}", 0)
        folder = self.work.parent / "copies"
        folder.mkdir(exist_ok=True)
        copy = fetch_files(self.engine, address, Path(tempfile.mkdtemp(dir=folder))).root
        self.names.set_name(copy, address)
        return copy

    def _reader(self, only: tuple[str, ...], workers: int) -> Reader:
        return EngineReader(
            self.source_table, self.work, only, workers, self.progress, self.options.format,
            engine=self.engine,
        )  # fmt: skip

    def _make_documents(self, dropped: set[str]) -> Outcome:
        assert isinstance(self.reader, EngineReader)
        earlier_documents = list_pieces(self.folder, "documents")
        earlier = [*earlier_documents, *list_pieces(self.folder, SET_ASIDE_TABLE)]
        notes = self.reader.notes + earlier_records(
            self.engine, earlier, dropped, Path(tempfile.mkdtemp(dir=self.work))
        )
        if not notes:
            return super()._make_documents(dropped)
        check_types(self.rules, {name for note in notes for name in note.types})
        check_languages(self.rules, {name for note in notes for name in note.languages})
        files = Parts(self.work, (Path(note.path) for note in notes))
        problems = resolve_crossrefs(files) if any(note.crossrefs for note in notes) else []
        # A new folder: tasks of an import that was killed may still write to theirs.
        folder = Path(tempfile.mkdtemp(dir=self.work))
        context = ImportContext(self.engine, folder, self.rules, self.shards.size)
        written = write_documents(context, group_into_parts(notes, files), earlier_documents)
        self.aside, self.is_any_aside = written.aside_pieces, bool(written.aside_pieces)
        self._collect_output(written)
        return replace(written.outcome, problems=problems)

    def _collect_output(self, written: WrittenFiles) -> None:
        """Move the workers' files to where they are committed. Without documents, write one empty
        shard."""
        table = self.output / f"{SET_ASIDE_TABLE}.parquet"
        if written.aside_table is None:
            table_files.write_frames(table, iter(()), SET_ASIDE)
        else:
            table.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(written.aside_table, table)
        if not written.shards:
            self.shards.write_documents(())
        for number, shard in enumerate(written.shards):
            name = store.format_shard_name(number)
            target = self.output / store.SHARDS / name
            target.mkdir(parents=True)
            shutil.move(shard["path"], target / "documents.parquet")
            self.shards.names = (*self.shards.names, name)
            self.latex_left.texts += shard["latex"]

    def _lookup_tables(self, all_tables: Frames) -> tuple[pl.DataFrame, pl.DataFrame]:
        names, titles = collect_lookup_keys(all_tables)
        if names.is_empty() and titles.is_empty():
            return super()._lookup_tables(
                {name: table.clear() for name, table in all_tables.items()}
            )
        self.work.mkdir(exist_ok=True)
        paths = self.shards.documents(), self.aside
        documents, excluded = _look_up_on_workers(
            self.engine, *paths, (names, titles), self.work / "asked"
        )
        if excluded.height:  # a record set aside may have the id of a document
            names = pl.concat([names, excluded["doc_id"].str.to_lowercase()]).unique()
            documents, excluded = _look_up_on_workers(
                self.engine, *paths, (names, titles), self.work / "asked-again"
            )
        return documents, excluded

    def _write(self) -> list[str]:
        remove = super()._write()
        shutil.rmtree(self.work, ignore_errors=True)  # free the disk space early
        return remove
