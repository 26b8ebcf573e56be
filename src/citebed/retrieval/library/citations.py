"""Who cites what in a collection, in which words, and what is cited together.

A mention is one document cited by one paper, in one sentence where that is known. Mentions come
from reference lists, from citing paragraphs, from the citing sentences of the index (which may be
of papers that the collection does not have), and from documents' links.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.retrieval.library.catalogue import Catalogue

_MENTION: dict[str, pl.DataType] = {
    "citer": pl.String(), "doc": pl.UInt32(), "paragraph": pl.String(), "sentence": pl.String(),
    "text": pl.String(), "section": pl.String(), "year": pl.Int32(),
}  # fmt: skip
_PART = "\x1f"


class Citations:
    """The mentions of a collection's documents, read when they are first asked for.

    A citing paper that is itself a document goes by that document's id.
    """

    def __init__(self, collection: Collection, catalogue: Catalogue) -> None:
        self._collection, self._catalogue = collection, catalogue
        self._index = catalogue.index

    @cached_property
    def _numbers(self) -> pl.DataFrame:
        numbered = self._catalogue.table.select("doc_id").with_row_index("doc")
        return numbered.filter(self._catalogue.there)

    @cached_property
    def papers(self) -> pl.DataFrame:
        """The citing papers: ``paper_id``, ``citer``, ``title``, ``year``."""
        citer = pl.coalesce("doc_id", "paper_id")
        return self._collection.papers.select("paper_id", citer.alias("citer"), "title", "year")

    @cached_property
    def mentions(self) -> pl.DataFrame:
        """All mentions: who cites (``citer``), what (``doc``, by number), where and how."""
        return pl.concat([self._listed(), self._said(), self._said_elsewhere(), self._linked()])

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many papers cite each document."""
        pairs = self.mentions.select("citer", "doc").unique()
        return np.bincount(pairs["doc"].to_numpy(), minlength=len(self._catalogue))

    @cached_property
    def _ties(self) -> pl.DataFrame:
        """Links between documents that are here: ``doc``, ``other``, ``kind``, ``weight``."""
        links = self._collection.links.select("doc_id", "target_id", "kind", "weight")
        there = links.join(self._numbers, on="doc_id")
        other = self._numbers.rename({"doc_id": "target_id", "doc": "other"})
        return there.join(other, on="target_id").filter(pl.col("doc") != pl.col("other"))

    # --- Where mentions come from ---

    def _mentions(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with ``citer`` and ``doc_id`` as mentions; nobody cites himself."""
        found = rows.join(self._numbers, on="doc_id").filter(pl.col("citer") != pl.col("doc_id"))
        lacking = {
            name: pl.lit(None, dtype=kind) for name, kind in _MENTION.items() if name not in found
        }
        return found.with_columns(**lacking).select(
            pl.col(name).cast(kind) for name, kind in _MENTION.items()
        )

    def _listed(self) -> pl.DataFrame:
        references = self._collection.references.select("paper_id", "doc_id").drop_nulls()
        return self._mentions(references.join(self.papers, on="paper_id").drop("title"))

    def _said(self) -> pl.DataFrame:
        rows = self._collection.contexts.join(self.papers, on="paper_id", how="left")
        place = pl.concat_str(pl.col("paper_id", "context_id", "paragraph").fill_null(""),
                              separator=_PART)  # fmt: skip
        number = pl.concat_str([place, pl.col("sentence").fill_null(0), "text"], separator=_PART)
        said = rows.select(
            "text", "section", "year", pl.coalesce("citer", "paper_id").alias("citer"),
            doc_id="cited", paragraph=place, sentence=number,
        )  # fmt: skip
        return self._mentions(said.explode("doc_id").drop_nulls("doc_id"))

    def _said_elsewhere(self) -> pl.DataFrame:
        """Citing sentences of the index whose papers have no paragraphs in the collection."""
        citing = self._index.citing
        if citing is None:
            return pl.DataFrame(schema=_MENTION)
        papers = pl.Series(list(self._index.papers), dtype=pl.String)
        other = ~papers.is_in(self._collection.contexts["paper_id"].unique().to_list())
        rows = np.flatnonzero(np.asarray(other, bool)[citing.papers])
        texts = [citing.texts[row] for row in rows.tolist()]
        ids = self._catalogue.table["doc_id"]
        found = pl.DataFrame({
            "paper_id": papers[citing.papers[rows].astype(np.int64)],
            "doc_id": ids[citing.docs[rows].astype(np.int64)],
            "text": pl.Series(texts, dtype=pl.String),
            "told": citing.years[rows],
        })  # fmt: skip
        found = found.join(self.papers, on="paper_id", how="left", maintain_order="left")
        place = pl.concat_str(["paper_id", "text"], separator=_PART)
        told = pl.when(pl.col("told") > 0).then("told")
        return self._mentions(found.select(
            "doc_id", "text", year=pl.coalesce("year", told), paragraph=place, sentence=place,
            citer=pl.coalesce("citer", "paper_id"),
        ))  # fmt: skip

    def _linked(self) -> pl.DataFrame:
        cites = self._collection.links.filter(kind="cites").drop_nulls("target_id")
        return self._mentions(cites.select(citer="doc_id", doc_id="target_id"))

    # --- What is asked of them ---

    @cached_property
    def _by_document(self) -> _Rows:
        return _Rows(self.mentions["doc"])

    @cached_property
    def _levels(self) -> dict[str, _Level]:
        """The places at which documents can be cited together, the closest first."""
        columns = {"sentences": "sentence", "paragraphs": "paragraph", "papers": "citer"}
        return {
            name: _Level(self.mentions.select("doc", place=column), len(self._catalogue))
            for name, column in columns.items()
        }

    def of(self, number: int) -> pl.DataFrame:
        """The mentions of a document: one for each sentence, and one without for each paper of
        which no sentence is known; newest papers first, of a year those that say something."""
        mine = self.mentions[self._by_document.of(number)]
        said = mine.filter(pl.col("text").is_not_null()).unique(
            ["citer", "text"], keep="first", maintain_order=True
        )
        bare = mine.filter(pl.col("text").is_null()).unique("citer", maintain_order=True)
        bare = bare.join(said.select("citer"), on="citer", how="anti")
        order = ("year", pl.col("text").is_null(), "citer")
        return pl.concat([said, bare]).sort(
            order, descending=[True, False, False], nulls_last=True, maintain_order=True
        )

    def cited_by(self, number: int) -> list[tuple[int, str]]:
        """The documents that a document cites here, by number, and how that is known: ``cites``, or
        ``linked`` where one of both cites the other."""
        name = self._catalogue.table["doc_id"][number]
        cites = self.mentions.filter(citer=name)["doc"].unique().sort().to_list()
        linked = self._ties.filter(pl.col("kind") == "linked", doc=number)["other"].unique().sort()
        return [
            *((doc, "cites") for doc in cites),
            *((doc, "linked") for doc in linked.to_list() if doc not in set(cites)),
        ]

    def together(self, number: int) -> pl.DataFrame:
        """What is cited together with a document: ``doc``, and in how many ``sentences``,
        ``paragraphs`` and ``papers``; closest first, then by number."""
        counts = {name: level.together(number) for name, level in self._levels.items()}
        told = self._told.get(number, {})
        docs = sorted({*told, *(doc for each in counts.values() for doc in each)})
        rows = {name: [each.get(doc, 0) for doc in docs] for name, each in counts.items()}
        rows["papers"] = [
            max(papers, told.get(doc, 0)) for papers, doc in zip(rows["papers"], docs, strict=True)
        ]
        found = pl.DataFrame({"doc": docs, **rows}, schema=dict.fromkeys(("doc", *rows), pl.Int64))
        return found.sort([*rows, "doc"], descending=[True, True, True, False])

    @cached_property
    def _told(self) -> dict[int, dict[int, int]]:
        """How often documents are cited together, where their links tell."""
        found: dict[int, dict[int, int]] = {}
        ties = self._ties.filter(kind="cocited").select("doc", "other", "weight")
        for doc, other, weight in ties.iter_rows():
            mine = found.setdefault(doc, {})
            mine[other] = max(mine.get(other, 0), int(weight))
        return found

    def among(self, numbers: NDArray[np.int64]) -> list[tuple[int, int, str, float]]:
        """The ties among some documents, by number: citations, and how many papers cite both."""
        here = pl.Series(numbers, dtype=pl.UInt32).implode()
        ids = self._catalogue.table["doc_id"][numbers]
        own = pl.DataFrame({"citer": ids, "source": pl.Series(numbers, dtype=pl.UInt32)})
        mine = self.mentions.filter(pl.col("doc").is_in(here)).select("citer", "doc").unique()
        cites = mine.join(own, on="citer").select("source", "doc").unique().sort("source", "doc")
        found = [(a, b, "citation", 1.0) for a, b in cites.iter_rows()]
        ties = self._ties.filter(pl.col("doc").is_in(here), pl.col("other").is_in(here))
        known = {frozenset(edge[:2]) for edge in found}
        for a, b in ties.filter(kind="linked").select("doc", "other").unique().sort(
            "doc", "other"
        ).iter_rows():  # fmt: skip
            if frozenset((a, b)) not in known:
                known.add(frozenset((a, b)))
                found.append((a, b, "citation", 1.0))
        return found + _pairs(mine, ties.filter(kind="cocited"))


class _Rows:
    """Which rows have a number, without looking at all."""

    def __init__(self, numbers: pl.Series) -> None:
        values = numbers.to_numpy()
        self._order = np.argsort(values, kind="stable")
        self._sorted = values[self._order]

    def of(self, number: int) -> NDArray[np.int64]:
        """The rows that have it, in their order."""
        ends = np.array((number, number + 1), self._sorted.dtype)
        first, last = np.searchsorted(self._sorted, ends)
        return self._order[first:last]


class _Level:
    """Places at which documents are cited (sentences, paragraphs or papers), and what is there."""

    def __init__(self, rows: pl.DataFrame, documents: int) -> None:
        there = rows.drop_nulls().unique()
        codes = there["place"].rank("dense").cast(pl.Int64) - 1
        self._docs = there["doc"].to_numpy().astype(np.int64)
        self._places = codes.to_numpy()
        self._by_document, self._by_place = _Rows(there["doc"]), _Rows(codes)
        self._documents = documents

    def together(self, number: int) -> dict[int, int]:
        """At how many of the places of a document others are."""
        if not 0 <= number < self._documents:
            return {}
        places = self._places[self._by_document.of(number)]
        rows = [self._docs[self._by_place.of(place)] for place in places.tolist()]
        docs, counts = np.unique(np.concatenate([_NONE, *rows]), return_counts=True)
        found = dict(zip(docs.tolist(), counts.tolist(), strict=True))
        found.pop(number, None)
        return found


_NONE = np.zeros(0, np.int64)


def _pairs(mine: pl.DataFrame, told: pl.DataFrame) -> list[tuple[int, int, str, float]]:
    """Pairs of documents that the same papers cite, and by how many, or as often as is told."""
    both = mine.join(mine, on="citer", suffix="_right").filter(pl.col("doc") < pl.col("doc_right"))
    counts = both.group_by("doc", other="doc_right").agg(weight=pl.len().cast(pl.Float64))
    told = told.filter(pl.col("doc") < pl.col("other"))
    told = told.select("doc", "other", pl.col("weight").cast(pl.Float64))
    every = pl.concat([counts.select("doc", "other", "weight"), told])
    every = every.group_by("doc", "other").agg(pl.col("weight").max()).sort("doc", "other")
    return [(a, b, "cited together", weight) for a, b, weight in every.iter_rows()]
