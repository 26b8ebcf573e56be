"""Import a user's files into a collection, completely or not at all.

The steps are: find the files, skip unchanged ones, parse the others in worker processes, add their
records to earlier ones, apply the rules, merge records of the same document, look up what the
citing papers cite, and commit. The result depends only on the sources and rules, not on the order
of imports. The exception is citation keys, which documents keep once they have them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from citebed._version import __version__
from citebed.collection import tables
from citebed.collection.building import assembling, citing
from citebed.collection.building.citing import CitingTables, file_sets, judgement_problems, with_ids
from citebed.collection.building.combining import EARLIER_COLUMNS
from citebed.collection.building.import_report import (
    ImportReport,
    Outcome,
    check_has_records,
    count_outcome,
    describe_all_files,
    describe_files,
)
from citebed.collection.building.known_records import (
    MAX_RECORDS_WITH_KEYS,
    SET_ASIDE_TABLE,
    Change,
    find_change,
    make_keys,
    read_known_records,
    write_keys,
)
from citebed.collection.building.known_records import NAME as RECORD_KEYS
from citebed.collection.building.records import Parts
from citebed.collection.collection import SET_BYTES
from citebed.collection.names import normalise_name, unique_names
from citebed.collection.progress import SILENT, Progress
from citebed.collection.reading.parser import RECORDS
from citebed.collection.reading.reader import KnownSources, Reader, report_resource_errors
from citebed.collection.reading.reference_managers import (
    fetch_items,
    open_libraries,
    parse_api_address,
    write_items,
)
from citebed.collection.reading.sources import SourceFile, SourceNames, find_files
from citebed.collection.rules import Rules, load_profile
from citebed.collection.storing import store, table_files
from citebed.collection.storing.shards import Shards
from citebed.collection.storing.store import Manifest
from citebed.collection.tables import IMPORT, Frames, count_values
from citebed.errors import CitebedError, FormatError, UnknownName
from citebed.files.file_kinds import MANIFEST
from citebed.files.input_files import hash_file, read_small, save_standard_input
from citebed.records import Problem
from citebed.text.identifiers import normalise_doi
from citebed.wording import count, printable

_REQUIRED_TABLES = frozenset(("papers", "contexts"))
STANDARD_INPUT = "-"
_FILE_ON_DISK = pl.col("source").str.split("!").list.first()
ORIGINAL_ID = pl.col("read_as")
DOCUMENT_COLUMNS = {**tables.RECORD, "records": pl.Int32(), "read_as": pl.String()}
"""The columns of documents from which an import rebuilds their records."""
LOOKUP_COLUMNS = (
    *("source", "doc_id", "doi", "arxiv", "year", "date", "title", "authors"),
    *("aliases", "doubtful"),
)


@dataclass(frozen=True)
class ImportOptions:
    """Options of an import; ``rules=None`` keeps the rules of the collection.

    ``only``: patterns (``*`` matches anything); citebed reads only files and members of archives
    whose name ends in a match. ``absolute``: name sources by their absolute paths, not relative to
    the folder that contains the collection. ``format``: the format of all sources; without it,
    citebed recognises each file's format. ``shard_size``: the number of documents per shard; 0
    stores them in one table, and ``None`` changes nothing. ``keep_damaged``: keep the earlier
    records of a file that has lost records and become unreadable in part, as while a program writes
    it. ``accept``: a test of the files to read below folders.
    """

    rules: Rules | None = None
    only: tuple[str, ...] = ()
    name: str | None = None
    strict: bool = False
    prune: bool = False
    absolute: bool = False
    workers: int = 0
    format: str | None = None
    shard_size: int | None = None
    keep_damaged: bool = False
    accept: Callable[[Path], bool] | None = None


DEFAULTS = ImportOptions()


def rules_for(folder: str | Path, profile: str | None = None, **changes: Any) -> Rules | None:
    """Return the rules of a profile, or of the collection at ``folder``, with some changes.

    Return ``None``, which keeps the collection's rules, if no profile and no change is given.
    """
    changes = {name: value for name, value in changes.items() if value is not None}
    if profile is None and not changes:
        return None
    folder, rules = Path(folder), Rules()
    if (folder / MANIFEST).is_file():
        store.recover(folder)
        rules = store.read_manifest(folder).rules
    if profile is not None:
        rules = load_profile(profile).with_options(forgotten=rules.forgotten or None)
    return rules.with_options(**changes)


def import_sources(
    folder: str | Path,
    paths: Iterable[str | Path] = (),
    options: ImportOptions = DEFAULTS,
    progress: Progress = SILENT,
) -> ImportReport:
    """Import files and folders into the collection at ``folder``; create it if necessary.

    The path ``-`` is standard input. The name of this source contains a hash of its content, so
    that other content is another source.

    Raise ``CitebedError`` for problems that the user can fix. With ``strict``, raise
    ``FormatError`` for the first record that would be skipped. After an error or a kill, the
    collection is unchanged.
    """
    return run_import(
        Path(folder), list(paths), partial(Import, options=options, progress=progress)
    )


def run_import(
    folder: Path, paths: list[str | Path], create_import: Callable[[Path, Path], Import]
) -> ImportReport:
    """Run the import that ``create_import`` makes from a folder and its staging folder."""
    if not paths and not (folder / MANIFEST).exists():
        raise CitebedError("nothing to import: name the files or folders to read.")
    with (
        report_resource_errors(folder),
        store.lock_collection(folder),
        store.prepare_change(folder) as staging,
    ):
        return create_import(folder, staging).run(paths)


def forget_sources(
    folder: str | Path, sources: Iterable[str | Path], progress: Progress = SILENT
) -> ImportReport:
    """Remove sources (files, folders, archives) or single papers from the collection.

    Documents that come only from these sources are removed; merged ones keep what other sources
    gave. Name a source as in `citebed.toml` or by its path, and a paper by its citation key, DOI,
    arXiv id or id. A forgotten paper does not come back when its files are imported again. The
    removal happens completely or not at all.
    """
    folder, wanted = Path(folder), list(sources)
    store.read_manifest(folder)
    with (
        report_resource_errors(folder),
        store.lock_collection(folder),
        store.prepare_change(folder) as staging,
    ):
        return Import(folder, staging, DEFAULTS, progress).forget(wanted)


class Import:
    """One import on this machine."""

    def __init__(
        self, folder: Path, staging: Path, options: ImportOptions, progress: Progress
    ) -> None:
        self.folder = folder
        self.work = staging / "parts"
        self.output = staging / "ready"
        self.options = options
        self.latex_left = assembling.LatexLeft()
        self.has_other_changes = False  # anything else than document records
        self.is_repair = False
        self.changed_documents: pl.DataFrame | None = None
        self.frames: Frames = {}
        self.query_sets: dict[str, citing.QuerySet] = {}
        self.query_counts: dict[str, int] = {}
        self.progress = progress
        exists = (folder / MANIFEST).exists()
        self.manifest = (
            store.read_manifest(folder) if exists else Manifest(printable(folder.resolve().name))
        )
        self.rules = self.manifest.rules if options.rules is None else options.rules
        shard_size = options.shard_size
        self.shards = Shards(
            self.output, self.manifest.shard_size if shard_size is None else shard_size
        )
        self.source_table = self.read(f"{IMPORT}/sources")
        self.needs_upgrade = not table_files.is_complete(folder, "documents")
        if self.needs_upgrade:  # an earlier version stored less: read the files again
            self.source_table = self.source_table.with_columns(sha256=pl.lit(""))
        workers = options.workers or os.cpu_count() or 1
        self.names = SourceNames(folder, self.manifest.sources, absolute=options.absolute)
        self.known_sources = KnownSources(folder, self.names, tuple(self.source_table["source"]))
        only = tuple(map(printable, options.only))
        self.reader = self._reader(only, workers)

    def _reader(self, only: tuple[str, ...], workers: int) -> Reader:
        return Reader(
            self.source_table, self.work, only, workers, self.progress, self.options.format
        )

    def read(self, name: str) -> pl.DataFrame:
        return table_files.read_table(self.folder, name, tables.TABLES[name])

    def run(
        self, paths: list[str | Path], forgotten: Sequence[str] = (), *, check: bool = True
    ) -> ImportReport:
        self.is_repair = not paths and not forgotten
        self.work.mkdir()
        self.output.mkdir()
        prune = self.options.prune
        paths = [self._make_local(path) for path in dict.fromkeys(paths)]
        roots = [self.names.name_of(path) for path in paths]
        existing_paths = self.known_sources.drop_missing(paths, prune=prune)
        files, unreadable = find_files(existing_paths, self.names)
        names = {*(file.name for file in files), *dict(unreadable)}
        self.known_sources.check_folders(paths, names)
        self.reader.problems += unreadable
        libraries = open_libraries(files, existing_paths, self.work, self.names)
        files = libraries.files
        missing = self.known_sources.find_missing({file.name for file in files}, roots, prune=prune)
        if (accept := self.options.accept) is not None:
            wanted = set(roots).union(*libraries.stored.values())
            files = [file for file in files if file.name in wanted or accept(file.path)]
        removed = {*forgotten, *(missing if prune else ())}
        for storage, stored in libraries.stored.items():  # other PDFs are in the trash
            removed |= {*self.known_sources.under(storage)} - stored
        new_tables = self.reader.read(files, removed)
        damaged = self._find_damaged(new_tables) if self.options.keep_damaged else {}
        if damaged:  # read the others alone
            files = [file for file in files if file.name not in damaged]
            self.reader = self._reader(self.reader.only, self.reader.workers)
            new_tables = self.reader.read(files, removed)
        replaced = {str(row["source"]) for row in self.reader.sources}
        self.reader.problems += [each for each in libraries.problems if each[0] in replaced]
        dropped = replaced | removed | set(dict(unreadable))
        self.problem_rows = new_tables["problems"].height if "problems" in new_tables else 0
        all_tables = self._add_earlier_rows(new_tables, dropped)
        report = self._assemble(all_tables, dropped, roots, files)
        if self.options.strict:
            problems = self._new_problems(new_tables)
            for source, line, _, what in problems.filter(kind="skipped").head(1).iter_rows():
                raise FormatError(source, line, f"{what} (--strict: nothing was imported)")
        if check:
            check_has_records(report, self.frames, {file.name for file in files})
        self.progress.step("writing", 0)
        store.commit_change(self.folder, self._write())
        self.shards.remove_former(self.folder)
        (self.folder / "runs").mkdir(exist_ok=True)
        report = replace(report, forgotten=sorted(removed), damaged=damaged)
        if prune:
            return replace(report, elsewhere=self.known_sources.find_unlocatable(roots))
        return replace(report, missing=[name for name in missing if name not in removed])

    def _new_problems(self, new_tables: Frames) -> pl.DataFrame:
        own = _problem_frame(self.reader.problems)
        return pl.concat([new_tables.get("problems", own.clear()), own])

    def _find_damaged(self, new_tables: Frames) -> dict[str, str]:
        """Return the changed files with fewer records and more problems than before, or without any
        record, and what is wrong."""
        new, earlier = self._new_problems(new_tables), self.read(f"{IMPORT}/problems")
        known = dict(self.source_table.select("source", "records").iter_rows())
        damaged = {}
        for row in self.reader.sources:
            name, records = str(row["source"]), int(str(row["records"]))
            problems, before = (each.filter(name == _FILE_ON_DISK) for each in (new, earlier))
            is_worse = records == 0 or problems.height > before.height
            if records < known.get(name, 0) and is_worse:
                what = next(iter(problems.join(before, on="what", how="anti")["what"]), "")
                lost = count(known[name] - records, "record")
                damaged[name] = f"{what or 'it is empty'}; {lost} fewer than before"
        return damaged

    def _make_local(self, path: str | Path) -> str | Path:
        """Return a path; for ``-`` and Zotero's local API, that of a file with their content.

        The name of standard input has its hash: other input is another source.
        """
        address = parse_api_address(path)
        if address is None and os.fspath(path) != STANDARD_INPUT:
            return path
        name = "standard-input" if address is None else "zotero-api"
        copy = self.work.parent / name
        if address is None:
            save_standard_input(copy)
            name += f"-{hash_file(copy)[:12]}"
        else:
            self.progress.step("reading Zotero's library", 0)
            write_items(copy, fetch_items(address))
        self.names.set_name(copy, name)
        return copy

    def forget(self, names: Iterable[str | Path]) -> ImportReport:
        sources: list[str] = []
        papers: dict[str, list[str]] = {}
        for name in names:
            try:
                sources += self.known_sources.find_named([name])
            except UnknownName as unknown:
                paper = self._find_paper(os.fspath(name))
                if paper is None:
                    more = "No paper has this key, DOI or id either."
                    raise UnknownName("source", unknown.name, unknown.known, more) from None
                papers |= paper
        forgotten = dict.fromkeys([*self.rules.forgotten, *chain(*papers.values())])
        self.rules = self.rules.with_options(forgotten=tuple(forgotten))
        return replace(self.run([], sources, check=False), forgotten_papers=list(papers))

    def _find_paper(self, name: str) -> dict[str, list[str]] | None:
        """Return ``{citation key: identifiers}`` for the paper with this name, else ``None``.

        The identifiers are the DOIs of its records, or their ids; no other paper has any of them.
        Raise ``CitebedError`` if several papers have the name, or share both DOIs and ids with it.
        """
        columns = ("doc_id", "read_as", "records", "doi", "arxiv", "cite_key", "keys", "aliases")
        schema = {column: tables.DOCUMENTS[column] for column in columns}
        slices = partial(table_files.read_slices, self.folder)
        documents = pl.concat([tables.empty_table(schema), *slices("documents", schema)])
        arxiv = normalise_name(name).removeprefix("arxiv:")
        for has_name in (
            pl.col("cite_key") == name,
            pl.col("doc_id") == name,
            pl.col("doi") == (normalise_doi(name) or ""),
            pl.col("arxiv") == arxiv,
            pl.col("keys").list.contains(name) | pl.col("aliases").list.contains(name),
        ):
            papers = documents.filter(has_name.fill_null(value=False))
            if papers.height:
                break
        else:
            return None
        if papers.height > 1:
            keys = ", ".join(map(printable, papers["cite_key"].head(5)))
            raise CitebedError(f"'{printable(name)}' names several papers. Use a key: {keys}")
        (row,) = papers.iter_rows(named=True)
        aside_schema = {name: tables.SET_ASIDE[name] for name in ("doc_id", "doi", "kept_as")}
        aside_records = pl.concat(
            [tables.empty_table(aside_schema), *slices(SET_ASIDE_TABLE, aside_schema)]
        )
        own_documents = documents.filter(records=1).select(
            pl.coalesce("read_as", "doc_id").alias("doc_id"), "doi", kept_as="doc_id"
        )
        records = pl.concat([own_documents, aside_records.drop_nulls("kept_as")])
        is_of_paper = pl.col("kept_as") == row["doc_id"]
        own_records, other_records = records.filter(is_of_paper), records.filter(~is_of_paper)
        for column in ("doi", "doc_id"):
            identifiers = own_records[column].unique(maintain_order=True)
            if (
                not identifiers.null_count()
                and other_records.filter(pl.col(column).is_in(identifiers.implode())).is_empty()
            ):
                return {row["cite_key"]: identifiers.to_list()}
        what = f"'{printable(name)}' shares its id with another paper, so citebed cannot"
        raise CitebedError(f"{what} forget it alone. Change the id in its source, or forget that.")

    # --- putting together ---

    def _add_earlier_rows(self, new_tables: Frames, dropped: set[str]) -> Frames:
        """Return all tables except the records: new rows, and the rows of earlier imports."""
        schemas = {name: kind for name, kind in tables.READ.items() if name != RECORDS}
        earlier = {
            name: self.read(name if name in tables.TABLES else f"{IMPORT}/{name}")
            for name in schemas
        }
        # Drop problems of whole query sets; `_assemble` finds those that still exist again.
        old_judgement_problems = _problem_frame(
            judgement_problems(earlier["judgements"], self.manifest.rules)
        )
        earlier["problems"] = earlier["problems"].join(
            old_judgement_problems,
            on=old_judgement_problems.columns,
            how="anti",
            maintain_order="left",
        )
        all_tables: Frames = {}
        for name, schema in schemas.items():
            rows = earlier[name].filter(not_from(dropped))
            new = new_tables.get(name)
            if name != "problems" and (new is not None or rows.height < earlier[name].height):
                self.has_other_changes = True
            both = [rows] if new is None else [rows, new.select(list(schema))]
            table = pl.concat(both, rechunk=False)
            ordered = table["source"].is_sorted()
            all_tables[name] = table if ordered else table.sort("source", maintain_order=True)
        return all_tables

    def _assemble(
        self, all_tables: Frames, dropped: set[str], roots: list[str], files: list[SourceFile]
    ) -> ImportReport:
        """Make everything that the import writes, and return the report."""
        self.progress.step("merging", 0)
        outcome = self._make_documents(dropped)
        self.progress.step("citing", 0)
        citing_tables = CitingTables(**{name: all_tables[name] for name in CitingTables._fields})
        resolved = citing_tables
        if not self._leaves_citing_unchanged(all_tables):
            resolved = self._resolve_references(citing_tables, all_tables)
        problems_of_judgements = judgement_problems(all_tables["judgements"], self.rules)
        self.reader.problems += [*problems_of_judgements, *outcome.problems]
        rows = self.source_table.filter(~pl.col("source").is_in(list(dropped)))
        read_now = pl.DataFrame(self.reader.sources, schema=dict(tables.SOURCES))
        sources = pl.concat([rows, read_now]).sort("source")
        problems = pl.concat([all_tables["problems"], _problem_frame(self.reader.problems)])
        self.frames |= {f"{IMPORT}/problems": problems, f"{IMPORT}/sources": sources}
        self.new_manifest = Manifest(
            name=printable(self.options.name or self.manifest.name),
            rules=self.rules,
            sources=self._manifest_sources(sources, roots),
            query_sets=tuple(self.query_counts),
            version=__version__,
            shards=self.shards.names,
            shard_size=self.shards.size,
        )
        return self._make_report(outcome, all_tables, resolved, files)

    def _leaves_citing_unchanged(self, all_tables: Frames) -> bool:
        """Return True if only the documents change, because nothing refers to those that do. Then
        also count the queries."""
        if self.has_other_changes or self.changed_documents is None:
            return False
        if citing.find_matching_documents(
            self.changed_documents, *citing.collect_lookup_keys(all_tables)
        ).height:
            return False
        for name in self.manifest.query_sets:
            path = self.folder / "queries" / f"{name}.jsonl"
            text = read_small(path, SET_BYTES) if path.exists() else b""
            self.query_counts[name] = text.count(b"\n")
        return True

    def _resolve_references(self, citing_tables: CitingTables, all_tables: Frames) -> CitingTables:
        """Look up what papers cite; make the tables that refer to documents, and the queries."""
        documents, excluded = self._lookup_tables(all_tables)
        names = unique_names(documents)
        candidates = pl.concat(
            [documents.with_columns(kept=True), excluded.with_columns(kept=False)]
        )
        resolved = citing.resolve(citing_tables, candidates, self.rules)
        self.query_sets = citing.query_sets(resolved, documents, self.rules)
        self.query_sets |= file_sets(all_tables["topics"], all_tables["judgements"], self.rules)[0]
        self.query_counts = {name: each.queries.height for name, each in self.query_sets.items()}
        self.frames = {
            "papers": resolved.papers,
            "references": resolved.references,
            "contexts": resolved.contexts,
            "links": with_ids(all_tables["links"], documents, names),
            "sections": with_ids(all_tables["sections"], documents, names),
            **{f"{IMPORT}/{name}": all_tables[name] for name in ("lists", "topics", "judgements")},
        }
        return resolved

    def _make_report(
        self, outcome: Outcome, all_tables: Frames, resolved: CitingTables, files: list[SourceFile]
    ) -> ImportReport:
        read_files = self.reader.sources
        sources, problems = (self.frames[f"{IMPORT}/{name}"] for name in ("sources", "problems"))
        skipped = (
            problems.filter(kind="skipped").height
            + self.reader.format_problem_count
            - self.problem_rows
        )
        formats = pl.Series([row["format"] for row in read_files], dtype=pl.String)
        others = sum(all_tables[name].height for name in ("topics", "judgements"))
        names_read = [str(row["source"]) for row in self.reader.sources]
        is_read = _FILE_ON_DISK.is_in(names_read)
        earlier = self.read(f"{IMPORT}/problems")
        new_elsewhere = problems.filter(~is_read).join(earlier, on=earlier.columns, how="anti")
        return ImportReport(
            folder=self.folder,
            files=len(files),
            unchanged=len(files) - len(read_files),
            records=outcome.records,
            documents=outcome.documents,
            merged=outcome.records - sum(outcome.set_aside.values()) - outcome.documents,
            set_aside=outcome.set_aside,
            papers=resolved.papers.height,
            resolved=count_values(resolved.references["resolved_by"]),
            outside=citing.paragraphs_outside(resolved.contexts, self.rules),
            queries=self.query_counts,
            problems=problems,
            outcomes=describe_files(outcome.files, read_files, self.reader.copies),
            formats=count_values(formats.str.split(", ").explode()),
            new_problems=pl.concat([problems.filter(is_read), new_elsewhere]).sort(
                "source", maintain_order=True
            ),
            doubtful=outcome.doubtful,
            latex_left=self.latex_left.texts,
            together=describe_all_files(outcome.files, read_files),
            met=int(sources["records"].sum()) + skipped,
            others=others + resolved.papers.height + all_tables["lists"]["source"].n_unique(),
        )

    def _make_documents(self, dropped: set[str]) -> Outcome:
        """Write the tables of documents and of records set aside, which may not fit into memory."""
        if (change := self._find_change(dropped)) is not None:
            return self._write_change(change)
        parts = Parts(self.work, self.reader.record_files)
        new_count = len(parts)
        original_id = pl.col("aliases").list.first() if self.needs_upgrade else ORIGINAL_ID
        slices = partial(table_files.read_slices, self.folder)
        for piece in slices("documents", {**DOCUMENT_COLUMNS, "aliases": pl.List(pl.String())}):
            own_documents = restore_single_records(piece.filter(not_from(dropped)), original_id)
            parts.add(own_documents.select(list(tables.RECORD)), int(piece.estimated_size()))
        for piece in slices(SET_ASIDE_TABLE, tables.RECORD):
            parts.add(piece.filter(not_from(dropped)), int(piece.estimated_size()))
        earlier = slices("documents", EARLIER_COLUMNS)
        decisions = assembling.decide(parts, self.rules, new_count, earlier)
        pieces = assembling.documents(decisions, self.work / "documents", self.reader.workers)
        self.shards.write_documents(self.latex_left.count_texts(pieces))
        aside_path = self.output / f"{SET_ASIDE_TABLE}.parquet"
        table_files.write_frames(aside_path, assembling.set_aside(decisions), tables.SET_ASIDE)
        self.is_any_aside = bool(decisions.table.select(assembling.is_aside().any()).item())
        if not self.shards.size and decisions.table.height <= MAX_RECORDS_WITH_KEYS:
            keys = make_keys(decisions, self.latex_left.counts)
            (documents,) = self.shards.documents()
            written_aside_path = aside_path if self.is_any_aside else None
            write_keys(self.output, keys, documents, written_aside_path, self.rules)
        shutil.rmtree(self.work)  # free the disk space early
        return count_outcome(decisions)

    def _find_change(self, dropped: set[str]) -> Change | None:
        """Decide what changes without reading all records; return ``None`` if that is impossible.

        An import without paths is a repair: it reads all records, so that it finds damaged tables,
        and rebuilds damaged queries.
        """
        if self.is_repair or self.rules != self.manifest.rules:
            return None
        if self.shards.size or self.manifest.shards:
            return None
        known_records = None if self.needs_upgrade else read_known_records(self.folder, self.rules)
        if known_records is None:
            return None
        make_new_parts = partial(Parts, self.work, self.reader.record_files)
        return find_change(known_records, make_new_parts, ~not_from(dropped), self.rules)

    def _write_change(self, change: Change) -> Outcome:
        """Write the tables of documents and of records set aside, if they change."""
        pieces = assembling.documents(change.decided, self.work / "documents", self.reader.workers)
        new_documents = pl.concat(
            [tables.empty_table(tables.DOCUMENTS), *self.latex_left.count_texts(pieces)]
        )
        aside_tables = [tables.empty_table(tables.SET_ASIDE), *assembling.set_aside(change.decided)]
        keys = change.keys(self.latex_left.counts)
        self.latex_left.texts = int(keys["latex"].sum())
        known_records, self.is_any_aside = change.known, bool(change.aside.height)
        for name, stored, kept_rows, new in (
            ("documents", known_records.documents, change.documents["document"], new_documents),
            (SET_ASIDE_TABLE, known_records.aside, change.aside["aside"], pl.concat(aside_tables)),
        ):
            path = self.output / f"{name}.parquet"
            if stored is None:
                table_files.write_table(path, new, tables.TABLES[name])
            elif kept_rows.null_count() or len(kept_rows) != sum(stored.sizes):
                table_files.write_changed(path, stored, kept_rows, new, self.work)
        aside_path = self._new_path(SET_ASIDE_TABLE) if self.is_any_aside else None
        write_keys(self.output, keys, self._new_path("documents"), aside_path, self.rules)
        shutil.rmtree(self.work)
        removed = (
            known_records.take_documents(change.touched),
            known_records.excluded_records(change.touched),
        )
        self.changed_documents = pl.concat(
            [
                *(part.select(LOOKUP_COLUMNS) for part in (removed[0], new_documents)),
                *(select_excluded(part.lazy()).collect() for part in (removed[1], *aside_tables)),
            ]
        )
        return count_outcome(change.all_decisions())

    def _new_path(self, name: str) -> Path:
        """Return the file of a table after the import."""
        path = self.output / f"{name}.parquet"
        return path if path.exists() else self.folder / f"{name}.parquet"

    def _lookup_tables(self, all_tables: Frames) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the documents and the excluded records, to look up references and links in."""
        is_needed = any(
            all_tables[name].height for name in ("papers", "lists", "links", "sections")
        )
        most = None if is_needed else 0
        tables_read = []
        for path in self.shards.documents() if self.shards.names else [self._new_path("documents")]:
            with table_files.open_table(path) as rows:
                tables_read.append(rows.slice(0, most).select(LOOKUP_COLUMNS).collect())
        documents_table = pl.concat(tables_read)
        if not self.is_any_aside:
            return documents_table, documents_table.clear()
        with table_files.open_table(self._new_path(SET_ASIDE_TABLE)) as rows:
            return documents_table, select_excluded(rows.slice(0, most)).collect()

    def _manifest_sources(
        self, sources: pl.DataFrame, new_roots: list[str]
    ) -> tuple[dict[str, object], ...]:
        known = [str(row["path"]) for row in self.manifest.sources]
        # A file of a folder that was imported is no source of its own.
        is_inside = tuple(f"{root}/" for root in known)
        new = [root for root in new_roots if not root.startswith(is_inside)]
        all_roots = dict.fromkeys(known + new)
        rows = []
        for root in all_roots:
            name = pl.col("source")
            under = sources.filter((name == root) | name.str.starts_with(f"{root}/"))
            if under.height:
                digest = under["sha256"][0]
                if under["source"][0] != root:
                    digest = hashlib.sha256("\n".join(under["sha256"]).encode()).hexdigest()
                hash_field = {"place": place} if (place := self.names.path_hash_of(root)) else {}
                rows.append({"path": root, "files": under.height, "sha256": digest, **hash_field})
        return tuple(rows)

    # --- writing ---

    def _write(self) -> list[str]:
        """Write everything that the import puts in place; return the files to delete."""
        remove = []
        if not self.is_any_aside:
            (self.output / f"{SET_ASIDE_TABLE}.parquet").unlink(missing_ok=True)
            remove.append(f"{SET_ASIDE_TABLE}.parquet")
        if not (self.output / f"{RECORD_KEYS}.parquet").exists():
            remove.append(f"{RECORD_KEYS}.parquet")
        remove += self.shards.replaced_files(self.folder)
        self.shards.write_others(self.frames, self.new_manifest)
        for name, table in self.frames.items():
            schema = tables.TABLES[name]
            if self.shards.has(name) or (table.is_empty() and name not in _REQUIRED_TABLES):
                remove.append(f"{name}.parquet")
            else:
                table_files.write_table(self.output / f"{name}.parquet", table, schema)
        for name, made in self.query_sets.items():
            if made.queries.height:
                table_files.write_jsonl(self.output / "queries" / f"{name}.jsonl", made.queries)
            if made.qrels.height:
                table_files.write_qrels(self.output / "qrels" / f"{name}.qrels", made.qrels)
        for name in self.manifest.query_sets:
            if name not in self.query_counts:
                remove += [f"queries/{name}.jsonl", f"qrels/{name}.qrels"]
        (self.output / MANIFEST).write_text(self.new_manifest.to_toml(), encoding="utf-8")
        return remove


def not_from(dropped: Iterable[str]) -> pl.Expr:
    """Select rows of sources that are not dropped."""
    return ~_FILE_ON_DISK.is_in(list(dropped))


def restore_single_records(
    documents: pl.DataFrame, original_id: pl.Expr = ORIGINAL_ID
) -> pl.DataFrame:
    """Return the documents that consist of one record, as read, with the id of its source."""
    single = documents.filter(pl.col("records") == 1)
    return single.with_columns(doc_id=pl.coalesce(original_id, "doc_id"))


def select_excluded(aside: pl.LazyFrame) -> pl.LazyFrame:
    """Return the excluded records with the columns in which references are looked up."""
    nothing = pl.lit([], dtype=pl.List(pl.String))
    excluded = aside.filter(pl.col("kept_as").is_null())
    return excluded.with_columns(aliases=nothing, doubtful=nothing).select(LOOKUP_COLUMNS)


def _problem_frame(problems: list[tuple[str, Problem]]) -> pl.DataFrame:
    rows = [(source, problem.line, problem.kind, problem.what) for source, problem in problems]
    return pl.DataFrame(rows, schema=dict(tables.PROBLEMS), orient="row")
