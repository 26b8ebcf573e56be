"""The key of each document to type in a ``\\cite``: one of its own, and nobody else's.

It is the key that the document came with, or one of first author, year and first telling word of
the title (``lavrenko2001relevance``). Where several want the same, the first one gets it and the
others a number behind it; keys that differ in case only are the same, as they are to BibTeX.
"""

from __future__ import annotations

import re

import polars as pl

from citebed.text.identifiers import FreeIds
from citebed.text.words import FUNCTION_WORDS

MADE_OF = ("keys", "authors", "year", "title")
"""The columns that keys are made of."""
_LETTERS = {
    "ß": "ss", "ø": "o", "ł": "l", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i",
}  # fmt: skip
_NOT_TYPED = r"[^a-z0-9]+"
_WORD = r"\pL{3,}"
_UP_TO_WORD = rf"(?s)^.*?{_WORD}"
UNTYPABLE = r"[\s,{}\"#%~\\]"
"""What no key can have in it."""
_NUMBERED = r"-\d+$"
_UNNAMED = "unnamed"


def cite_keys(documents: pl.DataFrame) -> pl.Series:
    """A key for each document, in their order."""
    none = pl.lit(None, dtype=pl.String)
    given, made = pl.col("keys").list.first(), pl.lit(author_year_keys(documents))
    return cite_keys_of(documents.select(kept=none, given=given, made=made))


def cite_keys_of(wanted: pl.DataFrame) -> pl.Series:
    """Keys for documents in their order: the one of before (``kept``), else the one that it came
    with (``given``), else one ``made`` of author and year; who has a better claim comes first."""
    kept, given = map(_typable, (pl.col("kept"), pl.col("given")))
    claim = pl.when(kept.is_not_null()).then(0).when(given.is_not_null()).then(1).otherwise(2)
    key = pl.coalesce(kept, given, "made")
    return _once_each(
        wanted.select(key=key, same=key.str.to_lowercase(), claim=claim).with_row_index("row")
    )


def typable(key: str) -> str:
    """A key of a collection that may be a stranger's, without what no key can have in it."""
    return re.sub(UNTYPABLE, "", key) or _UNNAMED


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


def _once_each(wanted: pl.DataFrame) -> pl.Series:
    """The wanted keys, those that an earlier document has with a number behind them."""
    doubled = wanted.filter(pl.col("same").is_duplicated()).sort("claim", "row")
    late = doubled.filter(~pl.col("same").is_first_distinct())
    if late.is_empty():
        return wanted["key"].alias("cite_key")
    stems = late["same"].unique().implode()
    near = wanted.filter(pl.col("same").str.replace(_NUMBERED, "").is_in(stems))
    keys = FreeIds(fold=str.lower)
    keys.add(near["same"])
    fresh = pl.Series("fresh", [keys.take(key) for key in late["key"]], dtype=pl.String)
    numbered = late.select("row").hstack([fresh])
    joined = wanted.join(numbered, on="row", how="left", maintain_order="left")
    return joined.select(cite_key=pl.coalesce("fresh", "key")).to_series()
