"""Building the index of a collection. Only terms of new and changed documents are counted."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed._version import __version__
from citebed.collection import Collection, open_collection
from citebed.collection.names import unique_names
from citebed.collection.progress import SILENT, Progress
from citebed.collection.storing.store import lock_collection
from citebed.collection.storing.table_files import count_rows
from citebed.errors import CitebedError, CollectionError
from citebed.files.output_files import check_not_link, temporary_folder, translate_write_errors
from citebed.retrieval.analysis import analyser_of
from citebed.retrieval.index import layout, term_counts
from citebed.retrieval.index.analyser_choice import AUTO, choose_analyser
from citebed.retrieval.index.arrays import Strings, in_threads, prefetch
from citebed.retrieval.index.citation_contexts import load_contexts, make_citing_arrays
from citebed.retrieval.index.document_vectors import (
    PartialVectors,
    Unchanged,
    check_vectors,
    encode_index,
    make_static_vectors,
)
from citebed.retrieval.index.index import Index
from citebed.retrieval.index.layout import FOLDER, Description
from citebed.retrieval.index.postings import (
    KeptPostings,
    PostingPile,
    assemble_citing_shares,
    assemble_postings,
)
from citebed.retrieval.index.records import make_record_arrays
from citebed.retrieval.index.statistics import IndexReport, vector_sizes
from citebed.retrieval.index.term_counts import (
    Counts,
    Keys,
    Numbers,
    SourceTable,
    TextBatch,
    TokenBatch,
    Vocabulary,
    WordReader,
    count_terms,
    replace_rows,
    split_words,
)
from citebed.retrieval.vectors.static_model import StaticModel, find_model
from citebed.retrieval.vectors.vectors import Embedder, Quantised
from citebed.wording import printable

COMPILED_ROWS = 10_000
"""With this many rows, compiled code counts their terms in threads. It loads in a second."""
_FIELD_COLUMNS = (("title", "title"), ("abstract", "abstract"), ("keywords", "keywords"))
_HASHING = f"polars {pl.__version__}"
_Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class IndexOptions:
    """How to build an index.

    ``analyser``: by default the one that fits the languages of the texts. ``citing``: drafts, PDFs
    and files of contexts, to index with the documents that they cite. ``workers``: number of
    threads, by default one per core. ``rebuild``: use nothing of the old index. ``neural``: an
    encoder, for vectors beside the static ones; without it, the old encoder vectors stay.
    ``static``: another static model. ``compiled``: let compiled code count even a small collection.
    ``refresh``: read ``citing`` again, because files that a draft includes have changed.
    """

    analyser: str = AUTO
    citing: tuple[Path, ...] = ()
    workers: int = 0
    rebuild: bool = False
    neural: Embedder | None = None
    static: Embedder | None = None
    compiled: bool = False
    refresh: bool = False


@dataclass(frozen=True)
class BuildHooks:
    """Functions that are called while an index is built and cores are free for other work.

    ``on_half_counted`` gets the analyser, the static model and the old index; ``on_made`` gets the
    new index before it is written.
    """

    on_half_counted: Callable[[str, Embedder, Index | None], None] = lambda *_: None
    on_made: Callable[[Index], None] = lambda _: None


def write_index(
    collection: str | Path | Collection,
    options: IndexOptions | None = None,
    progress: Progress = SILENT,
    hooks: BuildHooks | None = None,
) -> IndexReport:
    """Build or update the index of a collection. `citebed.build_index` also fits ranking weights.

    An encoder runs as the last step; the rest of the index can be used while it runs.
    """
    options = options or IndexOptions()
    collection = open_collection(collection)
    folder = collection.folder / FOLDER
    with lock_collection(collection.folder):
        layout.remove_leftovers(check_not_link(folder))
        old = None  # the old index, if it is intact and its hashes are comparable
        with contextlib.suppress(CollectionError):
            found = Index(folder)
            found.verify()
            old = found if found.description.hashing == _HASHING else None
        if old is not None or options.analyser != AUTO:
            options = replace(options, analyser=choose_analyser(collection, options.analyser))
        if old is not None and _is_up_to_date(old, options):
            report = _Builder(collection, options, old).report(old.description, unchanged=True)
        else:
            report = _Builder(collection, options, old, progress, hooks or BuildHooks()).build()
    if options.neural is None:
        return report
    return encode_index(collection, options.neural, report, progress, rebuild=options.rebuild)


def index_in_memory(collection: Collection, options: IndexOptions) -> Index:
    """Index a small collection without writing the index."""
    folder = collection.folder / FOLDER
    with temporary_folder(folder) as work:
        description, arrays = _Builder(collection, options).make(work)
    return Index(folder, description, arrays)


def uses_compiled_code(collection: Collection, options: IndexOptions) -> bool:
    """Return True if compiled code will certainly count the texts."""
    is_new = options.rebuild or not (collection.folder / FOLDER / layout.DESCRIPTION).exists()
    return options.compiled or (is_new and collection.document_count >= COMPILED_ROWS)


def load_kernels(_: object = None) -> None:
    """Load the compiled code that counts words, then compile what searches need, if necessary.

    numba compiles one function at a time, so the code that is needed first comes first.
    """
    from citebed.retrieval import kernels
    from citebed.retrieval.index.compiled import compile_all
    from citebed.retrieval.numba_cache import is_to_compile
    from citebed.retrieval.vectors import kernels as vector_kernels

    compile_all()
    if is_to_compile(kernels.search_many):
        kernels.compile_search()
    if is_to_compile(vector_kernels.scores):
        vector_kernels.compile_all()


def _static_fingerprint(index: Index | None) -> str:
    known = {} if index is None else index.description.vectors.get("static", {})
    return str(known.get("fingerprint", ""))


def _static_model(options: IndexOptions, old: Index | None) -> Embedder:
    """Return the given model, else the one that made the word vectors of the old index."""
    return options.static or find_model(_static_fingerprint(old))


def _is_up_to_date(old: Index, options: IndexOptions) -> bool:
    """Return True if a build with these options would make the same index again."""
    description, vectors = old.description, old.vectors("static")
    sources = tuple(os.path.realpath(path) for path in options.citing)
    return (
        not (options.rebuild or options.refresh)
        and (description.analyser, description.citing_sources) == (options.analyser, sources)
        and vectors is not None
        and vectors.is_of(_static_model(options, old))
        and not (description.citing_papers and old.citing is None)
        and old.has_records
        and old.is_current()
    )


@dataclass
class _Citing:
    """The rows of citing text, with the citing paper, document, length and terms of each."""

    paper_names: list[str]
    years: list[int | None]
    paper_of_row: Numbers
    document_of_row: Numbers
    texts: list[str]
    lengths: NDArray[np.uint32]
    keys: list[Keys] = field(default_factory=list)


@dataclass
class _Builder:
    """One build. `make` fills the fields from ``counted`` on."""

    collection: Collection
    options: IndexOptions
    old: Index | None = None
    progress: Progress = SILENT
    hooks: BuildHooks = BuildHooks()
    counted: int = 0
    contexts: tuple[int, int] = (0, 0)
    """Contexts that cite documents of the collection, and others."""
    lengths: dict[str, NDArray[np.uint32]] = field(default_factory=dict)
    citing: _Citing | None = None
    unchanged: Unchanged | None = None
    kept: KeptPostings | None = None
    vectors: PartialVectors | None = None
    """Vectors that were made while words were counted."""
    embedded: int = 0
    vector_seconds: float = 0.0

    def build(self) -> IndexReport:
        folder = self.collection.folder / FOLDER
        for path in self.options.citing:
            if not path.is_file():
                what = f"'{printable(path)}' is not a file"
                raise CitebedError(f"{what}; expected a draft, a PDF or contexts")
        with temporary_folder(folder) as work:
            described, arrays = self.make(work)
            self.progress.step("writing", 0)
            self.collection.check_unchanged()
            self.hooks.on_made(Index(folder, described, arrays))
            description = layout.write(folder, described, arrays)
        before, now = _static_fingerprint(self.old), description.vectors["static"]["fingerprint"]
        is_model_missing = self.options.static is None and before not in ("", now)
        return self.report(description)._replace(vectors_gone=is_model_missing)

    def report(self, description: Description, *, unchanged: bool = False) -> IndexReport:
        return IndexReport(
            documents=description.documents,
            counted=self.counted,
            terms=description.terms,
            postings=description.postings,
            contexts=self.contexts[0],
            contexts_elsewhere=self.contexts[1],
            unchanged=unchanged,
            embedded=self.embedded,
            not_encoded=int(description.vectors.get("encoder", {}).get("missing", 0)),
            vector_seconds=round(self.vector_seconds, 3),
            analyser=description.analyser,
            **vector_sizes(description),
        )

    def make(self, work: Path) -> tuple[Description, _Arrays]:
        """Count new text and assemble the arrays, partly in files in ``work``."""
        with ThreadPoolExecutor(2) as pool:
            is_large = uses_compiled_code(self.collection, self.options)
            compiling = pool.submit(load_kernels) if is_large else None
            folder, files = self.collection.folder, self.options.citing
            states = pool.submit(layout.source_states, folder, files)
            analyser = pool.submit(choose_analyser, self.collection, self.options.analyser)
            documents = self._load_documents()
            rows = documents["row"].to_numpy()
            records = pool.submit(make_record_arrays, self.collection, rows)
            self.options = replace(self.options, analyser=analyser.result())
            vocabulary = Vocabulary(analyser_of(self.options.analyser))
            pile = PostingPile(work)
            tables = self._plan(documents, work)
            citing, sentences = self.citing, None
            if citing is not None:
                static = _static_model(self.options, self.old)
                sentences = pool.submit(
                    make_citing_arrays, citing.document_of_row, citing.paper_of_row, citing.years,
                    citing.texts, static,
                )  # fmt: skip
            if compiling is None and sum(table.rows for table in tables) >= COMPILED_ROWS:
                compiling = pool.submit(load_kernels)
            self._count(tables, vocabulary, pile, compiling is not None)
            if compiling is not None and not compiling.done():
                self.progress.step("compiling the search, once on this machine", 0)
                compiling.result()
            assembled = pool.submit(self._assemble, documents, vocabulary, pile)
            vectors, models = self._make_vectors(rows.astype(np.int64))
            arrays = assembled.result() | vectors | records.result()
            arrays |= {} if sentences is None else sentences.result()
            description = Description(
                analyser=self.options.analyser,
                documents=documents.height,
                terms=len(arrays["terms.offsets"]) - 1,
                postings=len(arrays["docs"]),
                citing_papers=0 if citing is None else len(citing.paper_names),
                citing_sources=tuple(os.path.realpath(path) for path in self.options.citing),
                sources=states.result(),
                hashing=_HASHING,
                citebed=__version__,
                generation=layout.next_generation(self.collection.folder / FOLDER),
                vectors=models,
                fit={} if self.old is None else self.old.description.fit,
            )
        return description, arrays

    def _load_documents(self) -> pl.DataFrame:
        """Return ``doc_id``, ``row`` in the table and ``hash`` of the text, in index order."""
        self.progress.step("looking for changes", 0)
        text = pl.concat_str(
            pl.col("title").fill_null(""),
            pl.col("abstract").fill_null(""),
            pl.col("keywords").list.join("\x1e").fill_null(""),
            separator="\x1f",
        )
        pieces = self.collection.document_pieces(("doc_id", "title", "abstract", "keywords"))
        hashed = [piece.select("doc_id", hash=text.hash(seed=0)) for piece in pieces]
        documents = pl.concat(hashed).with_row_index("row")
        if documents.height > term_counts.MOST_ROWS:
            raise CitebedError(
                f"an index can hold {term_counts.MOST_ROWS:,} documents; this collection has "
                f"{documents.height:,}. Split it."
            )
        sections = self.collection.sections
        if sections.height:
            text_hash = pl.struct("position", "text").hash(seed=0).sum().alias("full")
            full = sections.group_by("doc_id").agg(text_hash)
            documents = documents.join(full, on="doc_id", how="left").with_columns(
                pl.struct("hash", "full").hash(seed=0).alias("hash")
            )
        return documents.select("doc_id", "row", "hash").sort("doc_id")

    def _plan(self, documents: pl.DataFrame, work: Path) -> list[SourceTable]:
        """Decide what is taken over from the old index, and return the tables to count."""
        numbered = documents.with_row_index("number").with_columns(pl.col("number").cast(pl.Int64))
        sections, new, old = self.collection.sections, numbered, self.old
        names = [*(name for name, _ in _FIELD_COLUMNS), *(["fulltext"] if sections.height else [])]
        self.lengths = {name: np.zeros(documents.height, np.uint32) for name in names}
        if old is not None:
            numbers = np.arange(len(old.ids))
            stored = {"doc_id": old.ids.series(), "hash": old.hashes, "old": numbers}
            rows = numbered.join(pl.DataFrame(stored), on=["doc_id", "hash"], how="inner")
            old_rows, new_rows = rows["old"].to_numpy(), rows["number"].to_numpy()
            self.unchanged = Unchanged(old, old_rows, new_rows)
            # Keep old postings only if few rows changed; else sorting all takes less memory.
            changed = documents.height - len(new_rows)
            is_worth_keeping = changed < max(COMPILED_ROWS, documents.height // 2)
            is_same_analyser = old.description.analyser == self.options.analyser
            if not self.options.rebuild and is_same_analyser and is_worth_keeping:
                to_new = np.full(len(old.ids), -1, np.int64)
                to_new[old_rows] = new_rows
                fields = tuple(name for name in names if name in old.fields)
                self.kept = KeptPostings(old, to_new, fields)
                for name in fields:
                    lengths = old.lengths[name]
                    self.lengths[name][to_new[to_new >= 0]] = lengths[to_new >= 0]
                is_new = np.ones(numbered.height, bool)
                is_new[new_rows] = False
                new = numbered.filter(is_new)
        self.counted = new.height
        document_of_row = np.full(documents.height, -1, np.int64)
        document_of_row[new["row"].to_numpy()] = new["number"].to_numpy()
        planned: list[tuple[str, tuple[tuple[str, str], ...], Numbers]]
        planned = [("documents", _FIELD_COLUMNS, document_of_row)]
        if sections.height:
            owners = sections.select("doc_id").join(
                new.select("doc_id", "number"), on="doc_id", how="left", maintain_order="left"
            )
            numbers = owners["number"].fill_null(-1).to_numpy()
            planned.append(("sections", (("fulltext", "text"),), numbers))
        tables = []
        for table, columns, numbers in planned:
            paths = self.collection.table_paths(table)
            ends = np.cumsum([count_rows(path) for path in paths[:-1]], dtype=np.int64)
            parts = zip(paths, np.split(numbers, ends), strict=True)
            tables += [SourceTable(path, columns, part) for path, part in parts]
        return tables + self._plan_citing(numbered, work)

    def _plan_citing(self, numbered: pl.DataFrame, work: Path) -> list[SourceTable]:
        """Load the citing text, and write it to ``work`` as a table to count."""
        names = None
        if self.options.citing:
            columns = ("doc_id", "doi", "arxiv", "aliases", "doubtful")
            names = unique_names(self.collection.scan_documents().select(columns).collect())
        contexts, other_count = load_contexts(self.collection, self.options.citing, names)
        number = numbered.select("doc_id", "number")
        rows = contexts.join(number, on="doc_id", maintain_order="left")
        self.contexts = rows.height, other_count
        if rows.height > term_counts.MOST_ROWS:
            raise CitebedError(
                f"an index can hold {term_counts.MOST_ROWS:,} contexts; there are {rows.height:,}. "
                "Give fewer contexts files."
            )
        if not rows.height:
            return []
        self.lengths["citing"] = np.zeros(numbered.height, np.uint32)
        papers = sorted(rows["paper_id"].unique(), key=lambda name: name.encode())
        number_of_paper = {name: number for number, name in enumerate(papers)}
        dated = rows.drop_nulls("year").unique("paper_id", keep="first")
        year = dict(dated.select("paper_id", "year").iter_rows())
        path = work / "citing.parquet"
        with translate_write_errors(self.collection.folder / FOLDER), path.open("wb") as file:
            rows.select("text").write_parquet(file)
        self.citing = _Citing(
            paper_names=papers,
            years=[year.get(name) for name in papers],
            paper_of_row=np.array([number_of_paper[name] for name in rows["paper_id"]], np.int64),
            document_of_row=rows["number"].to_numpy().astype(np.int64),
            texts=rows["text"].to_list(),
            lengths=np.zeros(rows.height, np.uint32),
        )
        return [SourceTable(path, (("citing", "text"),), self.citing.document_of_row, by_row=True)]

    def _count(
        self, tables: list[SourceTable], vocabulary: Vocabulary, pile: PostingPile, compiled: bool
    ) -> None:
        """Count the terms of all tables; compiled code also makes the static vectors."""
        rows = sum(table.rows for table in tables)
        self.progress.step("counting terms", rows)
        until_half = rows // 2
        document_of_row = {table.table: table.document_of_row for table in tables}
        batches = (batch for table in tables for batch in table.batches())
        model = _static_model(self.options, self.old)
        static = model if isinstance(model, StaticModel) else None

        def count_tokens(tokens: TokenBatch) -> tuple[Counts, Quantised | None]:
            texts = tokens.batch.texts
            if static is None or texts.columns != [name for name, _ in _FIELD_COLUMNS]:
                return tokens.counts(), None
            vectors = static.documents_of_tokens(tokens.tokens)
            return tokens.counts(), check_vectors(static, vectors, texts.height)

        def count_plain(batch: TextBatch) -> tuple[Counts, Quantised | None]:
            return count_terms(batch, vocabulary), None

        results: Iterator[tuple[Counts, Quantised | None]] = map(count_plain, batches)
        if compiled:
            reader = WordReader(vocabulary, static)
            token_batches = map(reader.read, prefetch(split_words(batches)))
            results = in_threads(count_tokens, token_batches, self._threads)
        for counts, vectors in results:
            batch, keys = counts.batch, counts.keys
            if self.citing is not None and batch.texts.columns == ["citing"]:
                self.citing.keys.append(keys)
                self.citing.lengths[batch.rows] = counts.lengths["citing"]
                keys = replace_rows(keys, self.citing.document_of_row)
            with translate_write_errors(self.collection.folder / FOLDER):
                pile.add(keys)
            documents = document_of_row[batch.table][batch.rows]
            for name, lengths in counts.lengths.items():
                np.add.at(self.lengths[name], documents, lengths)
            if vectors is not None:
                total = len(self.lengths["title"])
                self.vectors = self.vectors or PartialVectors(total, model.width)
                self.vectors.add(batch.numbers, vectors)
            self.progress.add(batch.texts.height)
            until_half -= batch.texts.height
            if until_half <= 0 < until_half + batch.texts.height:
                self.hooks.on_half_counted(self.options.analyser, model, self.old)

    def _make_vectors(self, table_rows: Numbers) -> tuple[_Arrays, dict[str, dict[str, Any]]]:
        """Return the arrays of the static vectors and of the encoder's vectors of unchanged
        documents, and their models by kind; ``table_rows`` are the rows of the documents."""
        start, model = time.monotonic(), _static_model(self.options, self.old)
        former = None if self.unchanged is None else self.unchanged.old
        old = None if former is None else former.vectors("static", incomplete=True)
        is_usable = old is not None and old.is_of(model) and not self.options.rebuild
        vectors = self.vectors or PartialVectors(len(table_rows), model.width)
        wanted = vectors.reuse(old if is_usable else None, self.unchanged)
        self.embedded = int(np.count_nonzero(wanted))
        numbers = np.flatnonzero(wanted & ~vectors.known)
        if len(numbers):
            make_static_vectors(
                self.collection, model, numbers, table_rows, vectors, self._threads, self.progress
            )
        of_model = {"name": model.name, "fingerprint": model.fingerprint, "width": model.width}
        arrays, models = vectors.arrays("static"), {"static": of_model}
        for kind, about in ({} if former is None else former.description.vectors).items():
            others = None if former is None else former.vectors(kind, incomplete=True)
            if kind != "static" and others is not None:
                vectors = PartialVectors(len(table_rows), others.width)
                missing = np.count_nonzero(vectors.reuse(others, self.unchanged))
                if missing < len(table_rows):
                    arrays |= vectors.arrays(kind)
                    models[kind] = {**about, "missing": int(missing)}
        self.vector_seconds = time.monotonic() - start
        return arrays, models

    @property
    def _threads(self) -> int:
        return self.options.workers or os.cpu_count() or 1

    def _assemble(
        self, documents: pl.DataFrame, vocabulary: Vocabulary, pile: PostingPile
    ) -> _Arrays:
        """Return the arrays of postings, of the citing text's shares, and of the documents' ids."""
        with translate_write_errors(self.collection.folder / FOLDER):
            terms = vocabulary.terms()
            arrays, numbers = assemble_postings(pile, terms, self.lengths, self.kept)
        if self.citing is not None:
            citing = self.citing
            arrays["papers"], arrays["papers.offsets"] = Strings.arrays(citing.paper_names)
            keys = np.concatenate(citing.keys)
            arrays |= assemble_citing_shares(
                keys, citing.lengths, numbers, citing.document_of_row, citing.paper_of_row, arrays
            )
        arrays["ids"], arrays["ids.offsets"] = Strings.arrays(documents["doc_id"])
        arrays["hashes"] = documents["hash"].to_numpy()
        return arrays
