"""Extracts of shards, joined into a small index in memory.

The index has everything that a ranking needs of its documents, but only the terms of the queries.
With the statistics of the whole collection it gives exactly the results of an index of all
documents. Additional documents in it change nothing.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.retrieval.index import layout, records
from citebed.retrieval.index.arrays import Strings, term_ranges
from citebed.retrieval.index.citation_contexts import CITING_ARRAYS
from citebed.retrieval.index.index import Index, Totals
from citebed.retrieval.index.layout import FIELDS, Description
from citebed.retrieval.sharded.sharded_index import Shard
from citebed.retrieval.vectors.vectors import Docs

Arrays = dict[str, NDArray[Any]]
Extract = dict[str, NDArray[Any]]
"""The arrays of an extract by name; strings are two arrays, as `Strings` has them."""
_YEARS, _PAGES, _AUTHORS, _STARTS = records.RECORD_ARRAYS
_POSTINGS = 1 << 22
"""Number of postings to read together."""
_TEXTS = 8
"""The number of shards whose authors and dates a process caches."""


def packed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Serialise arrays to bytes."""
    with io.BytesIO() as file:
        np.savez(file, allow_pickle=False, **arrays)
        return file.getvalue()


def unpacked(data: bytes) -> dict[str, NDArray[Any]]:
    """Restore serialised arrays."""
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


@lru_cache(_TEXTS)
def shard_texts(shard: Shard) -> tuple[list[str], pl.Series]:
    """Return the names of a shard's authors in ascending order, as its index numbers them, and the
    dates of its documents ("" if unknown). The index does not store these texts."""
    date = pl.coalesce(pl.col("date"), pl.col("year").cast(pl.String)).fill_null("")
    wanted = shard.collection.scan_documents().select("doc_id", "authors", date=date)
    table = wanted.collect().sort("doc_id")
    names = table["authors"].explode().drop_nulls().str.to_lowercase()
    return names.unique().sort().to_list(), table["date"]


def extract(shard: Shard, docs: Docs, terms: Sequence[str]) -> Extract:
    """Return everything in a shard's index about documents (rising numbers) and terms."""
    index, (names, dates) = shard.index, shard_texts(shard)
    place = np.full(len(index.ids), -1, np.int64)
    place[docs] = np.arange(len(docs))
    starts = index.records.starts
    spans = [range(int(starts[doc]), int(starts[doc + 1])) for doc in docs.tolist()]
    written = [names[int(index.records.authors[row])] for span in spans for row in span]
    vectors: Extract = {}
    for kind in index.description.vectors:
        of_kind = index.vectors(kind)
        if of_kind is not None:
            rows, scales = layout.vector_arrays(kind)
            vectors |= {rows: of_kind.rows[docs], scales: of_kind.scales[docs]}
    return {
        **_strings("ids", [index.ids[number] for number in docs.tolist()]),
        **_strings("dates", dates.gather(docs).to_list()),
        **_postings(index, place, terms),
        **{f"length.{name}": index.lengths[name][docs] for name in index.fields},
        _YEARS: index.records.years[docs],
        _PAGES: index.records.pages[docs],
        **_strings("authors", written),
        _STARTS: np.cumsum([0, *map(len, spans)], dtype=np.int64),
        **vectors,
        **_citing(index, place),
    }


def _strings(name: str, values: Sequence[str]) -> Extract:
    blob, offsets = Strings.arrays(values)
    return {name: blob, f"{name}.offsets": offsets}


def _postings(index: Index, place: Docs, terms: Sequence[str]) -> Extract:
    """Return term (its place in ``terms``), document and frequencies of each posting."""
    own = np.array([index.term_number(term) for term in terms], np.int64)
    number = np.flatnonzero(own >= 0)
    starts, sizes = index.offsets[own[number]], np.diff(index.offsets)[own[number]]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    found: dict[str, list[NDArray[Any]]] = {n: [] for n in ("term", "doc", *index.fields)}
    for some in term_ranges(offsets, _POSTINGS):
        size = sizes[some]
        at = np.repeat(starts[some] - np.cumsum(size) + size, size) + np.arange(size.sum())
        docs = place[index.docs[at]]
        there = docs >= 0
        found["term"].append(np.repeat(number[some], size)[there])
        found["doc"].append(docs[there])
        for name in index.fields:
            found[name].append(index.tf[name][at[there]])
    joined = {n: np.concatenate([np.zeros(0, np.uint8), *parts]) for n, parts in found.items()}
    return {  # in the smallest sufficient types
        f"posting.{name}": numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))
        for name, numbers in joined.items()
    }


def _citing(index: Index, place: Docs) -> Extract:
    """Return the sentences that cite the documents, in order, without their words."""
    citing = index.citing
    if citing is None:
        return {}
    rows = np.flatnonzero(place[citing.docs] >= 0)
    papers = [index.papers[number] for number in citing.papers[rows].tolist()]
    return {
        "citing.docs": place[citing.docs[rows]],
        "citing.years": citing.years[rows],
        **_strings("citing.papers", papers),
        "vectors.citing": citing.vectors.rows[rows],
        "vectors.citing.scales": citing.vectors.scales[rows],
    }


