"""Tables on their way to workers and back: Arrow batches, polars here and there."""

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
"""The column of what is wrong: an exception would come to the user wrapped in the engine's own."""
SPARK = {pl.String: "string", pl.Int64: "bigint", pl.Float64: "double", pl.Binary: "binary"}


def spark_schema(schema: Schema) -> str:
    """A schema as Spark writes it."""
    return ", ".join(f"{name} {SPARK[kind]}" for name, kind in schema.items())


def to_arrow(table: pl.DataFrame, schema: Schema) -> pa.Table:
    """Rows as an engine takes them; columns that the table does not have are empty."""
    import pyarrow as pa

    whole = table.select(
        pl.col(name) if name in table.columns else pl.lit(None, kind).alias(name)
        for name, kind in schema.items()
    )
    # Spark's strings are those of 32 bits; polars' are of 64.
    kinds = {
        pl.String: pa.string(), pl.Int64: pa.int64(), pl.Float64: pa.float64(),
        pl.Binary: pa.binary(),
    }  # fmt: skip
    wanted = pa.schema([(name, kinds[kind]) for name, kind in schema.items()])
    return whole.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(wanted)


def check_version(version: str) -> None:
    """On a worker: refuse to work for another citebed, which might count in another way."""
    if version != __version__:
        raise CitebedError(
            f"the engine's workers have citebed {__version__}, and this is {version}: install the "
            "same version on both sides."
        )


def error_row(error: CitebedError) -> pl.DataFrame:
    """An error as a row."""
    return pl.DataFrame({ERROR: [str(error)]})


def raise_errors(table: pl.DataFrame) -> None:
    """Tell what was wrong, if anything was: of several things always the same."""
    told: Any = table[ERROR].drop_nulls().sort()
    if len(told):
        raise CitebedError(told[0])
