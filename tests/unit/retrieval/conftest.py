"""Collections with an index."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.sampling import sized
from tests.shared import Once
from tests.tiny_models import make_cross_model, make_model, neural, write_safetensors

from citebed.retrieval.index.builder import IndexOptions, write_index

__all__ = ["make_cross_model", "make_model", "neural", "write_safetensors"]  # fixtures


@pytest.fixture(autouse=True)
def _cache_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Give each test its own cache folder, apart from the user's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="session")
def acm_cr_indexed(acm_cr: Path, once: Once) -> Path:
    """An eighth of ACM-CR's documents with an index (all in the full run); do not change it."""

    def make(folder: Path) -> None:
        folder.mkdir()
        for path in acm_cr.iterdir():
            if not path.name.startswith("."):
                (folder / path.name).symlink_to(path)
        documents = folder / "documents.parquet"
        table = pl.read_parquet(documents).gather_every(sized(8, 1))
        documents.unlink()
        table.write_parquet(documents)
        write_index(folder, IndexOptions())

    return once("acm-cr-indexed", make)
