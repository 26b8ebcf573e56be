"""The text of a document that models read."""

from __future__ import annotations

import polars as pl


def document_text() -> pl.Expr:
    """Title, abstract and keywords of a table of documents as one text."""
    keywords = pl.col("keywords").list.join(", ")
    title, abstract, named = (
        column.fill_null("") for column in (pl.col("title"), pl.col("abstract"), keywords)
    )
    whole = pl.concat_str(title, pl.lit(". "), abstract, pl.lit(" "), named)
    return whole.str.strip_chars(" .").alias("text")
