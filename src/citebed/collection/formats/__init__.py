"""Import formats; ``detection`` has the table of all formats and of their modules."""

# ruff: isort: skip_file
from __future__ import annotations

from typing import TYPE_CHECKING

from citebed.lazy import names_on_first_use

if TYPE_CHECKING:
    from citebed.collection.formats.base import Chunk as Chunk, Format as Format
    from citebed.collection.formats.detection import FORMATS as FORMATS, recognise as recognise

__getattr__, __dir__ = names_on_first_use(__name__)
