"""A collection is a folder on disk: import, formats in and out, statistics, lint, export."""

from __future__ import annotations

from citebed.collection.collection import Collection, open_collection
from citebed.collection.import_report import ImportReport
from citebed.collection.importing import ImportOptions, import_sources
from citebed.collection.reading import Progress
from citebed.collection.rules import Rules, load_profile, profiles, read_exclusions

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
