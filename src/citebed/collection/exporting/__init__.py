"""Export: a collection in the forms that other tools read. This table is all of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import Exporter, ExportReport, Output, left_out
from citebed.collection.exporting.bibliographies import BIBTEX, CSL_JSON, RIS
from citebed.collection.exporting.tables import CSV, JSONL, PARQUET
from citebed.collection.exporting.test_collections import BEIR, IR_DATASETS, TREC
from citebed.collection.storing.store import MANIFEST
from citebed.errors import CitebedError, UnknownName
from citebed.files.output_files import remove_stale_drafts, replace_files, replace_folder
from citebed.wording import printable

EXPORTERS = {
    e.name: e for e in (TREC, BEIR, PARQUET, CSV, BIBTEX, RIS, CSL_JSON, JSONL, IR_DATASETS)
}
"""By name."""


def export(
    collection: Collection,
    form: str,
    target: str | Path,
    *,
    query_sets: Iterable[str] | None = None,
    overwrite: bool = False,
) -> ExportReport:
    """Write the collection to ``target`` in one of the forms of ``EXPORTERS``.

    ``target`` is a folder, or a file for a form that is one file (BibTeX, RIS, CSL-JSON).
    ``query_sets`` chooses among the collection's, ``None`` is all of them. Everything is written
    under another name first, so that after an error or a kill ``target`` is as it was. A ``target``
    that exists is an error unless ``overwrite``, which puts the export in its place.
    """
    if form not in EXPORTERS:
        raise UnknownName("form of export", form, EXPORTERS)
    exporter = EXPORTERS[form]
    target = Path(os.path.realpath(target))
    remove_stale_drafts(target.parent)  # which puts a former export back that a kill left aside
    _check_target(collection, exporter, target, overwrite)
    sets = _sets(collection, query_sets)
    with _draft(target, exporter) as draft:
        output = Output(draft, sets, query_sets is not None, single=bool(exporter.file))
        exporter.write(collection, output)
        output.notes += left_out(collection, output, exporter)
        collection.check_unchanged()
    files = {target.name: output.files[exporter.file]} if exporter.file else output.files
    return ExportReport(exporter.name, target, files, tuple(output.notes))


def _sets(collection: Collection, chosen: Iterable[str] | None) -> tuple[str, ...]:
    if chosen is None:
        return collection.query_sets
    names = tuple(dict.fromkeys(chosen))
    for name in names:
        if name not in collection.query_sets:
            raise UnknownName("query set", name, collection.query_sets)
    return names


def _check_target(
    collection: Collection, exporter: Exporter, target: Path, overwrite: bool
) -> None:
    """Refuse what exists; and, even with ``overwrite``, what is certainly no former export."""
    name = printable(target)
    if not os.path.lexists(target):
        return
    if target.is_dir() and exporter.file:
        example = printable(target / exporter.file)
        raise CitebedError(f"'{name}' is a folder; {exporter.title} is one file. Try {example}")
    if not target.is_dir() and not exporter.file:
        raise CitebedError(f"'{name}' is a file; {exporter.title} need a folder.")
    if not overwrite:
        advice = "Choose another place, or replace it with --overwrite."
        raise CitebedError(f"'{name}' exists. {advice}")
    here = [place.resolve() for place in (collection.folder, Path.cwd(), Path.home())]
    if (target / MANIFEST).exists() or any(place.is_relative_to(target) for place in here):
        raise CitebedError(f"'{name}' is or holds more than an export; it is not overwritten.")


@contextlib.contextmanager
def _draft(target: Path, exporter: Exporter) -> Iterator[Path]:
    """The file or folder to fill, which then takes the place of ``target``."""
    if exporter.file:
        with replace_files(target) as (draft,):
            yield draft
    else:
        with replace_folder(target) as made:
            yield made


__all__ = ["EXPORTERS", "ExportReport", "Exporter", "export"]
