"""Fitting: how much word vectors count in a collection is learned from its own abstracts.

Vectors that were learned in one field know little of another: there they must count less, and how
much less a collection tells without anybody's judgements. In a small copy of it one sentence is
taken out of each of some hundred abstracts, and asked for. Where the weights that come with citebed
find it as well as any, they stay; else the weight of vectors is the least that finds it about as
well as the best one (within a standard error), so that a small or odd collection stays near BM25.
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
    is_large_build,
    load_kernels,
    write_index,
)
from citebed.retrieval.index.document_vectors import encode_index
from citebed.retrieval.index.index import Index, open_index
from citebed.retrieval.index.layout import FOLDER
from citebed.retrieval.index.statistics import IndexReport
from citebed.retrieval.models import MODELS
from citebed.retrieval.query import Query
from citebed.retrieval.ranking.citation_need import Background, background, background_of
from citebed.retrieval.ranking.features import SIGNALS, Signals
from citebed.retrieval.ranking.fitted_weights import (
    KNOWN,
    OF_STATIC,
    OF_WORDS,
    Fit,
    fit_of,
    fitted_level,
    places,
)
from citebed.retrieval.ranking.ranker import Level, Ranker, shipped_ranker
from citebed.retrieval.search.searcher import Searcher
from citebed.retrieval.vectors.static_model import find_model
from citebed.retrieval.vectors.vectors import Embedder
from citebed.text.languages import language_of
from citebed.text.sentences import split_sentences
from citebed.wording import printable

Reals = NDArray[np.float64]

WEIGHTS = (0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.35, 0.5, 0.75, 1.0)
"""The weights that are tried, as shares of what the ranker gives to word vectors."""
DOCUMENTS, SENTENCES = 4000, 500
"""Of so many documents the copy is made at most, and so many sentences are asked for."""
FEWEST, UNTAUGHT = 20, 0.35
"""Fewer sentences teach nothing; then vectors count so much. With it titles alone were found better
than by BM25 in life sciences (nDCG@10 .233, BM25 .223) and computer science (.223, .155)."""
_CHANGED = 0.1
"""What was fitted stands until this share of the documents has come or gone."""
_COLUMNS = ("doc_id", "title", "abstract", "keywords", "year", "pages", "authors", "doi", "arxiv",
            "aliases", "doubtful")  # fmt: skip
"""What an index is made of."""
_SEED = 7
_HARDLY = 0.25
"""So much of a standard error is hardly any."""
_FOUND = 0.05
"""Sentences teach where words find so much (nDCG@10)."""
_DEPTH = 10
_SHORTEST, _LONGEST, _CHUNK = 8, 60, 20
"""Words of a sentence that is asked for; and of a piece of an abstract without sentences."""


def build_index(
    collection: str | Path | Collection,
    options: IndexOptions | None = None,
    progress: Progress = SILENT,
    *,
    fit: bool | None = None,
) -> IndexReport:
    """Index a collection, and learn from it how much word vectors count in it.

    What was learned is kept while nine in ten documents are, also where the index is rebuilt, so
    that one that grew equals one that is rebuilt; ``fit`` learns it anew, or if false leaves the
    weights as they come with citebed, from then on. An encoder reads the documents last: the index
    is used meanwhile.
    """
    opened = open_collection(collection)
    options = options or IndexOptions()
    with ThreadPoolExecutor(2) as beside:
        if is_large_build(opened, options):
            beside.submit(load_kernels)
        learning = _Learning(opened, fit, beside)
        hooks = BuildHooks(learning.begin, learning.finish)
        report = write_index(opened, replace(options, neural=None), progress, hooks)
        try:
            report = learning.store(report, progress)
        except CitebedError as error:
            raise CitebedError(
                f"{str(error).rstrip('.')}. The new index is in place, but its weights may not be "
                f"fitted. Fit them with: citebed index {printable(opened.folder)}"
            ) from error
    if options.neural is None:
        return report
    return encode_index(opened, options.neural, report, progress, rebuild=options.rebuild)


class _Learning:
    """Learns from a collection; if it is large, while its index is built."""

    def __init__(self, opened: Collection, fit: bool | None, beside: ThreadPoolExecutor) -> None:
        self._opened, self._fit, self._beside = opened, fit, beside
        self._weights: Future[Fit] | None = None
        self._all: Future[tuple[Fit, Background | None]] | None = None

    def begin(self, analyser: str, model: Embedder, old: Index | None) -> None:
        """Begin to fit weights if they will be missing or stale."""
        now = Indexed(self._opened.document_count, analyser, model)
        known = None if self._fit or old is None else fit_of(old)
        is_needed = self._fit is not False and (known is None or is_stale(known, now))
        if is_needed and now.documents >= COMPILED_ROWS:
            self._weights = self._beside.submit(learned, self._opened, now)

    def finish(self, index: Index) -> None:
        """Begin to learn the rest from an index that is being written."""
        if len(index.ids) >= COMPILED_ROWS:
            self._all = self._beside.submit(self._learn, index)

    def store(self, report: IndexReport, progress: Progress) -> IndexReport:
        """Store in the index what was learned; return the report with it."""
        index = open_index(self._opened)
        known, behind = self._learn(index, progress) if self._all is None else self._all.result()
        values = {} if behind is None else behind.values
        with lock_collection(self._opened.folder):
            generation = index.description.generation
            layout.write_fit(index.folder, generation, fit=asdict(known), background=values)
        share = round(known.words_share(), 2)
        return report._replace(fitted_on=known.sentences, words_share=share, tuned_on=known.tuned)

    def _learn(self, index: Index, progress: Progress = SILENT) -> tuple[Fit, Background | None]:
        """Return how much word vectors count in an index, and what everyday texts find in it."""
        before = known = None if self._fit else fit_of(index)
        if self._fit is False:
            known = Fit(0, 0, 1.0, "")
        else:
            now = Indexed(len(index.ids), index.description.analyser, static_of(index))
            if known is None or is_stale(known, now):
                known = None if self._weights is None else self._weights.result()
                if known is None or known.documents != now.documents or is_stale(known, now):
                    known = learned(self._opened, now, progress)
        behind = background_of(index) if known == before else None
        return known, behind or found_background(index, known)


def found_background(index: Index, fit: Fit | None = None) -> Background | None:
    """What everyday texts find in an index, fitted so; ``None`` in one of very few documents."""
    if len(index.ids) < FEWEST:
        return None
    level = shipped_ranker().levels["static"]
    level = level if fit is None else fitted_level(level, fit)
    return background(index, shipped_ranker(), static_of(index), level)


class Indexed(NamedTuple):
    """What a fit is for: so many documents, indexed with an analyser and word vectors."""

    documents: int
    analyser: str
    model: Embedder


def is_stale(fit: Fit, now: Indexed) -> bool:
    """Whether what was fitted stands no more."""
    if not fit.documents:  # which somebody switched off
        return False
    changed = abs(now.documents - fit.documents)
    same = (fit.fingerprint, fit.analyser) == (now.model.fingerprint, now.analyser)
    return not same or changed > _CHANGED * fit.documents


def static_of(index: Index) -> Embedder:
    """The word vectors of an index."""
    vectors = index.vectors("static")
    return find_model("" if vectors is None else vectors.fingerprint)


def learned(collection: Collection, indexed: Indexed, progress: Progress = SILENT) -> Fit:
    """What a collection teaches, of sentences that are taken out of a small copy of it."""
    documents, analyser, model = indexed
    nothing = Fit(0, documents, UNTAUGHT, model.fingerprint, analyser=analyser)
    with temporary_folder(collection.folder / FOLDER) as work:
        copied = _copy(collection, work)
        if len(copied) < FEWEST:
            return nothing
        progress.step("fitting weights", len(copied))
        options = IndexOptions(analyser, static=model, compiled=documents >= COMPILED_ROWS)
        searcher = Searcher(index_in_memory(open_collection(work), options), MODELS["bm25"]())
        if options.compiled:
            searcher.prepare()
        gains = _gains(searcher, model, copied, shipped_ranker(), progress)
    languages = np.array([one.language or "" for one in copied], object)
    chosen, others = by_language(gains, languages)
    means = dict(zip(WEIGHTS, gains.mean(axis=1).tolist(), strict=True))
    return replace(
        nothing,
        sentences=len(copied),
        static=chosen,
        languages=others,
        bm25=round(means[0.0], 4),
        shipped=round(means[1.0], 4),
        fitted=round(means[chosen], 4),
    )


class Asked(NamedTuple):
    """A sentence that was taken out of a document."""

    doc_id: str
    sentence: str
    language: str | None = None


def _copy(collection: Collection, folder: Path) -> list[Asked]:
    """Make a small copy of a collection, sentences taken out; returns these."""
    count = collection.document_count
    rng = np.random.default_rng(_SEED)
    rows = np.sort(rng.choice(count, min(DOCUMENTS, count), replace=False))
    table = collection.some_documents(rows.tolist(), _COLUMNS)
    chance, asked, abstracts = random.Random(_SEED), list[Asked](), table["abstract"].to_list()
    for place in rng.permutation(len(abstracts)).tolist():
        if len(asked) == SENTENCES:
            break
        whole = abstracts[place] or ""
        cut = taken_out(whole, chance)
        if cut is not None:
            sentence, abstracts[place] = cut
            language = language_of(None, table["title"][place], whole)
            asked.append(Asked(table["doc_id"][place], sentence, language))
    table = table.with_columns(pl.Series("abstract", abstracts, pl.String))
    table = pl.concat([pl.DataFrame(schema=ALL_COLUMNS), table], how="diagonal")
    with translate_write_errors(collection.folder / FOLDER):
        with (folder / "documents.parquet").open("wb") as file:
            table.write_parquet(file)
        (folder / "citebed.toml").write_text(Manifest("copy").to_toml(), encoding="utf-8")
    return asked


def taken_out(abstract: str, chance: random.Random) -> tuple[str, str] | None:
    """A sentence of an abstract, and the rest; of one without sentences, some words in its midst.
    ``None`` where too little would be left."""
    sentences = split_sentences(abstract)
    fitting = [n for n, one in enumerate(sentences) if _SHORTEST <= _length(one) <= _LONGEST]
    if len(sentences) > 2 and fitting:
        place = chance.choice(fitting)
        return sentences[place], " ".join(sentences[:place] + sentences[place + 1 :])
    parts = abstract.split()
    if len(parts) < 3 * _CHUNK:
        return None
    start = chance.randrange(len(parts) - _CHUNK)
    end = start + _CHUNK
    return " ".join(parts[start:end]), " ".join(parts[:start] + parts[end:])


def _length(sentence: str) -> int:
    """The words of a sentence; two ideographs are one."""
    return max(len(sentence.split()), len(words(sentence)) // 2)


def _gains(
    searcher: Searcher, model: Embedder, asked: Sequence[Asked], ranker: Ranker, progress: Progress
) -> Reals:
    """nDCG@10 of each sentence (columns) with each of the weights (rows): texts alone count."""
    signals = Signals(searcher, {"static": model}, ranker.constants)
    queries = [Query(one.sentence, searcher.query(one.sentence)) for one in asked]
    hits = searcher.search_all([query.terms for query in queries], ranker.constants.by_words)
    weights = _tried(ranker.levels["static"])
    gains = np.zeros((len(WEIGHTS), len(asked)))
    for place, vectors in enumerate(signals.score_ahead(signals.embedded(queries))):
        features = signals.features(queries[place], hits[place], vectors, _DEPTH)
        right = features.docs == searcher.index.ids.find(asked[place].doc_id)
        if right.any():
            scores = features.values @ weights.T
            ranks = (scores > scores[right][0]).sum(axis=0) + 1
            gains[:, place] = np.where(ranks <= _DEPTH, 1 / np.log2(ranks + 1), 0.0)
        progress.add(1)
    return gains


def _tried(level: Level) -> Reals:
    """The weights of all signals, a row for each of those that are tried; texts' alone."""
    rows = np.zeros((len(WEIGHTS), len(SIGNALS)))
    rows[:, places(OF_WORDS)] = level.weights[places(OF_WORDS)]
    rows[:, places(OF_STATIC)] = np.outer(WEIGHTS, level.weights[places(OF_STATIC)])
    return rows


