"""A collection is a folder on disk: import, formats in and out, statistics, lint, export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from citebed.collection.collection import Collection, open_collection
    from citebed.collection.import_report import ImportReport
    from citebed.collection.importing import ImportOptions, import_sources
    from citebed.collection.reading import Progress
    from citebed.collection.rules import Rules, load_profile, profiles, read_exclusions

_PUBLIC = {
    "Collection": "collection",
    "ImportOptions": "importing",
    "ImportReport": "import_report",
    "Progress": "reading",
    "Rules": "rules",
    "import_sources": "importing",
    "load_profile": "rules",
    "open_collection": "collection",
    "profiles": "rules",
    "read_exclusions": "rules",
}

__all__ = [
    "Collection",
    "ImportOptions",
    "ImportReport",
    "Progress",
    "Rules",
    "import_sources",
    "load_profile",
    "open_collection",
    "profiles",
    "read_exclusions",
]


def __getattr__(name: str) -> Any:
    """Public names are looked up on first use: a parsing process needs few of these modules."""
    if name in _PUBLIC:
        from importlib import import_module

        return getattr(import_module(f"citebed.collection.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'citebed.collection' has no attribute '{name}'")
