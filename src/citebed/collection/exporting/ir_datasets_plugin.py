"""Loads an exported folder into ``ir_datasets`` (the extra ``ir-datasets``).

Nothing is copied or indexed on disk: documents are read where they lie, and found by their
place in the file, which is looked up once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from citebed.errors import CitebedError, MissingExtra, UnknownName

DOCS, QUERIES, QRELS, METADATA = "docs.jsonl", "queries.jsonl", "qrels.txt", "metadata.json"
_ID = re.compile(rb'\{"doc_id":("(?:[^"\\]|\\.)*")')


class CitebedDoc(NamedTuple):
    """A document as ir_datasets gives it; fields as in citebed's data model."""

    doc_id: str
    type: str
    title: str
    authors: tuple[str, ...]
    editors: tuple[str, ...]
    year: int | None
    date: str | None
    venue: str | None
    volume: str | None
    number: str | None
    pages: str | None
    publisher: str | None
    doi: str | None
    url: str | None
    abstract: str | None
    keywords: tuple[str, ...]
    language: str | None

    def default_text(self) -> str:
        """Title and abstract: what a system indexes that asks for nothing else."""
        return " ".join(part for part in (self.title, self.abstract) if part)


class CitebedQuery(NamedTuple):
    """A query; ``exclude`` names documents that are no answer (the citing paper itself), and
    answers are from no later than ``before``."""

    query_id: str
    text: str
    title: str | None
    paper_id: str | None
    section: str | None
    exclude: tuple[str, ...]
    before: str | None

    def default_text(self) -> str:
        """The text to search with."""
        return self.text


def _values(line: bytes) -> dict[str, Any]:
    values = json.loads(line)
    return {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}


class DocStore:
    """Documents by id, read from their place in the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each document's line starts."""
        places, at = {}, 0
        with self.path.open("rb") as lines:
            for line in lines:
                found = _ID.match(line)
                if found is None:
                    raise CitebedError(f"{self.path} is damaged at byte {at}. Export it again.")
                places[json.loads(found[1])] = at
                at += len(line)
        return places

    def get(self, doc_id: str, field: str | None = None) -> Any:
        """One document, or one field of it; ``KeyError`` where there is none."""
        return self.get_many([doc_id], field)[doc_id]

    def get_many(self, doc_ids: Iterable[str], field: str | None = None) -> dict[str, Any]:
        """Those of the documents that exist, by id."""
        found = {doc.doc_id: doc for doc in self.get_many_iter(doc_ids)}
        return found if field is None else {i: getattr(doc, field) for i, doc in found.items()}

    def get_many_iter(self, doc_ids: Iterable[str]) -> Iterator[CitebedDoc]:
        """Those of the documents that exist, in the order of the file."""
        places = sorted(self.places[doc_id] for doc_id in set(doc_ids) if doc_id in self.places)
        with self.path.open("rb") as handle:
            for place in places:
                handle.seek(place)
                yield CitebedDoc(**_values(handle.readline()))

    def clear_cache(self) -> None:
        """Forget the places."""
        self.__dict__.pop("places", None)


class DocIterator:
    """Documents in order; ``[start:stop:step]`` and ``[index]`` skip without parsing."""

    def __init__(self, path: Path, part: slice = slice(None), count: int = 0) -> None:
        self._path, self._part, self._count = path, part, count
        self._rows: Iterator[CitebedDoc] | None = None

    def __iter__(self) -> DocIterator:
        return self

    def __next__(self) -> CitebedDoc:
        if self._rows is None:
            self._rows = self._read()
        return next(self._rows)

    def _read(self) -> Iterator[CitebedDoc]:
        with self._path.open("rb") as lines:
            for line in islice(lines, *self._part.indices(self._count)):
                yield CitebedDoc(**_values(line))

    def __getitem__(self, key: slice | int) -> Any:
        if isinstance(key, slice):
            part = range(self._count)[self._part][_whole(key, self._count)]
            return DocIterator(self._path, slice(part.start, part.stop, part.step), self._count)
        place = range(self._count)[self._part][key]
        return next(DocIterator(self._path, slice(place, place + 1), self._count))


