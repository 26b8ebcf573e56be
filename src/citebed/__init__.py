"""citebed, a workbench for citation recommendation: collect, recommend, judge, evaluate, look.

>>> import citebed
>>> collection = citebed.open("acm-cr")          # doctest: +SKIP
>>> collection.documents.head()                  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from citebed._version import __version__
from citebed.errors import (
    CitebedError,
    CollectionError,
    FormatError,
    MissingExtra,
    UnknownName,
)

if TYPE_CHECKING:
    from citebed.collection import Collection, ImportOptions, ImportReport, Rules, import_sources
    from citebed.collection import open_collection as open
    from citebed.evaluation import compare, evaluate
    from citebed.retrieval import Recommender, build_index, open_index, recommend, run_queries

_PUBLIC = {
    "Collection": ("collection", "Collection"),
    "ImportOptions": ("collection", "ImportOptions"),
    "ImportReport": ("collection", "ImportReport"),
    "Recommender": ("retrieval", "Recommender"),
    "Rules": ("collection", "Rules"),
    "build_index": ("retrieval", "build_index"),
    "compare": ("evaluation", "compare"),
    "evaluate": ("evaluation", "evaluate"),
    "import_sources": ("collection", "import_sources"),
    "open": ("collection", "open_collection"),
    "open_index": ("retrieval", "open_index"),
    "recommend": ("retrieval", "recommend"),
    "run_queries": ("retrieval", "run_queries"),
}

__all__ = [
    "CitebedError",
    "Collection",
    "CollectionError",
    "FormatError",
    "ImportOptions",
    "ImportReport",
    "MissingExtra",
    "Recommender",
    "Rules",
    "UnknownName",
    "__version__",
    "build_index",
    "compare",
    "evaluate",
    "import_sources",
    "open",
    "open_index",
    "recommend",
    "run_queries",
]


def __getattr__(name: str) -> Any:
    """Public names are looked up on first use, so that importing citebed costs nothing."""
    if name in _PUBLIC:
        from importlib import import_module

        room, inside = _PUBLIC[name]
        return getattr(import_module(f"citebed.{room}"), inside)
    raise AttributeError(f"module 'citebed' has no attribute '{name}'")
