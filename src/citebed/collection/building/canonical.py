"""One form for all records, whatever reader they came from."""

from __future__ import annotations

import polars as pl


def canonical_records(records: pl.DataFrame) -> pl.DataFrame:
    """Ids without blanks, never empty; a year for every date and a date for every year."""
    doc_id = pl.col("doc_id").str.replace_all(r"\s+", "_")
    place = pl.concat_str([pl.lit("line-"), pl.col("line").cast(pl.String)])
    return records.with_columns(
        doc_id=pl.when(doc_id == "").then(place).otherwise(doc_id),
        year=pl.coalesce("year", pl.col("date").str.slice(0, 4).cast(pl.Int32, strict=False)),
        date=pl.coalesce("date", pl.col("year").cast(pl.String)),
        title=pl.col("title").fill_null(""),
    )
