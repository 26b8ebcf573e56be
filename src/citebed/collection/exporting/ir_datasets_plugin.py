"""Load an exported folder into ``ir_datasets`` (extra ``ir-datasets``)."""

from __future__ import annotations

import hashlib
import json
import os
from collections import namedtuple
from pathlib import Path
from typing import Any

from citebed.collection.exporting.base import BIBLIOGRAPHIC
from citebed.collection.tables import QUERIES as QUERY_FIELDS
from citebed.errors import CitebedError, MissingExtra, UnknownName

DOCS, QUERIES, QRELS, METADATA = "docs.jsonl", "queries.jsonl", "qrels.txt", "metadata.json"


def _row(*names: str) -> Any:
    """Return a named tuple type with these fields; lists become tuples."""

    class Row(namedtuple("Row", names)):  # type: ignore[misc]
        def __new__(cls, *values: Any, **named: Any) -> Any:
            plain = {n: tuple(v) if isinstance(v, list) else v for n, v in named.items()}
            return super().__new__(cls, *values, **plain)

    return Row


class CitebedDoc(_row("doc_id", *BIBLIOGRAPHIC)):  # type: ignore[misc]
    """A document in ir_datasets, with the fields of citebed's data model."""

    def default_text(self) -> str:
        """Return title and abstract, the text to index by default."""
        return " ".join(part for part in (self.title, self.abstract) if part)


class CitebedQuery(_row(*QUERY_FIELDS)):  # type: ignore[misc]
    """A query; documents in ``exclude`` (the citing paper itself) or later than ``before`` do not
    count as relevant."""

    def default_text(self) -> str:
        """Return the text to search with."""
        return str(self.text)


def _ir_datasets() -> Any:
    try:
        import ir_datasets
    except ImportError:
        raise MissingExtra("ir-datasets", "ir_datasets") from None
    return ir_datasets


def _about(folder: Path) -> dict[str, Any]:
    try:
        about = json.loads((folder / METADATA).read_text("utf-8"))
    except (OSError, ValueError):
        raise CitebedError(
            f"'{folder}' is not an export for ir_datasets (no readable {METADATA}). "
            "Create one with: citebed export COLLECTION FOLDER --to ir_datasets"
        ) from None
    return dict(about)


def _docs(folder: Path, about: dict[str, Any]) -> Any:
    """Return the documents; the store of ir_datasets is in the same folder, or in its own if that
    is read-only."""
    package, path = _ir_datasets(), folder / DOCS
    place = path.with_name(f"{DOCS}.pklz4")
    if not place.exists() and not os.access(folder, os.W_OK):
        state = path.stat()
        name = f"{path} {state.st_size} {state.st_mtime_ns}".encode(errors="surrogateescape")
        place = package.util.home_path() / "citebed" / hashlib.sha256(name).hexdigest()
    return package.formats.JsonlDocs(
        package.util.LocalDownload(path, mkdir=False),
        CitebedDoc,
        namespace=f"citebed/{about['name']}",
        count_hint=about["docs"]["count"],
        docstore_path=str(place),
    )


def load(folder: str | Path, query_set: str | None = None) -> Any:
    """Return the ``ir_datasets.Dataset`` of an export; without a query set, only the documents."""
    folder = Path(folder).resolve()
    about = _about(folder)
    return _dataset(folder, about, _docs(folder, about), query_set)


def _dataset(folder: Path, about: dict[str, Any], docs: Any, query_set: str | None) -> Any:
    known = about["query_sets"]
    if query_set is not None and query_set not in known:
        raise UnknownName("query set", query_set, known)
    package = _ir_datasets()
    name = f"citebed/{about['name']}"
    facts = {"docs": about["docs"]}
    parts: list[Any] = [docs]
    if query_set is not None:
        name = f"{name}/{query_set}"
        facts |= {kind: known[query_set][kind] for kind in ("queries", "qrels")}
        grades = {int(grade): what for grade, what in known[query_set]["definitions"].items()}
        queries, qrels = (
            package.util.LocalDownload(folder / query_set / file, mkdir=False)
            for file in (QUERIES, QRELS)
        )
        # ``namespaec``: as ir_datasets spells it
        parts.append(package.formats.JsonlQueries(queries, CitebedQuery, namespaec=name))
        parts.append(package.formats.TrecQrels(qrels, grades))
    dataset = package.Dataset(*parts)
    provider = package.util.MetadataProvider(lambda: {name: facts})
    return package.Dataset(package.util.MetadataComponent(name, dataset, provider), dataset)


def register(folder: str | Path) -> tuple[str, ...]:
    """Register an export with ``ir_datasets.load``; return its dataset ids.

    ``citebed/NAME`` has the documents, ``citebed/NAME/SET`` also queries and judgements.
    """
    folder = Path(folder).resolve()
    about = _about(folder)
    registry = _ir_datasets().registry
    docs = _docs(folder, about)
    ids = []
    for query_set in (None, *about["query_sets"]):
        ids.append("/".join(filter(None, ("citebed", about["name"], query_set))))
        if ids[-1] not in set(registry):
            registry.register(ids[-1], _dataset(folder, about, docs, query_set))
        elif registry[ids[-1]].docs_path() != docs.docs_path():
            other = registry[ids[-1]].docs_path()
            raise CitebedError(f"ir_datasets already has '{ids[-1]}', from {other}. Rename one.")
    return tuple(ids)
