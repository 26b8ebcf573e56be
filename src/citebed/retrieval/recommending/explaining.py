"""Explaining: what was found for a text becomes recommendations, each with its reasons."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from citebed.retrieval.learned.evidence import Evidence
from citebed.retrieval.recommending.foreign import function_words
from citebed.retrieval.recommending.reasons import Reason, Reasons
from citebed.retrieval.recommending.recommendation import Recommendation
from citebed.retrieval.running.asking import Answer, Asked
from citebed.retrieval.running.runner import Runner
from citebed.retrieval.search.searcher import usable

_ENOUGH_SENTENCES = 100
"""So many tell the language of a text."""
_SHOWN = ("doc_id", "title", "authors", "year", "venue", "doi", "reprints")
"""What a recommendation says of its document."""


class Explained(NamedTuple):
    """A recommendation, and the number of the sentence that asked for it."""

    found: Recommendation
    sentence: int | None


def explain(
    runner: Runner,
    asked: Asked,
    answer: Answer,
    cards: Sequence[Mapping[str, Any]],
    citer: Callable[[str, int | None], str],
    strengths: Sequence[str] = (),
) -> list[Explained]:
    """The documents of an answer as recommendations, with their chances, or with ``strengths`` in
    place of them; ``cards`` say what is known of each, and ``citer`` names a citing paper, by its
    id and year.

    Left out is what only function words found, and what is unlikely and shares no word at all.
    """
    sentences, index = asked.sentences, runner.index
    beside = _evidence(runner, asked, answer, cards)
    found: list[Explained] = []
    for place, why in enumerate(_reasons(runner, sentences, answer, cards)):
        if why is None and beside is None:
            continue
        words, number = why or Reason((), None)
        if not words and answer.is_unlikely(place):
            continue
        proof = Evidence(0, "", ()) if beside is None else beside[place]
        number = proof.asked_by if number is None and beside is not None else number
        one = Recommendation(
            rank=len(found) + 1,
            score=float(answer.hits.scores[place]),
            terms=words,
            sentence="" if number is None else sentences[number],
            chance=None if strengths else answer.chance(place),
            strength=strengths[place] if strengths else "",
            abstract_sentence=proof.abstract,
            citing_sentences=tuple(said.text for said in proof.citing),
            cited_by=tuple(citer(index.papers[said.paper], said.year) for said in proof.citing),
            link=_link(cards[place]),
            **{name: cards[place][name] for name in _SHOWN},
        )
        found.append(Explained(one, number))
    return found


def _link(card: Mapping[str, Any]) -> str:
    """Where a document can be read: by its DOI, its arXiv id, or its address on the web."""
    if card["doi"]:
        return f"https://doi.org/{quote(card['doi'], safe='/:;()')}"
    if card["arxiv"]:
        return f"https://arxiv.org/abs/{quote(card['arxiv'])}"
    return card["url"] if re.match(r"https?://", card["url"]) else ""


def _reasons(
    runner: Runner, sentences: Sequence[str], answer: Answer, cards: Sequence[Mapping[str, Any]]
) -> list[Reason | None]:
    searcher = runner.searcher
    final = usable(answer.terms, searcher.view)
    shares = searcher.contributions(final.ids, answer.hits.docs) * final.weights
    passed = function_words(" ".join(sentences[:_ENOUGH_SENTENCES]))
    reasons = Reasons(runner.index, final.ids, sentences, passed)
    if reasons.unspelled(shares):
        for part in ("title", "abstract", "keywords"):
            reasons.spell(card[part] for card in cards if card[part])
    return [reasons.why(row) for row in shares]


def _evidence(
    runner: Runner, asked: Asked, answer: Answer, cards: Sequence[Mapping[str, Any]]
) -> list[Evidence] | None:
    """What speaks for the documents beside words, where other signals ranked them."""
    if answer.ranked is None or not len(answer.hits.docs):
        return None
    abstracts = [card["abstract"] for card in cards]
    return runner.ranks.evidence(runner.question(asked), answer.hits.docs, abstracts)
