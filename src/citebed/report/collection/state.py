"""The state of a collection: its size, and whether its index is up to date."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from citebed.collection import Collection
from citebed.retrieval.index.index import open_index
from citebed.retrieval.index.layout import DESCRIPTION, FOLDER, DamagedIndex
from citebed.wording import count

IndexState = Literal["none", "current", "old", "damaged"]
_SAID: dict[IndexState, str] = {
    "none": "not indexed yet",
    "current": "index up to date",
    "old": "index out of date",
    "damaged": "index damaged",
}


@dataclass(frozen=True)
class CollectionState:
    """A collection's counts; ``queries`` has a count per query set.

    ``skipped`` of the ``problems`` could not be read at all.
    """

    name: str
    documents: int
    papers: int
    queries: dict[str, int]
    index: IndexState
    problems: int
    skipped: int

    def row(self) -> dict[str, Any]:
        """Return a row with texts for display."""
        return {**vars(self), "index_said": _SAID[self.index], "said": self.said()}

    def said(self) -> list[str]:
        """Return the counts as short phrases."""
        sets = [f"{number:,} {name}" for name, number in self.queries.items() if number]
        papers = [count(self.papers, "citing paper")] if self.papers else []
        asked = [f"queries: {', '.join(sets)}"] if sets else []
        return [count(self.documents, "document"), *papers, *asked]


def collection_state(collection: Collection) -> CollectionState:
    """Return the state of a collection."""
    return CollectionState(
        collection.name,
        collection.scan_documents().select("doc_id").collect().height,
        collection.papers.height,
        {name: collection.queries(name).height for name in collection.query_sets},
        _index_state(collection),
        collection.problems.height,
        collection.problems.filter(kind="skipped").height,
    )


def _index_state(collection: Collection) -> IndexState:
    if not (collection.folder / FOLDER / DESCRIPTION).exists():
        return "none"
    try:
        return "current" if open_index(collection).is_current() else "old"
    except DamagedIndex:
        return "damaged"
