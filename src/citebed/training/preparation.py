"""Training texts from a collection and citation contexts.

This module needs polars and the collection; the modules that train do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from citebed.collection import Collection
from citebed.collection.names import unique_names
from citebed.errors import CitebedError
from citebed.files.input_files import hash_file
from citebed.retrieval.index.citation_contexts import load_contexts
from citebed.text.normalise import fold
from citebed.training.texts import CitingText, DocumentText, TrainingTexts

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
    """Return the training texts of a collection: its documents, and the contexts that cite them.

    ``contexts`` are files in the format of ``citebed index --citing``. The collection's own citing
    papers are its test, so citebed also removes them from the files, unless ``own`` is set.
    Documents of the collections in ``also`` are included if a context cites them; ``every``
    includes them all. Contexts that cite other documents are left out; ``about`` counts them.

    To train on several fields, give their files, each with the collection that it cites.
    Collections that one paper cites together count as one field. With a ``test_year``, the year of
    a paper decides, if it is known: that year and later for the test, the year before for
    development.
    """
    files = tuple(Path(path) for path in contexts)
    opened = [c if isinstance(c, Collection) else Collection(c) for c in (collection, *also)]
    tables = [each.documents.select(_COLUMNS) for each in opened]
    whole = pl.concat(tables, how="vertical").unique("doc_id", keep="first", maintain_order=True)
    rows, elsewhere = load_contexts(opened[0], files, unique_names(whole))
    is_tested = rows["paper_id"].is_in(opened[0].papers["paper_id"].implode())
    rows = rows if own else rows.filter(~is_tested)
    if rows.is_empty():
        what = f"no context cites a document of '{opened[0].folder}'"
        how = 'Give contexts of citations: JSON Lines with {"citing": …, "context": …, "cited": …}'
        if is_tested.any():
            what += ", apart from its own citing papers, which are for testing"
            how += ", or learn from its own too, with --own (in Python own=True)"
        raise CitebedError(f"{what}. {how}.")
    about = {
        "collection": opened[0].name,
        "also": [each.name for each in opened[1:]],
        "files": [{"file": path.name, "sha256": hash_file(path)} for path in files],
        "contexts_elsewhere": elsewhere,
        "own_papers": own,
        **({} if test_year is None else {"test_year": test_year}),
    }
    wanted = pl.concat([(whole if every else tables[0])["doc_id"], rows["doc_id"]]).unique()
    documents = []
    for row in whole.filter(pl.col("doc_id").is_in(wanted.implode())).iter_rows(named=True):
        title, abstract = (fold(row[name] or "") for name in ("title", "abstract"))
        keywords = tuple(filter(None, (fold(word) for word in row["keywords"] or ())))
        if title or abstract:
            documents.append(DocumentText(row["doc_id"], title, abstract, keywords))
    citing = _contexts(rows, documents, test_year)
    homes: dict[str, str] = {}
    for source, table in zip(opened, tables, strict=True):
        for doc_id in table["doc_id"]:
            homes.setdefault(doc_id, source.name)
    fields = _fields([homes[document.doc_id] for document in documents], citing)
    documents = [d._replace(field=name) for d, name in zip(documents, fields, strict=True)]
    return TrainingTexts(documents, citing, about)


def _contexts(
    rows: pl.DataFrame, documents: list[DocumentText], test_year: int | None
) -> list[CitingText]:
    """Return each text of a paper once, with all its citations, in the order of the files."""
    places = {document.doc_id: place for place, document in enumerate(documents)}
    cited: dict[tuple[str, str], set[int]] = {}
    years: dict[str, int | None] = {}
    columns = rows.select("paper_id", "doc_id", "text", "year")
    for paper_id, doc_id, text, year in columns.iter_rows():
        if doc_id in places and (folded := fold(text)):
            cited.setdefault((paper_id, folded), set()).add(places[doc_id])
            years.setdefault(paper_id, year)

    def part(year: int | None) -> str:
        if test_year is None or year is None:
            return ""
        if year >= test_year:
            return "test"
        return "development" if year == test_year - 1 else "training"

    return [CitingText(*key, tuple(sorted(c)), part(years[key[0]])) for key, c in cited.items()]


def _fields(homes: list[str], contexts: Iterable[CitingText]) -> list[str]:
    """Return the field of each document: collections that one paper cites together are one field.

    ``homes`` are the names of the documents' collections. If there is one field, its name is empty.
    """
    field_of = {name: name for name in homes}
    first: dict[str, str] = {}
    for context in contexts:
        for place in context.cited:
            one = field_of[first.setdefault(context.paper_id, homes[place])]
            other = field_of[homes[place]]
            if one != other:
                field_of = {k: one if v == other else v for k, v in field_of.items()}
    has_several = len(set(field_of.values())) > 1
    return [field_of[name] if has_several else "" for name in homes]
