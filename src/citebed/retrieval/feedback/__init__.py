"""Feedback: queries made better by documents that are relevant or taken for so.

A way of feedback is one file and one line in ``FEEDBACK``; ``retrieval_of`` reads a model with
its feedback.
"""

from __future__ import annotations

from citebed.errors import UnknownName
from citebed.grammar import Call, Spec, SpecError, parse
from citebed.retrieval.feedback.base import Feedback, FeedbackDocuments, TermWeights
from citebed.retrieval.feedback.methods import Mixture, Natural, Rm3, Robertson, Rocchio
from citebed.retrieval.models import Model, model_from

__all__ = ["FEEDBACK", "Feedback", "FeedbackDocuments", "TermWeights", "retrieval_of"]

FEEDBACK: dict[str, type[Feedback]] = {
    feedback.name: feedback for feedback in (Natural, Rocchio, Rm3, Mixture, Robertson)
}
"""All ways of feedback by name, in the order in which they are explained."""


def retrieval_of(text: str | Spec) -> tuple[Model, Feedback | None]:
    """The model and the feedback of a text such as ``kl(mu=1000)+feedback(terms=20)``.

    A spec with other steps (a re-ranker) is cut before them by the caller.
    """
    spec = parse(text) if isinstance(text, str) else text
    model = model_from(spec.parts[0])
    if len(spec.parts) == 1:
        return model, None
    if len(spec.parts) > 2:
        raise SpecError(f"'{spec}': expected one model and at most one feedback after it.")
    feedback = feedback_from(spec.parts[1])
    feedback.check(model)
    return model, feedback


def feedback_from(call: Call) -> Feedback:
    """The feedback that a call of a spec describes; ``RM3`` is ``rm3``."""
    found = FEEDBACK.get(call.name.lower())
    if found is None:
        raise UnknownName("feedback", call.name, FEEDBACK)
    return found.from_call(call)
