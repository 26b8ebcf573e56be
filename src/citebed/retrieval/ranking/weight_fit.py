"""Fit collection weights: learn from a collection's abstracts how much word vectors count.

Vectors that were learned in one field know little of another, where they must count less. In a
small copy of the collection, citebed removes one sentence from each of some hundred abstracts, and
searches with it. The ranker's own weights stay if they find the abstracts about as well as any;
else the weight of vectors is the lowest that is within a standard error of the best, so that a
small or odd collection stays near BM25.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection, open_collection
from citebed.collection.progress import SILENT, Progress
from citebed.collection.storing.store import Manifest, lock_collection
from citebed.collection.tables import DOCUMENTS as ALL_COLUMNS
from citebed.errors import CitebedError
from citebed.files.output_files import temporary_folder, translate_write_errors
from citebed.retrieval.analysis.words import words
from citebed.retrieval.index import layout
from citebed.retrieval.index.builder import (
    COMPILED_ROWS,
    BuildHooks,
    IndexOptions,
    index_in_memory,
    load_kernels,
    uses_compiled_code,
    write_index,
)
from citebed.retrieval.index.document_vectors import encode_index
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.index.layout import FOLDER
from citebed.retrieval.index.statistics import IndexReport
from citebed.retrieval.models import MODELS
from citebed.retrieval.query import Query
from citebed.retrieval.ranking.collection_weights import (
    CALIBRATED_LANGUAGES,
    MIN_DOCUMENTS,
    VECTOR_SIGNALS,
    WORD_SIGNALS,
    CollectionWeights,
    columns,
    read_weights,
)
from citebed.retrieval.ranking.features import SIGNALS, Signals
from citebed.retrieval.ranking.ranker import shipped_ranker
from citebed.retrieval.search.searcher import Searcher
from citebed.retrieval.vectors.static_model import StaticModel, find_model
from citebed.retrieval.vectors.vectors import Embedder
from citebed.text.languages import language_of
from citebed.text.sentences import split_sentences
from citebed.wording import printable

Reals = NDArray[np.float64]

WEIGHTS = (0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.35, 0.5, 0.75, 1.0)
"""The weights to try, as shares of the ranker's weight of word vectors."""
DOCUMENTS, SENTENCES = 4000, 500
"""The size limits of the copy, and of the queries."""
DEFAULT_SHARE = 0.35
"""The weight if there are too few sentences. With it, titles alone were found better than by BM25
in life sciences (nDCG@10 .233, BM25 .223) and computer science (.223, .155)."""
_MAX_CHANGE = 0.1
"""Weights stay until this share of the documents was added or removed."""
_COLUMNS = ("doc_id", "title", "abstract", "keywords", "year", "pages", "authors", "doi", "arxiv",
            "aliases", "doubtful")  # fmt: skip
"""The columns that an index needs."""
_SEED = 7
_TRUSTED_ERRORS = 0.25
"""The ranker's own weights stay if they are behind by less than this many standard errors."""
_MIN_NDCG = 0.05
"""Sentences teach if words alone reach this nDCG@10."""
_DEPTH = 10
_MIN_WORDS, _MAX_WORDS, _CHUNK = 8, 60, 20
"""Words of a query sentence; words of a chunk of an abstract without sentences."""


def build_index(
    collection: str | Path | Collection,
    options: IndexOptions | None = None,
    progress: Progress = SILENT,
    *,
    fit: bool | None = None,
) -> IndexReport:
    """Index a collection, and fit its weights.

    Fitted weights stay while nine in ten documents do, also in a rebuilt index, so that an index
    that grew equals a rebuilt one. ``fit=True`` fits them again; ``fit=False`` uses the shipped
    weights from then on. The encoder reads the documents last, while the index can be used.
    """
    opened = open_collection(collection)
    options = options or IndexOptions()
    with ThreadPoolExecutor(2) as pool:
        if uses_compiled_code(opened, options):
            pool.submit(load_kernels)
        fitting = _Fitting(opened, fit, pool)
        hooks = BuildHooks(fitting.begin)
        report = write_index(opened, replace(options, neural=None), progress, hooks)
        try:
            report = fitting.store(report, progress)
        except CitebedError as error:
            raise CitebedError(
                f"{str(error).rstrip('.')}. The new index is in place, but its weights may not be "
                f"fitted. Fit them with: citebed index {printable(opened.folder)}"
            ) from error
    if options.neural is None:
        return report
    return encode_index(opened, options.neural, report, progress, rebuild=options.rebuild)


