"""Names of documents, series of venues, and citation keys.

The names of a document are its id, its DOI, its ids elsewhere and its arXiv id, in lower case.
People write arXiv ids in many ways (as URL, ``arXiv:…``, arXiv's DOI); all of these become
``arxiv:…``.

A document has one citation key, for ``\\cite``. It is (see `choose_keys`):

1. the key in an imported .bib file; if there are several, the document's former key;
2. else the document's former key;
3. else the key in another format (RIS, CSL-JSON, EndNote …);
4. else first author, year and first content word of the title (``lavrenko2001relevance``).

If several documents want the same key, the best claim wins and the others get a number after it.
As in BibTeX, case makes no difference.
"""

from __future__ import annotations

import re

import polars as pl

from citebed.text.identifiers import ARXIV_NAME, FreeIds
from citebed.text.words import FUNCTION_WORDS

_ARXIV = "arxiv:"


def normalise_names(text: pl.Expr) -> pl.Expr:
    """Return ids, DOIs and URLs as names in the form of `unique_names`."""
    lower = text.str.to_lowercase()
    on_arxiv = pl.when(lower.str.contains("arxiv", literal=True)).then(lower)
    return pl.coalesce(pl.lit(_ARXIV) + on_arxiv.str.extract(ARXIV_NAME), lower)


def normalise_name(text: str) -> str:
    """Return an id, a DOI or a URL as a name."""
    lower = text.lower()
    match = re.match(ARXIV_NAME, lower) if "arxiv" in lower else None
    return _ARXIV + match[1] if match else lower


def is_arxiv(name: pl.Expr) -> pl.Expr:
    return name.str.starts_with(_ARXIV)


def unique_names(documents: pl.DataFrame) -> pl.DataFrame:
    """Return the names of all documents, each name once: ``doc_id`` and ``name``.

    A DOI of several documents names none of them. An arXiv id of two documents names the one with
    arXiv's DOI, else the first.
    """
    return all_names(documents).unique("name", keep="first", maintain_order=True)


def all_names(documents: pl.DataFrame) -> pl.DataFrame:
    """Return the names of all documents, also shared ones; the owner of a name comes first."""
    doubtful = pl.col("doubtful").list.contains("doi").fill_null(value=False)
    dois = documents.select("doc_id", name=pl.when(~doubtful).then("doi")).drop_nulls()
    aliases = documents.select("doc_id", name="aliases").explode("name").drop_nulls()
    own = documents.select("doc_id", name="doc_id")
    arxiv = documents.select("doc_id", name=pl.lit(_ARXIV) + pl.col("arxiv")).drop_nulls()
    plain = pl.concat([own, dois, aliases]).with_columns(pl.col("name").str.to_lowercase())
    on_arxiv = plain.with_columns(name=normalise_names(pl.col("name"))).filter(
        is_arxiv(pl.col("name"))
    )
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
"""Maximum length of a venue's name in characters."""


def venue_series(name: str) -> str:
    """Return the series of an event: its name without ordinals, years, volumes and dates.

    "Proceedings of the 27th ACM International Conference on Multimedia" becomes "ACM International
    Conference on Multimedia". A journal loses only years and volumes, a preprint its number.
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
    """Return a key that is equal for names that differ in case, sponsors or "international"."""
    plain = re.sub(r"[^\w\s]", " ", series.lower())
    words = re.sub(r"\b(?:acm|ieee|cs|annual|international|the)\b", "", plain).split()
    return " ".join(words) or series


# --- Cite keys --------------------------------------------------------------------------------


KEY_COLUMNS = ("keys", "bibtex", "authors", "year", "title")
"""The columns that citation keys depend on."""
_LETTERS = {
    "ß": "ss", "ø": "o", "ł": "l", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i",
}  # fmt: skip
_NOT_TYPED = r"[^a-z0-9]+"
_WORD = r"\pL{3,}"
_UP_TO_WORD = rf"(?s)^.*?{_WORD}"
INVALID_IN_KEY = r"[\s,{}\"#%~\\=]"
"""Characters that a citation key must not contain."""
_ENTRY_KEY = r'^\s*@\s*[A-Za-z]+\s*[{(]\s*([^\s,{}="]+)\s*,'
_DOI_KEY = r"^10\.\d{4,9}/"
_NUMBERED = r"-\d+$"
_UNNAMED = "unnamed"


def make_cite_keys(documents: pl.DataFrame) -> pl.Series:
    """Return a citation key for each document, in their order."""
    none = pl.lit(None, dtype=pl.String)
    own, made = pl.col("keys").list.first(), pl.lit(generate_keys(documents))
    wanted = documents.select(kept=none, own=own, in_bib=pl.concat_list(bib_key()), made=made)
    return assign_cite_keys(wanted)


def bib_key() -> pl.Expr:
    """Return the key of a record's BibTeX entry; null for records of other formats."""
    first = pl.when(pl.col("bibtex").is_not_null()).then(pl.col("keys").list.first())
    return pl.coalesce(first, entry_key())


