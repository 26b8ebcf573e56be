"""What a reader gathers on its way through a draft, before it becomes passages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from citebed.drafts.places import Raw
from citebed.drafts.records import Entry, Place
from citebed.drafts.wanting import is_no_key
from citebed.text.identifiers import normalise_doi
from citebed.text.normalise import unique

# Two characters of the private use area stand around the number of a citation in raw text:
# they pass through every conversion, and no draft means anything by them.
_OPEN, _CLOSE = "\ue000", "\ue001"
PLACE = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_RESERVED = str.maketrans({_OPEN: " ", _CLOSE: " "})


def without_places(text: str) -> str:
    """Text from outside, in which the two reserved characters are blanks."""
    return text.translate(_RESERVED) if _OPEN in text or _CLOSE in text else text


class Block(NamedTuple):
    """A paragraph with its citations as places, and the ``raw`` text that it was made of.

    ``kind`` is ``caption`` or ``item`` where the reader can tell.
    """

    text: str
    raw: Raw
    section: str = ""
    kind: str = ""


@dataclass
class Findings:
    """The blocks of a draft, its citations by number, its own bibliography, and notes.

    What is cited ``nowhere`` is cited where no prose is: in a table, or by ``\\nocite``; what is
    ``authored`` by authors and year alone, which no entry of its bibliography tells of.
    ``every_entry`` is set where the draft cites all that its files hold (``\\nocite{*}``), whose
    texts are the ``library``.
    """

    blocks: list[Block] = field(default_factory=list)
    citations: list[tuple[str, ...]] = field(default_factory=list)
    nowhere: list[str] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    title: str = ""
    authors: tuple[str, ...] = ()
    bibliographies: dict[str, None] = field(default_factory=dict)
    library: list[str] = field(default_factory=list)
    numbers: dict[int, None] = field(default_factory=dict)
    authored: dict[str, None] = field(default_factory=dict)
    every_entry: bool = False
    _notes: dict[str, list[Place | str]] = field(default_factory=dict)

    def cite(self, names: Iterable[str]) -> str:
        """A place to put into the text for a citation of these keys or identifiers; of none where
        one is still to come."""
        given = tuple(names)
        known = tuple(name for name in given if not is_no_key(name))
        self.citations.append(known)
        place = f"{_OPEN}{len(self.citations) - 1}{_CLOSE}"
        return place + self.cite(()) if known and known != given else place

    def name_bibliographies(self, names: Iterable[str]) -> None:
        """Bibliography files that the draft names, with or without their ending; each once."""
        for name in map(str.strip, names):
            full = name if not name or re.search(r"\.\w{2,6}$", name) else f"{name}.bib"
            if full:
                self.bibliographies.setdefault(full)

    def note(self, what: str, about: Place | str | None = None) -> None:
        """Something to tell the user; said once, with all the places or files it is true of."""
        self._notes.setdefault(what, []).extend([about] if about else [])

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to tell: ``line 3: what``, or ``what (lines 3, 9 and 12 more)``."""
        return tuple(
            f"{lines_of(places)}: {what}" if len(places) == 1
            else f"{what} ({lines_of(places)})" if places else what
            for what, places in self._notes.items()
        )  # fmt: skip

    def cited_names(self) -> list[str]:
        """All keys and identifiers that were cited, in order, each once."""
        return list(dict.fromkeys(chain(*self.citations, self.nowhere)))


_SHOWN = 5


def lines_of(places: Sequence[Place | str]) -> str:
    """``line 3``, ``lines 3, 9 and 12 more``; those of included files as ``a.tex:4``, and names
    as they are."""
    named = unique(map(_named, places))
    shown = ", ".join(named[:_SHOWN])
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    word = "lines " if len(named) > 1 else "line "
    return f"{word if named[0].isdecimal() else ''}{shown}{more}"


def _named(place: Place | str) -> str:
    if isinstance(place, str):
        return place
    return f"{place.source}:{place.line}" if place.source else str(place.line)


def is_key(name: str) -> bool:
    """Whether something cited is a key, not a DOI or an arXiv id."""
    return normalise_doi(name) is None and not name.startswith("arXiv:")
