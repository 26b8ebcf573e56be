"""What may stand in a field that somebody sends, so that any database can keep it."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, StrictInt

from citebed.judging.questions import MAX_LENGTH

MOST_QUESTIONS = 20


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("a text cannot have the character NUL")
    text.encode()  # half of a surrogate pair is no text
    return text


Text = Annotated[str, AfterValidator(_without_nul)]
Sentence = Annotated[Text, Field(max_length=MAX_LENGTH)]
"""A question, a wording, a comment."""
Number = Annotated[StrictInt, Field(ge=1, le=2**31 - 1)]
"""Of an item or a search."""
Id = Annotated[int, Field(ge=1, le=2**31 - 1)]
"""The same in an address."""
Place = Annotated[StrictInt, Field(ge=1, le=MOST_QUESTIONS)]
"""Of a question on a form."""
Grade = Annotated[StrictInt, Field(ge=0, le=9)] | None
"""A judgement; null is "can't say"."""
Key = Annotated[str, Field(pattern=r"^[0-9A-Za-z-]{8,80}$")]
"""The name of an act: the same again is the same act."""
Sequence = Annotated[StrictInt, Field(ge=0, le=2**53)]
"""The place of an act in the queue of its browser."""
Ago = Annotated[StrictInt, Field(ge=0, le=366 * 86_400_000)]
"""Milliseconds since the act."""
Took = Annotated[StrictInt, Field(ge=0, le=86_400_000)] | None
"""Milliseconds that a judge looked at a paper, if known."""