class FitInput(NamedTuple):
    """The basis of fitted weights: the number of documents, an analyser and word vectors."""

    documents: int
    analyser: str
    model: Embedder


def is_stale(weights: CollectionWeights, now: FitInput) -> bool:
    """Return True if weights must be fitted again."""
    if not weights.documents:  # the user switched fitting off
        return False
    changed = abs(now.documents - weights.documents)
    same = (weights.fingerprint, weights.analyser) == (now.model.fingerprint, now.analyser)
    return not same or changed > _MAX_CHANGE * weights.documents


class _Fitting:
    """Fits weights; if the collection is large, during the build."""

    def __init__(self, opened: Collection, fit: bool | None, pool: ThreadPoolExecutor) -> None:
        self._opened, self._fit, self._pool = opened, fit, pool
        self._weights: Future[CollectionWeights] | None = None

    def begin(self, analyser: str, model: Embedder, old: Index | None) -> None:
        """Start to fit weights if they will be missing or stale."""
        now = FitInput(self._opened.document_count, analyser, model)
        known = None if self._fit or old is None else read_weights(old)
        is_needed = self._fit is not False and (known is None or is_stale(known, now))
        if is_needed and now.documents >= COMPILED_ROWS:
            self._weights = self._pool.submit(fit_weights, self._opened, now)

    def store(self, report: IndexReport, progress: Progress) -> IndexReport:
        """Store the weights in the index, and return the report with them."""
        index = open_index(self._opened)
        known = None if self._fit else read_weights(index)
        if self._fit is False:
            known = CollectionWeights(0, 0, 1.0, "")
        else:
            now = FitInput(len(index.ids), index.description.analyser, load_static_model(index))
            if known is None or is_stale(known, now):
                known = None if self._weights is None else self._weights.result()
                if known is None or known.documents != now.documents or is_stale(known, now):
                    known = fit_weights(self._opened, now, progress)
        with lock_collection(self._opened.folder):
            generation = index.description.generation
            layout.write_fit(index.folder, generation, fit=asdict(known))
        share = round(known.words_share(), 2)
        return report._replace(fitted_on=known.sentences, words_share=share, tuned_on=known.tuned)


def load_static_model(index: Index) -> StaticModel:
    """Load the word vectors that an index uses."""
    vectors = index.vectors("static")
    return find_model("" if vectors is None else vectors.fingerprint)


class RemovedSentence(NamedTuple):
    """A sentence that was removed from a document, to search with."""

    doc_id: str
    sentence: str
    language: str | None = None


def fit_weights(
    collection: Collection, now: FitInput, progress: Progress = SILENT
) -> CollectionWeights:
    """Return weights fitted with sentences that are removed from a small copy of a collection."""
    documents, analyser, model = now
    unfitted = CollectionWeights(0, documents, DEFAULT_SHARE, model.fingerprint, analyser=analyser)
    with temporary_folder(collection.folder / FOLDER) as work:
        removed = _copy_without_sentences(collection, work)
        if len(removed) < MIN_DOCUMENTS:
            return unfitted
        progress.step("fitting weights", len(removed))
        options = IndexOptions(analyser, static=model, compiled=documents >= COMPILED_ROWS)
        searcher = Searcher(index_in_memory(open_collection(work), options), MODELS["bm25"]())
        if options.compiled:
            searcher.prepare()
        gains = _measure_gains(searcher, model, removed, progress)
    codes = np.array([one.language or "" for one in removed], object)
    chosen, others = choose_by_language(gains, codes)
    means = dict(zip(WEIGHTS, gains.mean(axis=1).tolist(), strict=True))
    return replace(
        unfitted,
        sentences=len(removed),
        static=chosen,
        languages=others,
        bm25=round(means[0.0], 4),
        shipped=round(means[1.0], 4),
        fitted=round(means[chosen], 4),
    )


def _copy_without_sentences(collection: Collection, folder: Path) -> list[RemovedSentence]:
    """Copy some documents to a new collection, remove a sentence from each, and return these."""
    count = collection.document_count
    rng = np.random.default_rng(_SEED)
    rows = np.sort(rng.choice(count, min(DOCUMENTS, count), replace=False))
    table = collection.some_documents(rows.tolist(), _COLUMNS)
    draw, removed = random.Random(_SEED), list[RemovedSentence]()
    abstracts = table["abstract"].to_list()
    for place in rng.permutation(len(abstracts)).tolist():
        if len(removed) == SENTENCES:
            break
        whole = abstracts[place] or ""
        split = split_abstract(whole, draw)
        if split is not None:
            sentence, abstracts[place] = split
            language = language_of(None, table["title"][place], whole)
            removed.append(RemovedSentence(table["doc_id"][place], sentence, language))
    table = table.with_columns(pl.Series("abstract", abstracts, pl.String))
    table = pl.concat([pl.DataFrame(schema=ALL_COLUMNS), table], how="diagonal")
    with translate_write_errors(collection.folder / FOLDER):
        with (folder / "documents.parquet").open("wb") as file:
            table.write_parquet(file)
        (folder / "citebed.toml").write_text(Manifest("copy").to_toml(), encoding="utf-8")
    return removed


