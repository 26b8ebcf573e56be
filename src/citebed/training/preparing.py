"""From a collection and contexts of citations to training texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from citebed.collection import Collection
from citebed.collection.names import document_names
from citebed.errors import CitebedError
from citebed.files.reading import file_hash
from citebed.retrieval.index.citing import citing_text
from citebed.text.normalise import fold
from citebed.training.prepared import CitingText, DocumentText, TrainingTexts

_COLUMNS = ("doc_id", "title", "abstract", "keywords", "doi", "arxiv", "aliases", "doubtful")


def prepare(
    collection: str | Path | Collection,
    contexts: Iterable[str | Path] = (),
    also: Iterable[str | Path | Collection] = (),
    *,
    own: bool = False,
) -> TrainingTexts:
    """The training texts of a collection: its documents, and what cites them.

    ``contexts`` are files as ``citebed index --citing`` reads them. The collection's own citing
    papers are what it is tested with: they are left out, also of the files, unless ``own`` says
    that they are to be learned from. Documents of the collections in ``also`` are taken where
    something cites them; contexts of other documents are left out. ``about`` counts both.
    """
    files = tuple(Path(path) for path in contexts)
    opened = [_opened(each) for each in (collection, *also)]
    tables = [each.documents.select(_COLUMNS) for each in opened]
    whole = pl.concat(tables, how="vertical").unique("doc_id", keep="first", maintain_order=True)
    rows, elsewhere = citing_text(opened[0], files, document_names(whole))
    tested = rows["paper_id"].is_in(opened[0].papers["paper_id"].implode())
    rows = rows if own else rows.filter(~tested)
    if rows.is_empty():
        raise _nothing(opened[0], tested.any())
    documents = _documents(whole, tables[0], rows)
    about = {
        "collection": opened[0].name,
        "also": [each.name for each in opened[1:]],
        "files": [{"file": path.name, "sha256": file_hash(path)} for path in files],
        "contexts_elsewhere": elsewhere,
        "own_papers": own,
    }
    return TrainingTexts(documents, _contexts(rows, documents), about)


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


def _contexts(rows: pl.DataFrame, documents: Sequence[DocumentText]) -> list[CitingText]:
    """Each text of a paper once, with all that it cites; in the order of the files."""
    places = {each.doc_id: place for place, each in enumerate(documents)}
    found: dict[tuple[str, str], set[int]] = {}
    for paper_id, doc_id, text in rows.select("paper_id", "doc_id", "text").iter_rows():
        if doc_id in places and (said := fold(text)):
            found.setdefault((paper_id, said), set()).add(places[doc_id])
    return [CitingText(*key, tuple(sorted(cited))) for key, cited in found.items()]