def entry_key() -> pl.Expr:
    """Return the key at the start of a record's BibTeX entry, unless it is a DOI."""
    key = pl.col("bibtex").str.extract(_ENTRY_KEY)
    return pl.when(~key.str.contains(_DOI_KEY)).then(key)


def assign_cite_keys(wanted: pl.DataFrame) -> pl.Series:
    """Return keys for documents, given the columns of `choose_keys`."""
    return number_duplicates(choose_keys(wanted).with_row_index("row"))


def choose_keys(wanted: pl.DataFrame) -> pl.DataFrame:
    """Return the ``key`` that each document wants, by the rules above.

    ``kept`` is the document's former key, ``in_bib`` its keys in .bib files, ``own`` the first key
    in any source, ``made`` the generated key. Of documents with an equal ``same`` the one with the
    lowest ``claim`` gets the key. ``before`` is ``kept`` if it is valid.
    """
    kept, own = map(_valid, (pl.col("kept"), pl.col("own")))
    in_bib = pl.col("in_bib").list.drop_nulls()
    stays = in_bib.list.contains(kept)
    bib = pl.when(stays).then(kept).otherwise(_valid(in_bib.list.first()))
    claim = (
        pl.when(stays).then(0).when(bib.is_not_null()).then(1)
        .when(kept.is_not_null()).then(2).when(own.is_not_null()).then(3).otherwise(4)
    )  # fmt: skip
    key = pl.coalesce(bib, kept, own, "made")
    return wanted.select(key=key, same=key.str.to_lowercase(), claim=claim, before=kept)


def clean_key(key: str) -> str:
    """Return a key without invalid characters; a collection may come from a stranger."""
    return re.sub(INVALID_IN_KEY, "", key) or _UNNAMED


def export_keys(keys: pl.Series) -> pl.Series:
    """Return valid, unique citation keys for an export, even if the stored keys are not."""
    key = pl.lit(keys).fill_null("").str.replace_all(INVALID_IN_KEY, "").replace("", _UNNAMED)
    none = pl.lit(None, dtype=pl.String)
    wanted = pl.select(key=key, same=key.str.to_lowercase(), claim=pl.lit(0), before=none)
    return number_duplicates(wanted.with_row_index("row"))


def _valid(key: pl.Expr) -> pl.Expr:
    return pl.when(~key.str.contains(INVALID_IN_KEY) & (key != "")).then(key)


def generate_keys(documents: pl.DataFrame) -> pl.Series:
    """Return keys of first author, year and first content word: ``lavrenko2001relevance``."""
    author = pl.col("authors").list.first().str.split(",").list.first()
    # Most titles begin with the content word; splitting all into words would take three times as
    # long.
    titles = documents["title"]
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
    words = pl.Series([None], dtype=pl.String).new_from_index(0, len(titles))
    words = words.scatter(first["row"], first["word"])
    parts = (author, pl.col("year").cast(pl.String), pl.lit(words))
    keys = documents.select(made=pl.concat_str(parts, ignore_nulls=True).str.to_lowercase())
    odd = keys.select(pl.col("made").str.contains(_NOT_TYPED).arg_true()).to_series()
    plain = pl.col("made").str.replace_many(list(_LETTERS), list(_LETTERS.values()))
    plain = plain.str.normalize("NFKD").str.replace_all(_NOT_TYPED, "")
    made = keys["made"].scatter(odd, keys[odd].select(plain).to_series())
    return made.replace("", _UNNAMED)


def strip_number(name: pl.Expr) -> pl.Expr:
    """Return a name without the number after it."""
    return name.str.replace(_NUMBERED, "")


def number_duplicates(wanted: pl.DataFrame) -> pl.Series:
    """Return the keys of `choose_keys` by ``row``; later documents with the same key get a number,
    the former one if it is free."""
    doubled = wanted.filter(pl.col("same").is_duplicated()).sort("claim", "row")
    late = doubled.filter(~pl.col("same").is_first_distinct())
    if late.is_empty():
        return wanted["key"].alias("cite_key")
    stems = late["same"].unique().implode()
    near = wanted.filter(pl.col("same").is_in(stems) | strip_number(pl.col("same")).is_in(stems))
    keys = FreeIds(fold=str.lower)
    keys.add(near["same"])
    numbered = strip_number(pl.col("before").str.to_lowercase()) == pl.col("same")
    late = late.with_columns(before=pl.when(numbered).then("before"))
    late = late.sort(pl.col("before").is_null(), maintain_order=True)
    pairs = late.select("key", "before").iter_rows()
    fresh = [keys.take(before if before and keys.is_free(before) else key) for key, before in pairs]
    renamed = late.select("row", fresh=pl.Series(fresh, dtype=pl.String))
    joined = wanted.join(renamed, on="row", how="left", maintain_order="left")
    return joined.select(cite_key=pl.coalesce("fresh", "key")).to_series()
