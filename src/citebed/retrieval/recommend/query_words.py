"""What a text searches with beside its own words: other spellings, parts of compounds, authors.

``citebed search`` does not use any of these: its runs are those of the model alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import polars as pl

from citebed.collection import Collection
from citebed.retrieval.analysis import is_telling
from citebed.retrieval.index.index import Index
from citebed.retrieval.query import Docs, Reals
from citebed.text.names import NOT_NAMES
from citebed.text.words import function_words, text_language, unaccented

_MIN_SPELLING, _MIN_PART = 5, 4
_COMPOUNDING = ("de", "nl", "sv", "da", "no", "fi")
_LINKS = ("", "s", "n", "en", "es", "er", "e")
"""Letters between the parts of a compound: ``Gesellschaft-s-geschichte``."""
_PART_WEIGHT = 0.5
_SPELLINGS = (
    (r"our(?=$|s|e|i|a|l|f|h)", "or"), (r"or(?=$|s|ed|ing|al|ab|ful|hood|ist)", "our"),
    (r"is(?=e$|ed$|es$|er$|ers$|ing$|ation|able)", "iz"),
    (r"iz(?=e$|ed$|es$|er$|ers$|ing$|ation|able)", "is"),
    (r"ys(?=e$|ed$|es$|er$|ers$|ing$)", "yz"), (r"yz(?=e$|ed$|es$|er$|ers$|ing$)", "ys"),
    (r"(?<=[tb])re(?=s?$)", "er"), (r"(?<=[tb])er(?=s?$)", "re"),
    (r"ogue(?=s?$)", "og"), (r"og(?=s?$)", "ogue"), (r"ae", "e"), (r"oe", "e"),
    (r"^(h)(?=em[ao])", "ha"), (r"^(an)(?=em)", "ana"), (r"^(estr)", "oestr"), (r"^(fet)", "foet"),
    (r"ll(?=ed$|ing$|er$|ers$)", "l"), (r"(?<=[aeiou])l(?=ed$|ing$|er$|ers$)", "ll"),
    (r"ence(?=s?$)", "ense"), (r"ense(?=s?$)", "ence"), (r"programme", "program"),
    (r"grey", "gray"), (r"gray", "grey"), (r"sceptic", "skeptic"), (r"skeptic", "sceptic"),
    (r"mould", "mold"), (r"(?<=lumin)ium", "um"), (r"(?<=lumin)um", "ium"), (r"ageing", "aging"),
    (r"aging", "ageing"), (r"(?<=judg)e(?=ment)", ""), (r"(?<=judg)(?=ment)", "e"),
)  # fmt: skip
"""British and American spelling, as rules for words in lower case. A word that a rule makes counts
only if the collection has it."""
_RULES = [(re.compile(pattern), other) for pattern, other in _SPELLINGS]
_NAME = re.compile(r"(?<!\w)[^\W\d_a-zß-öø-ÿ][^\W\d_]+(?:[-'’][^\W\d_]{2,})*")


def count_terms(index: Index, text: str) -> dict[int, float]:
    """Return the terms of a text by number, with their counts.

    In other languages than English, and in a collection with several languages, function words do
    not count: there they are rare, or the stems of other words.
    """
    analyser, code = index.analyser, text_language(text)
    is_english = analyser.name == "english" and code in (None, "en")
    ignored = frozenset[str]() if is_english else function_words(text)
    counts: dict[int, float] = {}
    for word in analyser.words(text):
        if word in ignored:
            continue
        found = _number(index, word)
        if found >= 0:
            counts[found] = counts.get(found, 0.0) + 1.0
        for other, weight in _other_words(index, word, code, is_known=found >= 0):
            number = _number(index, other)
            if number >= 0 and number != found:
                counts[number] = max(counts.get(number, 0.0), weight)
    return counts


def _number(index: Index, word: str) -> int:
    term = index.analyser.term(word)
    return index.term_number(term) if term is not None and is_telling(term) else -1


def _other_words(
    index: Index, word: str, code: str | None, *, is_known: bool
) -> Iterator[tuple[str, float]]:
    if len(word) < _MIN_SPELLING or not word.isalpha():
        return
    if code in (None, "en"):
        for rule, other in _RULES:
            changed = rule.sub(other, word)
            if changed != word:
                yield changed, 1.0
    elif code in _COMPOUNDING:
        yield from ((part, _PART_WEIGHT) for part in _parts(index, word))
        if not is_known:
            stem = index.analyser.term(word) or word
            yield from ((name, _PART_WEIGHT) for name in _compounds(index, stem))


def _parts(index: Index, word: str) -> Iterator[str]:
    """Yield the parts of the compound, if the collection has both, or else the longest end."""
    best: tuple[str, ...] = ()
    for cut in range(_MIN_PART, len(word) - _MIN_PART + 1):
        head, tail = word[:cut], word[cut:]
        heads = [head.removesuffix(link) for link in _LINKS if head.endswith(link)]
        known = next((h for h in heads if len(h) >= _MIN_PART and _number(index, h) >= 0), "")
        if _number(index, tail) >= 0 and (not best or known):
            best = (known, tail) if known else (tail,)
    yield from best


_MOST_TERMS, _MOST_COMPOUNDS, _MIN_STEM = 200_000, 5, 5


def _compounds(index: Index, stem: str) -> list[str]:
    """Return terms of a small index that begin or end with a stem."""
    if len(index.terms) > _MOST_TERMS or len(stem) < _MIN_STEM:
        return []
    every = index.terms.series()
    is_compound = every.str.starts_with(stem) | every.str.ends_with(stem)
    return every.filter(is_compound).head(_MOST_COMPOUNDS).to_list()


_MOST_NAMES = 1.5
"""Two names of a paper's authors say little more than one."""


