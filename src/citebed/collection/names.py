"""The names that a document goes by, and what a reference, a link or a person calls it.

A document is known by its id, its DOI, its ids elsewhere, and its arXiv id, which people write in
many ways (an address, ``arXiv:…``, the DOI that arXiv gives): all of these are one name,
``arxiv:…``. Names are in lower case.

Which series an event or a volume of a journal belongs to.
"""

from __future__ import annotations

import re

import polars as pl

from citebed.text.identifiers import ARXIV_NAME

_ARXIV = "arxiv:"


def name_in(text: pl.Expr) -> pl.Expr:
    """What a text (an id, a DOI, an address) names, as `document_names` has it."""
    lower = text.str.to_lowercase()
    on_arxiv = pl.when(lower.str.contains("arxiv", literal=True)).then(lower)
    return pl.coalesce(pl.lit(_ARXIV) + on_arxiv.str.extract(ARXIV_NAME), lower)


def name_of(text: str) -> str:
    """What one text names."""
    lower = text.lower()
    match = re.match(ARXIV_NAME, lower) if "arxiv" in lower else None
    return _ARXIV + match[1] if match else lower


def is_arxiv(name: pl.Expr) -> pl.Expr:
    """Whether a name is an arXiv id."""
    return name.str.starts_with(_ARXIV)


def document_names(documents: pl.DataFrame) -> pl.DataFrame:
    """Every name of every document: ``doc_id`` and ``name``, a name once.

    A DOI that several have is no name of any. Of two documents with one arXiv id the one whose DOI
    is arXiv's goes by it, else the first.
    """
    doubtful = pl.col("doubtful").list.contains("doi").fill_null(value=False)
    dois = documents.select("doc_id", name=pl.when(~doubtful).then("doi")).drop_nulls()
    aliases = documents.select("doc_id", name="aliases").explode("name").drop_nulls()
    own = documents.select("doc_id", name="doc_id")
    arxiv = documents.select("doc_id", name=pl.lit(_ARXIV) + pl.col("arxiv")).drop_nulls()
    plain = pl.concat([own, dois, aliases]).with_columns(pl.col("name").str.to_lowercase())
    on_arxiv = plain.with_columns(name=name_in(pl.col("name"))).filter(is_arxiv(pl.col("name")))
    return pl.concat([plain, on_arxiv, arxiv]).unique("name", keep="first", maintain_order=True)


# --- Venues -----------------------------------------------------------------------------------


_EVENT = r"(?i)\b(?:conference|workshop|symposium|meeting|congress|colloquium|forum|advances in)\b"
_ORDINAL = (
    r"(?i)\b(?:\d+(?:st|nd|rd|th)|(?:(?:twen|thir|for|fif|six|seven|eigh|nine)ty[- ])?(?:first"
    r"|second|third|(?:four|fif|six|seven|eigh|nin|ten|eleven|twelf|[a-z]+teen|[a-z]+tie)th))\b"
)
_PROCEEDINGS = r"(?i)^\W*(?:proceedings|proc\.) (?:of|from)\b|\s\d{1,3}$"
_DETAILS = (
    r",\s+[A-Z][\w@-]*[ -](?:19|20)\d\d\b.*$"  # ", SIGIR 2015, Santiago, Chile"
    r"|,.*\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.? \d.*$"
    r"|\W+(?:Volume|Vol\.|Part) (?:\d+|[IVX]+)\b.*$"
)
_VENUES_ARXIV = (
    r"(?i)[\s,;]*\b(?:arxiv:\s*|abs/)"
    r"(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v\d+)?(?:\s*\[[\w.-]+\])?"
)
_CLEANING = (
    (r"\s*(?<![\w.:/])(?:in )?(?:19|20)\d\d(?!\w|[.:/]\w)|\s*['’]\d\d\b", ""),
    (r"\b(\w+ Conference on) \1\b", r"\1"),  # a slip in hundreds of the ACM's records
    (r"\bon Conference\b", "Conference"),
    (r"(?i)\bthe the\b", "the"),
    (r"\s+&\s*|&\s+", " and "),  # but "R&D"
    (r"\(\s*\)", ""),
    (r"\s+", " "),
    (r"(?i)^(?:\W*\bthe\b)+|^[ ,;:–-]+|[ ,;:–-]+\.?$", ""),
    (r"\.(?:\.| \d{1,3})$", "."),  # an abbreviated journal and its volume
)
_LONGEST = 1000
"""Characters of the longest name that is looked at: what is longer is no venue's name."""


def venue_series(name: str) -> str:
    """The series an event belongs to: its name without ordinals, years, volumes and dates.

    "Proceedings of the 27th ACM International Conference on Multimedia" is one of the "ACM
    International Conference on Multimedia". A journal keeps its name, but for a year or volume,
    and a preprint loses its number.
    """
    if len(name) > _LONGEST:
        return name
    text = re.sub(_VENUES_ARXIV, "", re.sub(_DETAILS, "", name))
    if re.search(_EVENT, text):
        text = re.sub(_PROCEEDINGS, "", re.sub(_ORDINAL, "", text))
    for pattern, replacement in _CLEANING:
        text = re.sub(pattern, replacement, text)
    return text.strip() or ("arXiv" if re.search(_VENUES_ARXIV, name) else name)


def venue_key(series: str) -> str:
    """Equal for names that differ in case, sponsors or how grand they sound."""
    plain = re.sub(r"[^\w\s]", " ", series.lower())
    words = re.sub(r"\b(?:acm|ieee|cs|annual|international|the)\b", "", plain).split()
    return " ".join(words) or series
