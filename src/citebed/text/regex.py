"""Possessive repeats and atomic groups (``x*+``, ``(?>x)``) that work in every Python.

They never backtrack, so no text can make them slow. Python 3.11.0 to 3.11.4 have a bug in
``(?:xy)*+``: the text of the last, failing repetition counts as matched (gh-106052), which misses
matches, finds false ones and can loop forever. There citebed compiles the equivalent greedy repeat
in an atomic group, ``(?>(?:xy)*)``, which works correctly.

This workaround stays while citebed supports Debian 12, which ships 3.11.2. The package ``regex``
does not have the bug: on texts of ACM-CR, the ACL Anthology, Cranfield and CACM our 112 patterns of
this kind match the same text in both, but ``regex`` takes 2.4 times as long, and up to 10 times for
some patterns.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any, AnyStr

_HAS_BUG = (
    re.fullmatch("(?:ab?c)*+", "a") is not None
)  # not by version: distributions backport the fix

_MAX_REPEATS = 200
"""Maximum repetitions of an unbounded repeat in one step, because a greedy repeat stores each one.
"""

_inner: Any = getattr(re, "_compiler", None)
"""Internals of ``re`` that no longer change in the Python versions that need them."""


def compile_regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Like ``re.compile``; use it for every pattern with a possessive repeat or an atomic group."""
    return convert_regex(pattern, flags) if _HAS_BUG else re.compile(pattern, flags)


def convert_regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return the pattern without possessive repeats; groups, names and text do not change."""
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
    """A part of a parsed pattern: a sequence of operations, one operation, or its arguments."""
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
    """Return ``item{least,most}`` that, in an atomic group, matches like ``item{least,most}+``."""

    def only(operation: Any, content: Any) -> Any:
        return _inner._parser.SubPattern(item.state, [(operation, content)])

    if least > 1:  # a possessive repeat keeps every repetition, even if a required later one fails
        item = only(_inner.ATOMIC_GROUP, item)
    elif most == _inner.MAXREPEAT and not _inner._simple(item):
        item = only(_inner.ATOMIC_GROUP, only(_inner.MAX_REPEAT, (1, _MAX_REPEATS, item)))
    return only(_inner.MAX_REPEAT, (least, most, item))


def limit_combining_marks(text: str) -> str:
    """Limit combining marks so that NFC normalisation takes linear time. Drop marks beyond 30 on
    one letter, which no writing system needs (Unicode's stream-safe format), because Python sorts
    them in quadratic time. Texts of a few thousand characters are short enough without this.
    """
    return text if text.isascii() or len(text) < _LONG else _excess_marks().sub(r"\1", text)


_LONG = 4096


@cache
def _excess_marks() -> re.Pattern[str]:
    marks = "".join(c for c in map(chr, range(128, 0x30000)) if unicodedata.combining(c))
    return re.compile(f"([{marks}]{{30}})[{marks}]+")
