"""A sentence made two, and two made one, with their markers and their places on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citebed.papers.annotation import AnnotatedMarker, AnnotatedSentence
from citebed.papers.paper import Box
from citebed.text.normalise import unique

_SEEN = 12
"""So many characters behind a place tell where the same place is in the text as printed."""


def halves(sentence: AnnotatedSentence, at: int) -> tuple[AnnotatedSentence, AnnotatedSentence]:
    """The two sentences before and from a character of the text.

    A marker goes where it stands; what is cited without a marker stays with the first.
    """
    text, printed = sentence.text, sentence.printed
    inside = _in_printed(text, printed, at)
    places = _marker_places(sentence.markers, printed)
    first = tuple(m for m, place in zip(sentence.markers, places, strict=True) if place < inside)
    second = tuple(m for m, place in zip(sentence.markers, places, strict=True) if place >= inside)
    marked = {cite for marker in sentence.markers for cite in marker.cites}
    loose = [cite for cite in sentence.cites if cite not in marked]
    before, behind = _cut(sentence.boxes, inside / max(len(printed), 1))
    return (
        replace(
            sentence, text=text[:at].strip(), printed=printed[:inside].strip(), markers=first,
            boxes=before, cites=unique([*_cited(first), *loose]),
        ),
        replace(
            sentence, text=text[at:].strip(), printed=printed[inside:].strip(), markers=second,
            boxes=behind, cites=unique(_cited(second)),
        ),
    )  # fmt: skip


def joined(first: AnnotatedSentence, second: AnnotatedSentence) -> AnnotatedSentence:
    """The sentence that two are together."""
    return AnnotatedSentence(
        text=f"{first.text} {second.text}".strip(),
        cites=unique([*first.cites, *second.cites]),
        anonymised=first.anonymised or second.anonymised,
        confidence=min(first.confidence, second.confidence),
        boxes=first.boxes + second.boxes,
        markers=first.markers + second.markers,
        printed=f"{first.printed} {second.printed}".strip(),
    )


def _cited(markers: Sequence[AnnotatedMarker]) -> list[str]:
    return [cite for marker in markers for cite in marker.cites]


def _in_printed(text: str, printed: str, at: int) -> int:
    """Where a place of the text is in the text as printed, which may have names besides."""
    behind = text[at:].strip()[:_SEEN]
    found = printed.find(behind, min(at, len(printed))) if behind else -1
    if found >= 0:
        return found
    return round(len(printed) * at / max(len(text), 1))


def _marker_places(markers: Sequence[AnnotatedMarker], printed: str) -> list[int]:
    """Where each marker stands; one that is not found stands with the one before it."""
    places: list[int] = []
    at = 0
    for marker in markers:
        found = printed.find(marker.text, at)
        if found >= 0:
            places.append(found)
            at = found + len(marker.text)
        else:
            places.append(at)
    return places


def _cut(boxes: Sequence[Box], share: float) -> tuple[tuple[Box, ...], tuple[Box, ...]]:
    """The boxes of a text before and behind a share of its length."""
    left = share * sum(box.right - box.left for box in boxes)
    before: list[Box] = []
    behind: list[Box] = []
    for box in boxes:
        width = box.right - box.left
        cut = min(max(left, 0.0), width)
        if cut > 0:
            before.append(box._replace(right=box.left + cut))
        if cut < width:
            behind.append(box._replace(left=box.left + cut))
        left -= width
    return tuple(before), tuple(behind)