class AuthorNames:
    """The family names of a collection's authors, to find the papers of a person that a text names.

    A rare name says much, one of hundreds of authors nothing.
    """

    def __init__(self, collection: Collection, index: Index) -> None:
        self._collection, self._index = collection, index

    @cached_property
    def _names(self) -> tuple[pl.Series, Docs]:
        """The family names in lower case without accents, and the documents of each."""
        rows = self._collection.scan_documents().select("doc_id", name="authors").collect()
        ids = pl.DataFrame({"doc_id": self._index.ids.series()}).with_row_index("number")
        names = rows.join(ids, on="doc_id").explode("name", empty_as_null=False).drop_nulls()
        family = pl.col("name").str.extract(r"^([^,]*)", 1).str.strip_chars()
        last = family.str.extract(r"([^\s]+)$", 1).str.to_lowercase().str.normalize("NFKD")
        names = names.with_columns(last=last.str.replace_all("[\u0300-\u036f]", "")).sort("last")
        return names["last"], names["number"].to_numpy().astype(np.int64)

    def find(self, text: str) -> tuple[Docs, Reals]:
        """Return the documents whose authors a text names, and how telling these names are."""
        wanted = {
            unaccented(each.lower())
            for word in _NAME.findall(text)
            if word not in NOT_NAMES and not word.isupper() and len(word) > 2
            for each in (word, re.sub(r"['’]?s$", "", word))
        } - function_words(text)
        if not wanted:
            return np.zeros(0, np.int64), np.zeros(0)
        names, numbers = self._names
        rows = np.flatnonzero(names.is_in(sorted(wanted)).to_numpy())
        size, found = max(len(self._index.ids), 2), dict[int, float]()
        for name in names.gather(rows).unique().to_list():
            docs = np.unique(numbers[rows[(names.gather(rows) == name).to_numpy()]])
            worth = max(0.0, 1 - np.log(len(docs)) / np.log(size))
            for number in docs.tolist():
                found[number] = found.get(number, 0.0) + worth
        order = sorted(found)
        return np.array(order, np.int64), np.minimum([found[each] for each in order], _MOST_NAMES)
