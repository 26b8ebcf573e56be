"""Explaining: what speaks for each document of a result, in words, sentences and other papers.

A reason is words of the text and the sentence that they stand in. Evidence is what a document's
abstract says that is most like the text, and what others said when they cited it for the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import polars as pl
from numpy.typing import NDArray

from citebed.collection import Collection
from citebed.retrieval.execution.runner import Runner
from citebed.retrieval.index.index import Index
from citebed.retrieval.query import Result
from citebed.retrieval.ranking.ranking import Ranks
from citebed.retrieval.search.searcher import usable
from citebed.retrieval.vectors.vectors import Vectors
from citebed.text.names import family_name
from citebed.text.sentences import split_sentences
from citebed.text.words import function_words

Card = Mapping[str, Any]
"""What is known of a document."""
_ENOUGH_SENTENCES = 100
"""So many tell the language of a text."""
_SHOWN = ("doc_id", "title", "authors", "year", "venue", "doi")
"""What a recommendation says of its document."""


def explain(
    runner: Runner,
    result: Result,
    cards: Sequence[Card],
    citer: Callable[[str, int | None], str],
    strengths: Sequence[str] = (),
) -> Iterator[tuple[dict[str, Any], int | None]]:
    """The documents of a result as fields of recommendations, with their probabilities, or with
    ``strengths`` in place of them, and the number of the sentence that asked for each; ``cards``
    say what is known of each, and ``citer`` names a citing paper, by its id and year.

    Left out is what only function words found, and what is unlikely and shares no word at all.
    """
    sentences, rank = result.query.sentences, 0
    proofs = evidence(runner.ranks, result, cards) if result.features is not None else None
    for place, why in enumerate(_reasons(runner, result, cards)):
        if why is None and proofs is None:
            continue
        words, number = why or Reason((), None)
        if not words and result.is_unlikely(place):
            continue
        proof = Evidence(None, "", ()) if proofs is None else proofs[place]
        number, rank = proof.asked_by if number is None else number, rank + 1
        citing = [(said.text, citer(runner.index.papers[said.paper], said.year))
                  for said in proof.citing]  # fmt: skip
        yield (
            {
                "rank": rank,
                "score": float(result.hits.scores[place]),
                "terms": words,
                "sentence": "" if number is None else sentences[number],
                "probability": None if strengths else result.probability(place),
                "strength": strengths[place] if strengths else "",
                "abstract_sentence": proof.abstract,
                "citing_sentences": tuple(text for text, _ in citing),
                "cited_by": tuple(by for _, by in citing),
                "link": link_of(cards[place]),
                **{name: cards[place][name] for name in _SHOWN},
            },
            number,
        )


def link_of(card: Card) -> str:
    """Where a document can be read: by its DOI, its arXiv id, or its address on the web."""
    if card["doi"]:
        return f"https://doi.org/{quote(card['doi'], safe='/:;()')}"
    if card["arxiv"]:
        return f"https://arxiv.org/abs/{quote(card['arxiv'])}"
    return card["url"] if re.match(r"https?://", card["url"]) else ""


# --- Reasons ------------------------------------------------------------------------------------

_MOST_WORDS = 6


class Reason(NamedTuple):
    """The telling words, strongest first, and the number of the sentence that asked most.

    There is no sentence where only feedback's terms asked.
    """

    words: tuple[str, ...]
    sentence: int | None


def _reasons(runner: Runner, result: Result, cards: Sequence[Card]) -> list[Reason | None]:
    searcher, sentences = runner.searcher, result.query.sentences
    final = usable(result.query.terms, searcher.view)
    shares = None if result.features is None else result.features.shares
    if shares is None:
        shares = searcher.contributions(final.ids, result.hits.docs) * final.weights
    passed = function_words(" ".join(sentences[:_ENOUGH_SENTENCES]))
    reasons = Reasons(runner.index, final.ids, sentences, passed)
    if result.query.judged.moves:
        reasons.keep_own()  # whoever called a document good knows its words
    elif reasons.unspelled(shares):
        for part in ("title", "abstract", "keywords"):
            reasons.spell(card[part] for card in cards if card[part])
    return [reasons.why(row) for row in shares]


class Reasons:
    """What the terms of one query are in the words of its text.

    ``passed`` are words that give no reason, such as "which". A term that feedback added is
    spelled as the documents that were found have it, never as a stem.
    """

    def __init__(
        self, index: Index, ids: NDArray[np.int64], sentences: Sequence[str], passed: frozenset[str]
    ) -> None:
        self._index = index
        self._at = {number: at for at, number in enumerate(ids.tolist())}
        self._spelled: dict[int, str] = {}
        found: list[tuple[int, int]] = []
        for number, sentence in enumerate(sentences):
            for at, word in self._read(sentence):
                found.append((at, number))
                self._spelled.setdefault(at, word)
        self._terms, self._places = np.array(found, np.int64).reshape(-1, 2).T
        # A term's share goes to the sentences that have it, in parts.
        self._often = np.bincount(self._terms, minlength=len(ids))[self._terms]
        self._passed, self._telling = passed, np.ones(len(ids), bool)
        self._pass()

    def _pass(self) -> None:
        passed = [at for at, word in self._spelled.items() if word in self._passed]
        self._telling[passed] = False

    def _read(self, text: str) -> Iterable[tuple[int, str]]:
        """The terms of a text that are the query's, and the words that they are there."""
        analyser = self._index.analyser
        for word in analyser.words(text):
            at = self._at.get(self._index.term_number(analyser.term(word) or ""), -1)
            if at >= 0:
                yield at, word

    def unspelled(self, shares: NDArray[np.float64]) -> bool:
        """Whether a word is missing of a term among the best reasons for some document."""
        if len(self._spelled) == len(self._at):  # as always without feedback
            return False
        return any(at not in self._spelled for row in shares for at in self._best(row))

    def keep_own(self) -> None:
        """Let only terms of the text be reasons, none that feedback added."""
        self._telling[[at for at in self._at.values() if at not in self._spelled]] = False

    def spell(self, texts: Iterable[str]) -> None:
        """Take the words of feedback's terms from what the documents say."""
        for text in texts:
            for at, word in self._read(text):
                self._spelled.setdefault(at, word)
        self._pass()

    def _best(self, shares: NDArray[np.float64]) -> list[int]:
        telling = shares * self._telling
        order = np.argsort(-telling, kind="stable")[:_MOST_WORDS]
        return [at for at in order.tolist() if telling[at] > 0]

    def why(self, shares: NDArray[np.float64]) -> Reason | None:
        """The reason for a document, by the terms' shares in its score; ``None`` where nothing but
        words that give no reason asked for it."""
        best = self._best(shares)
        if not best and (shares > 0).any():
            return None
        words = dict.fromkeys(self._spelled[at] for at in best if at in self._spelled)
        parts = (shares * self._telling)[self._terms] / self._often
        sums = np.bincount(self._places, weights=parts)
        asked = int(sums.argmax()) if sums.max(initial=0.0) > 0 else None
        return Reason(tuple(words), asked)