def split_abstract(abstract: str, draw: random.Random) -> tuple[str, str] | None:
    """Return a sentence of an abstract, and the rest; without sentences, a chunk of its words.

    Return ``None`` if too little would be left.
    """
    sentences = split_sentences(abstract)
    # Two ideographs count as a word.
    lengths = [max(len(each.split()), len(words(each)) // 2) for each in sentences]
    suitable = [place for place, n in enumerate(lengths) if _MIN_WORDS <= n <= _MAX_WORDS]
    if len(sentences) > 2 and suitable:
        place = draw.choice(suitable)
        return sentences[place], " ".join(sentences[:place] + sentences[place + 1 :])
    parts = abstract.split()
    if len(parts) < 3 * _CHUNK:
        return None
    start = draw.randrange(len(parts) - _CHUNK)
    end = start + _CHUNK
    return " ".join(parts[start:end]), " ".join(parts[:start] + parts[end:])


def _measure_gains(
    searcher: Searcher, model: Embedder, removed: Sequence[RemovedSentence], progress: Progress
) -> Reals:
    """Return nDCG@10 of each sentence (columns) with each weight (rows), by text signals only."""
    ranker = shipped_ranker()
    signals = Signals(searcher, {"static": model}, ranker.constants)
    queries = [Query(one.sentence, searcher.query(one.sentence)) for one in removed]
    hits = searcher.search_all([query.terms for query in queries], ranker.constants.bm25_depth)
    own = ranker.levels["static"].weights
    weights = np.zeros((len(WEIGHTS), len(SIGNALS)))
    weights[:, columns(WORD_SIGNALS)] = own[columns(WORD_SIGNALS)]
    weights[:, columns(VECTOR_SIGNALS)] = np.outer(WEIGHTS, own[columns(VECTOR_SIGNALS)])
    gains = np.zeros((len(WEIGHTS), len(removed)))
    for place, vectors in enumerate(signals.precompute(signals.embed(queries))):
        found = signals.compute(queries[place], hits[place], vectors, _DEPTH)
        right = found.docs == searcher.index.ids.find(removed[place].doc_id)
        if right.any():
            scores = found.signals @ weights.T
            ranks = (scores > scores[right][0]).sum(axis=0) + 1
            gains[:, place] = np.where(ranks <= _DEPTH, 1 / np.log2(ranks + 1), 0.0)
        progress.add(1)
    return gains


def choose_by_language(
    gains: Reals, languages: NDArray[np.object_]
) -> tuple[float, dict[str, float]]:
    """Return the weight for texts in English or an unknown language, and those for other languages
    with enough sentences, by code. If English has too few sentences, all count for its weight."""

    def can_teach(own: Reals) -> bool:
        """Return True for enough sentences if words find some; if all texts are alike they do
        not."""
        return own.shape[1] >= MIN_DOCUMENTS and float(own[0].mean()) >= _MIN_NDCG

    is_calibrated = np.isin(languages, [code or "" for code in CALIBRATED_LANGUAGES])
    others = {
        code: WEIGHTS[choose_lowest(own, trusted=False)]
        for code in sorted({str(code) for code in languages[~is_calibrated]})
        if can_teach(own := gains[:, languages == code])
    }
    english = gains[:, is_calibrated]
    if can_teach(english):
        return WEIGHTS[choose_lowest(english)], others
    share = WEIGHTS[choose_lowest(gains, trusted=False)] if can_teach(gains) else DEFAULT_SHARE
    return share, others


def choose_lowest(gains: Reals, *, trusted: bool = True) -> int:
    """Return the row of the ranker's own weight if it is ``trusted`` and hardly behind the best,
    else the row of the lowest weight within a standard error of the best."""
    behind = gains[gains.mean(axis=1).argmax()] - gains
    errors = behind.std(axis=1) / np.sqrt(gains.shape[1])
    if trusted and behind[-1].mean() <= _TRUSTED_ERRORS * errors[-1]:
        return len(WEIGHTS) - 1
    return int(np.flatnonzero(behind.mean(axis=1) <= errors)[0])
