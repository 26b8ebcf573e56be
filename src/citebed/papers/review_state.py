"""Apply a person's steps to a proposed annotation, and list the items to check.

States are immutable: each step returns the next state, and the proposal never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from citebed.errors import CitebedError
from citebed.papers.annotation import (
    AnnotatedContext,
    AnnotatedMarker,
    AnnotatedSentence,
    Annotation,
)
from citebed.papers.annotator import annotate_text
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
    plain_text,
)
from citebed.papers.paper import Box
from citebed.text.anonymise import anonymise
from citebed.text.normalise import fold, join_hyphens, unique

THRESHOLD = 0.9
"""Items with less confidence are listed for checking."""


class StepRefused(CitebedError):
    """A step that cannot be applied to the current state."""


@dataclass(frozen=True)
class Sentence:
    """The current state of a sentence, and its item name."""

    item: str
    content: AnnotatedSentence

    @property
    def confidence(self) -> float:
        """The least confidence of the sentence and its markers."""
        marks = (marker.confidence for marker in self.content.markers)
        return min(self.content.confidence, *marks, 1.0)


@dataclass(frozen=True)
class Paragraph:
    """The current state of a paragraph, and its item name."""

    item: str
    section: str
    heading: str
    confidence: float
    sentences: tuple[Sentence, ...]
    dropped: bool = False

    @property
    def cites(self) -> bool:
        """True if any of its sentences has a citation."""
        return any(each.content.cites for each in self.sentences)


@dataclass(frozen=True)
class ReviewState:
    """A paper after some steps; ``decided`` are the items that a person confirmed or changed."""

    annotation: Annotation
    paragraphs: tuple[Paragraph, ...]
    decided: frozenset[str] = frozenset()
    finished: bool = False

    @property
    def reference_ids(self) -> tuple[str, ...]:
        """The labels of the reference list."""
        return tuple(each.ref_id for each in self.annotation.references)


def apply_decisions(annotation: Annotation, decisions: Decisions) -> ReviewState:
    """Return the state of a paper after all steps."""
    state = initial_state(annotation)
    for number, step in enumerate(decisions.steps, 1):
        state = apply_step(state, step, number)
    return state


def initial_state(annotation: Annotation) -> ReviewState:
    """Return the state of a paper before any step."""
    paragraphs = []
    for at, context in enumerate(annotation.contexts, 1):
        sentences = tuple(
            Sentence(f"c{at}.{number}", sentence)
            for number, sentence in enumerate(context.sentences, 1)
        )
        about = (context.section, context.heading, context.confidence)
        paragraphs.append(Paragraph(f"c{at}", *about, sentences))
    return ReviewState(annotation, tuple(paragraphs))


def reviewed_annotation(state: ReviewState) -> Annotation:
    """Return the annotation in a state, with its paragraphs renumbered.

    Dropped paragraphs and paragraphs without citations are left out.
    """
    kept = [each for each in state.paragraphs if not each.dropped and each.cites]
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
    return replace(state.annotation, contexts=contexts)


def doubtful(state: ReviewState, threshold: float = THRESHOLD) -> list[str]:
    """Return the items to check, decided or not, in page order.

    References that no kept paragraph cites are left out, because no query depends on them.
    """
    front = state.annotation
    is_front_doubtful = front.confidence < threshold or not (front.title and front.abstract)
    items = [FRONT] if is_front_doubtful else []
    kept = [paragraph for paragraph in state.paragraphs if not paragraph.dropped]
    for paragraph in kept:
        # The sentences, and the paragraph itself if none of them is as doubtful.
        lowest = min((each.confidence for each in paragraph.sentences), default=1.0)
        if paragraph.confidence < min(threshold, lowest):
            items.append(paragraph.item)
        items += [each.item for each in paragraph.sentences if each.confidence < threshold]
    cited = {
        cite for each in kept for sentence in each.sentences for cite in sentence.content.cites
    }
    low = (each.ref_id for each in state.annotation.references if each.confidence < threshold)
    return [*items, *(f"r{ref_id}" for ref_id in low if ref_id in cited)]


def apply_step(state: ReviewState, step: Step, number: int) -> ReviewState:
    """Return the state after one more step; names of new items contain its ``number``."""
    match step:
        case Finish():
            return replace(state, finished=True)
        case ChangeFront():
            about, given = state.annotation, step.model_dump(exclude_none=True, exclude={"kind"})
            given |= {"doi": step.doi or None} if step.doi is not None else {}
            return _decide(replace(state, annotation=replace(about, **given)), FRONT)
        case Accept():
            items = {FRONT, *(f"r{ref_id}" for ref_id in state.reference_ids)}
            for paragraph in state.paragraphs:
                items |= {paragraph.item, *(each.item for each in paragraph.sentences)}
            if step.item not in items:
                raise StepRefused(f"the paper has no '{step.item}' to accept.")
        case Drop():
            at = _find_paragraph(state, step.item)
            changed = replace(state.paragraphs[at], dropped=step.dropped)
            state = _replace_paragraphs(state, at, 1, changed)
        case _:
            state = _APPLY[type(step)](state, step, number)
    return _decide(state, step.item) if hasattr(step, "item") else state


def _reference(state: ReviewState, step: ChangeReference, _: int) -> ReviewState:
    references = state.annotation.references
    at = next((n for n, each in enumerate(references) if f"r{each.ref_id}" == step.item), None)
    if at is None:
        raise StepRefused(f"the paper has no reference '{step.item[1:]}'.")
    reference = references[at]
    if step.doc_id is None:
        changed = replace(reference, doi=step.doi, url=step.url, doc_id=None)
    else:
        chosen = [each for each in reference.candidates if each.doc_id == step.doc_id]
        if not chosen:
            what = f"'{step.doc_id}' is not a candidate for reference {reference.ref_id}."
            raise StepRefused(what)
        doi = step.doi or chosen[0].doi
        changed = replace(reference, doi=doi, url=step.url, doc_id=step.doc_id)
    every = (*references[:at], changed, *references[at + 1 :])
    return replace(state, annotation=replace(state.annotation, references=every))


def _sentence(state: ReviewState, step: ChangeSentence, _: int) -> ReviewState:
    if step.text == "":
        return _replace_sentences(state, *_find_sentence(state, step.item), 1)
    cites = None if step.cites is None else _check_cites(state, step.cites)
    at, place = _find_sentence(state, step.item)
    changes: dict[str, Any] = {"anonymised": step.anonymised, "text": step.text, "cites": cites}
    stated = {name: value for name, value in changes.items() if value is not None}
    changed = replace(state.paragraphs[at].sentences[place].content, **stated)
    return _replace_sentences(state, at, place, 1, Sentence(step.item, changed))


def _marker(state: ReviewState, step: ChangeMarker, _: int) -> ReviewState:
    cites = _check_cites(state, step.cites)
    at, place = _find_sentence(state, step.item)
    content = state.paragraphs[at].sentences[place].content
    if step.marker >= len(content.markers):
        raise StepRefused("the sentence has no such marker.")
    before = _cited(content.markers)
    added = [cite for cite in content.cites if cite not in before]
    markers = list(content.markers)
    markers[step.marker] = replace(markers[step.marker], cites=cites)
    every = unique([*_cited(markers), *added])
    changed = replace(content, markers=tuple(markers), cites=every)
    return _replace_sentences(state, at, place, 1, Sentence(step.item, changed))


def _check_cites(state: ReviewState, cites: Sequence[str]) -> tuple[str, ...]:
    ids = state.reference_ids
    unknown = [cite for cite in cites if cite not in ids]
    if unknown:
        raise StepRefused(f"the reference list has no '{unknown[0]}'.")
    return unique(cites)


def _split_sentence(state: ReviewState, step: SplitSentence, number: int) -> ReviewState:
    at, place = _find_sentence(state, step.item)
    first, second = _split_at(state.paragraphs[at].sentences[place].content, step.at)
    if not (first.text and second.text):
        raise StepRefused("put the cursor between two words of the sentence.")
    item = f"{step.item}/{number}"
    both = (Sentence(step.item, first), Sentence(item, second))
    return _decide(_replace_sentences(state, at, place, 1, *both), item)


def _decide(state: ReviewState, item: str) -> ReviewState:
    return replace(state, decided=state.decided | {item})


def _join_sentence(state: ReviewState, step: JoinSentence, _: int) -> ReviewState:
    at, place = _find_sentence(state, step.item)
    sentences = state.paragraphs[at].sentences
    if place + 1 == len(sentences):
        raise StepRefused("the paragraph has no further sentence to join.")
    first, second = (each.content for each in sentences[place : place + 2])
    one = AnnotatedSentence(
        text=f"{first.text} {second.text}".strip(),
        cites=unique([*first.cites, *second.cites]),
        anonymised=first.anonymised or second.anonymised,
        confidence=min(first.confidence, second.confidence),
        boxes=first.boxes + second.boxes,
        markers=first.markers + second.markers,
        printed=f"{first.printed} {second.printed}".strip(),
    )
    return _replace_sentences(state, at, place, 2, Sentence(sentences[place].item, one))


def _merge(state: ReviewState, step: Merge, _: int) -> ReviewState:
    at = _find_paragraph(state, step.item)
    behind = [n for n, each in enumerate(state.paragraphs) if n > at and not each.dropped]
    if state.paragraphs[at].dropped or not behind:
        raise StepRefused("the last paragraph has none after it to merge with.")
    first, second = state.paragraphs[at], state.paragraphs[behind[0]]
    least = min(first.confidence, second.confidence)
    one = replace(first, sentences=first.sentences + second.sentences, confidence=least)
    between = state.paragraphs[at + 1 : behind[0]]
    return _replace_paragraphs(state, at, len(between) + 2, one, *between)


def _split(state: ReviewState, step: Split, number: int) -> ReviewState:
    at, place = _find_sentence(state, step.item)
    if place == 0:
        raise StepRefused("the sentence is already the first of its paragraph.")
    whole = state.paragraphs[at]
    first = replace(whole, sentences=whole.sentences[:place])
    item = f"{whole.item}/{number}"
    second = replace(whole, item=item, sentences=whole.sentences[place:], dropped=False)
    return _decide(_replace_paragraphs(state, at, 1, first, second), item)


def _add(state: ReviewState, step: Add, number: int) -> ReviewState:
    if not step.sentences:
        raise StepRefused("a paragraph needs text.")
    item = f"c+{number}"
    sentences: list[Sentence] = []
    for each in step.sentences:
        marks = tuple(
            AnnotatedMarker(text, _check_cites(state, cites), 1.0, ())
            for text, cites in each.markers
        )
        given = (each.text, _check_cites(state, each.cites), each.anonymised, 1.0, ())
        new = AnnotatedSentence(*given, marks, each.printed)
        sentences.append(Sentence(f"{item}.{len(sentences) + 1}", new))
    at = 0 if step.after == FRONT else _find_paragraph(state, step.after) + 1
    beside = state.paragraphs[max(at - 1, 0)].section if state.paragraphs else "introduction"
    made = Paragraph(item, step.section or beside, "", 1.0, tuple(sentences))
    return _decide(_replace_paragraphs(state, at, 0, made), item)


def _find_paragraph(state: ReviewState, item: str) -> int:
    for at, paragraph in enumerate(state.paragraphs):
        if paragraph.item == item:
            return at
    raise StepRefused(f"the paper has no paragraph '{item}'.")


def _find_sentence(state: ReviewState, item: str) -> tuple[int, int]:
    """Return the index of a sentence's paragraph, and its index there."""
    for at, paragraph in enumerate(state.paragraphs):
        for place, sentence in enumerate(paragraph.sentences):
            if sentence.item == item:
                return at, place
    raise StepRefused(f"the paper has no sentence '{item}'.")


