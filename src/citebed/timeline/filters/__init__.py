"""Stream filters: baselines that read a stream in order of time and never look ahead.

Each filter model is one file and one entry of ``FILTERS``; ``parse_filter`` parses its name.
"""

from __future__ import annotations

from dataclasses import fields

from citebed.errors import CitebedError, UnknownName
from citebed.grammar import SpecError, parse_call, value_text
from citebed.timeline.filters.incremental import Incremental
from citebed.timeline.filters.names import Names
from citebed.timeline.filters.online_learning import Filter
from citebed.timeline.filters.relevance_model import RelevanceModel

FILTERS: dict[str, type[Filter]] = {f.name: f for f in (Names, RelevanceModel, Incremental)}
"""All filters by name, in the order of the documentation."""


def parse_filter(text: str) -> Filter:
    """Parse a filter such as ``names`` or ``names(common=0.01)``."""
    nothing = f"'{text}' is not a filter model. Write names or names(common=0.01), for example."
    try:
        call, rest = parse_call(text)
    except SpecError:
        raise CitebedError(nothing) from None
    if rest:
        raise CitebedError(nothing)
    kind = FILTERS.get(call.name.lower())
    if kind is None:
        raise UnknownName("filter", call.name, FILTERS)
    parameters = call.known_params(kind.name, [f.name for f in fields(kind)])
    for name, value in parameters.items():
        if isinstance(value, str) or value < 0:
            shown = f"{name}={value_text(value)}"
            raise CitebedError(f"'{shown}' does not give a number of 0 or more")
    return kind(**{name: float(value) for name, value in parameters.items()})
