"""Small collections to lint."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.unit.collection.lint.kinds import Altered, Collect, Found

from citebed.collection import Collection, ImportOptions, Rules, import_sources
from citebed.collection.lint import CHECKS, Subject
from citebed.collection.storing.table_files import write_table
from citebed.collection.tables import Schema


@pytest.fixture
def collect(tmp_path: Path) -> Collect:
    """Import files given as ``name: text`` into a collection of their own."""

    def made(files: dict[str, str], rules: Rules | None = None) -> Collection:
        sources, folder = tmp_path / "sources", tmp_path / "collection"
        sources.mkdir()
        for name, text in files.items():
            (sources / name).write_text(text, encoding="utf-8")
        import_sources(folder, [sources], ImportOptions(rules=rules, workers=1))
        return Collection(folder)

    return made


@pytest.fixture
def altered() -> Altered:
    """The collection with a table that an import would not have written."""

    def changed(
        collection: Collection, name: str, schema: Schema, **columns: pl.Expr
    ) -> Collection:
        path = collection.folder / f"{name}.parquet"
        write_table(path, pl.read_parquet(path).with_columns(**columns), schema)
        return Collection(collection.folder)

    return changed


@pytest.fixture
def found() -> Found:
    """Run one check; gives id and what of each finding."""

    def run(collection: Collection, name: str, **options: object) -> list[tuple[str, str]]:
        rows = CHECKS[name].find(Subject(collection, **options))  # type: ignore[arg-type]
        assert rows.columns == ["place", "id", "what"]
        assert rows.null_count().sum_horizontal().item() == 0
        return list(rows.select("id", "what").iter_rows())

    return run
