"""Evidence: why a document is recommended, in words of the text, sentences and citing papers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import quote

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.retrieval.execution.runner import Runner
from citebed.retrieval.index.index import Index
from citebed.retrieval.query import Candidates
from citebed.retrieval.ranking.confidence import FAIR, match_strength
from citebed.retrieval.ranking.signal_ranker import SignalRanker
from citebed.retrieval.recommend.documents import DocumentRecords, Row
from citebed.retrieval.search.searcher import finish_query
from citebed.retrieval.vectors.vectors import Vectors
from citebed.text.names import family_name
from citebed.text.sentences import split_sentences
from citebed.text.words import function_words

_LANGUAGE_SENTENCES = 100
"""Sentences that are enough to find a text's function words."""
_COPIED = ("doc_id", "title", "authors", "year", "venue", "doi")
_MAX_TERMS = 6
_LEAST_WITHOUT_WORDS = 0.1
"""The lowest probability of a document that shares no word with the text."""
SPARE_DOCUMENTS = 5
"""Documents to fetch in addition, because several can be reprints of one work."""
_LABEL = re.compile(
    r"[\[(][^()\[\]]*[)\]]\s*$|\b(?:a )?tutorial(?: on)?\b|\bextended (?:abstract|version)\b"
    r"|\b(?:abstract|keynote|reprint|reprinted)\b|\binvited (?:talk|paper)\b",
    re.IGNORECASE,
)
_MIN_TITLE_LETTERS = 12
"""A shorter title ("Editorial") does not identify a work, not even with its author."""


def explain(
    runner: Runner,
    candidates: Candidates,
    rows: Sequence[Row],
    records: DocumentRecords,
    citers: CitingPapers,
) -> Iterator[tuple[dict[str, Any], int | None]]:
    """Yield the fields of a recommendation for each candidate, and the number of the sentence that
    led to it; ``rows`` are the candidates' records.

    Leave out unlikely documents that share no word with the text, or only function words.
    """
    query, sentences, rank = candidates.query, candidates.query.sentences, 0
    final = finish_query(query.terms, runner.searcher.view)
    term_scores = candidates.term_scores
    if term_scores is None:
        table = runner.searcher.contributions(final.ids, candidates.docs)
        term_scores = table * final.weights
    matched = MatchedTerms(runner.index, final.ids, sentences)
    if query.judged.moves:
        matched.ignore_feedback_terms()
    elif matched.needs_spelling(term_scores):
        abstracts = records.abstracts([row["doc_id"] for row in rows])
        for texts in ([r["title"] for r in rows], abstracts, [r["keywords"] for r in rows]):
            matched.spell(texts)
    evidence = None
    if candidates.signals.size:  # after a ranking by several signals
        evidence = _find_evidence(runner.ranker, candidates, rows, records)
    for place, scores in enumerate(term_scores):
        terms, asked_by = matched.best_terms(scores), matched.best_sentence(scores)
        if terms is None and evidence is None:
            continue
        probability = candidates.probability(place)
        least = FAIR if terms is None else _LEAST_WITHOUT_WORDS
        if not terms and probability is not None and probability < least:
            continue
        rank += 1
        abstract, citing = "", list[tuple[str, str]]()
        if evidence is not None:
            similar_sentence, abstract, found = evidence[place]
            asked_by = similar_sentence if asked_by is None else asked_by
            names = runner.index.papers
            citing = [(text, citers.describe(names[paper], year)) for text, paper, year in found]
        authors = [name for name in map(family_name, rows[place]["authors"]) if name in query.text]
        similar = "abstract" if abstract else "citing sentence" if citing else "title"
        fields = {
            "rank": rank,
            "reason": ", ".join((*authors, *(terms or ()))) or f"similar {similar}",
            "score": float(candidates.scores[place]),
            "terms": terms or (),
            "sentence": "" if asked_by is None else sentences[asked_by],
            "probability": probability,
            "strength": "" if probability is None else match_strength(probability),
            "abstract_sentence": abstract,
            "citing_sentences": tuple(text for text, _ in citing),
            "cited_by": tuple(name for _, name in citing),
            "link": document_link(rows[place]),
            **{name: rows[place][name] for name in _COPIED},
        }
        yield fields, asked_by


