"""Documents that are one work: its reprints, and a tutorial that was given more than once."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from citebed.text.names import family_name

Card = Mapping[str, Any]
MORE = 5
"""So many more documents are looked at, so that as many works are found as were asked for."""
_LABEL = re.compile(
    r"[\[(][^()\[\]]*[)\]]\s*$|\b(?:a )?tutorial(?: on)?\b|\bextended (?:abstract|version)\b"
    r"|\b(?:abstract|keynote|reprint|reprinted)\b|\binvited (?:talk|paper)\b",
    re.IGNORECASE,
)
_FEWEST_LETTERS = 12
"""A shorter title ("Editorial") may be anything, whoever wrote it."""


class Work(NamedTuple):
    """The place of a work's best document, and those of its others."""

    best: int
    others: tuple[int, ...] = ()


def works_of(cards: Sequence[Card]) -> list[Work]:
    """The works that documents are, in the order of their best ones.

    Documents are one work if their titles are the same in letters and digits, without labels such
    as "(tutorial)", and an author is the same.
    """
    works: list[Work] = []
    known: dict[str, list[int]] = {}
    for place, card in enumerate(cards):
        same = known.setdefault(_plain(card["title"]) or f"\0{place}", [])
        at = next((at for at in same if _share_author(card, cards[works[at].best])), None)
        if at is None:
            same.append(len(works))
            works.append(Work(place))
        else:
            works[at] = works[at]._replace(others=(*works[at].others, place))
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
