"""What others call the kinds of publication, as BibTeX's entry types."""

from __future__ import annotations

import re
from functools import lru_cache

_TYPES = {
    "article": "article article-journal article-magazine article-newspaper journal-article journal "
    "magazine-article newspaper-article electronic-article review review-book letter editorial "
    "erratum note short-survey peer-review early-access data-paper article-in-press",
    "inproceedings": "paper-conference proceedings-article conference-paper proceedings-paper "
    "inproceedings",
    "proceedings": "proceedings conference conference-proceedings conference-review",
    "incollection": "chapter book-chapter book-section book-part book-track entry "
    "entry-encyclopedia entry-dictionary reference-entry encyclopedia-article dictionary-entry "
    "electronic-book-section serialized-book-section incollection",
    "book": "book monograph edited-book reference-book book-set book-series electronic-book",
    "phdthesis": "thesis dissertation phdthesis",
    "mastersthesis": "mastersthesis",
    "techreport": "report report-component report-series standard technical-report techreport "
    "government-document",
    "unpublished": "manuscript unpublished unpublished-work",
}
_BIBTEX = {name: bibtex for bibtex, names in _TYPES.items() for name in names.split()}
_JOINT = re.compile(r"(?<=[a-z])(?=[A-Z])|[\s_]+")


@lru_cache(maxsize=1 << 10)
def bibtex_type(name: str | None) -> str:
    """The BibTeX entry type of a type's name: ``article`` of ``Journal Article`` or
    ``journalArticle``, ``misc`` of what is none of those known."""
    return _BIBTEX.get(_JOINT.sub("-", (name or "").strip()).lower(), "misc")
