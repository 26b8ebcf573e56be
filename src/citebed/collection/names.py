"""The names that a document goes by, and what a reference, a link or a person calls it.

A document is known by its id, its DOI, its ids elsewhere, and its arXiv id, which people write in
many ways (an address, ``arXiv:…``, the DOI that arXiv gives): all of these are one name,
``arxiv:…``. Names are in lower case.

Which series an event or a volume of a journal belongs to.

A document has one citation key, the one to type in a ``\\cite``. `wanted_keys` has the rule:

1. the key in a .bib file that was imported. Of several, the key that the document had before;
2. else the key that the document had before;
3. else the key that another format gave (RIS, CSL-JSON, EndNote …);
4. else one of first author, year and first telling word of the title (``lavrenko2001relevance``).

If several documents want one key, the one with the better claim gets it and the others get a number
behind it. Keys that differ in case only are the same, as they are to BibTeX.
"""

from __future__ import annotations

import re

import polars as pl

from citebed.text.identifiers import ARXIV_NAME, FreeIds
from citebed.text.words import FUNCTION_WORDS

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
    return every_name(documents).unique("name", keep="first", maintain_order=True)


def every_name(documents: pl.DataFrame) -> pl.DataFrame:
    """Every name of every document, also those that others have; whose it is comes first."""
    doubtful = pl.col("doubtful").list.contains("doi").fill_null(value=False)
    dois = documents.select("doc_id", name=pl.when(~doubtful).then("doi")).drop_nulls()
    aliases = documents.select("doc_id", name="aliases").explode("name").drop_nulls()
    own = documents.select("doc_id", name="doc_id")
    arxiv = documents.select("doc_id", name=pl.lit(_ARXIV) + pl.col("arxiv")).drop_nulls()
    plain = pl.concat([own, dois, aliases]).with_columns(pl.col("name").str.to_lowercase())
    on_arxiv = plain.with_columns(name=name_in(pl.col("name"))).filter(is_arxiv(pl.col("name")))
    return pl.concat([plain, on_arxiv, arxiv])


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
    (r"\s*(?<![\w.:/])(?:in )?(?:19|20)\d\d(?!\w|[.:/]\w)(?:\.$)?|\s*['’]\d\d\b", ""),
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


# --- Cite keys --------------------------------------------------------------------------------


MADE_OF = ("keys", "bibtex", "authors", "year", "title")
"""The columns that keys are made of."""
_LETTERS = {
    "ß": "ss", "ø": "o", "ł": "l", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i",
}  # fmt: skip
_NOT_TYPED = r"[^a-z0-9]+"
_WORD = r"\pL{3,}"
_UP_TO_WORD = rf"(?s)^.*?{_WORD}"
UNTYPABLE = r"[\s,{}\"#%~\\=]"
"""What no key can have in it."""
_ENTRY_KEY = r'^\s*@\s*[A-Za-z]+\s*[{(]\s*([^\s,{}="]+)\s*,'
_DOI_KEY = r"^10\.\d{4,9}/"
_NUMBERED = r"-\d+$"
_UNNAMED = "unnamed"


def cite_keys(documents: pl.DataFrame) -> pl.Series:
    """A key for each document, in their order."""
    none = pl.lit(None, dtype=pl.String)
    own, made = pl.col("keys").list.first(), pl.lit(author_year_keys(documents))
    wanted = documents.select(kept=none, own=own, in_bib=pl.concat_list(key_in_bib()), made=made)
    return cite_keys_of(wanted)


def key_in_bib() -> pl.Expr:
    """The key that a record's BibTeX entry has; null for records of other formats."""
    first = pl.when(pl.col("bibtex").is_not_null()).then(pl.col("keys").list.first())
    return pl.coalesce(first, entry_key())


def entry_key() -> pl.Expr:
    """The key at the start of a record's BibTeX entry, unless it is a DOI."""
    key = pl.col("bibtex").str.extract(_ENTRY_KEY)
    return pl.when(~key.str.contains(_DOI_KEY)).then(key)


def cite_keys_of(wanted: pl.DataFrame) -> pl.Series:
    """Keys for documents in their order; the columns are those of `wanted_keys`."""
    return once_each(wanted_keys(wanted).with_row_index("row"))


