"""From a collection and contexts of citations to training texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from citebed.collection import Collection
from citebed.collection.names import document_names
from citebed.errors import CitebedError
from citebed.files.input_files import hash_file
from citebed.retrieval.index.citation_contexts import load_contexts
from citebed.text.normalise import fold
from citebed.training.prepared import CitingText, DocumentText, TrainingTexts, part_of_year

_COLUMNS = ("doc_id", "title", "abstract", "keywords", "doi", "arxiv", "aliases", "doubtful")


def prepare(
    collection: str | Path | Collection,
    contexts: Iterable[str | Path] = (),
    also: Iterable[str | Path | Collection] = (),
    *,
    own: bool = False,
    every: bool = False,
    test_year: int | None = None,
) -> TrainingTexts:
    """The training texts of a collection: its documents, and what cites them.

    ``contexts`` are files as ``citebed index --citing`` reads them. The collection's own citing
    papers are what it is tested with: they are left out, also of the files, unless ``own`` says
    that they are to be learned from. Documents of the collections in ``also`` are taken where
    something cites them, or ``every`` one; contexts of other documents are left out. ``about``
    counts both.

    Files of several fields may be given, each with the collection that it cites; collections that
    no paper cites together are different fields. With a ``test_year`` papers whose year is known
    are parted by it: that year and later ones are the test, the year before development.
    """
    files = tuple(Path(path) for path in contexts)
    opened = [_opened(each) for each in (collection, *also)]
    tables = [each.documents.select(_COLUMNS) for each in opened]
    whole = pl.concat(tables, how="vertical").unique("doc_id", keep="first", maintain_order=True)
    rows, elsewhere = load_contexts(opened[0], files, document_names(whole))
    tested = rows["paper_id"].is_in(opened[0].papers["paper_id"].implode())
    rows = rows if own else rows.filter(~tested)
    if rows.is_empty():
        raise _nothing(opened[0], tested.any())
    documents = _documents(whole, whole if every else tables[0], rows)
    said, home = _contexts(rows, documents, test_year), _homes(opened, tables)
    about = {
        "collection": opened[0].name,
        "also": [each.name for each in opened[1:]],
        "files": [{"file": path.name, "sha256": hash_file(path)} for path in files],
        "contexts_elsewhere": elsewhere,
        "own_papers": own,
        **({} if test_year is None else {"test_year": test_year}),
    }
    return TrainingTexts(_with_fields(documents, said, home), said, about)


def _nothing(collection: Collection, has_own: bool) -> CitebedError:
    """The error that there is nothing to learn from."""
    what = f"no context cites a document of '{collection.folder}'"
    how = 'Give contexts of citations: JSON Lines with {"citing": …, "context": …, "cited": …}'
    if has_own:
        what += " but those of its own citing papers, which are for testing"
        how += ", or learn from its own too, with --own (in Python own=True)"
    return CitebedError(f"{what}. {how}.")


def _opened(given: str | Path | Collection) -> Collection:
    return given if isinstance(given, Collection) else Collection(given)


def _documents(
    whole: pl.DataFrame, own: pl.DataFrame, rows: pl.DataFrame
) -> Sequence[DocumentText]:
    """The collection's own documents and those of others that are cited; some text each."""
    wanted = pl.concat([own["doc_id"], rows["doc_id"]]).unique()
    kept = whole.filter(pl.col("doc_id").is_in(wanted.implode()))
    found = (_document(row) for row in kept.iter_rows(named=True))
    return [each for each in found if each.title or each.abstract]


def _document(row: dict[str, Any]) -> DocumentText:
    keywords = tuple(filter(None, (fold(word) for word in row["keywords"] or ())))
    return DocumentText(
        row["doc_id"], fold(row["title"] or ""), fold(row["abstract"] or ""), keywords
    )


def _contexts(
    rows: pl.DataFrame, documents: Sequence[DocumentText], test_year: int | None
) -> list[CitingText]:
    """Each text of a paper once, with all that it cites; in the order of the files."""
    places = {each.doc_id: place for place, each in enumerate(documents)}
    found: dict[tuple[str, str], set[int]] = {}
    years: dict[str, int | None] = {}
    columns = rows.select("paper_id", "doc_id", "text", "year")
    for paper_id, doc_id, text, year in columns.iter_rows():
        if doc_id in places and (said := fold(text)):
            found.setdefault((paper_id, said), set()).add(places[doc_id])
            years.setdefault(paper_id, year)
    return [
        CitingText(*key, tuple(sorted(cited)), part_of_year(years[key[0]], test_year))
        for key, cited in found.items()
    ]


def _homes(opened: Sequence[Collection], tables: Sequence[pl.DataFrame]) -> dict[str, str]:
    """The collection that each document is of: the first that has it."""
    found: dict[str, str] = {}
    for collection, table in zip(opened, tables, strict=True):
        for doc_id in table["doc_id"]:
            found.setdefault(doc_id, collection.name)
    return found


def _with_fields(
    documents: Sequence[DocumentText], contexts: Iterable[CitingText], home: Mapping[str, str]
) -> list[DocumentText]:
    """Documents with their fields: collections that one paper cites together are of one."""
    homes = [home[each.doc_id] for each in documents]
    field_of = {name: name for name in homes}
    first: dict[str, str] = {}
    for each in contexts:
        for place in each.cited:
            one = field_of[first.setdefault(each.paper_id, homes[place])]
            other = field_of[homes[place]]
            if one != other:
                field_of = {k: one if v == other else v for k, v in field_of.items()}
    several = len(set(field_of.values())) > 1
    return [
        each._replace(field=field_of[name] if several else "")
        for each, name in zip(documents, homes, strict=True)
    ]
