"""Numbers of lines in the margin of a preprint: words of its pages, but none of the paper's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from citebed.papers.pages import Page, Word

_FEWEST = 8
_SHARE = 0.5
_EACH, _FIFTH = 1, 5


def without_line_numbers(page: Page) -> Page:
    """The page without a column of numbers that count its lines, or every fifth of them."""
    edges: dict[int, list[Word]] = defaultdict(list)
    for word in page.words:
        if word.text.isdecimal() and word.text.isascii() and len(word.text) < 6:
            edges[round(word.right / 2)].append(word)
    counting = {
        id(word)
        for at in list(edges)
        for word in _counting(edges[at] + edges.get(at + 1, []), page)
    }
    if not counting:
        return page
    return replace(page, words=tuple(word for word in page.words if id(word) not in counting))


def _counting(words: Sequence[Word], page: Page) -> Sequence[Word]:
    """Numbers below one another, if they count the lines of their page."""
    if len(words) < _FEWEST:
        return ()
    ordered = sorted(words, key=lambda word: word.baseline)
    steps = [int(after.text) - int(word.text) for word, after in pairwise(ordered)]
    rows = {round(word.baseline) for word in page.words}
    if steps.count(_EACH) > 0.9 * len(steps):
        return ordered if len(words) > _SHARE * len(rows) else ()
    fifths = all(int(word.text) % _FIFTH == 0 for word in ordered)
    return ordered if fifths and steps.count(_FIFTH) > 0.9 * len(steps) else ()