def _whole(part: slice, count: int) -> slice:
    """A slice with its fractions (``[:1/3]``, as ir_datasets has them) as numbers."""

    def number(value: Any) -> Any:
        return int(value * count) if isinstance(value, float) else value

    return slice(number(part.start), number(part.stop), part.step)


class Docs:
    """The documents of a folder, with the methods that ir_datasets asks for."""

    def __init__(self, folder: Path, name: str, count: int) -> None:
        self._path, self._name, self._count = folder / DOCS, name, count
        self._store = DocStore(self._path)

    def docs_iter(self) -> DocIterator:
        return DocIterator(self._path, count=self._count)

    def docs_count(self) -> int:
        return self._count

    def docs_store(self, *_: Any, **__: Any) -> DocStore:
        return self._store

    def docs_path(self, force: bool = True) -> str:  # noqa: ARG002
        return str(self._path)

    def docs_handler(self) -> Docs:
        return self

    def docs_cls(self) -> type[CitebedDoc]:
        return CitebedDoc

    def docs_namespace(self) -> str:
        return self._name

    def docs_lang(self) -> None:
        return None


class Queries:
    """The queries of a set, with the methods that ir_datasets asks for."""

    def __init__(self, path: Path, name: str, count: int) -> None:
        self._path, self._name, self._count = path, name, count

    def queries_iter(self) -> Iterator[CitebedQuery]:
        with self._path.open("rb") as lines:
            for line in lines:
                yield CitebedQuery(**_values(line))

    def queries_dict(self) -> dict[str, CitebedQuery]:
        return {query.query_id: query for query in self.queries_iter()}

    def queries_count(self) -> int:
        return self._count

    def queries_path(self) -> str:
        return str(self._path)

    def queries_handler(self) -> Queries:
        return self

    def queries_cls(self) -> type[CitebedQuery]:
        return CitebedQuery

    def queries_namespace(self) -> str:
        return self._name

    def queries_lang(self) -> None:
        return None


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
            f"'{folder}' is not a folder for ir_datasets (no readable {METADATA}). "
            "Make one with: citebed export COLLECTION FOLDER --to ir_datasets"
        ) from None
    return dict(about)


def load(folder: str | Path, query_set: str | None = None) -> Any:
    """The ``ir_datasets.Dataset`` of an exported folder; without a set, the documents alone."""
    folder = Path(folder).resolve()
    about = _about(folder)
    docs = Docs(folder, f"citebed/{about['name']}", about["docs"]["count"])
    return _dataset(folder, about, docs, query_set)


def _dataset(folder: Path, about: dict[str, Any], docs: Docs, query_set: str | None) -> Any:
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
        place = folder / query_set
        judged = package.util.LocalDownload(place / QRELS)
        parts.append(Queries(place / QUERIES, name, facts["queries"]["count"]))
        parts.append(package.formats.TrecQrels(judged, grades))
    dataset = package.Dataset(*parts)
    provider = package.util.MetadataProvider(lambda: {name: facts})
    return package.Dataset(package.util.MetadataComponent(name, dataset, provider), dataset)


def register(folder: str | Path) -> tuple[str, ...]:
    """Make an exported folder known to ``ir_datasets.load``; gives the ids to load it by.

    ``citebed/NAME`` has the documents, ``citebed/NAME/SET`` the queries and judgements too.
    """
    folder = Path(folder).resolve()
    about = _about(folder)
    registry = _ir_datasets().registry
    docs = Docs(folder, f"citebed/{about['name']}", about["docs"]["count"])
    ids = []
    for query_set in (None, *about["query_sets"]):
        ids.append("/".join(filter(None, ("citebed", about["name"], query_set))))
        if ids[-1] not in set(registry):
            registry.register(ids[-1], _dataset(folder, about, docs, query_set))
        elif registry[ids[-1]].docs_path() != docs.docs_path():
            other = registry[ids[-1]].docs_path()
            raise CitebedError(f"ir_datasets knows '{ids[-1]}' already, from {other}. Rename one.")
    return tuple(ids)
