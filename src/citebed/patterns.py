"""Patterns that keep what they have taken (``x*+``, ``(?>x)``), right in every Python.

They never try again with less, so that no text can make them slow. Python 3.11.0 to 3.11.4 get
``(?:xy)*+`` wrong: what a last, failing turn had read counts as read (gh-106052), which misses
matches, makes false ones, and may go on for ever. There it is compiled as what it means by
definition, a greedy repeat in an atomic group, ``(?>(?:xy)*)``; such groups are sound.

It stays as long as Debian 12, which ships 3.11.2, is to run citebed. The package ``regex`` would do
without it: on texts of ACM-CR, the ACL Anthology, Cranfield and CACM our 112 patterns of this kind
match just the same in both, but ``regex`` takes 2.4 times as long, some patterns up to ten times.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any, AnyStr

_AT_FAULT = re.fullmatch("(?:ab?c)*+", "a") is not None  # not by version: distributions mend theirs

_TURNS = 200
"""So many turns of an endless repeat are taken at once, for a greedy one remembers each turn."""

_inner: Any = getattr(re, "_compiler", None)
"""Parts of ``re`` that will not change any more in the Pythons that need them."""


def compiled(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As ``re.compile``: the door for every pattern with a possessive repeat or an atomic group."""
    return converted(pattern, flags) if _AT_FAULT else re.compile(pattern, flags)


def converted(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The same pattern without possessive repeats; its groups, names and text stay as they are."""
    flags = int(flags)
    tree = _without_possessive(_inner._parser.parse(pattern, flags))
    state = tree.state
    names = {number: name for name, number in state.groupdict.items()}
    made: re.Pattern[AnyStr] = _inner._sre.compile(
        pattern,
        flags | state.flags,
        _inner._code(tree, flags),
        state.groups - 1,
        state.groupdict,
        tuple(names.get(number) for number in range(state.groups)),
    )
    return made


def _without_possessive(part: Any) -> Any:
    """A part of a parsed pattern: a sequence of operations, one operation, or what it works on."""
    if isinstance(part, _inner._parser.SubPattern):
        part.data = [_without_possessive(each) for each in part.data]
    elif isinstance(part, list):
        return [_without_possessive(each) for each in part]
    elif isinstance(part, tuple):
        part = tuple(_without_possessive(each) for each in part)
        if part and part[0] is _inner.POSSESSIVE_REPEAT:
            return _inner.ATOMIC_GROUP, _greedy(*part[1])
    return part


def _greedy(least: int, most: int, item: Any) -> Any:
    """``item{least,most}`` that matches, in an atomic group, what ``item{least,most}+`` does."""

    def only(operation: Any, content: Any) -> Any:
        return _inner._parser.SubPattern(item.state, [(operation, content)])

    if least > 1:  # a possessive repeat keeps every turn, even if one that must come later fails
        item = only(_inner.ATOMIC_GROUP, item)
    elif most == _inner.MAXREPEAT and not _inner._simple(item):
        item = only(_inner.ATOMIC_GROUP, only(_inner.MAX_REPEAT, (1, _TURNS, item)))
    return only(_inner.MAX_REPEAT, (least, most, item))


def with_few_marks(text: str) -> str:
    """Text that composes (NFC) in a time that grows with its length.

    Marks on one letter beyond thirty, which no writing has (Unicode's stream-safe format), go:
    Python puts them in order in a time that grows with the square of their number. A text of a
    few thousand characters is short enough for that.
    """
    return text if text.isascii() or len(text) < _FEW else _too_many_marks().sub(r"\1", text)


_FEW = 4096


@cache
def _too_many_marks() -> re.Pattern[str]:
    marks = "".join(c for c in map(chr, range(128, 0x30000)) if unicodedata.combining(c))
    return re.compile(f"([{marks}]{{30}})[{marks}]+")