def document_link(row: Row) -> str:
    """Return an address to read a document: by its DOI, its arXiv id, or its URL."""
    if row["doi"]:
        return f"https://doi.org/{quote(row['doi'], safe='/:;()')}"
    if row["arxiv"]:
        return f"https://arxiv.org/abs/{quote(row['arxiv'])}"
    return row["url"] if re.match(r"https?://", row["url"]) else ""


class MatchedTerms:
    """The terms of a query as words of its text.

    Function words never count. A term that feedback added is spelled as the documents spell it,
    never as a stem.
    """

    def __init__(self, index: Index, ids: NDArray[np.int64], sentences: Sequence[str]) -> None:
        self._index = index
        self._columns = {number: column for column, number in enumerate(ids.tolist())}
        self._spelled: dict[int, str] = {}
        self._ignored = function_words(" ".join(sentences[:_LANGUAGE_SENTENCES]))
        found: list[tuple[int, int]] = []
        for number, sentence in enumerate(sentences):
            found += [(column, number) for column in self._read(sentence)]
        self._terms, self._sentences = np.array(found, np.int64).reshape(-1, 2).T
        # The score of a term is divided among its occurrences.
        self._frequencies = np.bincount(self._terms, minlength=len(ids))[self._terms]
        self._counts = np.ones(len(ids), bool)
        self._ignore_function_words()

    def _read(self, text: str) -> list[int]:
        """Return the columns of a text's terms, and remember how they are spelled."""
        analyser, found = self._index.analyser, []
        for word in analyser.words(text):
            number = self._index.term_number(analyser.term(word) or "")
            column = self._columns.get(number, -1)
            if column >= 0:
                found.append(column)
                self._spelled.setdefault(column, word)
        return found

    def _ignore_function_words(self) -> None:
        ignored = [column for column, word in self._spelled.items() if word in self._ignored]
        self._counts[ignored] = False

    def needs_spelling(self, term_scores: NDArray[np.float64]) -> bool:
        """Return True if one of the best terms of a document has no word yet."""
        if len(self._spelled) == len(self._columns):  # always true without feedback
            return False
        return any(column not in self._spelled for row in term_scores for column in self._best(row))

    def ignore_feedback_terms(self) -> None:
        """Count only terms of the text."""
        self._counts[[c for c in self._columns.values() if c not in self._spelled]] = False

    def spell(self, texts: Sequence[str]) -> None:
        """Take words for feedback's terms from the documents' texts."""
        for text in texts:
            self._read(text)
        self._ignore_function_words()

    def _best(self, scores: NDArray[np.float64]) -> list[int]:
        counted = scores * self._counts
        order = np.argsort(-counted, kind="stable")[:_MAX_TERMS]
        return [column for column in order.tolist() if counted[column] > 0]

    def best_terms(self, scores: NDArray[np.float64]) -> tuple[str, ...] | None:
        """Return the words of the best terms of a document, strongest first; ``None`` if only
        function words match."""
        best = self._best(scores)
        if not best and (scores > 0).any():
            return None
        return tuple(dict.fromkeys(self._spelled[each] for each in best if each in self._spelled))

    def best_sentence(self, scores: NDArray[np.float64]) -> int | None:
        """Return the number of the sentence with the highest score; ``None`` if no sentence has a
        term that counts."""
        parts = (scores * self._counts)[self._terms] / self._frequencies
        sums = np.bincount(self._sentences, weights=parts)
        return int(sums.argmax()) if sums.max(initial=0.0) > 0 else None


Evidence = tuple[int, str, list[tuple[str, int, int | None]]]
"""The most similar sentence of the text, a sentence of the abstract, and citing sentences with
their papers' numbers and years."""


def _find_evidence(
    ranker: SignalRanker, candidates: Candidates, rows: Sequence[Row], records: DocumentRecords
) -> list[Evidence]:
    docs, model, constants = candidates.docs, ranker.words, ranker.constants
    texts = candidates.vectors.get("static")
    queries = model.queries(candidates.query.texts) if texts is None else texts
    queries = queries[1:] if len(queries) > 1 else queries
    vectors = ranker.signals.index.vectors_of(model, "static").decode(docs)
    most_similar = (queries @ vectors.T).argmax(axis=0).tolist()
    names = {number: row["doc_id"] for number, row in zip(docs.tolist(), rows, strict=True)}

    def split(missing: list[int]) -> Iterator[tuple[Sequence[str], Vectors]]:
        """Yield the long sentences of abstracts, with their vectors."""
        parts = [
            [s for s in split_sentences(text) if len(s.split()) >= constants.min_sentence_words]
            for text in records.abstracts([names[number] for number in missing])
        ]
        found = model.documents([sentence for part in parts for sentence in part])
        ends = np.cumsum([len(part) for part in parts])[:-1]
        # Copies: a cached view would keep all vectors alive.
        return zip(parts, (own.copy() for own in np.split(found, ends)), strict=True)

    abstracts = []
    for sentences, own in ranker.abstracts.get_many(list(names), split):
        likeness = (queries @ own.T).max(axis=0, initial=-1.0)
        best = int(likeness.argmax()) if sentences else 0
        is_similar = bool(sentences) and likeness[best] >= constants.min_evidence_similarity
        abstracts.append(sentences[best] if is_similar else "")
    citing = _citing_sentences(ranker, candidates, queries)
    return list(zip(most_similar, abstracts, citing, strict=True))


