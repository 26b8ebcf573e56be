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

_PUBLIC = {
    "Collection": "Collection",
    "ImportOptions": "ImportOptions",
    "ImportReport": "ImportReport",
    "Rules": "Rules",
    "import_sources": "import_sources",
    "open": "open_collection",
}

__all__ = [
    "CitebedError",
    "Collection",
    "CollectionError",
    "FormatError",
    "ImportOptions",
    "ImportReport",
    "MissingExtra",
    "Rules",
    "UnknownName",
    "__version__",
    "import_sources",
    "open",
]


def __getattr__(name: str) -> Any:
    """Public names are looked up on first use, so that importing citebed costs nothing."""
    if name in _PUBLIC:
        from citebed import collection

        return getattr(collection, _PUBLIC[name])
    raise AttributeError(f"module 'citebed' has no attribute '{name}'")
