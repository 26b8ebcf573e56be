"""Export a collection in the formats of other tools."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import Exporter, ExportReport, Output, describe_losses
from citebed.collection.exporting.bibliographies import BIBTEX, CSL_JSON, RIS
from citebed.collection.exporting.tables import BEIR, CSV, IR_DATASETS, JSONL, PARQUET, TREC
from citebed.errors import CitebedError, UnknownName
from citebed.files.file_kinds import MANIFEST
from citebed.files.output_files import remove_stale_drafts, replace_files, replace_folder
from citebed.wording import printable

EXPORTERS = {
    e.name: e for e in (TREC, BEIR, PARQUET, CSV, BIBTEX, RIS, CSL_JSON, JSONL, IR_DATASETS)
}
"""All export formats by name."""


def export(
    collection: Collection,
    form: str,
    target: str | Path,
    *,
    query_sets: Iterable[str] | None = None,
    overwrite: bool = False,
) -> ExportReport:
    """Write the collection to ``target`` in one of the formats of `EXPORTERS`.

    ``target`` is a folder, or a file for BibTeX, RIS and CSL-JSON. ``query_sets`` are the sets to
    write; the default is all. citebed writes to a draft first, so after an error or a kill
    ``target`` is unchanged. An existing ``target`` is an error, unless ``overwrite`` replaces it.
    """
    if form not in EXPORTERS:
        raise UnknownName("export format", form, EXPORTERS)
    exporter = EXPORTERS[form]
    target = Path(os.path.realpath(target))
    remove_stale_drafts(target.parent)  # also restores a former export after a kill
    _check_target(collection, exporter, target, overwrite)
    sets = collection.query_sets if query_sets is None else tuple(dict.fromkeys(query_sets))
    for name in sets:
        if name not in collection.query_sets:
            raise UnknownName("query set", name, collection.query_sets)
    with contextlib.ExitStack() as stack:
        if exporter.file:
            (draft,) = stack.enter_context(replace_files(target))
        else:
            draft = stack.enter_context(replace_folder(target))
        output = Output(draft, sets, query_sets is not None, single=bool(exporter.file))
        exporter.write(collection, output)
        output.notes += describe_losses(collection, output, exporter)
        collection.check_unchanged()
    files = {target.name: output.files[exporter.file]} if exporter.file else output.files
    return ExportReport(exporter.name, target, files, tuple(output.notes))


def _check_target(
    collection: Collection, exporter: Exporter, target: Path, overwrite: bool
) -> None:
    """Raise if the target exists; with ``overwrite``, only if it is certainly not an export."""
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
        raise CitebedError(f"'{name}' contains more than an export, so it is not overwritten.")


__all__ = ["EXPORTERS", "ExportReport", "Exporter", "export"]