def _replace_sentences(
    state: ReviewState, at: int, place: int, many: int, *instead: Sentence
) -> ReviewState:
    """Replace ``many`` sentences of a paragraph."""
    sentences = state.paragraphs[at].sentences
    changed = (*sentences[:place], *instead, *sentences[place + many :])
    return _replace_paragraphs(state, at, 1, replace(state.paragraphs[at], sentences=changed))


def _replace_paragraphs(state: ReviewState, at: int, many: int, *instead: Paragraph) -> ReviewState:
    """Replace ``many`` paragraphs; drop new ones without sentences."""
    new = tuple(each for each in instead if each.sentences)
    paragraphs = (*state.paragraphs[:at], *new, *state.paragraphs[at + many :])
    return replace(state, paragraphs=paragraphs)


_APPLY: dict[type[Any], Callable[[ReviewState, Any, int], ReviewState]] = {
    ChangeSentence: _sentence,
    ChangeMarker: _marker,
    SplitSentence: _split_sentence,
    JoinSentence: _join_sentence,
    Merge: _merge,
    Split: _split,
    Add: _add,
    ChangeReference: _reference,
}


# --- Split and join sentences -------------------------------------------------------------------

_CONTEXT = 12
"""Number of characters after the split that are searched for in the printed text."""


def _split_at(sentence: AnnotatedSentence, at: int) -> tuple[AnnotatedSentence, AnnotatedSentence]:
    """Split a sentence at a character of its text.

    Each part keeps the markers printed in it; the first part keeps citations without a marker.
    """
    text, printed = sentence.text, sentence.printed
    behind_cut = text[at:].strip()[:_CONTEXT]  # the printed text may contain more names
    inside = printed.find(behind_cut, min(at, len(printed))) if behind_cut else -1
    inside = inside if inside >= 0 else round(len(printed) * at / max(len(text), 1))
    places: list[int] = []
    position = 0
    for each in sentence.markers:
        found = printed.find(each.text, position)
        if found >= 0:
            places.append(found)
            position = found + len(each.text)
        else:
            places.append(position)
    first = tuple(m for m, place in zip(sentence.markers, places, strict=True) if place < inside)
    second = tuple(m for m, place in zip(sentence.markers, places, strict=True) if place >= inside)
    marked = {cite for marker in sentence.markers for cite in marker.cites}
    loose = [cite for cite in sentence.cites if cite not in marked]
    before, behind = _cut_boxes(sentence.boxes, inside / max(len(printed), 1))
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


