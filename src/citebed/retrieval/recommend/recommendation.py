"""One recommendation: a document, and why."""

from __future__ import annotations

import warnings
from dataclasses import dataclass


@dataclass(frozen=True)
class Recommendation:
    """A document, and why: ``terms`` are the words of the text that asked for it, best first.

    ``sentence`` is the sentence of the text that asked most for it, which stands in ``file`` at
    ``line`` and ``column``; ``passage`` is which passage of a draft, and ``section`` its heading.
    ``key`` is what to type in a ``\\cite``: the key of an entry that the author has already
    (``in_bib``), or the one to add the document under. A learned ranking also tells the
    ``probability`` that it is right (where that was learned for such a case; else its ``strength``:
    ``weak``, ``fair`` or ``strong``), the sentence of its abstract that is most like the text, and
    sentences with which other papers (``cited_by``, one each) cite it for the same. ``reprints``
    are where else the work appeared, and ``link`` is where it can be read.
    """

    rank: int
    doc_id: str
    score: float
    title: str
    authors: tuple[str, ...]
    year: int | None
    venue: str
    doi: str
    terms: tuple[str, ...]
    sentence: str
    passage: int = 1
    line: int = 1
    section: str = ""
    file: str = ""
    column: int = 1
    key: str = ""
    in_bib: bool = False
    abstract_sentence: str = ""
    citing_sentences: tuple[str, ...] = ()
    cited_by: tuple[str, ...] = ()
    reprints: tuple[str, ...] = ()
    link: str = ""
    strength: str = ""
    probability: float | None = None

    @property
    def chance(self) -> float | None:
        """The probability by its former name."""
        warnings.warn("'chance' is now 'probability'", DeprecationWarning, stacklevel=2)
        return self.probability
