"""The outside formats that citebed reads, one file each; ``recognising`` has the table of them."""

# ruff: isort: skip_file
from __future__ import annotations

from typing import TYPE_CHECKING

from citebed.lazy import names_on_first_use

if TYPE_CHECKING:
    from citebed.collection.formats.base import Chunk as Chunk, Format as Format
    from citebed.collection.formats.recognising import FORMATS as FORMATS, recognise as recognise

__getattr__, __dir__ = names_on_first_use(__name__)