# --- putting together -------------------------------------------------------------------------


def index_of(
    folder: Path,
    extracts: Sequence[Extract],
    terms: Sequence[str],
    description: Description,
    totals: Totals,
) -> Index:
    """Make an index in memory of the documents of extracts. ``folder`` is only its name.

    No document may be in two extracts. ``terms`` are sorted by their bytes.
    """
    ids = [text.encode("utf-8", "surrogatepass") for text in texts_in(extracts, "ids")]
    order = sorted(range(len(ids)), key=ids.__getitem__)
    number = np.empty(len(ids), np.int64)
    number[order] = np.arange(len(ids))
    parts = np.split(number, np.cumsum([len(each[_YEARS]) for each in extracts])[:-1])
    names = texts_in(extracts, "authors")
    authors = np.unique(np.array(names, object), return_inverse=True)[1] if names else np.zeros(0)
    counts = np.concatenate([np.diff(each[_STARTS]) for each in extracts])
    ends = np.cumsum(counts)
    spans = [authors[ends[at] - counts[at] : ends[at]] for at in order]
    fields = [name for name in FIELDS if any(f"length.{name}" in each for each in extracts)]
    arrays: Arrays = {
        **_strings("ids", [ids[at].decode("utf-8", "surrogatepass") for at in order]),
        **_strings("terms", terms),
        "hashes": np.zeros(len(ids), np.uint64),
        **_joined_postings(extracts, parts, len(terms), fields),
        **{
            name: np.concatenate([each[name] for each in extracts])[order]
            for kind in description.vectors
            for name in layout.vector_arrays(kind)
        },
        **{f"length.{name}": _filled(extracts, f"length.{name}", _YEARS)[order] for name in fields},
        _YEARS: np.concatenate([each[_YEARS] for each in extracts])[order],
        _PAGES: np.concatenate([each[_PAGES] for each in extracts])[order],
        _AUTHORS: np.concatenate([np.zeros(0), *spans]).astype(np.uint32),
        _STARTS: np.concatenate([[0], np.cumsum(counts[order])]).astype(np.int64),
        **_joined_citing(extracts, parts),
    }
    own = replace(description, documents=len(ids), terms=len(terms), postings=len(arrays["docs"]))
    index = Index(folder, own, arrays)
    index.__dict__["totals"] = totals
    return index


def texts_in(extracts: Iterable[Extract], name: str) -> list[str]:
    """Return the strings of all extracts with a name, such as ``authors``."""
    return [text for each in extracts for text in Strings(each[name], each[f"{name}.offsets"])]


def _filled(extracts: Sequence[Extract], name: str, beside: str) -> NDArray[np.uint32]:
    """Concatenate a column of all extracts; a missing one is zeros, as long as ``beside``."""
    return np.concatenate(
        [each.get(name, np.zeros(len(each[beside]), np.uint32)) for each in extracts]
    ).astype(np.uint32)


def _joined_postings(
    extracts: Sequence[Extract], parts: Sequence[Docs], terms: int, fields: Sequence[str]
) -> Arrays:
    of_term = np.concatenate([each["posting.term"] for each in extracts]).astype(np.int64)
    docs = np.concatenate(
        [
            part[each["posting.doc"].astype(np.int64)]
            for each, part in zip(extracts, parts, strict=True)
        ]
    )
    order = np.lexsort((docs, of_term))
    offsets = np.zeros(terms + 1, np.int64)
    np.cumsum(np.bincount(of_term, minlength=terms), out=offsets[1:])
    return {
        "offsets": offsets,
        "docs": docs[order].astype(np.uint32),
        **{
            f"tf.{name}": _filled(extracts, f"posting.{name}", "posting.term")[order]
            for name in fields
        },
    }


def _joined_citing(extracts: Sequence[Extract], parts: Sequence[Docs]) -> Arrays:
    """Join the citing sentences, by document; all sentences of a document are in one shard."""
    having = [
        (each, part) for each, part in zip(extracts, parts, strict=True) if CITING_ARRAYS[0] in each
    ]
    if not having:
        return {}
    some = [each for each, _ in having]
    docs = np.concatenate([part[each["citing.docs"]] for each, part in having])
    names = texts_in(some, "citing.papers")
    papers = sorted(set(names), key=str.encode)
    at = {name: number for number, name in enumerate(papers)}
    paper = np.array([at[name] for name in names], np.int64)
    order = np.argsort(docs, kind="stable")
    years = np.zeros(len(papers), np.int32)
    years[paper] = np.concatenate([each["citing.years"] for each in some])
    rows, scales = (
        np.concatenate([each[name] for each in some])[order]
        for name in ("vectors.citing", "vectors.citing.scales")
    )
    found = (
        docs[order].astype(np.uint32), paper[order].astype(np.uint32), years,
        np.zeros(0, np.uint8), np.zeros(len(docs) + 1, np.int64), rows, scales,
    )  # fmt: skip
    return {**_strings("papers", papers), **dict(zip(CITING_ARRAYS, found, strict=True))}
