"""Words that were broken at the end of a line, made whole."""

from __future__ import annotations

import re
from itertools import pairwise

from citebed.text.regex import compile_regex

_BREAK = compile_regex(r"(?<=\w)[-\u2010][ \t]?\r?\n\s*+(?=\w)")
_SOFT = compile_regex("\u00ad(?:[ \t]?\r?\n[ \t]*+)?")
# From the beginning of a word only: from every letter on, a word of 100 KB is read 100 KB times.
_CHAIN = compile_regex(r"\b\w++(?:[-\u2010\u2011]\w++)++")
_WORD = compile_regex(r"\w++")
_LEFT = re.compile(r"([-\u2010\u2011]?)(\w+)$")
_RIGHT = compile_regex(r"(\w++)([-\u2010\u2011]?)")
# "pre- and post-processing": the hyphen stands for the word that comes later.
_SUSPENDED = frozenset(("and", "or", "to", "versus"))
# Longer words are no words; this bounds how far is looked to the left.
_FAR = 60


def join_hyphens(text: str) -> str:
    """The text with words that end a line in a hyphen joined to their other half.

    The hyphen goes (``recommen-⏎dation`` is ``recommendation``), unless it belongs to the word:
    the text has the two halves hyphenated elsewhere, and nowhere written as one; more hyphens are
    beside it (``state-⏎of-the-art``); or the second half begins with no small letter
    (``Jensen-⏎Shannon``, ``GPT-⏎3``). Where the text shows both ways, the hyphen stays. A
    hyphen before "and" or "or" stays with a blank. Soft hyphens are removed wherever they are.
    """
    text = _SOFT.sub("", text)
    breaks = list(_BREAK.finditer(text))
    if not breaks:
        return text
    words = {match[0].lower() for match in _WORD.finditer(text)}
    # The neighbours in hyphenated words: of ``state-of-the-art`` three pairs.
    chains = (re.split("[-\u2010\u2011]", match[0]) for match in _CHAIN.finditer(text.lower()))
    pairs = {pair for chain in chains for pair in pairwise(chain)}
    pieces, at = [], 0
    for match in breaks:
        pieces += [text[at : match.start()], _link(text, match, words, pairs)]
        at = match.end()
    return "".join([*pieces, text[at:]])


def _link(text: str, at: re.Match[str], words: set[str], pairs: set[tuple[str, str]]) -> str:
    """What stands between the two halves of a broken word: a hyphen or nothing."""
    before = _LEFT.search(text[max(0, at.start() - _FAR) : at.start()])
    after = _RIGHT.match(text, at.end())
    if before is None or after is None:  # the break is between two word characters
        return "-"
    left, right = before[2].lower(), after[1].lower()
    if right in _SUSPENDED:
        return "- "
    if (left, right) in pairs:
        return "-"
    if left + right in words:
        return ""
    if before[1] or after[2] or not after[1][0].islower() or left[-1].isdigit():
        return "-"
    return ""
