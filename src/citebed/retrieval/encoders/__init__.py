"""The encoder that is got with one command, and encoders as makers of an index's vectors."""

# ruff: isort: skip_file
from __future__ import annotations

from typing import TYPE_CHECKING

from citebed.lazy import names_on_first_use

if TYPE_CHECKING:
    from citebed.retrieval.encoders.encoder import (
        DenseEncoder as DenseEncoder,
        find_encoder as find_encoder,
        index_encoder as index_encoder,
        load_dense_encoder as load_dense_encoder,
    )
    from citebed.retrieval.encoders.fetching.fetching import fetch_encoder as fetch_encoder

__getattr__, __dir__ = names_on_first_use(__name__)
