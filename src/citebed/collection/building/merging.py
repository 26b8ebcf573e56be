"""One record for one document, from however many sources it was read.

Two records are the same document when they have the same DOI; or, when at least one of them
has none, the same arXiv id and first author, or the same title (letters and digits only), first
author's family name and year. A title of one or two words ("Editorial") must agree in venue,
volume and pages too. Where the year is unknown, key, title and all surnames must be the same;
failing that, or where the author is unknown, the abstract. Two different DOIs are two documents,
however alike they look; so are two ids in one file of a curated collection (anything but a
BibTeX file, where the same paper under two keys is an everyday slip).
"""

from __future__ import annotations

import re

import polars as pl

from citebed.collection.formats.bibtex import (
    document_in,
    fields_of,
    with_fields,
    write_entry,
    write_names,
)
from citebed.collection.tables import DOCUMENTS, SET_ASIDE, document_of_row
from citebed.text.free_ids import FreeIds
from citebed.text.latex import text_to_latex
from citebed.text.normalise import unique

_FILLED = (
    "authors", "editors", "year", "date", "venue", "volume", "number", "pages", "publisher",
    "doi", "arxiv", "url", "abstract", "keywords", "language",
)  # fmt: skip


def canonical_records(records: pl.DataFrame) -> pl.DataFrame:
    """Ids without blanks, never empty; a year for every date and a date for every year."""
    doc_id = pl.col("doc_id").str.replace_all(r"\s+", "_")
    place = pl.concat_str([pl.lit("line-"), pl.col("line").cast(pl.String)])
    return records.with_columns(
        doc_id=pl.when(doc_id == "").then(place).otherwise(doc_id),
        year=pl.coalesce("year", pl.col("date").str.slice(0, 4).cast(pl.Int32, strict=False)),
        date=pl.coalesce("date", pl.col("year").cast(pl.String)),
        title=pl.col("title").fill_null(""),
    )


def plain_title(title: pl.Expr) -> pl.Expr:
    """A title as letters and digits only: no case, accents, punctuation or blanks."""
    return title.str.normalize("NFKD").str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]+", "")


def identities(records: pl.DataFrame) -> pl.Series:
    """A key for each record, equal for records of one document."""
    if not records["doi"].null_count():
        return records["doi"].alias("identity")
    itself = pl.concat_str([pl.lit("itself:"), pl.int_range(pl.len()).cast(pl.String)])
    curated = pl.col("bibtex").is_null()
    told_apart = curated & (curated.sum().over("same", "source") > 1)
    # With its author: ids typed by hand are another paper's now and then.
    named = pl.col("arxiv") + "|" + _first_author()
    by_arxiv = pl.when(pl.col("number").is_not_null())
    return (
        _undated_settled(records.with_columns(same=_alike()))
        .lazy()
        .with_columns(
            same=pl.when(told_apart | (pl.col("title") == "")).then(itself).otherwise("same")
        )
        .with_columns(
            known=pl.col("doi").drop_nulls().first().over("same"),
            number=pl.coalesce(named, named.drop_nulls().first().over("same")),
        )
        .with_columns(lent=by_arxiv.then(pl.col("doi").drop_nulls().first().over("number")))
        .select(
            pl.coalesce(
                "doi", "known", "lent", by_arxiv.then(pl.lit("arxiv:") + pl.col("number")), "same"
            ).alias("identity")
        )
        .collect()
        .to_series()
    )


_FEW_WORDS = pl.col("title").str.count_matches(r"\S+") < 3
_AUTHORLESS = pl.col("authors").list.len() == 0


def _alike() -> pl.Expr:
    """What records of one document have in common where a DOI does not tell."""
    vague = pl.col("year").is_null() | _AUTHORLESS
    return pl.concat_str(
        [
            plain_title(pl.col("title")),
            _first_author(),
            pl.col("year").cast(pl.String).fill_null(""),
            pl.when(_FEW_WORDS).then(_details("venue", "volume", "pages")).otherwise(pl.lit("")),
            pl.when(vague).then(_details("abstract", "venue", "pages")).otherwise(pl.lit("")),
        ],
        separator="|",
    )


