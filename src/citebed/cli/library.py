"""The command ``find``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from citebed.cli.output import AsCsv, AsJson, CollectionFolder, print_rows, say, style_of
from citebed.cli.retrieve import open_both

if TYPE_CHECKING:
    from citebed.retrieval.library.found import Found


def find(
    collection: CollectionFolder,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="Title or abstract words, author names, years, a DOI or a key. Without words: "
            "all documents.",
            show_default=False,
        ),
    ] = None,
    years: Annotated[
        str, typer.Option(help="Filter by year: 2015, 2010-2020, 2010- or -1999.")
    ] = "",
    venue: Annotated[list[str] | None, typer.Option(help="Filter by venue (repeatable).")] = None,
    kind: Annotated[
        list[str] | None, typer.Option("--type", help="Filter by type, e.g. article (repeatable).")
    ] = None,
    author: Annotated[
        list[str] | None, typer.Option(help="Filter by author, e.g. 'Family, Given' (repeatable).")
    ] = None,
    sort: Annotated[
        str,
        typer.Option(
            help="Sort order: best, newest, oldest, title or cited (most cited in this "
            "collection first)."
        ),
    ] = "best",
    start: Annotated[int, typer.Option(min=0, help="Skip this many results.")] = 0,
    k: Annotated[int, typer.Option("-k", min=1, help="Number of documents to show.")] = 25,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Find documents of a collection by words, names, years or keys.

    A document matches if its text, authors' names or year contain all the words.

    Example: citebed find acm-cr/ croft 2001 --type inproceedings
    """
    from citebed.collection.filters import Filter
    from citebed.retrieval.library.library import Library
    from citebed.retrieval.recommend.recommender import Recommender

    style = style_of(None, as_json, as_csv)
    among = Filter(years, tuple(venue or ()), tuple(kind or ()), tuple(author or ()))
    library = Library(Recommender(*open_both(collection, quiet=False)))
    found = library.find(" ".join(words or ()), among=among, sort=sort, start=start, k=k)
    for note in found.notes:
        say(f"note: {note}")
    if style == "table":
        _print(found)
    else:
        rows = list(found.rows)
        print_rows([_flat(row) for row in rows] if style == "csv" else rows, style)


def _print(found: Found) -> None:
    """Print documents for people, and below them the counts by facet of all matches."""
    from citebed.retrieval.recommend.wording import authors_of
    from citebed.wording import for_terminal

    for row in found.rows:
        typer.echo(f"{row['rank']:>3}. {for_terminal(row['title'] or row['doc_id'])}")
        by = (authors_of(row["authors"]), str(row["year"] or ""), row["venue"], row["doi"])
        typer.echo(f"     {for_terminal(' · '.join(filter(None, by)))}")
        cited = f"  cited by {row['cited']:,} here" if row["cited"] else ""
        typer.echo(f"     cite as: {for_terminal(row['key'])}{cited}")
    typer.echo(found.summary)
    if found.total <= len(found.rows):
        return
    for facet in ("year", "venue", "author", "type"):
        values = [f"{name} ({number:,})" for name, number in found.of_facet(facet).items()][:5]
        if len(values) > 1:
            typer.echo(for_terminal(f"  {facet}: {'; '.join(values)}"))


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: "; ".join(value) if isinstance(value, tuple) else value for name, value in row.items()
    }
