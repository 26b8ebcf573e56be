"""Steps of a person applied to a proposed annotation, and what is still to be asked.

Nothing is changed: each step gives the next stand, and the proposal stays as the machine made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from citebed.errors import CitebedError
from citebed.papers.annotation import (
    AnnotatedContext,
    AnnotatedMarker,
    AnnotatedReference,
    AnnotatedSentence,
    Annotation,
)
from citebed.papers.decisions import (
    FRONT,
    Accept,
    Add,
    ChangeFront,
    ChangeMarker,
    ChangeReference,
    ChangeSentence,
    Decisions,
    Drop,
    Finish,
    JoinSentence,
    Merge,
    NewSentence,
    Split,
    SplitSentence,
    Step,
)
from citebed.papers.halving import halves, joined
from citebed.text.normalise import unique

THRESHOLD = 0.9
"""What the machine is less sure of is asked."""


class StepRefused(CitebedError):
    """A step that cannot be taken as things stand."""


@dataclass(frozen=True)
class Sentence:
    """A sentence as it stands, under its item."""

    item: str
    content: AnnotatedSentence

    @property
    def confidence(self) -> float:
        """How sure the machine is of the sentence and of each marker in it."""
        marks = (marker.confidence for marker in self.content.markers)
        return min(self.content.confidence, *marks, 1.0)


@dataclass(frozen=True)
class Paragraph:
    """A paragraph as it stands, under its item."""

    item: str
    section: str
    heading: str
    confidence: float
    sentences: tuple[Sentence, ...]
    dropped: bool = False

    @property
    def cites(self) -> bool:
        """Whether any of its sentences cites."""
        return any(each.content.cites for each in self.sentences)


@dataclass(frozen=True)
class Stand:
    """A paper after some steps: ``decided`` are the items that a person has seen to."""

    annotation: Annotation
    paragraphs: tuple[Paragraph, ...]
    decided: frozenset[str] = frozenset()
    finished: bool = False

    @property
    def reference_ids(self) -> tuple[str, ...]:
        """The labels of the reference list."""
        return tuple(each.ref_id for each in self.annotation.references)


def stand_of(annotation: Annotation, decisions: Decisions) -> Stand:
    """How a paper stands after all steps."""
    steps = enumerate(decisions.steps, 1)
    return reduce(lambda stand, one: taken(stand, one[1], one[0]), steps, proposed(annotation))


def proposed(annotation: Annotation) -> Stand:
    """How a paper stands before any step."""
    return Stand(annotation, tuple(_paragraphs(annotation.contexts)))


def _paragraphs(contexts: Sequence[AnnotatedContext]) -> Iterator[Paragraph]:
    for at, context in enumerate(contexts, 1):
        sentences = tuple(
            Sentence(f"c{at}.{number}", sentence)
            for number, sentence in enumerate(context.sentences, 1)
        )
        yield Paragraph(f"c{at}", context.section, context.heading, context.confidence, sentences)


def reviewed(annotation: Annotation, decisions: Decisions) -> Annotation:
    """The annotation that stands after all steps, paragraphs numbered anew.

    Paragraphs in which nothing is cited any more are left out: they ask for nothing.
    """
    stand = stand_of(annotation, decisions)
    kept = [each for each in stand.paragraphs if not each.dropped and each.cites]
    contexts = tuple(
        AnnotatedContext(
            context_id=f"{number:02d}",
            section=each.section,
            heading=each.heading,
            confidence=each.confidence,
            sentences=tuple(sentence.content for sentence in each.sentences),
        )
        for number, each in enumerate(kept, 1)
    )
    return replace(stand.annotation, contexts=contexts)


def doubtful(stand: Stand, threshold: float = THRESHOLD) -> list[str]:
    """The items that are asked, seen to or not, in the order of the pages.

    Of the references only those that are cited in what is kept: others answer no query.
    """
    asked = [FRONT] if _is_front_doubtful(stand.annotation, threshold) else []
    kept = [paragraph for paragraph in stand.paragraphs if not paragraph.dropped]
    for paragraph in kept:
        asked += _doubtful_in(paragraph, threshold)
    cited = {
        cite for each in kept for sentence in each.sentences for cite in sentence.content.cites
    }
    low = (each.ref_id for each in stand.annotation.references if each.confidence < threshold)
    return [*asked, *(f"r{ref_id}" for ref_id in low if ref_id in cited)]


def _is_front_doubtful(annotation: Annotation, threshold: float) -> bool:
    return annotation.confidence < threshold or not (annotation.title and annotation.abstract)


def _doubtful_in(paragraph: Paragraph, threshold: float) -> Iterator[str]:
    """A paragraph is asked for itself where no sentence in it is as doubtful."""
    lowest = min((each.confidence for each in paragraph.sentences), default=1.0)
    if paragraph.confidence < min(threshold, lowest):
        yield paragraph.item
    yield from (each.item for each in paragraph.sentences if each.confidence < threshold)


def taken(stand: Stand, step: Step, number: int) -> Stand:
    """How a paper stands after one more step, the ``number``-th; new items are named by it."""
    after = _WORK[type(step)](stand, step, number)
    return _seen(after, step.item) if hasattr(step, "item") else after


def _accept(stand: Stand, step: Accept, _: int) -> Stand:
    known = {FRONT, *(f"r{ref_id}" for ref_id in stand.reference_ids)}
    for paragraph in stand.paragraphs:
        known |= {paragraph.item, *(each.item for each in paragraph.sentences)}
    if step.item not in known:
        raise StepRefused(f"there is no '{step.item}' to accept.")
    return stand


def _finish(stand: Stand, _step: Finish, _: int) -> Stand:
    return replace(stand, finished=True)


def _front(stand: Stand, step: ChangeFront, _: int) -> Stand:
    before = stand.annotation
    annotation = replace(
        before,
        title=before.title if step.title is None else step.title,
        abstract=before.abstract if step.abstract is None else step.abstract,
        doi=before.doi if step.doi is None else step.doi or None,
    )
    return _seen(replace(stand, annotation=annotation), FRONT)


def _reference(stand: Stand, step: ChangeReference, _: int) -> Stand:
    references = stand.annotation.references
    at = next((n for n, each in enumerate(references) if f"r{each.ref_id}" == step.item), None)
    if at is None:
        raise StepRefused(f"there is no reference '{step.item[1:]}'.")
    changed = _pointed(references[at], step)
    annotation = replace(
        stand.annotation, references=(*references[:at], changed, *references[at + 1 :])
    )
    return replace(stand, annotation=annotation)


def _pointed(reference: AnnotatedReference, step: ChangeReference) -> AnnotatedReference:
    """A document that was offered brings its DOI along; other documents nobody knows."""
    if step.doc_id is None:
        return replace(reference, doi=step.doi, url=step.url, doc_id=None)
    chosen = [each for each in reference.candidates if each.doc_id == step.doc_id]
    if not chosen:
        raise StepRefused(f"'{step.doc_id}' was not offered for reference {reference.ref_id}.")
    doi = step.doi or chosen[0].doi
    return replace(reference, doi=doi, url=step.url, doc_id=step.doc_id)


def _sentence(stand: Stand, step: ChangeSentence, _: int) -> Stand:
    if step.text == "":
        return _with_sentence(stand, step.item, lambda _: ())
    cites = None if step.cites is None else _known(stand, step.cites)

    def change(one: Sentence) -> tuple[Sentence, ...]:
        content = one.content
        if step.anonymised is not None:
            content = replace(content, anonymised=step.anonymised)
        if step.text is not None:
            content = replace(content, text=step.text)
        if cites is not None:
            content = replace(content, cites=cites)
        return (Sentence(one.item, content),)

    return _with_sentence(stand, step.item, change)


def _marker(stand: Stand, step: ChangeMarker, _: int) -> Stand:
    cites = _known(stand, step.cites)

    def change(one: Sentence) -> tuple[Sentence, ...]:
        if step.marker >= len(one.content.markers):
            raise StepRefused("the sentence has no such marker.")
        return (Sentence(one.item, _remarked(one.content, step.marker, cites)),)

    return _with_sentence(stand, step.item, change)


def _remarked(content: AnnotatedSentence, number: int, cites: tuple[str, ...]) -> AnnotatedSentence:
    """A sentence cites what its markers cite, and what a person added besides."""
    before = {cite for marker in content.markers for cite in marker.cites}
    added = [cite for cite in content.cites if cite not in before]
    markers: list[AnnotatedMarker] = list(content.markers)
    markers[number] = replace(markers[number], cites=cites)
    every = unique([*(cite for marker in markers for cite in marker.cites), *added])
    return replace(content, markers=tuple(markers), cites=every)


def _known(stand: Stand, cites: Sequence[str]) -> tuple[str, ...]:
    ids = stand.reference_ids
    unknown = [cite for cite in cites if cite not in ids]
    if unknown:
        raise StepRefused(f"the reference list has no '{unknown[0]}'.")
    return unique(cites)


def _split_sentence(stand: Stand, step: SplitSentence, number: int) -> Stand:
    def change(one: Sentence) -> tuple[Sentence, ...]:
        first, second = halves(one.content, step.at)
        if not (first.text and second.text):
            raise StepRefused("put the cursor between two words of the sentence.")
        return Sentence(one.item, first), Sentence(f"{one.item}/{number}", second)

    return _seen(_with_sentence(stand, step.item, change), f"{step.item}/{number}")


def _seen(stand: Stand, item: str) -> Stand:
    """What a person made needs no second look."""
    return replace(stand, decided=stand.decided | {item})


def _join_sentence(stand: Stand, step: JoinSentence, _: int) -> Stand:
    at, place = _place_of(stand, step.item)
    sentences = stand.paragraphs[at].sentences
    if place + 1 == len(sentences):
        raise StepRefused("the paragraph has no further sentence to join.")
    first, second = sentences[place : place + 2]
    one = Sentence(first.item, joined(first.content, second.content))
    changed = (*sentences[:place], one, *sentences[place + 2 :])
    return _with_paragraphs(stand, at, 1, replace(stand.paragraphs[at], sentences=changed))


def _merge(stand: Stand, step: Merge, _: int) -> Stand:
    at = _paragraph_at(stand, step.item)
    behind = [n for n, each in enumerate(stand.paragraphs) if n > at and not each.dropped]
    if stand.paragraphs[at].dropped or not behind:
        raise StepRefused("there is no paragraph behind this one to merge it with.")
    first, second = stand.paragraphs[at], stand.paragraphs[behind[0]]
    one = replace(
        first,
        sentences=first.sentences + second.sentences,
        confidence=min(first.confidence, second.confidence),
    )
    between = stand.paragraphs[at + 1 : behind[0]]
    return _with_paragraphs(stand, at, len(between) + 2, one, *between)


def _split(stand: Stand, step: Split, number: int) -> Stand:
    at, place = _place_of(stand, step.item)
    if place == 0:
        raise StepRefused("the sentence begins a paragraph already.")
    whole = stand.paragraphs[at]
    first = replace(whole, sentences=whole.sentences[:place])
    second = replace(
        whole, item=f"{whole.item}/{number}", sentences=whole.sentences[place:], dropped=False
    )
    return _seen(_with_paragraphs(stand, at, 1, first, second), second.item)


def _drop(stand: Stand, step: Drop, _: int) -> Stand:
    at = _paragraph_at(stand, step.item)
    return _with_paragraphs(stand, at, 1, replace(stand.paragraphs[at], dropped=step.dropped))


def _add(stand: Stand, step: Add, number: int) -> Stand:
    if not step.sentences:
        raise StepRefused("a paragraph needs some words.")
    item = f"c+{number}"
    sentences = tuple(
        Sentence(f"{item}.{n}", _new(stand, each)) for n, each in enumerate(step.sentences, 1)
    )
    at = 0 if step.after == FRONT else _paragraph_at(stand, step.after) + 1
    beside = stand.paragraphs[max(at - 1, 0)].section if stand.paragraphs else "introduction"
    made = Paragraph(item, step.section or beside, "", 1.0, sentences)
    return _seen(_with_paragraphs(stand, at, 0, made), item)


def _new(stand: Stand, given: NewSentence) -> AnnotatedSentence:
    markers = tuple(
        AnnotatedMarker(text, _known(stand, cites), 1.0, ()) for text, cites in given.markers
    )
    return AnnotatedSentence(
        given.text, _known(stand, given.cites), given.anonymised, 1.0, (), markers, given.printed
    )


def _paragraph_at(stand: Stand, item: str) -> int:
    for at, paragraph in enumerate(stand.paragraphs):
        if paragraph.item == item:
            return at
    raise StepRefused(f"there is no paragraph '{item}'.")


def _place_of(stand: Stand, item: str) -> tuple[int, int]:
    """The paragraph of a sentence, and its place there."""
    for at, paragraph in enumerate(stand.paragraphs):
        for place, sentence in enumerate(paragraph.sentences):
            if sentence.item == item:
                return at, place
    raise StepRefused(f"there is no sentence '{item}'.")


def _with_sentence(
    stand: Stand, item: str, change: Callable[[Sentence], tuple[Sentence, ...]]
) -> Stand:
    at, place = _place_of(stand, item)
    sentences = stand.paragraphs[at].sentences
    changed = (*sentences[:place], *change(sentences[place]), *sentences[place + 1 :])
    return _with_paragraphs(stand, at, 1, replace(stand.paragraphs[at], sentences=changed))


def _with_paragraphs(stand: Stand, at: int, many: int, *instead: Paragraph) -> Stand:
    """The stand with others in place of some paragraphs; those without a sentence go."""
    kept = tuple(each for each in instead if each.sentences)
    paragraphs = (*stand.paragraphs[:at], *kept, *stand.paragraphs[at + many :])
    return replace(stand, paragraphs=paragraphs)


_WORK: dict[type[Any], Callable[[Stand, Any, int], Stand]] = {
    Accept: _accept,
    ChangeFront: _front,
    ChangeSentence: _sentence,
    ChangeMarker: _marker,
    SplitSentence: _split_sentence,
    JoinSentence: _join_sentence,
    Merge: _merge,
    Split: _split,
    Drop: _drop,
    Add: _add,
    ChangeReference: _reference,
    Finish: _finish,
}
