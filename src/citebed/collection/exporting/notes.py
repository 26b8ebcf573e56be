"""What a form cannot hold, said in words: nothing is left out without a note."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from citebed.collection.collection import Collection
from citebed.collection.exporting.base import Output
from citebed.wording import count


def _full_text(collection: Collection, _: Output) -> str | None:
    number = collection.sections["doc_id"].drop_nulls().n_unique()
    return f"full text of {count(number, 'document')} is" if number else None


def _links(collection: Collection, _: Output) -> str | None:
    number = collection.links["doc_id"].drop_nulls().n_unique()
    return f"the links of {count(number, 'document')} are" if number else None


def _aliases(collection: Collection, _: Output) -> str | None:
    known = pl.col("aliases").list.len() > 0
    number = collection.scan_documents().select(known.sum()).collect().item()
    return f"the ids elsewhere (aliases) of {count(number, 'document')} are" if number else None


def _bibtex(collection: Collection, _: Output) -> str | None:
    number = collection.scan_documents().select(pl.col("bibtex").count()).collect().item()
    return f"the BibTeX entry of {count(number, 'document')} is" if number else None


def _fields(collection: Collection, _: Output) -> str | None:
    number = collection.scan_documents().select(pl.len()).collect().item()
    return "what documents have besides id, title and abstract is" if number else None


def _papers(collection: Collection, _: Output) -> str | None:
    papers, contexts = collection.papers.height, collection.contexts["context_id"].len()
    if not papers:
        return None
    return f"the text of {count(papers, 'citing paper')} ({count(contexts, 'sentence')}) is"


def _queries(collection: Collection, output: Output) -> str | None:
    names = output.query_sets or (() if output.chosen else collection.query_sets)
    return f"the queries and judgements ({', '.join(names)}) are" if names else None


def _query_details(collection: Collection, output: Output) -> str | None:
    tables = [collection.queries(name) for name in output.query_sets]
    details = pl.any_horizontal(
        pl.col("exclude").list.len() > 0, pl.col("paper_id", "section", "before").is_not_null()
    )
    number = sum(int(table.select(details.sum()).item()) for table in tables)
    if not number:
        return None
    return f"where {count(number, 'query')} stood and what may not answer them is"


def _provenance(collection: Collection, _: Output) -> str | None:
    return (
        "where a document was read from (source, line, records) is" if collection.sources else None
    )


_PARTS: dict[str, Callable[[Collection, Output], str | None]] = {
    "full text": _full_text,
    "links": _links,
    "aliases": _aliases,
    "bibtex": _bibtex,
    "fields": _fields,
    "papers": _papers,
    "queries": _queries,
    "query details": _query_details,
    "provenance": _provenance,
}


def left_out(collection: Collection, output: Output, form: str, *parts: str) -> None:
    """Note for each of ``parts`` that the collection has that it is not part of the form."""
    for part in parts:
        what = _PARTS[part](collection, output)
        if what is not None:
            output.notes.append(f"{what} not part of {form}")
