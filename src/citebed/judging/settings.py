"""Settings of a campaign: its grades, its texts and its limits."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from citebed.collection.formats.base import decode
from citebed.errors import CitebedError
from citebed.files.input_files import read_small

FOUR_GRADES = (
    "not relevant: a reader of your paper does not need it for this question",
    "of some use: background, or mentioned for completeness",
    "important: a reader should know it to follow your answer to this question",
    "essential: without it the question cannot be understood",
)
"""The scale of phase one, lowest first: how much a reader of the paper needs the reference."""
CANNOT_SAY = "can't say"
CANNOT_JUDGE = "can't judge"
BINARY = ("not relevant", "relevant")
PREFERENCES = range(3)
"""The values of a preference between two papers: a tie, the first, or the second."""
LONGEST_GUIDELINES = 64 << 10
"""The maximum size of guidelines in bytes."""


class Choice(NamedTuple):
    """An answer that a judge can choose: its value on pages (``u`` for can't say), and its keys.

    Pages show the first key. ``meaning`` explains a grade of phase one.
    """

    value: str
    keys: tuple[str, ...]
    label: str
    meaning: str = ""


PREFERENCE_CHOICES = [
    Choice("1", ("1",), "first"),
    Choice("2", ("2",), "second"),
    Choice("0", ("0",), "equally relevant"),
    Choice("u", ("u",), CANNOT_JUDGE),
]
"""The answers to the question which of two papers is more relevant."""


@dataclass(frozen=True)
class CampaignSettings:
    """The settings of a campaign.

    ``grades`` describe the grades 1, 2 … of phase one; a reference is relevant from grade
    ``relevant_from`` on. ``address`` is the URL of `citebed serve`, ``contact`` the organiser's
    mail address, ``open_days`` the lifetime of a personal link, and ``guidelines`` (Markdown) are
    shown to judges while they judge.
    """

    title: str
    collection: str
    grades: tuple[str, ...] = FOUR_GRADES
    relevant_from: int = 2
    questions: int = 3
    pool_size: int = 15
    organiser: str = ""
    contact: str = ""
    address: str = "http://localhost:8000"
    open_days: int = 60
    guidelines: str = ""

    def __post_init__(self) -> None:
        if not 2 <= len(self.grades) <= 9:
            raise CitebedError(
                f"the scale has {len(self.grades)} grades. Give 2 to 9, the lowest first."
            )
        if not 2 <= self.relevant_from <= len(self.grades):
            raise CitebedError(
                f"relevant_from is {self.relevant_from}. Use 2 to {len(self.grades)}: the lowest "
                "grade means not relevant."
            )

    def as_json(self) -> dict[str, Any]:
        """Return the settings as the database stores them."""
        return asdict(self) | {"grades": list(self.grades)}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> CampaignSettings:
        """Read stored settings; ignore fields of newer versions."""
        from pydantic import TypeAdapter, ValidationError

        try:
            return TypeAdapter(cls).validate_python(stored)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "all fields"
            raise CitebedError(
                f"the campaign's settings are damaged ({where}: {first['msg']}). Restore the "
                "campaign from a backup."
            ) from error

    def changed(self, **changes: Any) -> CampaignSettings:
        """Return changed settings; ``None`` leaves a value as it is."""
        return replace(self, **{name: v for name, v in changes.items() if v is not None})

    def values(self, phase: int) -> range:
        """Return the possible values of a phase: grades from 1 on, or 0 and 1."""
        return range(1, len(self.grades) + 1) if phase == 1 else range(2)

    def choices(self, phase: int) -> list[Choice]:
        """Return the answers that judges choose from in a phase, the lowest first.

        A key means the same in both phases: a digit is a grade. Phase two asks only whether a paper
        is relevant, so there the digits below ``relevant_from`` say "not relevant" and the others
        "relevant".
        """
        digits = [str(grade) for grade in range(1, len(self.grades) + 1)]
        if phase == 2:
            low, high = digits[: self.relevant_from - 1], digits[self.relevant_from - 1 :]
            no, yes = BINARY
            last = Choice("u", ("u",), CANNOT_JUDGE)
            return [Choice("0", tuple(low), no), Choice("1", tuple(high), yes), last]
        texts = [text.partition(":") for text in self.grades]
        choices = [
            Choice(digit, (digit,), label.strip(), meaning.strip())
            for digit, (label, _, meaning) in zip(digits, texts, strict=True)
        ]
        return [*choices, Choice("u", ("u",), CANNOT_SAY)]

    def is_relevant(self, phase: int, value: int | None) -> bool:
        """Return whether a judgement means that the document is relevant."""
        return value is not None and value >= (self.relevant_from if phase == 1 else 1)


def read_guidelines(path: str | Path) -> str:
    """Read guidelines from a text or Markdown file."""
    return decode(read_small(Path(path), LONGEST_GUIDELINES))[0].strip()


@cache
def guidelines_html(text: str) -> str:
    """Convert Markdown to HTML without raw HTML and images."""
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark", {"html": False}).disable("image").render(text))
