"""Feedback: improve a query with documents that are relevant, or assumed to be.

To add a method, write one class and add it to ``FEEDBACK``. ``retrieval_of`` parses a model with
its feedback.
"""

from __future__ import annotations

from citebed.errors import UnknownName
from citebed.grammar import Spec, SpecError, parse
from citebed.retrieval.feedback.base import Feedback, FeedbackDocuments, TermWeights
from citebed.retrieval.feedback.methods import Mixture, Natural, Rm3, Robertson, Rocchio
from citebed.retrieval.models import Model, model_from

__all__ = ["FEEDBACK", "Feedback", "FeedbackDocuments", "TermWeights", "retrieval_of"]

FEEDBACK: dict[str, type[Feedback]] = {
    feedback.name: feedback for feedback in (Natural, Rocchio, Rm3, Mixture, Robertson)
}
"""All feedback methods by name, in the order in which the documentation explains them."""


def retrieval_of(text: str | Spec) -> tuple[Model, Feedback | None]:
    """Return the model and the feedback of a text such as ``kl(mu=1000)+feedback(terms=20)``.

    Callers remove other steps, such as a re-ranker, from the spec first.
    """
    spec = parse(text) if isinstance(text, str) else text
    model = model_from(spec.parts[0])
    if len(spec.parts) == 1:
        return model, None
    if len(spec.parts) > 2:
        raise SpecError(f"'{spec}': expected one model and at most one feedback after it.")
    call = spec.parts[1]
    found = FEEDBACK.get(call.name.lower())
    if found is None:
        raise UnknownName("feedback", call.name, FEEDBACK)
    feedback = found.from_call(call)
    feedback.check(model)
    return model, feedback
