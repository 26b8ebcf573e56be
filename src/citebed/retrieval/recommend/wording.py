"""What is said of a recommendation, line by line: on a terminal, in a notebook and on a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from citebed.drafts import Passage, Place
from citebed.retrieval.ranking.ranker import shipped_ranker
from citebed.retrieval.recommend.recommendation import Recommendation
from citebed.text.names import display_name

_IN_BIB = " (in your .bib)"


class Line(NamedTuple):
    """Something said, under a label; ``by`` is who says it, where that is somebody else."""

    label: str
    text: str
    by: str = ""


def place_of(passage: Passage) -> str:
    """Where a passage stands: its heading and line."""
    line = str(Place(passage.source, passage.line))
    wanted = "a citation is to come" if passage.wanted else ""
    return " · ".join(filter(None, (passage.section, line, wanted)))


def title_of(each: Recommendation) -> str:
    """The title, or what else the document goes by."""
    return each.title or each.doc_id


def about(each: Recommendation) -> str:
    """Who wrote it, when, and where it appeared."""
    return " · ".join(filter(None, (authors(each), str(each.year or ""), each.venue, each.doi)))


def authors(each: Recommendation) -> str:
    """The authors as one reads them: up to three, or the first and how many others."""
    return authors_of(each.authors)


def authors_of(names: Sequence[str]) -> str:
    """Names as one reads them: up to three, or the first and how many others."""
    read = [display_name(name) for name in names[:3]]
    several = len(names) > 3
    return f"{read[0]} and {len(names) - 1} others" if several else ", ".join(read)


def key_of(each: Recommendation) -> str:
    """What to type in a ``\\cite``, and whether the author has it already."""
    return f"{each.key}{_IN_BIB if each.in_bib else ''}"


def sure(each: Recommendation) -> str:
    """How sure it is: the probability in words, else the strength; where the ranking was not
    learned, the score."""
    if each.probability is not None:
        return chance_in_words(each.probability)
    return f"{each.strength} match" if each.strength else f"{each.score:.2f}"


def because(each: Recommendation) -> str:
    """The words of the text that asked for it."""
    return ", ".join(each.terms)


def proofs(each: Recommendation, *, several: bool) -> Iterator[Line]:
    """What speaks for it: the sentence that asked, where there are ``several``, what the document
    says, and what others say of it; and where else it appeared."""
    if several and each.sentence:
        yield Line("asked by", each.sentence)
    if each.abstract_sentence:
        yield Line("it says", each.abstract_sentence)
    for said, by in list(zip(each.citing_sentences, each.cited_by or ("", ""), strict=False))[:1]:
        yield Line("cited elsewhere", said, by)
    if each.reprints:
        yield Line("also as", "; ".join(each.reprints))


def chance_in_words(probability: float) -> str:
    """A probability as people say it: how many in ten that are as likely are right."""
    constants = shipped_ranker().constants
    if probability < constants.hardly_any:
        return "hardly any are right"
    if probability < constants.one_in_ten:
        return "fewer than 1 in 10 are right"
    return f"about {min(round(probability * 10), 9)} in 10 are right"
