"""A collection is a folder: import, export, statistics and checks."""

# ruff: isort: skip_file
from __future__ import annotations

from typing import TYPE_CHECKING

from citebed.lazy import names_on_first_use

if TYPE_CHECKING:
    from citebed.collection.rules import (
        Rules as Rules,
        load_profile as load_profile,
        profiles as profiles,
        read_exclusions as read_exclusions,
    )
    from citebed.collection.collection import (
        Collection as Collection,
        open_collection as open_collection,
    )
    from citebed.collection.importing import (
        ImportOptions as ImportOptions,
        forget_sources as forget_sources,
        import_sources as import_sources,
        rules_for as rules_for,
    )
    from citebed.collection.progress import Progress as Progress
    from citebed.collection.building.import_report import ImportReport as ImportReport
    from citebed.collection.storing.store import finish_change as finish_change

__getattr__, __dir__ = names_on_first_use(__name__)
