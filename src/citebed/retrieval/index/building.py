"""Building a collection's index: only what is new is counted, the rest is taken over."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed._version import __version__
from citebed.collection import Collection, open_collection
from citebed.collection.names import document_names
from citebed.collection.progress import SILENT, Progress
from citebed.collection.storing.store import locked
from citebed.collection.storing.table_files import rows_of
from citebed.errors import CitebedError, CollectionError
from citebed.files.output_files import check_not_link, temporary_folder, translate_write_errors
from citebed.retrieval.analysis import analyser_of
from citebed.retrieval.index import assembling, counting, layout, records
from citebed.retrieval.index.arrays import Strings
from citebed.retrieval.index.assembling import Gathered, Kept
from citebed.retrieval.index.choosing import AUTO, fitting_analyser
from citebed.retrieval.index.citing import citing_sentences, citing_text
from citebed.retrieval.index.counting import (
    Counts,
    Planned,
    Reader,
    ReadRows,
    Rows,
    TermNumbers,
    cut_texts,
)
from citebed.retrieval.index.embedding import (
    Before,
    Embedded,
    Embedding,
    Made,
    Part,
    checked,
    unchanged,
)
from citebed.retrieval.index.encoding import encode_index
from citebed.retrieval.index.index import Index
from citebed.retrieval.index.layout import FOLDER, Description
from citebed.retrieval.index.spilling import Pile
from citebed.retrieval.index.statistics import IndexReport, report_of
from citebed.retrieval.index.threads import in_threads, prefetch
from citebed.retrieval.vectors.static_model import StaticModel, find_model
from citebed.retrieval.vectors.vectors import Embedder
from citebed.wording import printable

COMPILED_ROWS = 10_000
"""From so many rows on, compiled code counts, in threads: starting it takes a second, once."""
_TEXT = (("title", "title"), ("abstract", "abstract"), ("keywords", "keywords"))
_HASHING = f"polars {pl.__version__}"


@dataclass(frozen=True)
class IndexOptions:
    """How to index: the analyser (by default the one that fits the languages of the texts),
    contexts files for the citing text, and how many processes.

    ``rebuild`` makes everything anew even where the old index could be used. ``neural`` is an
    encoder whose vectors of the documents are kept beside those of the static model; without it,
    those that the index has already are kept. ``compiled`` code counts few documents too.
    """

    analyser: str = AUTO
    citing: tuple[Path, ...] = ()
    workers: int = 0
    rebuild: bool = False
    neural: Embedder | None = None
    static: Embedder | None = None
    compiled: bool = False


@dataclass(frozen=True)
class BuildHooks:
    """Functions that are called while an index is built, where cores are free for other work.

    ``half_counted`` gets the analyser, the model of word vectors and the old index; ``made`` gets
    the new index before it is written.
    """

    half_counted: Callable[[str, Embedder, Index | None], None] = lambda *_: None
    made: Callable[[Index], None] = lambda _: None


def write_index(
    collection: str | Path | Collection,
    options: IndexOptions | None = None,
    progress: Progress = SILENT,
    hooks: BuildHooks | None = None,
) -> IndexReport:
    """Write the index of a collection (its path, or open), or bring it up to date; ``build_index``
    of the package also learns weights from it.

    It can be used before an encoder has read its documents, and while it does.
    """
    options = options or IndexOptions()
    collection = open_collection(collection)
    report = _write_words(collection, options, progress, hooks or BuildHooks())
    if options.neural is None:
        return report
    return encode_index(collection, options.neural, report, progress, anew=options.rebuild)


def _write_words(
    collection: Collection,
    options: IndexOptions,
    progress: Progress,
    hooks: BuildHooks,
) -> IndexReport:
    """All of an index but what an encoder makes; that is kept, where the index has it."""
    folder = collection.folder
    with locked(folder):
        layout.sweep(check_not_link(folder / FOLDER))
        old = _usable(folder / FOLDER)
        if old is not None or options.analyser != AUTO:
            options = replace(options, analyser=fitting_analyser(collection, options.analyser))
        if old is not None and _is_as_asked(old, options) and old.is_current():
            return report_of(old.description, 0, 0, 0, Embedded(), unchanged=True)
        return _Builder(collection, options, old, progress, hooks).build()


def index_in_memory(collection: Collection, options: IndexOptions) -> Index:
    """Index a small collection without writing the index."""
    with temporary_folder(collection.folder / FOLDER) as work:
        description, arrays, _ = _Builder(collection, options).make(work)
    return Index(collection.folder / FOLDER, description, arrays)


def _usable(folder: Path) -> Index | None:
    """The old index, if one is there, whole, and knows its documents in the same way."""
    try:
        old = Index(folder)
        old.verify()
    except CollectionError:
        return None
    return old if old.description.hashing == _HASHING else None


def _is_as_asked(old: Index, options: IndexOptions) -> bool:
    """Whether an index is what the options would make of the files that it was made of."""
    found, vectors = old.description, old.vectors("static")
    sources = tuple(os.path.realpath(path) for path in options.citing)
    return (
        not options.rebuild
        and (found.analyser, found.citing_sources) == (options.analyser, sources)
        and vectors is not None
        and vectors.is_of(_static(options, old))
        and not (found.citing_papers and old.citing is None)
        and old.has_records
    )


def _static(options: IndexOptions, old: Index | None) -> Embedder:
    """The model whose word vectors an index is to have."""
    return options.static or find_model(_static_of(old))


def _static_of(old: Index | None) -> str:
    """The fingerprint of the model that made an index's word vectors."""
    known = {} if old is None else old.description.vectors.get("static", {})
    return str(known.get("fingerprint", ""))