def _undated_settled(records: pl.DataFrame) -> pl.DataFrame:
    """A record without a year is ``same`` as another of its key, title and authors' surnames."""
    key = pl.concat_list("doc_id", "keys").list.eval(pl.element().str.to_lowercase().unique())
    undated = pl.col("year").is_null()
    likely = records.with_row_index("row").filter(~_FEW_WORDS & ~_AUTHORLESS)
    if likely.filter(undated).is_empty():
        return records
    named = likely.with_columns(key=key).explode("key")
    named = named.join(named.filter(undated), on="key", how="semi", maintain_order="left")
    surnames = pl.col("authors").list.eval(plain_title(_family(pl.element()))).list.join("+")
    who = pl.concat_str([plain_title(pl.col("title")), surnames, "key"], separator="|")
    named = named.with_columns(who=who).sort(undated, maintain_order=True)
    first = named.unique("who", keep="first", maintain_order=True).select("who", other="same")
    found = named.filter(undated).join(first, on="who", maintain_order="right")
    found = found.unique("row", keep="first", maintain_order=True).select("row", "other")
    return (
        records.with_row_index("row")
        .join(found, on="row", how="left", maintain_order="left")
        .with_columns(same=pl.coalesce("other", "same"))
    )


def _first_author() -> pl.Expr:
    """The family name of the first author, empty where there is none."""
    return plain_title(_family(pl.col("authors").list.first().fill_null("")))


def _family(name: pl.Expr) -> pl.Expr:
    return name.str.split(",").list.first()


def _details(*names: str) -> pl.Expr:
    return pl.concat_str([pl.col(name).fill_null("") for name in names], separator="|")


