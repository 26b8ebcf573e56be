"""Cards and names: what is packed is what was there, and what is looked up is what is cited."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.shared import Once

import citebed
from citebed.collection import Collection, open_collection
from citebed.collection.demo import import_demo
from citebed.drafts import find_cited_documents, find_own_documents
from citebed.drafts.records import Cited, Draft, Entry
from citebed.drafts.references import match_author_year
from citebed.errors import CitebedError
from citebed.retrieval.index.index import open_index
from citebed.retrieval.recommend.cited import Known
from citebed.retrieval.recommend.metadata import Cards, Packed


@pytest.fixture(scope="module")
def demo(once: Once) -> Path:
    def make(folder: Path) -> None:
        import_demo(folder)
        citebed.build_index(folder)

    return once("demo-indexed", make)


def cards_of(folder: Path) -> Cards:
    return Cards(open_collection(folder), open_index(folder), keywords=False)


def test_cards_are_the_same_before_and_after_preparing(demo: Path) -> None:
    cold, warm = cards_of(demo), cards_of(demo)
    warm.prepare()
    names = open_collection(demo).documents["doc_id"].to_list()[::-3]
    fields = {"title", "authors", "year", "venue", "doi", "url", "keys", "cite_key", "arxiv"}
    for left, right in zip(cold.of(names), warm.of(names), strict=True):
        assert {name: left[name] for name in fields} == {name: right[name] for name in fields}
        assert left["abstract"] == right["abstract"]
        assert left["abstract"] == right["abstract"]  # a second time
    with pytest.raises(KeyError):
        warm.of(names[:1])[0]["nothing"]
    assert warm.of([]) == []


@pytest.mark.parametrize("is_warm", [False, True])
def test_a_document_that_is_there_no_longer(demo: Path, is_warm: bool) -> None:
    cards = cards_of(demo)
    if is_warm:
        cards.prepare()
    with pytest.raises(CitebedError, match="document 'gone' is in the index but no longer in"):
        cards.of(["rocchio1971relevance", "gone"])


TEXTS = ["", None, "é\0\n😀", '"', "x" * 5000, *(f"text {number}" for number in range(40))]


@pytest.mark.parametrize("fails", [False, True])
def test_packed_texts(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if fails:

        def full() -> Any:
            raise OSError(errno.ENOSPC, "no room")

        monkeypatch.setattr(tempfile, "TemporaryFile", full)
    packed = Packed(pl.Series(TEXTS, dtype=pl.String))
    assert [packed[number] for number in range(len(packed))] == [text or "" for text in TEXTS]
    assert len(Packed(pl.Series([], dtype=pl.String))) == 0


# --- What is cited ------------------------------------------------------------------------------


def slowly(collection: Collection, draft: Draft) -> tuple[set[str], dict[str, frozenset[str]]]:
    """By comparing with all documents."""
    documents = collection.documents
    found = find_cited_documents(draft.cited, documents)
    found |= find_own_documents(draft.title, None, documents)
    named = match_author_year(draft.cited.authored, documents)
    found |= {name for names in named.values() if len(names) == 1 for name in names}
    return found, {cite: names for cite, names in named.items() if len(names) > 1}


def drafts(collection: Collection) -> list[Draft]:
    """Drafts that cite every document, in every way."""
    rows = collection.documents.to_dicts()
    cites = [
        *(Cited(keys=(row["doc_id"],)) for row in rows[::5]),
        *(Cited(keys=(row["cite_key"], "nobody")) for row in rows[1::5]),
        *(Cited(dois=(row["doi"].upper(),)) for row in rows if row["doi"]),
        *(Cited(arxiv=(row["arxiv"],)) for row in rows if row["arxiv"]),
        *(Cited(entries=(Entry("k", "", row["title"]),)) for row in rows[2::5]),
        *(
            Cited(entries=(Entry("1", f"{row['authors'][0]}. {row['title']}. {row['year']}."),))
            for row in rows[3::5]
            if row["authors"]
        ),
        Cited(authored=("Robertson and Sparck Jones 1976", "Croft and Harper 1979", "Lee 1800")),
        Cited(authored=tuple(f"{row['authors'][0].split(',')[0]} et al. {row['year']}"
                             for row in rows if row["authors"])),
    ]  # fmt: skip
    return [*(Draft((), cited=cited) for cited in cites), Draft((), title=rows[7]["title"])]


def test_what_is_looked_up_is_what_is_cited(demo: Path) -> None:
    collection, known = open_collection(demo), Known(cards_of(demo))
    found = 0
    for draft in drafts(collection):
        fast, slow = known.cited(draft), slowly(collection, draft)
        assert (set(fast[0]), fast[1]) == slow
        found += len(fast[0])
    assert found > 150
    assert known.cited(Draft(())) == (frozenset(), {})


def test_names_of_documents(demo: Path) -> None:
    known = Known(cards_of(demo))
    for name in ("xu1996query", "10.1145/243199.243202", "doi:10.1145/243199.243202"):
        assert known.find(name) == "xu1996query"
    assert known.find("nobody's") is None
