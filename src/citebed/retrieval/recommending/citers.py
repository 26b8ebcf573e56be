"""Who cites: the papers that say something of a document, as one would name them in a line."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import polars as pl

from citebed.collection import Collection
from citebed.text.names import family_name


class Citers:
    """The citing papers of a collection by their ids, read when they are first asked for."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def named(self, paper_id: str, year: int | None) -> str:
        """``Smith et al. (2019), A Title``, as far as it is known; else the paper's id."""
        if paper_id not in self._papers:  # a file of contexts may name a document
            self._papers[paper_id] = self._document(paper_id)
        paper = self._papers[paper_id]
        authors = [family_name(name) for name in paper.get("authors") or ()]
        who = " and ".join(authors) if len(authors) <= 2 else f"{authors[0]} et al."
        title, known = paper.get("title") or paper_id, paper.get("year") or year
        when = f" ({known})" if known else ""
        return f"{who}{when}, {title}" if who else f"{title}{when}"

    def _document(self, name: str) -> dict[str, Any]:
        is_it = (pl.col("doc_id") == name) | (pl.col("doi") == name.lower())
        found = self._collection.scan_documents().filter(is_it).select("title", "year", "authors")
        return next(found.collect().iter_rows(named=True), {})

    @cached_property
    def _papers(self) -> dict[str, dict[str, Any]]:
        papers = self._collection.papers.select("paper_id", "title", "year", "doc_id", "doi")
        if papers.is_empty():
            return {}
        ids = papers["doc_id"].drop_nulls().to_list()
        known = self._collection.scan_documents().filter(pl.col("doc_id").is_in(ids))
        authors = known.select("doc_id", "authors").collect()
        rows = papers.join(authors, on="doc_id", how="left").to_dicts()
        return {row["paper_id"]: row for row in rows}
