"""Links and sections of records, under the ids of the documents that these became."""

from __future__ import annotations

import polars as pl

from citebed.collection.names import name_in


def with_ids(table: pl.DataFrame, documents: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """The rows of records that are (part of) a document now, under that document's id.

    Two documents that were read under one id are told apart by their sources.
    """
    if table.is_empty():
        return table
    here = documents.select(
        "source",
        here="doc_id",
        name=pl.concat_list("doc_id", "aliases").list.eval(pl.element().str.to_lowercase()),
    ).explode("name")
    found = (
        table.drop("doc_id", "target_id", strict=False)
        .with_columns(name=pl.col("record").str.replace_all(r"\s+", "_").str.to_lowercase())
        .join(names, on="name", how="left", maintain_order="left")
        .join(
            here.unique(["source", "name"], keep="first", maintain_order=True),
            on=["source", "name"],
            how="left",
            maintain_order="left",
        )
        .with_columns(doc_id=pl.coalesce("here", "doc_id"))
        .drop("name", "here")
    )
    if "target" in table.columns:
        targets = names.select(name="name", target_id="doc_id")
        found = (
            found.with_columns(name=name_in(pl.col("target")))
            .join(targets, on="name", how="left", maintain_order="left")
            .drop("name")
        )
    return found.select(table.columns)
