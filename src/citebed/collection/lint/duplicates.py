"""Checks for documents that are in the collection more than once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from citebed.collection.building.merging import SHORTEST
from citebed.collection.lint.base import Subject, check, findings, nothing, place, shown, year_shown
from citebed.text.titles import GRAM, alike, gram_hashes, letters_of, numbers, plain_title

ALIKE = 0.8
"""How alike two titles must be; 0.8 is about one changed word in nine, or a typing error."""
HEADING = 3
"""A title that so many documents have is a heading ("Abstracts of Selected Articles")."""


@check(
    "duplicate-dois",
    "warning",
    "documents with the same DOI and different titles",
    "A DOI belongs to one of them: correct it in the source of the other. Until then none is the "
    "answer to a reference that has nothing but this DOI.",
)
def duplicate_dois(subject: Subject) -> pl.DataFrame:
    known = subject.documents.lazy().filter(pl.col("doi").is_not_null())
    first = pl.col("doc_id").first().over("doi")
    twice = known.with_columns(other=first).filter(pl.col("doc_id") != pl.col("other")).collect()
    what = pl.format("{} has the DOI {}, as {} does", shown("title"), "doi", "other")
    return findings(twice, "doc_id", what)


@check(
    "duplicate-documents",
    "warning",
    "documents with the same title, first author and year",
    "Where two are one paper, list the id of the lesser one in a file and import with "
    "--exclude FILE; with different DOIs they are not merged.",
)
def duplicate_documents(subject: Subject) -> pl.DataFrame:
    author = plain_title(pl.col("authors").list.first().str.split(",").list.first())
    short = pl.col("title").str.count_matches(r"\S+") < 3
    short |= pl.col("plain").str.len_chars() < SHORTEST
    details = pl.concat_str(
        [pl.col(name).fill_null("") for name in ("venue", "volume", "pages")], separator="|"
    )
    key = ["plain", "author", "year", "details"]
    twice = (
        subject.documents.lazy()
        .filter(pl.col("plain") != "")
        .with_columns(author=author, details=pl.when(short).then(details))
        .filter(pl.col("author").is_not_null() & pl.col("year").is_not_null())
        .with_columns(other=pl.col("doc_id").first().over(key))
        .filter(pl.col("doc_id") != pl.col("other"))
        .collect()
    )
    what = pl.format(
        "{} has title, first author and year ({}) in common with {}",
        shown("title"), "year", "other",
    )  # fmt: skip
    return findings(twice, "doc_id", what)


@check(
    "near-duplicate-titles",
    "note",
    f"titles nearly the same, with an author in common (trigrams alike {ALIKE} or more)",
    "Many are a demonstration and its paper, or an article and its preprint. Where two are "
    "one paper, list the id of the lesser one in a file and import with --exclude FILE.",
)
def near_duplicate_titles(subject: Subject) -> pl.DataFrame:
    documents = subject.documents
    pairs = near_pairs(documents["plain"], author_keys(documents), ALIKE)
    if pairs.is_empty():
        return nothing()
    columns = ("doc_id", "title", "year", "source", "line")
    drawn = documents.select(columns).with_row_index("row")
    both = pairs.join(drawn, on="row", maintain_order="left").join(
        drawn, left_on="other", right_on="row", suffix="_other", maintain_order="left"
    )
    titles = both.select("title", "title_other").iter_rows()
    same_numbers = [numbers(title) == numbers(other) for title, other in titles]
    what = pl.format(
        "{} ({}) is nearly the title of {}: {} ({})",
        shown("title"), year_shown(),
        "doc_id_other", shown("title_other"), year_shown("year_other"),
    )  # fmt: skip
    return findings(both.filter(pl.Series(same_numbers)), name="doc_id", what=what, where=place())


def author_keys(documents: pl.DataFrame) -> pl.DataFrame:
    """Who wrote each document whose title says enough: ``row`` and ``key``, the family name
    and first initial; only titles with an author in common are compared."""
    name = pl.col("authors").str.extract("^([^,]*(?:, *.)?)")
    return (
        documents.lazy()
        .with_row_index("row")
        .filter(pl.col("plain").str.len_chars() >= SHORTEST)
        .filter(pl.len().over("plain") < HEADING)
        .select("row", "authors")
        .explode("authors")
        .select("row", key=plain_title(name))
        .filter(pl.col("key") != "")
        .unique()
        .collect()
    )


# --- pairs of titles that are nearly the same -----------------------------------------------------

_SCHEMA = {"row": pl.UInt32(), "other": pl.UInt32(), "alike": pl.Float64()}

Words = npt.NDArray[np.uint64]


def near_pairs(titles: pl.Series, keys: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """Pairs of rows of ``titles`` (folded) that are at least ``threshold`` alike and not equal.

    Only titles with a key in common are compared. Those pairs are many, so each set of trigrams is
    drawn as a signature of 128 bits, a bit for each trigram's hash: the bits in which two
    signatures differ are at most as many as the trigrams in which the sets differ, and that number
    is bounded for titles that are alike. The test loses nothing and leaves so few pairs that their
    sets can be compared one by one.

    ``keys`` has the columns ``row`` and ``key``: rows with a key in common are compared.
    Gives ``row``, ``other`` (``row`` < ``other``) and ``alike``, in that order.
    """
    texts = titles.to_list()
    pairs: list[tuple[int, int, float]] = []
    for row, other in _candidates(titles, keys, threshold):
        if texts[row] != texts[other] and (value := alike(texts[row], texts[other])) >= threshold:
            pairs.append((row, other, value))
    return pl.DataFrame(sorted(pairs), schema=_SCHEMA, orient="row")


def _candidates(
    titles: pl.Series, keys: pl.DataFrame, threshold: float
) -> Iterator[tuple[int, int]]:
    """The pairs whose signatures differ in no more bits than the threshold allows."""
    low, high = _signatures(titles)
    size = titles.str.len_chars().cast(pl.Int64) - (GRAM - 1)
    drawn = pl.DataFrame({"size": size, "low": low, "high": high}).with_row_index("row")
    side = keys.select(pl.col("row").cast(pl.UInt32), "key").unique().join(drawn, on="row").lazy()
    # A hair more: rounding (0.2 / 1.8 * 54 < 6) would lose pairs that are just alike enough.
    bound = (1 - threshold) / (1 + threshold) * (pl.col("size") + pl.col("size_right")) + 1e-9
    different = _different_bits("low") + _different_bits("high")
    pairs = (
        side.join(side, on="key")
        .filter((pl.col("row") < pl.col("row_right")) & (different <= bound))
        .select("row", "row_right")
        .unique()
        .collect()
    )
    yield from pairs.iter_rows()


def _different_bits(word: str) -> pl.Expr:
    return (pl.col(word) ^ pl.col(f"{word}_right")).bitwise_count_ones().cast(pl.Int64)


def _signatures(titles: pl.Series) -> tuple[Words, Words]:
    """Two words of 64 bits for each title: the bits that its trigrams' hashes name."""
    sizes = titles.str.len_chars().to_numpy().astype(np.int64)
    letters = letters_of(titles.to_list())
    low, high = (np.zeros(len(sizes), dtype=np.uint64) for _ in range(2))
    if len(letters) < GRAM:
        return low, high
    hashes = gram_hashes(letters, GRAM) >> np.uint64(40)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    hashes_owned = owners[: len(hashes)] == owners[GRAM - 1 :]
    bits = np.uint64(1) << (hashes & np.uint64(63))
    upper = (hashes >> np.uint64(6)) & np.uint64(1) == 1
    starts, filled = (np.cumsum(sizes) - sizes)[sizes > 0], sizes > 0
    for word, chosen in ((low, ~upper), (high, upper)):
        drawn = np.zeros(len(letters), dtype=np.uint64)
        drawn[: len(hashes)] = np.where(hashes_owned & chosen, bits, np.uint64(0))
        word[filled] = np.bitwise_or.reduceat(drawn, starts)
    return low, high
