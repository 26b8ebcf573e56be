"""Checks of documents: missing texts, years, identifiers, leftover markup, duplicates."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from citebed.collection.building.assembling import latex_left
from citebed.collection.building.merging import SHORTEST
from citebed.collection.lint.base import (
    Subject,
    check,
    format_place,
    format_year,
    is_blank,
    make_findings,
    no_findings,
    quote,
)
from citebed.text.identifiers import DOI, doi_of
from citebed.text.titles import GRAM, alike, gram_hashes, letters_of, numbers, plain_title

EARLIEST = 1665
"""The year of the first scientific journals."""

_DOI = rf"^{DOI}$"
_DOI_FIELD = r'(?i)[,\s]doi\s*=\s*[{"]\s*([^{}"]*)'
_NUMBERED = r"^(.+)-(\d+)$"
_KEY = r"^\s*@\s*\w+\s*[{(]\s*([^\s,]+)"


@check(
    "documents-without-title",
    "warning",
    "documents without a title",
    "Add a title in the source and import it again, or list their ids in a file and import "
    "with --exclude FILE.",
)
def without_title(subject: Subject) -> pl.DataFrame:
    bare = subject.documents.filter(is_blank("title"))
    return make_findings(
        bare, "doc_id", pl.format("no title ({})", pl.col("doi").fill_null("no DOI"))
    )


@check(
    "documents-without-text",
    "error",
    "documents with neither title, abstract nor full text",
    "No search can find them. List their ids in a file and import with --exclude FILE.",
)
def without_text(subject: Subject) -> pl.DataFrame:
    bare = subject.texts.filter(is_blank("title") & is_blank("abstract"))
    if bare.height:
        full = subject.collection.sections.filter(~is_blank("text"))
        bare = bare.join(full, on="doc_id", how="anti", maintain_order="left")
    return make_findings(bare, "doc_id", pl.lit("has neither title nor abstract"))


def _dated(subject: Subject) -> pl.DataFrame:
    """Return the years and dates of documents and citing papers."""
    columns = ("year", "date", "source", "line")
    papers = subject.collection.papers.select("paper_id", *columns).rename({"paper_id": "id"})
    documents = subject.documents.select("doc_id", *columns).rename({"doc_id": "id"})
    return pl.concat([documents, papers])


@check(
    "dates-in-future",
    "warning",
    "documents or citing papers later than next year",
    "Correct the year in the source and import it again; with --no-future such a document "
    "never counts as relevant.",
)
def in_future(subject: Subject) -> pl.DataFrame:
    late = _dated(subject).filter(pl.col("year") > subject.today.year + 1)
    what = pl.format("is dated {}, but it is {} now", "year", pl.lit(subject.today.year))
    return make_findings(late, "id", what)


@check(
    "implausible-years",
    "warning",
    f"years before {EARLIEST}, or a year that differs from the date",
    "Correct the year or date in the source and import it again.",
)
def implausible(subject: Subject) -> pl.DataFrame:
    dated = pl.col("date").str.slice(0, 4)
    differs = (dated != pl.col("year").cast(pl.String).str.zfill(4)).fill_null(value=False)
    early = (pl.col("year") < EARLIEST).fill_null(value=False)
    odd = _dated(subject).filter(early | differs)
    what = (
        pl.when(early)
        .then(pl.format("is dated {}, before the first scientific journals ({})", "year", EARLIEST))
        .otherwise(pl.format("year {}, but date {}", "year", "date"))
    )
    return make_findings(odd, "id", what)


@check(
    "doi-disagrees",
    "warning",
    "documents whose id is a DOI, but whose DOI field has another DOI",
    "Look both up at https://doi.org and correct the wrong one in the source. Until then "
    "citebed uses the id, and finds no reference to the other DOI.",
)
def doi_disagrees(subject: Subject) -> pl.DataFrame:
    key = pl.col("doc_id").str.to_lowercase()
    given = pl.coalesce(pl.col("bibtex").str.extract(_DOI_FIELD), "doi").str.to_lowercase()
    unlike = (
        subject.collection.scan_documents()
        .filter(pl.col("doc_id").str.contains(_DOI))
        .select("doc_id", "source", "line", "doi", key=key, given=given)
        .filter((pl.col("given") != pl.col("key")) & pl.col("doi").eq_missing(pl.col("key")))
        .collect()
    )
    read = [doi_of(text.replace("\\", "").strip()) for text in unlike["given"]]
    other = unlike.with_columns(pl.Series("read", read, dtype=pl.String))
    other = other.filter(pl.col("read").is_not_null() & (pl.col("read") != pl.col("key")))
    return make_findings(other, "doc_id", pl.format("its DOI field says {}", "read"))


@check(
    "numbered-ids",
    "warning",
    "different documents with the same key, to which citebed added a number",
    "Give each its own key in the sources and import again. Until then a reference or "
    "judgement with the key means the first document.",
)
def numbered_ids(subject: Subject) -> pl.DataFrame:
    ids = subject.documents.select("doc_id", "title", "source", "line").with_columns(
        base=pl.col("doc_id").str.extract(_NUMBERED, 1),
        number=pl.col("doc_id").str.extract(_NUMBERED, 2).cast(pl.Int64, strict=False),
    )
    numbered = ids.filter(pl.col("number") > 1).join(
        ids.select(base="doc_id", first="title"), on="base", maintain_order="left"
    )
    if numbered.is_empty():
        return no_findings()
    keys = (
        subject.collection.scan_documents()
        .filter(pl.col("doc_id").is_in(numbered["doc_id"].to_list()))
        .select("doc_id", given=pl.col("bibtex").str.extract(_KEY))
        .collect()
    )
    ours = numbered.join(keys, on="doc_id", how="left", maintain_order="left").filter(
        pl.col("given").fill_null(pl.col("base")) == pl.col("base")
    )
    what = pl.format("{} has the key {} of {}", quote("title"), "base", quote("first"))
    return make_findings(ours, "doc_id", what)


_COMMAND = r"\\[A-Za-z]{2,}"
_TAG = r"</?[A-Za-z][A-Za-z0-9:-]*(?:\s+[A-Za-z:-]+\s*=[^<>]*)?\s*/?>"
_ENTITY = r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
MARKUP = rf"{_COMMAND}|{_TAG}|{_ENTITY}"

# UTF-8 that was read as Windows-1252: the letter of a lead byte, and the next byte's character.
# Å and Â are followed by other characters in correct text ("5 Å²", "3 Å”"), so they match fewer.
_NEXT = r"\u0080-\u00bfŒœŠšŸŽžƒˆ˜–—\u2018-\u203a€™"
_LEADS = rf"Ã[{_NEXT}]|Â[\u0080-\u00bf]|Å[\u0080-\u009f‚„‘™›¡¯º¼½¾Ÿž]|[ÐÑÎÏ][\u0080-\u00bf]"
_SIGNS = rf"â€[{_NEXT}]?|â[\u0080-\u009f][\u0080-\u00bf]|ï¿½|\x{{FFFD}}"
ENCODING = rf"{_LEADS}|{_SIGNS}"


def _matching(table: pl.DataFrame, pattern: str, fields: tuple[str, ...]) -> pl.DataFrame:
    """Return the rows that match in a field, with the text around the first match."""
    around = rf"(?s).{{0,20}}(?:{pattern}).{{0,20}}"
    parts = [
        table.lazy()
        .filter(pl.col(name).str.contains(pattern))
        .select(
            "doc_id", "source", "line",
            field=pl.lit(name), text=pl.col(name).str.extract(f"({around})"),
        )
        for name in fields
    ]  # fmt: skip
    return pl.concat(pl.collect_all(parts))


@check(
    "markup-remains",
    "note",
    "LaTeX commands, HTML tags or entities left in titles or abstracts",
    "Searches treat them as words. Correct important ones in the source and import it "
    "again; program code and formulas in an abstract are correct.",
)
def markup_remains(subject: Subject) -> pl.DataFrame:
    left = _matching(subject.texts, MARKUP, ("title", "abstract"))
    return make_findings(left, "doc_id", pl.format("{}: …{}…", "field", "text"))


@check(
    "latex-remains",
    "warning",
    "texts that seem to contain the name of a LaTeX command (ifmmode, textquotesingle)",
    "Write the letter itself in the source and import it again; if many papers use the command, "
    "please report it as a bug.",
)
def latex_remains(subject: Subject) -> pl.DataFrame:
    left = latex_left(subject.collection.scan_documents())
    return make_findings(left, "doc_id", pl.format("{}: …{}…", "field", "text"))


@check(
    "encoding-remains",
    "warning",
    "text that some program read in a wrong encoding (Ã©, â€™, U+FFFD)",
    "Correct the source (the Python package ftfy repairs whole files) and import it again.",
)
def encoding_remains(subject: Subject) -> pl.DataFrame:
    names = subject.documents.select(
        "doc_id", "source", "line", author=pl.col("authors").list.join("; ")
    )
    left = pl.concat(
        [
            _matching(subject.texts, ENCODING, ("title", "abstract")),
            _matching(names, ENCODING, ("author",)),
        ]
    )
    return make_findings(left, "doc_id", pl.format("{}: …{}…", "field", "text"))


# --- Duplicates -------------------------------------------------------------------------------


ALIKE = 0.8
"""Least similarity of near-duplicate titles; 0.8 is about one changed word in nine, or a typing
error."""
HEADING = 3
"""A title of this many documents is a heading, such as "Abstracts of Selected Articles"."""


@check(
    "duplicate-dois",
    "warning",
    "documents with the same DOI and different titles",
    "A DOI belongs to one of them: correct it in the source of the other. Until then citebed "
    "finds no document for a reference that has only this DOI.",
)
def duplicate_dois(subject: Subject) -> pl.DataFrame:
    known = subject.documents.lazy().filter(pl.col("doi").is_not_null())
    first = pl.col("doc_id").first().over("doi")
    twice = known.with_columns(other=first).filter(pl.col("doc_id") != pl.col("other")).collect()
    what = pl.format("{} has the DOI {}, as {} does", quote("title"), "doi", "other")
    return make_findings(twice, "doc_id", what)


@check(
    "duplicate-documents",
    "warning",
    "documents with the same title, first author and year",
    "If two are the same paper, list the id of the worse record in a file and import with "
    "--exclude FILE; citebed does not merge records with different DOIs.",
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
        "{} has the same title, first author and year ({}) as {}",
        quote("title"), "year", "other",
    )  # fmt: skip
    return make_findings(twice, "doc_id", what)


@check(
    "near-duplicate-titles",
    "note",
    f"near-duplicate titles with a common author (similarity of trigrams {ALIKE} or more)",
    "Many are a demonstration and its paper, or an article and its preprint. If two are the "
    "same paper, list the id of the worse record in a file and import with --exclude FILE.",
)
def near_duplicate_titles(subject: Subject) -> pl.DataFrame:
    documents = subject.documents
    # The family names and first initials for each long title that is not a heading.
    name = pl.col("authors").str.extract("^([^,]*(?:, *.)?)")
    authors = (
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
    pairs = near_pairs(documents["plain"], authors, ALIKE)
    if pairs.is_empty():
        return no_findings()
    columns = ("doc_id", "title", "year", "source", "line")
    drawn = documents.select(columns).with_row_index("row")
    both = pairs.join(drawn, on="row", maintain_order="left").join(
        drawn, left_on="other", right_on="row", suffix="_other", maintain_order="left"
    )
    titles = both.select("title", "title_other").iter_rows()
    same_numbers = [numbers(title) == numbers(other) for title, other in titles]
    what = pl.format(
        "{} ({}) is almost the title of {}: {} ({})",
        quote("title"), format_year(),
        "doc_id_other", quote("title_other"), format_year("year_other"),
    )  # fmt: skip
    return make_findings(
        both.filter(pl.Series(same_numbers)), name="doc_id", what=what, where=format_place()
    )


_SCHEMA = {"row": pl.UInt32(), "other": pl.UInt32(), "alike": pl.Float64()}

Words = npt.NDArray[np.uint64]


def near_pairs(titles: pl.Series, keys: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """Return pairs of different titles with a similarity of at least ``threshold``.

    ``titles`` are in letters and digits only. ``keys`` has the columns ``row`` and ``key``; only
    rows with a common key are compared. The result has ``row``, ``other`` (a later row) and
    ``alike``.

    To compare fewer pairs, each set of trigrams gets a signature of 128 bits, with a bit for each
    trigram's hash. Two signatures differ in at most as many bits as the sets differ in trigrams, so
    this test misses no pair, and few pairs remain for the exact comparison.
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
    """Yield the pairs whose signatures differ in no more bits than the threshold allows."""
    low, high = _signatures(titles)
    size = titles.str.len_chars().cast(pl.Int64) - (GRAM - 1)
    drawn = pl.DataFrame({"size": size, "low": low, "high": high}).with_row_index("row")
    side = keys.select(pl.col("row").cast(pl.UInt32), "key").unique().join(drawn, on="row").lazy()
    # Rounding (0.2 / 1.8 * 54 < 6) would lose pairs exactly at the threshold.
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
    """Return two words of 64 bits for each title, with a bit for each trigram."""
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