def wanted_keys(wanted: pl.DataFrame) -> pl.DataFrame:
    """The ``key`` that each document wants, by the rule at the top of this module.

    ``kept`` is the key that the document had before, ``in_bib`` the keys that .bib files give it,
    ``own`` the first key of any source, ``made`` the generated key. Documents with equal ``same``
    want one key; the least ``claim`` gets it. ``before`` is ``kept``, if it can be typed.
    """
    kept, own = map(_typable, (pl.col("kept"), pl.col("own")))
    in_bib = pl.col("in_bib").list.drop_nulls()
    stays = in_bib.list.contains(kept)
    bib = pl.when(stays).then(kept).otherwise(_typable(in_bib.list.first()))
    claim = (
        pl.when(stays).then(0).when(bib.is_not_null()).then(1)
        .when(kept.is_not_null()).then(2).when(own.is_not_null()).then(3).otherwise(4)
    )  # fmt: skip
    key = pl.coalesce(bib, kept, own, "made")
    return wanted.select(key=key, same=key.str.to_lowercase(), claim=claim, before=kept)


def typable(key: str) -> str:
    """A key of a collection that may be a stranger's, without what no key can have in it."""
    return re.sub(UNTYPABLE, "", key) or _UNNAMED


def stored_keys(keys: pl.Series) -> pl.Series:
    """The citation keys of a collection's documents as exports write them: each can be typed, and
    no two documents have one, also in a collection that a stranger has edited."""
    key = pl.lit(keys).fill_null("").str.replace_all(UNTYPABLE, "").replace("", _UNNAMED)
    none = pl.lit(None, dtype=pl.String)
    wanted = pl.select(key=key, same=key.str.to_lowercase(), claim=pl.lit(0), before=none)
    return once_each(wanted.with_row_index("row"))


def _typable(key: pl.Expr) -> pl.Expr:
    return pl.when(~key.str.contains(UNTYPABLE) & (key != "")).then(key)


def author_year_keys(documents: pl.DataFrame) -> pl.Series:
    """``lavrenko2001relevance``: first author, year and first telling word of the title."""
    author = pl.col("authors").list.first().str.split(",").list.first()
    parts = (author, pl.col("year").cast(pl.String), pl.lit(_telling_words(documents["title"])))
    keys = documents.select(made=pl.concat_str(parts, ignore_nulls=True).str.to_lowercase())
    odd = keys.select(pl.col("made").str.contains(_NOT_TYPED).arg_true()).to_series()
    plain = pl.col("made").str.replace_many(list(_LETTERS), list(_LETTERS.values()))
    plain = plain.str.normalize("NFKD").str.replace_all(_NOT_TYPED, "")
    made = keys["made"].scatter(odd, keys[odd].select(plain).to_series())
    return made.replace("", _UNNAMED)


def _telling_words(titles: pl.Series) -> pl.Series:
    """The first word of each title that says something, or nothing.

    Most titles begin with it: to cut all of them into words would take three times as long.
    """
    small = pl.Series(sorted(FUNCTION_WORDS)).implode()
    rest = pl.DataFrame({"row": pl.int_range(len(titles), eager=True), "text": titles})
    items = [rest.select("row", word=pl.lit(None, dtype=pl.String)).clear()]
    while rest.height:
        rest = rest.with_columns(word=pl.col("text").str.extract(f"({_WORD})"))
        rest = rest.filter(pl.col("word").is_not_null())
        is_small = pl.col("word").str.to_lowercase().is_in(small)
        items.append(rest.filter(~is_small).select("row", "word"))
        rest = rest.filter(is_small).with_columns(pl.col("text").str.replace(_UP_TO_WORD, ""))
    first = pl.concat(items)
    return (
        pl.Series([None], dtype=pl.String)
        .new_from_index(0, len(titles))
        .scatter(first["row"], first["word"])
    )


def stem_of(name: pl.Expr) -> pl.Expr:
    """A name without the number that was put behind it."""
    return name.str.replace(_NUMBERED, "")


def once_each(wanted: pl.DataFrame) -> pl.Series:
    """The wanted keys (`wanted_keys`) by ``row``, those that an earlier document has with a number
    behind them: the number that the document had before, if that is free."""
    doubled = wanted.filter(pl.col("same").is_duplicated()).sort("claim", "row")
    late = doubled.filter(~pl.col("same").is_first_distinct())
    if late.is_empty():
        return wanted["key"].alias("cite_key")
    stems = late["same"].unique().implode()
    near = wanted.filter(pl.col("same").is_in(stems) | stem_of(pl.col("same")).is_in(stems))
    keys = FreeIds(fold=str.lower)
    keys.add(near["same"])
    numbered = stem_of(pl.col("before").str.to_lowercase()) == pl.col("same")
    late = late.with_columns(before=pl.when(numbered).then("before"))
    late = late.sort(pl.col("before").is_null(), maintain_order=True)
    pairs = late.select("key", "before").iter_rows()
    fresh = [keys.take(before if before and keys.is_free(before) else key) for key, before in pairs]
    renamed = late.select("row", fresh=pl.Series(fresh, dtype=pl.String))
    joined = wanted.join(renamed, on="row", how="left", maintain_order="left")
    return joined.select(cite_key=pl.coalesce("fresh", "key")).to_series()