@dataclass
class _Builder:
    collection: Collection
    options: IndexOptions
    old: Index | None = None
    progress: Progress = SILENT
    hooks: BuildHooks = BuildHooks()
    contexts: int = 0
    elsewhere: int = 0
    counted: int = 0
    citing: dict[str, Any] = field(default_factory=dict)
    before: Before | None = None
    made: Made | None = None

    def build(self) -> IndexReport:
        """Write the index."""
        folder = self.collection.folder / FOLDER
        for path in self.options.citing:
            if not path.is_file():
                raise CitebedError(f"there is no contexts file '{printable(path)}'")
        with temporary_folder(folder) as work:
            described, arrays, embedded = self.make(work)
            self.progress.step("writing", 0)
            self.collection.check_unchanged()
            self.hooks.made(Index(folder, described, arrays))
            description = layout.write(folder, described, arrays)
        report = report_of(description, self.counted, self.contexts, self.elsewhere, embedded)
        before, now = _static_of(self.old), description.vectors["static"]["fingerprint"]
        gone = self.options.static is None and before not in ("", now)
        return report._replace(vectors_gone=gone)

    def make(self, work: Path) -> tuple[Description, dict[str, NDArray[Any]], Embedded]:
        """Find what is new, count it and assemble the arrays, some of which may be files in a
        folder for work."""
        with ThreadPoolExecutor(2) as beside:
            is_large = is_large_build(self.collection, self.options)
            compiling = beside.submit(load_kernels) if is_large else None
            states = beside.submit(self._states)
            analyser = beside.submit(fitting_analyser, self.collection, self.options.analyser)
            documents = self._documents()
            known = beside.submit(records.arrays_of, self.collection, documents["row"].to_numpy())
            self.options = replace(self.options, analyser=analyser.result())
            numbers = TermNumbers(analyser_of(self.options.analyser))
            gathered = Gathered(documents.height, numbers, Pile(work))
            planned, kept = self._plan(documents, gathered, work)
            said = beside.submit(self._citing_sentences)
            if compiling is None and sum(plan.rows for plan in planned) >= COMPILED_ROWS:
                compiling = beside.submit(load_kernels)
            self._count(planned, gathered, compiling is not None)
            if compiling is not None and not compiling.done():
                self.progress.step("compiling the search, once on this machine", 0)
                compiling.result()
            assembled = beside.submit(self._arrays, documents, gathered, kept)
            embedded = self._embedding(documents).embed()
            arrays = assembled.result() | said.result() | embedded.arrays | known.result()
            described = self._describe(documents.height, arrays, states.result(), embedded)
        return described, arrays, embedded

    def _arrays(
        self, documents: pl.DataFrame, gathered: Gathered, kept: Kept | None
    ) -> dict[str, NDArray[Any]]:
        """The arrays of the postings, the citing text and the documents' ids."""
        with translate_write_errors(self.collection.folder / FOLDER):
            arrays, final = assembling.assemble(gathered, kept)
        arrays |= self._shares(final, arrays)
        arrays["ids"], arrays["ids.offsets"] = Strings.packed(documents["doc_id"])
        arrays["hashes"] = documents["hash"].to_numpy()
        return arrays

    def _embedding(self, documents: pl.DataFrame) -> Embedding:
        return Embedding(
            self.collection,
            documents["row"].to_numpy().astype(np.int64),
            _static(self.options, self.old),
            self.before,
            self.made,
            self.options.rebuild,
            self.options.workers or os.cpu_count() or 1,
            self.progress,
        )

    def _states(self) -> dict[str, dict[str, Any]]:
        paths = layout.source_files(self.collection.folder)
        states = {name: layout.source_state(path) for name, path in paths.items()}
        for path in self.options.citing:
            states[os.path.realpath(path)] = layout.source_state(path)
        return states

    def _documents(self) -> pl.DataFrame:
        """``doc_id``, ``row`` in the table and ``hash`` of the text, in the index's order."""
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
        if documents.height > counting.MOST_ROWS:
            raise CitebedError(
                f"an index holds {counting.MOST_ROWS:,} documents; this collection has "
                f"{documents.height:,}. Split it."
            )
        if self._has_sections:
            sections = self.collection.sections
            of_text = pl.struct("position", "text").hash(seed=0).sum().alias("full")
            full = sections.group_by("doc_id").agg(of_text)
            documents = documents.join(full, on="doc_id", how="left").with_columns(
                pl.struct("hash", "full").hash(seed=0).alias("hash")
            )
        return documents.select("doc_id", "row", "hash").sort("doc_id")

    def _plan(
        self, documents: pl.DataFrame, gathered: Gathered, work: Path
    ) -> tuple[list[Planned], Kept | None]:
        """What is to be counted, and what is taken over from the old index."""
        numbered = documents.with_row_index("number").with_columns(pl.col("number").cast(pl.Int64))
        new, kept = numbered, None
        if self.old is not None:
            self.before = unchanged(self.old, numbered)
            same = self.old.description.analyser == self.options.analyser
            changed = documents.height - len(self.before.now)
            # Postings of most documents of a large collection are sorted within bounded memory.
            few = changed < max(COMPILED_ROWS, documents.height // 2)
            if not self.options.rebuild and same and few:
                new, kept = self._take_over(self.before, numbered, gathered)
        self.counted = new.height
        rows = np.full(documents.height, -1, np.int64)
        rows[new["row"].to_numpy()] = new["number"].to_numpy()
        planned = self._of_files("documents", _TEXT, rows)
        for name, _ in _TEXT:
            gathered.length(name)
        if self._has_sections:
            gathered.length("fulltext")
            of_sections = self.collection.sections.select("doc_id").join(
                new.select("doc_id", "number"), on="doc_id", how="left", maintain_order="left"
            )
            numbers = of_sections["number"].fill_null(-1).to_numpy()
            planned += self._of_files("sections", (("fulltext", "text"),), numbers)
        planned += self._plan_citing(numbered, gathered, work)
        return planned, kept

    def _of_files(
        self, table: str, columns: tuple[tuple[str, str], ...], numbers: NDArray[np.int64]
    ) -> list[Planned]:
        """What is to be counted of each file of a table, whose rows are of documents by number."""
        paths = self.collection.files_of(table)
        ends = np.cumsum([rows_of(path) for path in paths[:-1]], dtype=np.int64)
        parts = zip(paths, np.split(numbers, ends), strict=True)
        return [Planned(path, columns, part) for path, part in parts]

    @property
    def _has_sections(self) -> bool:
        return self.collection.sections.height > 0

    def _take_over(
        self, before: Before, numbered: pl.DataFrame, gathered: Gathered
    ) -> tuple[pl.DataFrame, Kept]:
        """Take over what has not changed; returns the documents that have, and what stays."""
        old = before.old
        to_new = np.full(len(old.ids), -1, np.int64)
        to_new[before.then] = before.now
        now = [*(name for name, _ in _TEXT), *(("fulltext",) if self._has_sections else ())]
        kept = Kept(old, to_new, tuple(name for name in now if name in old.fields))
        for name in kept.fields:
            gathered.length(name)[to_new[to_new >= 0]] = old.lengths[name][to_new >= 0]
        is_new = np.ones(numbered.height, bool)
        is_new[before.now] = False
        return numbered.filter(is_new), kept

    def _plan_citing(self, numbered: pl.DataFrame, gathered: Gathered, work: Path) -> list[Planned]:
        found, self.elsewhere = citing_text(
            self.collection, self.options.citing, self._names() if self.options.citing else None
        )
        rows = found.join(numbered.select("doc_id", "number"), on="doc_id", maintain_order="left")
        self.contexts = rows.height
        if rows.height > counting.MOST_ROWS:
            raise CitebedError(
                f"an index holds {counting.MOST_ROWS:,} contexts; there are {rows.height:,}. "
                "Give fewer contexts files."
            )
        if not rows.height:
            return []
        gathered.length("citing")
        papers = sorted(rows["paper_id"].unique(), key=lambda name: name.encode())
        place = {name: number for number, name in enumerate(papers)}
        path = work / "citing.parquet"
        with translate_write_errors(self.collection.folder / FOLDER), path.open("wb") as file:
            rows.select("text").write_parquet(file)
        self.citing = {
            "papers": papers,
            "paper": np.array([place[name] for name in rows["paper_id"]], np.int64),
            "years": _years(rows, papers),
            "texts": rows["text"].to_list(),
            "document": rows["number"].to_numpy().astype(np.int64),
            "keys": [],
            "lengths": np.zeros(rows.height, np.uint32),
        }
        return [Planned(path, (("citing", "text"),), self.citing["document"], by_row=True)]

    def _names(self) -> pl.DataFrame:
        """What contexts of others may call the documents."""
        columns = ("doc_id", "doi", "arxiv", "aliases", "doubtful")
        return document_names(self.collection.scan_documents().select(columns).collect())

    def _count(self, planned: list[Planned], gathered: Gathered, compiled: bool) -> None:
        rows = sum(plan.rows for plan in planned)
        self.progress.step("counting terms", rows)
        until_half = rows // 2
        by_table = {plan.table: plan.document_of_row for plan in planned}
        jobs = (job for plan in planned for job in plan.jobs())
        model = _static(self.options, self.old)

        def count(job: Rows) -> tuple[Counts, Part | None]:
            return counting.count(job, gathered.numbers), None

        def count_read(job: ReadRows) -> tuple[Counts, Part | None]:
            return job.counts(), _vectors(job, model)

        done: Iterator[tuple[Counts, Part | None]]
        if compiled:
            reader = Reader(gathered.numbers, model if isinstance(model, StaticModel) else None)
            threads = self.options.workers or os.cpu_count() or 1
            done = in_threads(count_read, map(reader.read, prefetch(cut_texts(jobs))), threads)
        else:
            done = map(count, jobs)
        for counts, part in done:
            if counts.job.texts.columns == ["citing"]:
                counts = self._remember_citing(counts)  # noqa: PLW2901
            with translate_write_errors(self.collection.folder / FOLDER):
                gathered.add(counts, by_table[counts.job.table])
            if part is not None:
                self.made = self.made or Made(gathered.documents, model.width)
                self.made.add(part)
            self.progress.add(counts.job.texts.height)
            until_half -= counts.job.texts.height
            if until_half <= 0 < until_half + counts.job.texts.height:
                self.hooks.half_counted(self.options.analyser, model, self.old)

    def _remember_citing(self, counts: Counts) -> Counts:
        """Keep the counts of citing texts by row, and return them by document."""
        self.citing["keys"].append(counts.keys)
        self.citing["lengths"][counts.job.rows] = counts.lengths["citing"]
        return counts._replace(keys=counting.renumbered(counts.keys, self.citing["document"]))

    def _shares(
        self, final: NDArray[np.int64], arrays: dict[str, NDArray[Any]]
    ) -> dict[str, NDArray[Any]]:
        if not self.citing:
            return {}
        keys = np.concatenate(self.citing["keys"])
        document, paper = self.citing["document"], self.citing["paper"]
        names, offsets = Strings.packed(self.citing["papers"])
        return {
            "papers": names,
            "papers.offsets": offsets,
            **assembling.citing_shares(keys, final, document, paper, arrays),
            **assembling.citing_lengths(self.citing["lengths"], document, paper),
        }

    def _citing_sentences(self) -> dict[str, NDArray[Any]]:
        if not self.citing:
            return {}
        document, paper = self.citing["document"], self.citing["paper"]
        years, texts = self.citing["years"], self.citing["texts"]
        return citing_sentences(document, paper, years, texts, _static(self.options, self.old))

    def _describe(
        self,
        documents: int,
        arrays: dict[str, NDArray[Any]],
        states: dict[str, dict[str, Any]],
        embedded: Embedded,
    ) -> Description:
        return Description(
            analyser=self.options.analyser,
            documents=documents,
            terms=len(arrays["terms.offsets"]) - 1,
            postings=len(arrays["docs"]),
            citing_papers=len(self.citing.get("papers", ())),
            citing_sources=tuple(os.path.realpath(path) for path in self.options.citing),
            sources=states,
            hashing=_HASHING,
            citebed=__version__,
            generation=layout.next_generation(self.collection.folder / FOLDER),
            vectors=embedded.about,
            fit={} if self.old is None else self.old.description.fit,
        )


def _vectors(job: ReadRows, model: Embedder) -> Part | None:
    """Return the vectors of documents from the words that were read; ``None`` for other tables and
    for models that need the text."""
    texts = job.job.texts
    if not isinstance(model, StaticModel) or texts.columns != [name for name, _ in _TEXT]:
        return None
    made = model.documents_of_tokens(job.tokens)
    return Part(job.job.numbers, checked(model, made, texts.height))


def _years(rows: pl.DataFrame, papers: Sequence[str]) -> list[int | None]:
    """The year of each citing paper, where it is known."""
    known = rows.drop_nulls("year").unique("paper_id", keep="first")
    year = dict(known.select("paper_id", "year").iter_rows())
    return [year.get(name) for name in papers]


def is_large_build(collection: Collection, options: IndexOptions) -> bool:
    """Return True if compiled code will certainly count the texts."""
    is_new = options.rebuild or not (collection.folder / FOLDER / layout.DESCRIPTION).exists()
    return options.compiled or (is_new and collection.document_count >= COMPILED_ROWS)


def load_kernels() -> None:
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
