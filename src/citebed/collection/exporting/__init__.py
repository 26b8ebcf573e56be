"""Export: a collection in the forms that other tools read. This table is all of them."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import Exporter, ExportReport, Output
from citebed.collection.exporting.beir import BEIR
from citebed.collection.exporting.bibtex import BIBTEX
from citebed.collection.exporting.ir_datasets import IR_DATASETS
from citebed.collection.exporting.jsonl import JSONL
from citebed.collection.exporting.tables import CSV, PARQUET
from citebed.collection.exporting.trec import TREC
from citebed.collection.store import MANIFEST
from citebed.errors import CitebedError, UnknownName

EXPORTERS = {e.name: e for e in (TREC, BEIR, PARQUET, CSV, BIBTEX, JSONL, IR_DATASETS)}
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

    ``target`` is a folder, or a file for a form that is one file (BibTeX). ``query_sets``
    chooses among the collection's, ``None`` is all of them. Everything is written under
    another name first, so that after an error or a kill ``target`` is as it was. A ``target``
    that exists is an error unless ``overwrite``, which puts the export in its place.
    """
    exporter = _exporter(form)
    target = Path(target).resolve()
    _check_target(collection, exporter, target, overwrite)
    with _workshop(target) as workshop:
        output = Output(workshop / "new", _sets(collection, query_sets), query_sets is not None)
        output.folder.mkdir()
        exporter.write(collection, output)
        made = output.folder / exporter.file if exporter.file else output.folder
        _put_in_place(made, target, workshop)
    files = {target.name: output.files[exporter.file]} if exporter.file else output.files
    return ExportReport(exporter.name, target, files, tuple(output.notes))


def _exporter(form: str) -> Exporter:
    if form not in EXPORTERS:
        raise UnknownName("form of export", form, EXPORTERS)
    return EXPORTERS[form]


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
    if not os.path.lexists(target):
        return
    if target.is_dir() and exporter.file:
        example = target / exporter.file
        raise CitebedError(f"'{target}' is a folder; {exporter.title} is one file. Try {example}")
    if target.is_file() and not exporter.file:
        raise CitebedError(f"'{target}' is a file; {exporter.title} need a folder.")
    if not overwrite:
        raise CitebedError(
            f"'{target}' exists. Choose another place, or replace it with --overwrite."
        )
    here = [place.resolve() for place in (collection.folder, Path.cwd(), Path.home())]
    if (target / MANIFEST).exists() or any(place.is_relative_to(target) for place in here):
        raise CitebedError(f"'{target}' is or holds more than an export; it is not overwritten.")


@contextlib.contextmanager
def _workshop(target: Path) -> Iterator[Path]:
    """A folder beside ``target``, hence on the same disk, that is gone afterwards."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        workshop = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise CitebedError(f"cannot write to '{target.parent}': {error.strerror}") from None
    try:
        yield workshop
    except OSError as error:
        raise CitebedError(f"cannot write '{target}': {error.strerror or error}") from error
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


def _put_in_place(made: Path, target: Path, workshop: Path) -> None:
    """Rename to the final name; a folder that was there is moved aside first."""
    if made.is_file() or not target.exists():
        made.replace(target)
        return
    former = workshop / "former"
    target.replace(former)
    try:
        made.replace(target)
    except OSError:
        former.replace(target)
        raise


__all__ = ["EXPORTERS", "ExportReport", "Exporter", "export"]
