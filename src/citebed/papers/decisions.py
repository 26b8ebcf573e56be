"""A person's decisions about a proposed annotation: a sequence of steps, stored in their own file.

A step names the item that it changes. Item names do not change when items are merged or split:
``front`` for title and abstract, ``c3`` for a paragraph, ``c3.1`` for a sentence, ``r12`` for a
reference.
"""

from __future__ import annotations

import unicodedata
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from citebed.text.identifiers import looks_like_url, normalise_doi

FORMAT: Final = "citebed decisions 1"
FRONT = "front"
MAX_LENGTH = 20_000
"""Characters of the longest text in a step."""
MAX_STEPS = 100_000
_NOT_XML = frozenset(("Cc", "Cs", "Cn"))
"""Categories of characters that XML must not contain."""


def plain_text(text: str) -> str:
    """Return a text in one line, without characters that XML must not contain."""
    line = " ".join(text.split())
    return "".join(char for char in line if unicodedata.category(char) not in _NOT_XML)


def _doi(text: str | None) -> str | None:
    if text is None or not text.strip():
        return None
    doi = normalise_doi(plain_text(text))
    if doi is None:
        raise ValueError(f"'{text[:80]}' is not a DOI; expected one like 10.1145/12345.67890")
    return doi


def _url(text: str | None) -> str | None:
    if text is None or not text.strip():
        return None
    url = plain_text(text)
    if not looks_like_url(url) or " " in url:
        raise ValueError(f"'{text[:80]}' is not a URL; expected one like https://example.org/x")
    return url


Item = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=MAX_LENGTH), AfterValidator(plain_text)]
Doi = Annotated[str | None, Field(max_length=2000), AfterValidator(_doi)]
Url = Annotated[str | None, Field(max_length=2000), AfterValidator(_url)]
OwnDoi = Annotated[
    str | None, Field(max_length=2000), AfterValidator(lambda text: text and (_doi(text) or ""))
]
Cites = Annotated[tuple[Item, ...], Field(max_length=1000)]
Count = Annotated[int, Field(ge=0, le=MAX_LENGTH)]


class _Step(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Accept(_Step):
    """Confirm an item as it is."""

    kind: Literal["accept"] = "accept"
    item: Item


class ChangeFront(_Step):
    """Change title, abstract or DOI; ``None`` keeps a value, and ``""`` removes the DOI."""

    kind: Literal["front"] = "front"
    title: Text | None = None
    abstract: Text | None = None
    doi: OwnDoi = None


class ChangeSentence(_Step):
    """Change a sentence; ``None`` keeps a value, and the text ``""`` drops the sentence."""

    kind: Literal["sentence"] = "sentence"
    item: Item
    text: Text | None = None
    cites: Cites | None = None
    anonymised: bool | None = None


class ChangeMarker(_Step):
    """Change what the sentence's ``marker``-th marker cites; nothing if it is not a citation."""

    kind: Literal["marker"] = "marker"
    item: Item
    marker: Count
    cites: Cites


class SplitSentence(_Step):
    """Split a sentence: the second part begins at this character of its text."""

    kind: Literal["split sentence"] = "split sentence"
    item: Item
    at: Count


class JoinSentence(_Step):
    """Join a sentence and the next one in its paragraph."""

    kind: Literal["join sentence"] = "join sentence"
    item: Item


class Merge(_Step):
    """Merge a paragraph and the next one."""

    kind: Literal["merge"] = "merge"
    item: Item


class Split(_Step):
    """Start a new paragraph at a sentence."""

    kind: Literal["split"] = "split"
    item: Item


class Drop(_Step):
    """Drop a paragraph, or restore it."""

    kind: Literal["drop"] = "drop"
    item: Item
    dropped: bool = True


class NewSentence(_Step):
    """A sentence that a person added, and what it cites."""

    text: Text
    cites: Cites = ()
    anonymised: bool = False
    printed: Text = ""
    markers: tuple[tuple[Text, Cites], ...] = ()


class Add(_Step):
    """Add a paragraph after another item, or at the start.

    A person enters the ``text``. citebed splits it into ``sentences`` and stores these, so that a
    later version does not split it differently.
    """

    kind: Literal["add"] = "add"
    after: Item = FRONT
    section: Annotated[str, Field(max_length=200), AfterValidator(plain_text)] = ""
    text: Annotated[str, Field(max_length=MAX_LENGTH)] = ""
    sentences: Annotated[tuple[NewSentence, ...], Field(max_length=1000)] = ()


class ChangeReference(_Step):
    """Change the paper that a reference cites: a document, a DOI, a URL, or nothing."""

    kind: Literal["reference"] = "reference"
    item: Item
    doi: Doi = None
    url: Url = None
    doc_id: Annotated[str | None, Field(max_length=2000)] = None


class Finish(_Step):
    """Confirm all other items and finish the paper."""

    kind: Literal["finish"] = "finish"


Step = Annotated[
    Accept
    | ChangeFront
    | ChangeSentence
    | ChangeMarker
    | SplitSentence
    | JoinSentence
    | Merge
    | Split
    | Drop
    | Add
    | ChangeReference
    | Finish,
    Field(discriminator="kind"),
]


class Decisions(BaseModel):
    """The steps about one proposal, which is identified by its hash.

    ``version`` grows with each step and each undo; ``seconds`` is the time that a person worked.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    format: Literal["citebed decisions 1"] = FORMAT
    proposal: str
    version: Annotated[int, Field(ge=0)] = 0
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    steps: Annotated[tuple[Step, ...], Field(max_length=MAX_STEPS)] = ()

    def with_step(self, step: Step) -> Decisions:
        """Return the decisions with one more step."""
        steps = (*self.steps, step)
        return self.model_copy(update={"version": self.version + 1, "steps": steps})

    def without_last(self) -> Decisions:
        """Return the decisions without the last step, if there is one."""
        if not self.steps:
            return self
        return self.model_copy(update={"version": self.version + 1, "steps": self.steps[:-1]})

    def spent(self, seconds: float) -> Decisions:
        """Return the decisions with more seconds of work."""
        return self.model_copy(update={"seconds": round(self.seconds + seconds, 1)})
