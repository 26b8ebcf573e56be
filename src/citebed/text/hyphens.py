"""Join words that were hyphenated at line ends."""

from __future__ import annotations

import re
from itertools import pairwise

from citebed.text.regex import compile_regex

_BREAK = compile_regex(r"(?<=\w)[-\u2010][ \t]?\r?\n\s*+(?=\w)")
_SOFT = compile_regex("\u00ad(?:[ \t]?\r?\n[ \t]*+)?")
# Match only from the start of a word; from every letter, a long word would take quadratic time.
_CHAIN = compile_regex(r"\b\w++(?:[-\u2010\u2011]\w++)++")
_WORD = compile_regex(r"\w++")
_LEFT = re.compile(r"([-\u2010\u2011]?)(\w+)$")
_RIGHT = compile_regex(r"(\w++)([-\u2010\u2011]?)")
# In "pre- and post-processing" the hyphen stands for the later word.
_SUSPENDED = frozenset(("and", "or", "to", "versus"))
# Maximum length of a word, to limit the search to the left.
_FAR = 60


def join_hyphens(text: str) -> str:
    """Return the text with the halves of words joined that were hyphenated at line ends.

    ``recommen-⏎dation`` becomes ``recommendation``. The hyphen stays if the text contains the word
    with a hyphen elsewhere, if another hyphen is next to it (``state-⏎of-the-art``), or if the
    second half does not start with a small letter (``Jensen-⏎Shannon``, ``GPT-⏎3``). Before "and"
    or "or" the hyphen stays, followed by a space. Soft hyphens are always removed.
    """
    text = _SOFT.sub("", text)
    breaks = list(_BREAK.finditer(text))
    if not breaks:
        return text
    words = {match[0].lower() for match in _WORD.finditer(text)}
    # Neighbours in hyphenated words: ``state-of-the-art`` has three pairs.
    chains = (re.split("[-\u2010\u2011]", match[0]) for match in _CHAIN.finditer(text.lower()))
    pairs = {pair for chain in chains for pair in pairwise(chain)}
    pieces, at = [], 0
    for match in breaks:
        pieces += [text[at : match.start()], _link(text, match, words, pairs)]
        at = match.end()
    return "".join([*pieces, text[at:]])


def _link(text: str, at: re.Match[str], words: set[str], pairs: set[tuple[str, str]]) -> str:
    """Return what joins the halves of a word: a hyphen, a hyphen and a space, or nothing."""
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