def _citing_sentences(
    ranker: SignalRanker, candidates: Candidates, queries: Vectors
) -> list[list[tuple[str, int, int | None]]]:
    """Return the most similar citing sentences of each document: text, paper and year."""
    signals, constants = ranker.signals, ranker.constants
    citing = signals.citing
    if citing is None:
        return [[]] * len(candidates)
    visible, found = signals.visible_citing(candidates.query), []
    for number in candidates.docs.tolist():
        rows = np.array(citing.of(number), np.int64)
        rows = rows[visible[rows]]
        likeness = np.zeros(0)
        if len(rows):
            likeness = (queries @ citing.vectors.decode(rows).T).max(axis=0)
        order = np.argsort(-likeness, kind="stable")
        order = order[likeness[order] >= constants.min_evidence_similarity]
        texts: dict[str, tuple[str, int, int | None]] = {}
        for row in rows[order].tolist():
            text, paper, year = citing.texts[row], citing.papers[row], citing.years[row]
            texts.setdefault(text, (text, int(paper), int(year) or None))
        found.append(list(texts.values())[: constants.max_citing_sentences])
    return found


class CitingPapers:
    """The citing papers of a collection by id, read on first use."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    @cached_property
    def _papers(self) -> dict[str, dict[str, Any]]:
        papers = self._collection.papers.select("paper_id", "title", "year", "doc_id", "doi")
        if papers.is_empty():
            return {}
        ids = papers["doc_id"].drop_nulls().to_list()
        known = self._collection.scan_documents().filter(pl.col("doc_id").is_in(ids))
        authors = known.select("doc_id", "authors").collect()
        rows = papers.join(authors, on="doc_id", how="left").to_dicts()
        return {row["paper_id"]: row for row in rows}

    def describe(self, paper_id: str, year: int | None) -> str:
        """Return ``Smith et al. (2019), A Title``, or the paper's id if nothing is known."""
        if paper_id not in self._papers:  # a file of contexts can name a document
            is_it = (pl.col("doc_id") == paper_id) | (pl.col("doi") == paper_id.lower())
            found = self._collection.scan_documents().filter(is_it)
            rows = found.select("title", "year", "authors").collect().iter_rows(named=True)
            self._papers[paper_id] = next(rows, {})
        paper = self._papers[paper_id]
        authors = [family_name(name) for name in paper.get("authors") or ()]
        who = " and ".join(authors) if len(authors) <= 2 else f"{authors[0]} et al."
        title, known = paper.get("title") or paper_id, paper.get("year") or year
        when = f" ({known})" if known else ""
        return f"{who}{when}, {title}" if who else f"{title}{when}"


def group_reprints(rows: Sequence[Row]) -> list[list[int]]:
    """Return the numbers of the rows of each work, in the order of each work's first row.

    Documents are one work if they share an author and their titles have the same letters and
    digits, without labels such as "(tutorial)".
    """
    works: list[list[int]] = []
    titles: dict[str, list[list[int]]] = {}
    authors = [{family_name(name).casefold() for name in row["authors"]} for row in rows]
    for place, row in enumerate(rows):
        folded = unicodedata.normalize("NFKD", _LABEL.sub("", row["title"])).casefold()
        plain = "".join(filter(str.isalnum, folded))
        same = titles.setdefault(plain if len(plain) >= _MIN_TITLE_LETTERS else f"\0{place}", [])
        work = next((each for each in same if authors[place] & authors[each[0]]), None)
        if work is None:
            same.append([place])
            works.append(same[-1])
        else:
            work.append(place)
    return works