def by_language(gains: Reals, languages: NDArray[np.object_]) -> tuple[float, dict[str, float]]:
    """The weight for texts in English, or in no language that can be told, and those for others
    that have enough sentences, by code; where English has too few, all of them tell its weight."""
    is_known = np.isin(languages, [code or "" for code in KNOWN])
    others = sorted({str(code) for code in languages[~is_known]})
    found = {
        code: WEIGHTS[chosen_weight(own, trusted=False)]
        for code in others
        if _teaches(own := gains[:, languages == code])
    }
    english = gains[:, is_known]
    if _teaches(english):
        return WEIGHTS[chosen_weight(english)], found
    if _teaches(gains):
        return WEIGHTS[chosen_weight(gains, trusted=False)], found
    return UNTAUGHT, found


def _teaches(gains: Reals) -> bool:
    """Whether there are enough sentences, and words find some of what they were taken out of: of
    texts that all say the same none does."""
    return gains.shape[1] >= FEWEST and float(gains[0].mean()) >= _FOUND


def chosen_weight(gains: Reals, *, trusted: bool = True) -> int:
    """The place of the greatest weight, the ranker's own, if it is trusted and hardly behind the
    best; else of the least that is no more than a standard error behind."""
    behind = gains[gains.mean(axis=1).argmax()] - gains
    errors = behind.std(axis=1) / np.sqrt(gains.shape[1])
    if trusted and behind[-1].mean() <= _HARDLY * errors[-1]:
        return len(WEIGHTS) - 1
    return int(np.flatnonzero(behind.mean(axis=1) <= errors)[0])
