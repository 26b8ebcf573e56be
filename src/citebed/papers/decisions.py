"""What a person decided about a proposed annotation: steps, in turn, kept apart from the proposal.

A step names what it changes by an item that stays the same whatever is merged or split: ``front``
for title and abstract, ``c3`` for a paragraph, ``c3.1`` for a sentence, ``r12`` for a reference.
"""

from __future__ import annotations

import unicodedata
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from citebed.text.identifiers import looks_like_url, normalise_doi

FORMAT: Final = "citebed decisions 1"
FRONT = "front"
LONGEST = 20_000
"""Characters of a text that a person gives."""
MOST_STEPS = 100_000
_NO_TEXT = frozenset(("Cc", "Cs", "Cn"))
"""Kinds of characters that XML cannot hold."""


def plain_text(text: str) -> str:
    """A text in one line, without characters that no XML file can hold."""
    line = " ".join(text.split())
    return "".join(char for char in line if unicodedata.category(char) not in _NO_TEXT)


def _doi(text: str | None) -> str | None:
    if text is None or not text.strip():
        return None
    doi = normalise_doi(plain_text(text))
    if doi is None:
        raise ValueError(f"'{text[:80]}' is no DOI; expected one like 10.1145/12345.67890")
    return doi


def _own_doi(text: str | None) -> str | None:
    return None if text is None else _doi(text) or ""


def _url(text: str | None) -> str | None:
    if text is None or not text.strip():
        return None
    url = plain_text(text)
    if not looks_like_url(url) or " " in url:
        raise ValueError(f"'{text[:80]}' is no address; expected one like https://example.org/x")
    return url


Item = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=LONGEST), AfterValidator(plain_text)]
Doi = Annotated[str | None, Field(max_length=2000), AfterValidator(_doi)]
Url = Annotated[str | None, Field(max_length=2000), AfterValidator(_url)]
OwnDoi = Annotated[str | None, Field(max_length=2000), AfterValidator(_own_doi)]
Cites = Annotated[tuple[Item, ...], Field(max_length=1000)]
Count = Annotated[int, Field(ge=0, le=LONGEST)]


class _Step(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Accept(_Step):
    """An item is right as it stands."""

    kind: Literal["accept"] = "accept"
    item: Item


class ChangeFront(_Step):
    """Title, abstract and DOI of the paper; what is not given stays, and ``""`` is no DOI."""

    kind: Literal["front"] = "front"
    title: Text | None = None
    abstract: Text | None = None
    doi: OwnDoi = None


class ChangeSentence(_Step):
    """A sentence's text, what it cites, whether it is anonymised; what is not given stays.

    Without any text a sentence is left out.
    """

    kind: Literal["sentence"] = "sentence"
    item: Item
    text: Text | None = None
    cites: Cites | None = None
    anonymised: bool | None = None


class ChangeMarker(_Step):
    """What a marker of a sentence cites, by its place in the sentence; nothing if it is none."""

    kind: Literal["marker"] = "marker"
    item: Item
    marker: Count
    cites: Cites


class SplitSentence(_Step):
    """A sentence is two: the second begins at a character of its text."""

    kind: Literal["split sentence"] = "split sentence"
    item: Item
    at: Count


class JoinSentence(_Step):
    """A sentence and the next one in its paragraph are one."""

    kind: Literal["join sentence"] = "join sentence"
    item: Item


class Merge(_Step):
    """A paragraph and the next one are one."""

    kind: Literal["merge"] = "merge"
    item: Item


class Split(_Step):
    """A sentence begins a new paragraph."""

    kind: Literal["split"] = "split"
    item: Item


class Drop(_Step):
    """A paragraph is left out, or taken in again."""

    kind: Literal["drop"] = "drop"
    item: Item
    dropped: bool = True


class NewSentence(_Step):
    """A sentence that the machine did not find, and what it cites."""

    text: Text
    cites: Cites = ()
    anonymised: bool = False
    printed: Text = ""
    markers: tuple[tuple[Text, Cites], ...] = ()


class Add(_Step):
    """A paragraph that the machine did not find, behind another one, or first of all.

    What a person gives is the ``text``; its ``sentences`` are made of it when the step is taken,
    and stay as they are when the software learns to make them otherwise.
    """

    kind: Literal["add"] = "add"
    after: Item = FRONT
    section: Annotated[str, Field(max_length=200), AfterValidator(plain_text)] = ""
    text: Annotated[str, Field(max_length=LONGEST)] = ""
    sentences: Annotated[tuple[NewSentence, ...], Field(max_length=1000)] = ()


class ChangeReference(_Step):
    """The paper that a reference is: a document, a DOI, an address; none where none is given."""

    kind: Literal["reference"] = "reference"
    item: Item
    doi: Doi = None
    url: Url = None
    doc_id: Annotated[str | None, Field(max_length=2000)] = None


class Finish(_Step):
    """All that was not asked or answered is right."""

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
    """The steps about one proposal, which is known by its hash.

    ``version`` grows with each step that is taken or taken back; ``seconds`` are those in which
    somebody worked on the paper.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    format: Literal["citebed decisions 1"] = FORMAT
    proposal: str
    version: Annotated[int, Field(ge=0)] = 0
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    steps: Annotated[tuple[Step, ...], Field(max_length=MOST_STEPS)] = ()

    def with_step(self, step: Step) -> Decisions:
        """The decisions with one more step."""
        steps = (*self.steps, step)
        return self.model_copy(update={"version": self.version + 1, "steps": steps})

    def without_last(self) -> Decisions:
        """The decisions without the last step; the same where there is none."""
        if not self.steps:
            return self
        return self.model_copy(update={"version": self.version + 1, "steps": self.steps[:-1]})

    def spent(self, seconds: float) -> Decisions:
        """The decisions after so many seconds more of work."""
        return self.model_copy(update={"seconds": round(self.seconds + seconds, 1)})
