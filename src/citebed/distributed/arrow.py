"""Conversion of tables between polars and the Arrow batches of an engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from citebed._version import __version__
from citebed.errors import CitebedError

if TYPE_CHECKING:
    import pyarrow as pa

Schema = Mapping[str, type[pl.DataType]]
Batches = Iterable["pa.RecordBatch"]
ERROR = "error"
"""The column with errors: the engine would wrap exceptions in its own."""
SPARK = {pl.String: "string", pl.Int64: "bigint", pl.Float64: "double", pl.Binary: "binary"}


def spark_schema(schema: Schema) -> str:
    return ", ".join(f"{name} {SPARK[kind]}" for name, kind in schema.items())


def to_arrow(table: pl.DataFrame, schema: Schema) -> pa.Table:
    """Return rows as an Arrow table of this schema. Missing columns are empty."""
    import pyarrow as pa

    whole = table.select(
        pl.col(name) if name in table.columns else pl.lit(None, kind).alias(name)
        for name, kind in schema.items()
    )
    # Spark uses strings with offsets of 32 bits, polars of 64.
    kinds = {
        pl.String: pa.string(), pl.Int64: pa.int64(), pl.Float64: pa.float64(),
        pl.Binary: pa.binary(),
    }  # fmt: skip
    wanted = pa.schema([(name, kinds[kind]) for name, kind in schema.items()])
    return whole.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(wanted)


def check_version(version: str) -> None:
    """On a worker: raise if the driver has another version of citebed; results might differ."""
    if version != __version__:
        raise CitebedError(
            f"the engine's workers have citebed {__version__}, and this is {version}: install the "
            "same version on both sides."
        )


def error_row(error: CitebedError) -> pl.DataFrame:
    return pl.DataFrame({ERROR: [str(error)]})


def raise_errors(table: pl.DataFrame) -> None:
    """Raise the first error in a table, in alphabetical order."""
    told: Any = table[ERROR].drop_nulls().sort()
    if len(told):
        raise CitebedError(told[0])