def _cited(markers: Sequence[AnnotatedMarker]) -> list[str]:
    return [cite for marker in markers for cite in marker.cites]


def _cut_boxes(boxes: Sequence[Box], share: float) -> tuple[tuple[Box, ...], tuple[Box, ...]]:
    """Return the boxes before and after a share of the text's length."""
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


# --- Write out a step before it is stored -------------------------------------------------------


def write_out(state: ReviewState, step: Step) -> Step:
    """Return a step that contains all texts that citebed derives for it.

    So decisions stay as they are when a later version splits or anonymises texts differently.
    """
    if isinstance(step, Add):  # a text that was copied from a page, with its line breaks
        line = plain_text(join_hyphens(step.text))
        split = tuple(
            NewSentence(
                text=each.text,
                cites=each.cites,
                anonymised=each.anonymised,
                printed=each.printed,
                markers=tuple((marker.text, marker.cites) for marker in each.markers),
            )
            for each in annotate_text(line, state.annotation.references)
        )
        return step.model_copy(update={"text": "", "sentences": split})
    if isinstance(step, ChangeSentence) and step.anonymised is not None and step.text is None:
        sentences = (each for paragraph in state.paragraphs for each in paragraph.sentences)
        sentence = next((each.content for each in sentences if each.item == step.item), None)
        if sentence is not None and sentence.anonymised != step.anonymised:
            printed, text = fold(sentence.printed), sentence.text
            without = fold(anonymise(sentence.printed))
            # A text that a person wrote stays as it is.
            if sentence.printed and text in (printed, without, sentence.printed):
                text = plain_text(without if step.anonymised else printed)
            return step.model_copy(update={"text": text})
    return step
