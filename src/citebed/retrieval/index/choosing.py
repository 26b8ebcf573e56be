"""Choosing an analyser: that of the languages which the texts of a collection are in."""

from __future__ import annotations

from collections import Counter

from citebed.collection import Collection
from citebed.retrieval.analysis import analyser_of
from citebed.retrieval.analysis.analysers import WITHOUT_BLANKS, languages
from citebed.text.languages import language_name, language_of

AUTO = "auto"
"""What asks for the analyser that fits."""
_SAMPLE = 400
_LEAST = 0.02
"""A language counts that so many of the texts are in whose language can be told."""
_ENGLISH = "english"


def fitting_analyser(collection: Collection, name: str = AUTO) -> str:
    """The analyser of a name; if that is left open, the one that fits a collection.

    Texts in English get ``english``, in another language its Snowball stemmer, and those in several
    all of these; where no stemmer is known, or no language can be told, it is ``english``.
    """
    if name.strip().lower() != AUTO:
        return str(analyser_of(name))
    found = languages_of(collection)
    known = {language_name(code).lower() for code in found} & {*languages(), *WITHOUT_BLANKS}
    if known <= {_ENGLISH}:
        return _ENGLISH
    if len(known) == 1 and known.isdisjoint(WITHOUT_BLANKS):
        return str(analyser_of(f"snowball({known.pop()})"))
    # Among ideographs, letters are mostly English.
    english = known if known.isdisjoint(WITHOUT_BLANKS) else {*known, _ENGLISH}
    return str(analyser_of(f"mixed({','.join(sorted(english))})"))


def languages_of(collection: Collection) -> list[str]:
    """The codes of the languages that a sample of a collection's texts is in, most frequent
    first."""
    columns = ("language", "title", "abstract")
    count = collection.document_count
    rows = collection.some_documents(range(0, count, max(1, count // _SAMPLE)), columns).iter_rows()
    found = Counter(filter(None, (language_of(*row) for row in rows)))
    enough = _LEAST * found.total()
    return [code for code, many in found.most_common() if many >= enough]
