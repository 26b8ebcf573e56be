"""The names that a document goes by, and what a reference, a link or a person calls it.

A document is known by its id, its DOI, its ids elsewhere, and its arXiv id, which people write in
many ways (an address, ``arXiv:…``, the DOI that arXiv gives): all of these are one name,
``arxiv:…``. Names are in lower case.
"""

from __future__ import annotations

import re

import polars as pl

from citebed.text.identifiers import ARXIV_NAME

_ARXIV = "arxiv:"


def name_in(text: pl.Expr) -> pl.Expr:
    """What a text (an id, a DOI, an address) names, as `document_names` has it."""
    lower = text.str.to_lowercase()
    on_arxiv = pl.when(lower.str.contains("arxiv", literal=True)).then(lower)
    return pl.coalesce(pl.lit(_ARXIV) + on_arxiv.str.extract(ARXIV_NAME), lower)


def name_of(text: str) -> str:
    """What one text names."""
    lower = text.lower()
    match = re.match(ARXIV_NAME, lower) if "arxiv" in lower else None
    return _ARXIV + match[1] if match else lower


def is_arxiv(name: pl.Expr) -> pl.Expr:
    """Whether a name is an arXiv id."""
    return name.str.starts_with(_ARXIV)


def document_names(documents: pl.DataFrame) -> pl.DataFrame:
    """Every name of every document: ``doc_id`` and ``name``, a name once.

    A DOI that several have is no name of any. Of two documents with one arXiv id the one whose DOI
    is arXiv's goes by it, else the first.
    """
    doubtful = pl.col("doubtful").list.contains("doi").fill_null(value=False)
    dois = documents.select("doc_id", name=pl.when(~doubtful).then("doi")).drop_nulls()
    aliases = documents.select("doc_id", name="aliases").explode("name").drop_nulls()
    own = documents.select("doc_id", name="doc_id")
    arxiv = documents.select("doc_id", name=pl.lit(_ARXIV) + pl.col("arxiv")).drop_nulls()
    plain = pl.concat([own, dois, aliases]).with_columns(pl.col("name").str.to_lowercase())
    on_arxiv = plain.with_columns(name=name_in(pl.col("name"))).filter(is_arxiv(pl.col("name")))
    return pl.concat([plain, on_arxiv, arxiv]).unique("name", keep="first", maintain_order=True)
