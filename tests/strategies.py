"""Hypothesis strategies: difficult text, names and documents in their canonical form."""

from __future__ import annotations

from hypothesis import strategies as st

from citebed.records import Document
from citebed.text.identifiers import normalise_doi
from citebed.text.names import canonical_name
from citebed.text.normalise import fold, iso_date, page_range, unique

# Markup of some format: LaTeX, HTML, BibTeX, line breaks, rare letters.
_NASTY = (
    *"\\{}$~&<>^_`'\"-#%@,;=()[]|:/.!?*+0aZ \t\n\r\0",
    "--", "---", "``", "''", "{}", "{{", "}}", "},\n", "\\'e", "\\alpha", "\\frac{1}{2}", "$x$",
    "&amp;", "&lt;", "&gt;", "&lt;i&gt;", "&#233;", "<i>", "</i>", "<br/>", "<sup>2</sup>",
    "<!--", "-->", " and ", " others", "and", "@article{", "\n@misc{x,", "title = {", "jan",
    "10.1145/x", "é", "e\u0301", "ß", "ﬁ", "𝔸", "漢字", "–", "…",
    "\u0338", "\u00ad", "\u200b", "\u200d", "\u2028", "\ufeff",
)  # fmt: skip

ANY_TEXT = st.lists(st.sampled_from(_NASTY) | st.text(max_size=8), max_size=12).map("".join)
"""Any text at all, most of it unpleasant."""

TEXT = ANY_TEXT.map(fold)
"""Clean text as a record holds it; may be empty."""

FIELD = TEXT.map(lambda text: text or None)
NAME = ANY_TEXT.map(canonical_name)
PAGES = st.one_of(
    st.tuples(st.integers(1, 999), st.integers(1, 999)).map(lambda ends: f"{ends[0]}-{ends[1]}"),
    ANY_TEXT,
).map(lambda text: page_range(text) or None)
WORD = TEXT.map(lambda text: "".join(text.split())).map(fold).filter(bool)
"""An id: clean text without white space."""

DATE = st.builds(
    iso_date,
    st.none() | st.integers(1500, 2099),
    st.none() | st.integers(1, 12),
    st.none() | st.integers(1, 31),
)
DOI = st.none() | WORD.map(lambda word: normalise_doi(f"10.1145/{word}"))
TYPE = st.sampled_from(
    "article inproceedings incollection book proceedings phdthesis techreport misc".split()  # noqa: SIM905
)


def _with_year(document: Document) -> Document:
    return document._replace(year=int(document.date[:4]) if document.date else None)


DOCUMENT = st.builds(
    Document,
    doc_id=WORD | st.sampled_from(("10.1145/x", "a/b:c", "smith2010")),
    type=TYPE,
    title=TEXT,
    authors=st.lists(NAME, max_size=3).map(unique),
    editors=st.lists(NAME, max_size=2).map(unique),
    date=DATE,
    venue=FIELD,
    volume=FIELD,
    number=FIELD,
    pages=PAGES,
    publisher=FIELD,
    place=FIELD,
    edition=FIELD,
    isbn=st.none() | st.sampled_from(("978-3-16-148410-0", "1234-567X")),
    doi=DOI,
    # An address that is a DOI's would be read as the document's own.
    url=FIELD.filter(lambda url: normalise_doi(url) is None),
    abstract=FIELD,
    keywords=st.lists(TEXT, max_size=3).map(unique),
    language=FIELD,
    crossref=FIELD,
    arxiv=st.none() | st.sampled_from(("1810.04805", "cs.cl/0112017")),
    keys=st.just(()),
    groups=st.just(()),
    bibtex=st.none(),
    sections=st.just(()),
    links=st.just(()),
    line=st.just(1),
).map(_with_year)
"""A document in canonical form: what any format that writes documents should read back."""
