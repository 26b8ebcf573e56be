"""A step as it is kept: what the software makes of a text today is written out in it.

So decisions stay what they were when sentences are found or names taken out in a better way.
"""

from __future__ import annotations

from citebed.papers.annotating import annotated_text
from citebed.papers.annotation import AnnotatedSentence
from citebed.papers.deciding import Stand
from citebed.papers.decisions import Add, ChangeSentence, NewSentence, Step, plain_text
from citebed.text.anonymise import anonymise
from citebed.text.hyphens import join_hyphens
from citebed.text.normalise import fold


def settled(stand: Stand, step: Step) -> Step:
    """The step with its texts written out."""
    if isinstance(step, Add):
        return step.model_copy(update={"text": "", "sentences": _sentences(stand, step.text)})
    if isinstance(step, ChangeSentence) and step.anonymised is not None and step.text is None:
        every = (each for paragraph in stand.paragraphs for each in paragraph.sentences)
        found = next((each.content for each in every if each.item == step.item), None)
        if found is not None and found.anonymised != step.anonymised:
            return step.model_copy(update={"text": _text(found, step.anonymised)})
    return step


def _text(sentence: AnnotatedSentence, anonymised: bool) -> str:
    """A sentence with names, or without them; what a person wrote instead stays as it is."""
    printed, without = fold(sentence.printed), fold(anonymise(sentence.printed))
    if not sentence.printed or sentence.text not in (printed, without, sentence.printed):
        return sentence.text
    return plain_text(without if anonymised else printed)


def _sentences(stand: Stand, text: str) -> tuple[NewSentence, ...]:
    """The sentences of a text that was copied from a page, line by line."""
    line = plain_text(join_hyphens(text))
    return tuple(
        NewSentence(
            text=each.text,
            cites=each.cites,
            anonymised=each.anonymised,
            printed=each.printed,
            markers=tuple((marker.text, marker.cites) for marker in each.markers),
        )
        for each in annotated_text(line, stand.annotation.references)
    )
