"""Documents: records before and after preparing, and lookup by name equals comparing with all."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from citebed.collection import Collection, open_collection
from citebed.drafts import find_cited_documents, find_own_documents
from citebed.drafts.records import Cited, Draft, Entry
from citebed.drafts.references import match_author_year
from citebed.errors import CitebedError
from citebed.retrieval.index.index import open_index
from citebed.retrieval.recommend.documents import (
    CompressedTexts,
    DocumentLookup,
    DocumentRecords,
)


def records_of(folder: Path) -> DocumentRecords:
    return DocumentRecords(open_collection(folder), open_index(folder), keywords=False)


def test_records_are_the_same_before_and_after_preparing(demo_indexed: Path) -> None:
    cold, warm = records_of(demo_indexed), records_of(demo_indexed)
    warm.prepare()
    names = open_collection(demo_indexed).documents["doc_id"].to_list()[::-3]
    fields = {"title", "authors", "year", "venue", "doi", "url", "keys", "cite_key", "arxiv"}
    for left, right in zip(cold.get(names), warm.get(names), strict=True):
        assert {name: left[name] for name in fields} == {name: right[name] for name in fields}
    assert cold.abstracts(names) == warm.abstracts(names)
    assert warm.get([]) == cold.get([]) == []
    for records in (cold, warm):
        message = "document 'gone' is in the index but no longer in"
        with pytest.raises(CitebedError, match=message):
            records.get(["rocchio1971relevance", "gone"])


TEXTS = ["", None, "é\0\n😀", '"', "x" * 5000, *(f"text {number}" for number in range(40))]


@pytest.mark.parametrize("fails", [False, True])
def test_compressed_texts_also_without_a_temporary_file(
    fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> Any:
        raise OSError(errno.ENOSPC, "no room")

    if fails:
        monkeypatch.setattr(tempfile, "TemporaryFile", full)
    texts = CompressedTexts(pl.Series(TEXTS, dtype=pl.String))
    assert [texts[number] for number in range(len(texts))] == [text or "" for text in TEXTS]
    assert len(CompressedTexts(pl.Series([], dtype=pl.String))) == 0


# --- Lookup -------------------------------------------------------------------------------------


def slowly(collection: Collection, draft: Draft) -> tuple[set[str], dict[str, frozenset[str]]]:
    """Compare a draft with all documents."""
    documents = collection.documents
    found = find_cited_documents(draft.cited, documents)
    found |= find_own_documents(draft.title, None, documents)
    named = match_author_year(draft.cited.authored, documents)
    found |= {name for names in named.values() if len(names) == 1 for name in names}
    return found, {cite: names for cite, names in named.items() if len(names) > 1}


def drafts(collection: Collection) -> list[Draft]:
    """Drafts that cite documents in every way."""
    rows = collection.documents.to_dicts()
    cites = [
        *(Cited(keys=(row["doc_id"],)) for row in rows[::9]),
        *(Cited(keys=(row["cite_key"], "nobody")) for row in rows[1::9]),
        *(Cited(dois=(row["doi"].upper(),)) for row in rows[::2] if row["doi"]),
        *(Cited(arxiv=(row["arxiv"],)) for row in rows if row["arxiv"]),
        *(Cited(entries=(Entry("k", "", row["title"]),)) for row in rows[2::9]),
        *(
            Cited(entries=(Entry("1", f"{row['authors'][0]}. {row['title']}. {row['year']}."),))
            for row in rows[3::9]
            if row["authors"]
        ),
        Cited(authored=("Robertson and Sparck Jones 1976", "Croft and Harper 1979", "Lee 1800")),
        Cited(authored=tuple(f"{row['authors'][0].split(',')[0]} et al. {row['year']}"
                             for row in rows if row["authors"])),
    ]  # fmt: skip
    return [*(Draft((), cited=cited) for cited in cites), Draft((), title=rows[7]["title"])]


def test_lookup_finds_what_comparing_with_all_documents_finds(demo_indexed: Path) -> None:
    collection, lookup = open_collection(demo_indexed), DocumentLookup(records_of(demo_indexed))
    found = 0
    for draft in drafts(collection):
        fast, slow = lookup.cited_in(draft), slowly(collection, draft)
        assert (set(fast[0]), fast[1]) == slow
        found += len(fast[0])
    assert found > 100
    assert lookup.cited_in(Draft(())) == (frozenset(), {})


def test_documents_by_any_name(demo_indexed: Path) -> None:
    lookup = DocumentLookup(records_of(demo_indexed))
    for name in ("xu1996query", "10.1145/243199.243202", "doi:10.1145/243199.243202"):
        assert lookup.find(name) == "xu1996query"
    assert lookup.find("nobody's") is None