def merge(records: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The documents, and the records that were merged into one of them."""
    numbered = records.with_columns(identities(records)).with_row_index("row")
    sizes = pl.len().over("identity")
    single = _with_other_keys(numbered.filter(sizes == 1)).with_columns(
        records=pl.lit(1, dtype=pl.Int32),
        read_as=pl.lit(None, dtype=pl.String),
    )
    several = numbered.filter(sizes > 1)
    if several.is_empty():
        return _unique_ids(single), pl.DataFrame(schema=dict(SET_ASIDE))
    merged, parts = _merge_groups(several)
    documents = pl.concat([single.select(*DOCUMENTS, "row"), merged], how="vertical").sort("row")
    return _unique_ids(documents), parts


def _with_other_keys(single: pl.DataFrame) -> pl.DataFrame:
    """The documents with those of their keys that are not the id as ``aliases``."""
    keys = single.select("row", "doc_id", aliases="keys").explode("aliases")
    others = keys.filter(pl.col("aliases") != pl.col("doc_id"))
    lists = others.group_by("row", maintain_order=True).agg("aliases")
    none = pl.lit([], dtype=pl.List(pl.String))
    return single.join(lists, on="row", how="left", maintain_order="left").with_columns(
        pl.col("aliases").fill_null(none)
    )


def _merge_groups(several: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    rows, owners = [], {}
    for (identity,), group in several.group_by("identity", maintain_order=True):
        rows.append(_merge_group(group))
        owners[identity] = rows[-1]["doc_id"]
    schema = {**DOCUMENTS, "row": several.schema["row"]}
    merged = pl.DataFrame(rows, schema=schema)
    parts = several.with_columns(
        reason=pl.lit("merged with the same document"),
        kept_as=pl.col("identity").replace_strict(owners, return_dtype=pl.String),
    )
    return merged, parts.select(list(SET_ASIDE))


def _merge_group(group: pl.DataFrame) -> dict[str, object]:
    """The richest record, its gaps filled from the others; the first one's id and place."""
    members = group.to_dicts()
    ranked = sorted(members, key=_richness, reverse=True)
    best = dict(ranked[0])
    for other in ranked[1:]:
        if best["bibtex"] is not None:
            best["bibtex"] = _add_missing(str(best["bibtex"]), other)
        best.update({name: other[name] for name in _FILLED if not best[name] and other[name]})
    if best["bibtex"] is not None:
        # The entry is what will be pasted and exported: the fields are what it says.
        read = document_in(str(best["bibtex"]))._asdict()
        best.update({name: read[name] for name in _FILLED if read[name]})
    first = members[0]
    ids = unique(member["doc_id"] for member in members)
    keys = unique(key for member in members for key in member["keys"])
    return {
        **{name: best[name] for name in DOCUMENTS if name in best},
        "doc_id": first["doc_id"],
        "aliases": [name for name in unique((*ids, *keys)) if name != first["doc_id"]],
        "keys": keys,
        "records": len(members),
        "row": first["row"],
    }


def _richness(record: dict[str, object]) -> tuple[int, int, int]:
    filled = sum(bool(record[name]) for name in _FILLED)
    return filled, len(str(record["abstract"] or "")), len(str(record["bibtex"] or ""))


def _add_missing(bibtex: str, other: dict[str, object]) -> str:
    """The entry with the fields that only the other record's entry has."""
    theirs = other["bibtex"] or write_entry(document_of_row(other))
    mine = fields_of(bibtex)
    missing = {n: v for n, v in fields_of(str(theirs)).items() if n not in mine and n != "crossref"}
    return with_fields(bibtex, missing) if missing else bibtex


def _unique_ids(documents: pl.DataFrame) -> pl.DataFrame:
    """Different documents under one id: all but the first get a number behind it, and keep the
    id they had as an alias."""
    if not documents["doc_id"].is_duplicated().any():
        return documents.select(list(DOCUMENTS))
    ids = FreeIds(documents["doc_id"])
    names = [ids.take(name, owner=name) for name in documents["doc_id"]]
    fresh_ids = pl.Series("fresh", names, dtype=pl.String)
    renamed = fresh_ids != pl.col("doc_id")
    more = pl.concat_list("doc_id", "aliases").list.unique(maintain_order=True)
    named = documents.with_columns(
        doc_id=fresh_ids,
        aliases=pl.when(renamed).then(more).otherwise("aliases"),
        read_as=pl.when(renamed).then("doc_id"),
    )
    return named.select(list(DOCUMENTS))


# --- what a paper takes from the entry of its proceedings ----------------------------------------

_INHERITED = (
    "editors", "year", "date", "venue", "volume", "number", "publisher", "url", "language",
)  # fmt: skip
_CROSSREF = re.compile(r",\s*crossref\s*=\s*(?:\{[^{}]*\}|\"[^\"]*\")", re.IGNORECASE)


def with_crossrefs(records: pl.DataFrame) -> pl.DataFrame:
    """The records with what BibTeX's ``crossref`` lends them filled in.

    The parent is looked for in the same file first. An entry whose parent is nowhere keeps what
    it has.
    """
    if records["crossref"].null_count() == records.height:
        return records
    numbered = records.with_row_index("row")
    children = numbered.drop_nulls("crossref")
    names = children["crossref"].str.to_lowercase().unique().to_list()
    parents: dict[str, dict[str, object]] = {}
    for row in records.filter(pl.col("doc_id").str.to_lowercase().is_in(names)).to_dicts():
        name = str(row["doc_id"]).lower()
        parents.setdefault(name, row)
        parents.setdefault(f"{row['source']}\n{name}", row)
    rows = [_inherit(row, parents) for row in children.to_dicts()]
    filled = pl.DataFrame(rows, schema=numbered.schema)
    rest = numbered.filter(pl.col("crossref").is_null())
    return pl.concat([rest, filled]).sort("row").drop("row")


def _inherit(child: dict[str, object], parents: dict[str, dict[str, object]]) -> dict[str, object]:
    name = str(child["crossref"]).lower()
    parent = parents.get(f"{child['source']}\n{name}") or parents.get(name)
    if parent is None:
        return child
    title = parent["venue"] or parent["title"] if child["type"] == "article" else parent["title"]
    lent = {**parent, "venue": title}
    gaps = {field: lent[field] for field in _INHERITED if not child[field] and lent[field]}
    bibtex = child["bibtex"]
    if bibtex is not None:
        bibtex = with_fields(_CROSSREF.sub("", str(bibtex)), _raw(gaps, str(child["type"])))
    return {**child, **gaps, "crossref": None, "bibtex": bibtex}


def _raw(gaps: dict[str, object], kind: str) -> dict[str, str]:
    names = {"venue": "journal" if kind == "article" else "booktitle", "editors": "editor"}
    return {
        names.get(name, name): write_names(tuple(value))
        if isinstance(value, list)
        else text_to_latex(str(value))
        for name, value in gaps.items()
    }