# --- Evidence -----------------------------------------------------------------------------------


class Said(NamedTuple):
    """What a paper (by number) says of a document; its year, where that is known."""

    text: str
    paper: int
    year: int | None


class Evidence(NamedTuple):
    """Which sentence of the text (by number) is most like a document, what of the document's
    abstract is most like the text, and what others say when they cite it for the same."""

    asked_by: int | None
    abstract: str
    citing: tuple[Said, ...]


def evidence(ranks: Ranks, result: Result, cards: Sequence[Card]) -> list[Evidence]:
    """What speaks for the documents of a result beside the words they share with its text."""
    docs, model = result.hits.docs, ranks.words
    if not len(docs):
        return []
    texts = result.vectors.get("static")
    asked = model.queries(result.query.texts) if texts is None else texts
    asked = asked[1:] if len(asked) > 1 else asked
    vectors = ranks.signals.index.vectors_of(model, "static").decode(docs)
    asked_by = (asked @ vectors.T).argmax(axis=0).tolist()
    known = dict(zip(docs.tolist(), cards, strict=True))
    said = ranks.abstracts.get_many(
        list(known), lambda some: _sentences(ranks, [known[number]["abstract"] for number in some])
    )
    abstracts = [_likest(ranks, asked, *each) for each in said]
    citing = _said(ranks, result, asked)
    return [Evidence(*each) for each in zip(asked_by, abstracts, citing, strict=True)]


def _likest(ranks: Ranks, asked: Vectors, sentences: Sequence[str], vectors: Vectors) -> str:
    """Of an abstract's sentences the one that is most like one of the text's, if it is like
    enough."""
    if not sentences:
        return ""
    likeness = (asked @ vectors.T).max(axis=0)
    best = int(likeness.argmax())
    return sentences[best] if likeness[best] >= ranks.constants.shown_alike else ""


