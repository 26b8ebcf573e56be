"""Citations inside a collection: who cites what in which words, and what is cited together.

A mention is a document cited by a paper, in one sentence if known. Mentions come from reference
lists, citing paragraphs, the citing sentences of the index (also of papers that the collection does
not have), and the links of documents.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl

from citebed.collection import Collection
from citebed.retrieval.library.catalogue import Catalogue
from citebed.retrieval.query import Docs

_MENTION: dict[str, pl.DataType] = {
    "citer": pl.String(), "doc": pl.UInt32(), "paragraph": pl.String(), "sentence": pl.String(),
    "text": pl.String(), "section": pl.String(), "year": pl.Int32(),
}  # fmt: skip
_SEPARATOR = "\x1f"
Tie = tuple[int, int, str, float]
"""Two documents, the kind of their connection, and its weight."""


class Citations:
    """The mentions of a collection's documents, read on first use.

    A citing paper that is itself a document has that document's id.
    """

    def __init__(self, collection: Collection, catalogue: Catalogue) -> None:
        self._collection, self._catalogue = collection, catalogue
        self._index = catalogue.index

    @cached_property
    def mentions(self) -> pl.DataFrame:
        """All mentions: who cites (``citer``), what (``doc``, a number), where and how."""
        citer = pl.coalesce("doc_id", "paper_id")
        papers = self._collection.papers.select("paper_id", citer.alias("citer"), "title", "year")
        references = self._collection.references.select("paper_id", "doc_id").drop_nulls()
        cites = self._collection.links.filter(kind="cites").drop_nulls("target_id")
        return pl.concat(
            [
                self._mentions(references.join(papers, on="paper_id").drop("title")),
                self._mentions(self._in_paragraphs(papers)),
                self._mentions(self._in_index(papers)),
                self._mentions(cites.select(citer="doc_id", doc_id="target_id")),
            ]
        )

    def _mentions(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with ``citer`` and ``doc_id`` as mentions, without self-citations."""
        found = rows.join(self._numbers, on="doc_id").filter(pl.col("citer") != pl.col("doc_id"))
        lacking = {
            name: pl.lit(None, dtype=kind) for name, kind in _MENTION.items() if name not in found
        }
        return found.with_columns(**lacking).select(
            pl.col(name).cast(kind) for name, kind in _MENTION.items()
        )

    def _in_paragraphs(self, papers: pl.DataFrame) -> pl.DataFrame:
        rows = self._collection.contexts.join(papers, on="paper_id", how="left")
        names = pl.col("paper_id", "context_id", "paragraph").fill_null("")
        place = pl.concat_str(names, separator=_SEPARATOR)
        sentence = pl.concat_str(
            [place, pl.col("sentence").fill_null(0), "text"], separator=_SEPARATOR
        )
        cited = rows.select(
            "text", "section", "year", pl.coalesce("citer", "paper_id").alias("citer"),
            doc_id="cited", paragraph=place, sentence=sentence,
        )  # fmt: skip
        return cited.explode("doc_id").drop_nulls("doc_id")

    def _in_index(self, papers: pl.DataFrame) -> pl.DataFrame:
        """Return citing sentences of papers without paragraphs in the collection."""
        citing = self._index.citing
        if citing is None:
            return pl.DataFrame(schema={"citer": pl.String, "doc_id": pl.String})
        names = pl.Series(list(self._index.papers), dtype=pl.String)
        other = ~names.is_in(self._collection.contexts["paper_id"].unique().to_list())
        rows = np.flatnonzero(np.asarray(other, bool)[citing.papers])
        texts = [citing.texts[row] for row in rows.tolist()]
        ids = self._catalogue.table["doc_id"]
        found = pl.DataFrame({
            "paper_id": names[citing.papers[rows].astype(np.int64)],
            "doc_id": ids[citing.docs[rows].astype(np.int64)],
            "text": pl.Series(texts, dtype=pl.String),
            "stated": citing.years[rows],
        })  # fmt: skip
        found = found.join(papers, on="paper_id", how="left", maintain_order="left")
        place = pl.concat_str(["paper_id", "text"], separator=_SEPARATOR)
        stated = pl.when(pl.col("stated") > 0).then("stated")
        return found.select(
            "doc_id", "text", year=pl.coalesce("year", stated), paragraph=place, sentence=place,
            citer=pl.coalesce("citer", "paper_id"),
        )  # fmt: skip

    @cached_property
    def _numbers(self) -> pl.DataFrame:
        numbered = self._catalogue.table.select("doc_id").with_row_index("doc")
        return numbered.filter(self._catalogue.present)

    @cached_property
    def counts(self) -> Docs:
        """How many papers cite each document."""
        pairs = self.mentions.select("citer", "doc").unique()
        return np.bincount(pairs["doc"].to_numpy(), minlength=len(self._catalogue))

    @cached_property
    def _links(self) -> pl.DataFrame:
        """Links between documents of the collection: ``doc``, ``other``, ``kind``, ``weight``."""
        links = self._collection.links.select("doc_id", "target_id", "kind", "weight")
        here = links.join(self._numbers, on="doc_id")
        other = self._numbers.rename({"doc_id": "target_id", "doc": "other"})
        return here.join(other, on="target_id").filter(pl.col("doc") != pl.col("other"))

    @cached_property
    def _by_document(self) -> RowIndex:
        return RowIndex(self.mentions["doc"])

    def of(self, number: int) -> pl.DataFrame:
        """Return the mentions of a document: one for each sentence, and one for each paper without
        known sentences; newest papers first."""
        mine = self.mentions[self._by_document.rows(number)]
        quoted = mine.filter(pl.col("text").is_not_null()).unique(
            ["citer", "text"], keep="first", maintain_order=True
        )
        bare = mine.filter(pl.col("text").is_null()).unique("citer", maintain_order=True)
        bare = bare.join(quoted.select("citer"), on="citer", how="anti")
        order = ("year", pl.col("text").is_null(), "citer")
        return pl.concat([quoted, bare]).sort(
            order, descending=[True, False, False], nulls_last=True, maintain_order=True
        )

    def cited_by(self, number: int) -> list[tuple[int, str]]:
        """Return the documents that a document cites, and how that is known: ``cites``, or
        ``linked`` if one of the two cites the other."""
        name = self._catalogue.table["doc_id"][number]
        cites = self.mentions.filter(citer=name)["doc"].unique().sort().to_list()
        linked = self._links.filter(pl.col("kind") == "linked", doc=number)["other"].unique().sort()
        return [
            *((doc, "cites") for doc in cites),
            *((doc, "linked") for doc in linked.to_list() if doc not in set(cites)),
        ]

    # --- Cited together ---

    @cached_property
    def _levels(self) -> dict[str, tuple[Docs, Docs, RowIndex, RowIndex]]:
        """For sentences, paragraphs and papers: the documents, their places, and rows of both."""
        levels = {}
        for name, column in (("sentences", "sentence"), ("paragraphs", "paragraph"),
                             ("papers", "citer")):  # fmt: skip
            rows = self.mentions.select("doc", place=column).drop_nulls().unique()
            places = rows["place"].rank("dense").cast(pl.Int64) - 1
            docs = rows["doc"].to_numpy().astype(np.int64)
            levels[name] = docs, places.to_numpy(), RowIndex(rows["doc"]), RowIndex(places)
        return levels

    @cached_property
    def _stated(self) -> dict[int, dict[int, int]]:
        """How often documents are cited together, as their links state."""
        found: dict[int, dict[int, int]] = {}
        links = self._links.filter(kind="cocited").select("doc", "other", "weight")
        for doc, other, weight in links.iter_rows():
            mine = found.setdefault(doc, {})
            mine[other] = max(mine.get(other, 0), int(weight))
        return found

    def together(self, number: int) -> pl.DataFrame:
        """Return what is cited together with a document: ``doc``, and the number of ``sentences``,
        ``paragraphs`` and ``papers``; closest first, then by number."""
        counts: dict[str, dict[int, int]] = {}
        for name, (docs, places, by_document, by_place) in self._levels.items():
            rows = [docs[by_place.rows(p)] for p in places[by_document.rows(number)].tolist()]
            found, times = np.unique(
                np.concatenate([np.zeros(0, np.int64), *rows]), return_counts=True
            )
            counts[name] = dict(zip(found.tolist(), times.tolist(), strict=True))
            counts[name].pop(number, None)
        stated = self._stated.get(number, {})
        others = sorted({*stated, *(doc for each in counts.values() for doc in each)})
        columns = {name: [each.get(doc, 0) for doc in others] for name, each in counts.items()}
        papers = zip(columns["papers"], others, strict=True)
        columns["papers"] = [max(known, stated.get(doc, 0)) for known, doc in papers]
        schema = dict.fromkeys(("doc", *columns), pl.Int64)
        table = pl.DataFrame({"doc": others, **columns}, schema=schema)
        return table.sort([*columns, "doc"], descending=[True, True, True, False])

    def ties(self, numbers: Docs) -> list[Tie]:
        """Return the ties between some documents: citations, and how many papers cite both."""
        here = pl.Series(numbers, dtype=pl.UInt32).implode()
        ids = self._catalogue.table["doc_id"][numbers]
        own = pl.DataFrame({"citer": ids, "source": pl.Series(numbers, dtype=pl.UInt32)})
        mine = self.mentions.filter(pl.col("doc").is_in(here)).select("citer", "doc").unique()
        cites = mine.join(own, on="citer").select("source", "doc").unique().sort("source", "doc")
        found: list[Tie] = [(a, b, "citation", 1.0) for a, b in cites.iter_rows()]
        links = self._links.filter(pl.col("doc").is_in(here), pl.col("other").is_in(here))
        known = {frozenset(tie[:2]) for tie in found}
        linked = links.filter(kind="linked").select("doc", "other").unique().sort("doc", "other")
        for a, b in linked.iter_rows():
            if frozenset((a, b)) not in known:
                known.add(frozenset((a, b)))
                found.append((a, b, "citation", 1.0))
        both = mine.join(mine, on="citer", suffix="_right")
        both = both.filter(pl.col("doc") < pl.col("doc_right"))
        counts = both.group_by("doc", other="doc_right").agg(weight=pl.len().cast(pl.Float64))
        stated = links.filter(pl.col("doc") < pl.col("other"), kind="cocited")
        stated = stated.select("doc", "other", pl.col("weight").cast(pl.Float64))
        pairs = pl.concat([counts.select("doc", "other", "weight"), stated])
        pairs = pairs.group_by("doc", "other").agg(pl.col("weight").max()).sort("doc", "other")
        return found + [(a, b, "cited together", weight) for a, b, weight in pairs.iter_rows()]


class RowIndex:
    """The rows of each number in a column."""

    def __init__(self, numbers: pl.Series) -> None:
        values = numbers.to_numpy()
        self._order = np.argsort(values, kind="stable")
        self._sorted = values[self._order]

    def rows(self, number: int) -> Docs:
        """Return the rows with a number, in ascending order."""
        bounds = np.array((number, number + 1), self._sorted.dtype)
        first, last = np.searchsorted(self._sorted, bounds)
        return self._order[first:last]
