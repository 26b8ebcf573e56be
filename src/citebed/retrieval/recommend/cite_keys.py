"""The keys to type for what is recommended: the author's own where there is one, else those of the
collection, and never one that means something else in a draft."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from citebed.collection import Collection
from citebed.collection.names import clean_key
from citebed.drafts.document_matching import Bibliography, Work
from citebed.drafts.records import Draft

Card = Mapping[str, Any]


def keys_for(
    cards: Sequence[Card], collection: Collection, libraries: Sequence[str], drafts: Sequence[Draft]
) -> tuple[dict[str, tuple[str, bool]], list[str]]:
    """The key to type for each document, of which ``cards`` tell, by id, and whether the author
    has it already; and a note where the collection's key is that of another work in a draft or a
    .bib file."""
    works = {card["doc_id"]: work_of(card) for card in cards}
    mine = _bibliography_for(list(works.values()), libraries)
    mine.reserve(_keys_of_others(works.values(), drafts))
    entries = {name: entry for name, work in works.items() if (entry := mine.find(work))}
    own = {name: work.key for name, work in works.items() if name not in entries}
    taken = {name: key for name, key in own.items() if not mine.is_free(key)}
    if taken:  # the next number may be that of another paper of the collection
        mine.reserve(_keys_like(collection, taken.values()))
    keys = {**own, **{name: mine.take_key(key) for name, key in taken.items()}}
    keys |= {name: entry.key for name, entry in entries.items()}
    notes = [_note(list(taken.values()))] if taken else []
    return {name: (key, name in entries) for name, key in keys.items()}, notes


def work_of(card: Card) -> Work:
    """A document as a bibliography would know it."""
    return Work(
        card["title"], card["authors"], card["year"], card["doi"] or None, card["arxiv"],
        card["keys"], clean_key(card["cite_key"]),
    )  # fmt: skip


def _bibliography_for(works: Sequence[Work], libraries: Sequence[str]) -> Bibliography:
    if not libraries:
        return Bibliography()
    # with the reader of BibTeX
    from citebed.drafts.bibliography import bibliography_for

    return bibliography_for(works, libraries)


def _keys_of_others(works: Iterable[Work], drafts: Iterable[Draft]) -> list[str]:
    """The keys of works that drafts use for something else, by their own lists of references."""
    theirs = {entry.key.lower(): entry for draft in drafts for entry in draft.cited.entries}
    if not theirs:
        return []
    from citebed.drafts.document_matching import may_match

    pairs = ((work, theirs.get(work.key.lower())) for work in works)
    return [work.key for work, entry in pairs if not may_match(entry, work.title, work.doi)]


def _keys_like(collection: Collection, keys: Iterable[str]) -> list[str]:
    """The collection's keys that begin as some do."""
    same = pl.col("cite_key").str.to_lowercase()
    begins = pl.any_horizontal(same.str.starts_with(key.lower()) for key in keys)
    return (
        collection.scan_documents()
        .filter(begins)
        .select("cite_key")
        .collect()
        .to_series()
        .to_list()
    )


def _note(keys: Sequence[str]) -> str:
    one = len(keys) == 1
    which = f"the {'key' if one else 'keys'} {', '.join(keys)} {'is' if one else 'are'}"
    other = "another paper's" if one else "other papers'"
    return f"{which} {other} in your draft or .bib file; the key to type has a number behind it"
