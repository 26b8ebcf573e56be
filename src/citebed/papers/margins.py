"""Numbers of lines in the margin of a preprint: words of its pages, but none of the paper's."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from citebed.papers.pages import Page, Word

_FEWEST = 8
_EACH, _FIFTH = 1, 5


def without_line_numbers(pages: Iterable[Page]) -> Iterator[Page]:
    """The pages without columns of numbers that count their lines, or every fifth of them.

    A page with too few of them to be sure is believed if they go on from the page before.
    """
    last: Word | None = None
    for page in pages:
        found = _numbers_of(page) or _going_on(page, last)
        if not found:
            yield page
            continue
        last = max(found, key=lambda word: int(word.text))
        ids = set(map(id, found))
        yield replace(page, words=tuple(word for word in page.words if id(word) not in ids))


def _numbers_of(page: Page) -> list[Word]:
    edges: dict[int, list[Word]] = defaultdict(list)
    for word in page.words:
        if word.text.isdecimal() and word.text.isascii() and len(word.text) < 6:
            edges[round(word.right / 2)].append(word)
    columns = (_counting(edges[at] + edges.get(at + 1, []), page) for at in list(edges))
    return [word for column in columns for word in column]


def _going_on(page: Page, last: Word | None) -> list[Word]:
    """Numbers that stand where those of the page before did, and follow them."""
    found: list[Word] = []
    for word in sorted(page.words, key=lambda word: word.baseline) if last else ():
        before = found[-1] if found else last
        assert before is not None
        if abs(word.right - before.right) < 1.5 and word.text == str(int(before.text) + 1):
            found.append(word)
    return found


def _counting(words: Sequence[Word], page: Page) -> Sequence[Word]:
    """Numbers below one another, if they count the lines of their page: labels of references
    count up as well, but stand further apart than lines do."""
    if len(words) < _FEWEST:
        return ()
    ordered = sorted(words, key=lambda word: word.baseline)
    steps = [int(after.text) - int(word.text) for word, after in pairwise(ordered)]
    if steps.count(_EACH) > 0.9 * len(steps):
        near = _usual_step([word.baseline for word in ordered])
        lines = _usual_step(sorted({round(word.baseline, 1) for word in page.words}))
        return ordered if abs(near - lines) < 0.6 else ()
    fifths = all(int(word.text) % _FIFTH == 0 for word in ordered)
    return ordered if fifths and steps.count(_FIFTH) > 0.9 * len(steps) else ()


def _usual_step(heights: Sequence[float]) -> float:
    """How far lines mostly stand apart."""
    steps = Counter(round(2 * (after - height)) for height, after in pairwise(heights))
    return max(((times, step) for step, times in steps.items() if step > 8), default=(0, 0))[1] / 2