def _sentences(ranks: Ranks, abstracts: Sequence[str]) -> Iterator[tuple[Sequence[str], Vectors]]:
    """The sentences of abstracts that are long enough to be shown, and their vectors."""
    fewest = ranks.constants.shown_words
    parts = [
        [each for each in split_sentences(abstract) if len(each.split()) >= fewest]
        for abstract in abstracts
    ]
    vectors = ranks.words.documents([sentence for part in parts for sentence in part])
    ends = np.cumsum([len(part) for part in parts])[:-1]
    # Copies, or what is remembered of one would hold all.
    return zip(parts, (own.copy() for own in np.split(vectors, ends)), strict=True)


def _said(ranks: Ranks, result: Result, asked: Vectors) -> list[tuple[Said, ...]]:
    """What the likest citing sentences say of each document, each once."""
    signals, constants = ranks.signals, ranks.constants
    if (citing := signals.citing) is None:
        return [()] * len(result.hits.docs)
    known, told = signals.known(result.query), []
    for number in result.hits.docs.tolist():
        rows = np.array(citing.of(number), np.int64)
        rows = rows[known[rows]]
        likeness = (asked @ citing.vectors.decode(rows).T).max(axis=0) if len(rows) else np.zeros(0)
        order = np.argsort(-likeness, kind="stable")
        found: dict[str, Said] = {}
        for row in rows[order[likeness[order] >= constants.shown_alike]].tolist():
            said = Said(citing.texts[row], int(citing.papers[row]), int(citing.years[row]) or None)
            found.setdefault(said.text, said)
        told.append(tuple(found.values())[: constants.shown_citing])
    return told


class Citers:
    """The citing papers of a collection by their ids, read when they are first asked for."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def named(self, paper_id: str, year: int | None) -> str:
        """``Smith et al. (2019), A Title``, as far as it is known; else the paper's id."""
        if paper_id not in self._papers:  # a file of contexts may name a document
            self._papers[paper_id] = self._document(paper_id)
        paper = self._papers[paper_id]
        authors = [family_name(name) for name in paper.get("authors") or ()]
        who = " and ".join(authors) if len(authors) <= 2 else f"{authors[0]} et al."
        title, known = paper.get("title") or paper_id, paper.get("year") or year
        when = f" ({known})" if known else ""
        return f"{who}{when}, {title}" if who else f"{title}{when}"

    def _document(self, name: str) -> dict[str, Any]:
        is_it = (pl.col("doc_id") == name) | (pl.col("doi") == name.lower())
        found = self._collection.scan_documents().filter(is_it).select("title", "year", "authors")
        return next(found.collect().iter_rows(named=True), {})

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


# --- Documents that are one work: reprints, and a tutorial that was given more than once ---------

MORE = 5
"""So many more documents are looked at, so that as many works are found as were asked for."""
_LABEL = re.compile(
    r"[\[(][^()\[\]]*[)\]]\s*$|\b(?:a )?tutorial(?: on)?\b|\bextended (?:abstract|version)\b"
    r"|\b(?:abstract|keynote|reprint|reprinted)\b|\binvited (?:talk|paper)\b",
    re.IGNORECASE,
)
_FEWEST_LETTERS = 12
"""A shorter title ("Editorial") may be anything, whoever wrote it."""


def works_of(cards: Sequence[Card]) -> list[list[int]]:
    """The works that documents are, each by the places of its documents, in the order of the best.

    Documents are one work if their titles are the same in letters and digits, without labels such
    as "(tutorial)", and an author is the same.
    """
    works: list[list[int]] = []
    known: dict[str, list[list[int]]] = {}
    for place, card in enumerate(cards):
        same = known.setdefault(_plain(card["title"]) or f"\0{place}", [])
        work = next((each for each in same if _share_author(card, cards[each[0]])), None)
        if work is None:
            same.append([place])
            works.append(same[-1])
        else:
            work.append(place)
    return works


def _plain(title: str) -> str:
    folded = unicodedata.normalize("NFKD", _LABEL.sub("", title)).casefold()
    plain = "".join(filter(str.isalnum, folded))
    return plain if len(plain) >= _FEWEST_LETTERS else ""


def _share_author(left: Card, right: Card) -> bool:
    ours, theirs = (
        {family_name(name).casefold() for name in card["authors"]} for card in (left, right)
    )
    return bool(ours & theirs)


def reprint(card: Card) -> str:
    """Where else a work appeared, in a line: year, venue and what it is known by."""
    name = card["doi"] or card["doc_id"]
    return ", ".join(filter(None, (str(card["year"] or ""), card["venue"], name)))
