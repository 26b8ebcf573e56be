"""Encoders for indexes, and the download of citebed's own."""

# ruff: isort: skip_file
from __future__ import annotations

from typing import TYPE_CHECKING

from citebed.lazy import names_on_first_use

if TYPE_CHECKING:
    from citebed.retrieval.encoders.dense_encoder import (
        DenseEncoder as DenseEncoder,
        find_encoder as find_encoder,
        index_encoder as index_encoder,
        load_dense_encoder as load_dense_encoder,
    )
    from citebed.retrieval.encoders.fetch import fetch_encoder as fetch_encoder

__getattr__, __dir__ = names_on_first_use(__name__)
