"""Finding documents, facets and what is cited together: slow, obvious, a document at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import hypot, log
from typing import Any

from citebed.text.words import unaccented

Document = Mapping[str, Any]


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", unaccented(text).lower())


def has_word(document: Document, word: str, stem: Any, *, begun: bool = False) -> bool:
    """Whether a document has a word in its text, its authors' names or as its year; or, where it is
    only ``begun``, in its title or at the beginning of a name."""
    names = [part for name in document["authors"] for part in words_of(name)]
    if begun:
        title = unaccented(document["title"]).lower()
        return word in title or any(name.startswith(word) for name in names)
    text = f"{document['title']} {document.get('abstract') or ''}"
    return stem(word) in map(stem, words_of(text)) or word in names or word == str(document["year"])


def matching(documents: Sequence[Document], words: Sequence[str], stem: Any) -> set[str]:
    """Return the ids of documents with all words; if there are none, those with some of them."""
    tests = []
    for word in words:
        begun = not any(has_word(each, word, stem) for each in documents)
        tests.append(
            {each["doc_id"] for each in documents if has_word(each, word, stem, begun=begun)}
        )
    if not tests:
        return {each["doc_id"] for each in documents}
    return set.intersection(*tests) or set.union(*tests)


def passes(document: Document, chosen: Mapping[str, Any], without: str = "") -> bool:
    """Return True if a document fits the filter, ignoring one kind of condition."""
    first, last = chosen.get("years", (None, None)) if without != "year" else (None, None)
    year = document["year"]
    if (first or last) and not (year and (first or year) <= year <= (last or year)):
        return False
    for kind, values in (
        ("venue", [document["venue"]]),
        ("type", [document["type"]]),
        ("author", document["authors"]),
    ):
        wanted = [each.lower() for each in chosen.get(kind, ())] if kind != without else []
        if wanted and not any((value or "").lower() in wanted for value in values):
            return False
    return True


def counts(documents: Iterable[Document], kind: str) -> Counter[str]:
    """Count the documents for each value of a kind, ignoring case."""
    found: Counter[str] = Counter()
    for document in documents:
        values = document["authors"] if kind == "author" else [document[kind]]
        found.update({str(value).lower() for value in values if value})
    return found


def rarity(documents: int, having: int) -> float:
    return log(1 + (documents - having + 0.5) / (having + 0.5))


def together(
    sentences: Iterable[Mapping[str, Any]], doc_id: str
) -> dict[str, tuple[int, int, int]]:
    """In how many sentences, paragraphs and papers others are cited with a document; a sentence
    says its paper, its paragraph, and what it cites."""
    places: list[dict[Any, set[str]]] = [{}, {}, {}]
    for number, each in enumerate(sentences):
        keys = (number, (each["paper_id"], each["paragraph"]), each["paper_id"])
        for level, key in zip(places, keys, strict=True):
            level.setdefault(key, set()).update(each["cited"])
    others = {name for level in places for cited in level.values() if doc_id in cited
              for name in cited if name != doc_id}  # fmt: skip
    return {
        other: tuple(  # type: ignore[misc]
            sum(doc_id in cited and other in cited for cited in level.values()) for level in places
        )
        for other in others
    }


def stress(distances: Sequence[Sequence[float]], places: Sequence[Sequence[float]]) -> float:
    """Return the squared differences between given and drawn distances, pair by pair."""
    total = 0.0
    for i, one in enumerate(places):
        for j, other in enumerate(places[:i]):
            total += (hypot(one[0] - other[0], one[1] - other[1]) - distances[i][j]) ** 2
    return total
