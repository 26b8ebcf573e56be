"""A place in LaTeX source: where its groups and environments end, and what line it is on."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property
from pathlib import Path

from citebed.drafts.tex_cites import NOTE
from citebed.patterns import compiled

_BRACE = compiled(r"\\.|%[^\n]*+|[{}]", re.DOTALL)
_END = re.compile(r"\\end[ \t]*\{([^{}\n]{1,60})\}")
_GAP = compiled(r"[ \t]*+(?:%[^\n]*+\n[ \t]*+)*+(?:\n[ \t]*+(?!\n))?+")
_OPTIONS = compiled(rf"\*?(?:[ \t]*+{NOTE})*+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_ONE_PARAGRAPH = 4000
"""No title, label or length takes more characters than this: its brace was never closed."""


class Cursor:
    """Source text and how far it is read.

    The ends of groups and environments are found in one pass over the text, so that braces
    that never close cost no second look. A cursor into the text of a macro stands on one
    ``line``, that of the macro's use, and ``counts`` no others.
    """

    def __init__(
        self,
        text: str,
        source: str = "",
        line: int = 1,
        counts: bool = True,
        path: Path | None = None,
    ) -> None:
        self.text = text
        self.source = source
        self.path = path
        self.at = 0
        self._line = line
        self._counts = counts
        self._counted = 0

    def line_at(self, at: int) -> int:
        """The number of the line at a position that is not before one asked for earlier."""
        if self._counts and at > self._counted:
            self._line += self.text.count("\n", self._counted, at)
            self._counted = at
        return self._line

    @cached_property
    def _closes(self) -> dict[int, int]:
        closes: dict[int, int] = {}
        opened: list[int] = []
        for match in _BRACE.finditer(self.text):
            if match[0] == "{":
                opened.append(match.start())
            elif match[0] == "}" and opened:
                closes[opened.pop()] = match.start()
        return closes

    @cached_property
    def _ends(self) -> dict[str, list[int]]:
        ends: dict[str, list[int]] = {}
        for match in _END.finditer(self.text):
            ends.setdefault(match[1], []).append(match.start())
        return ends

    def end_of(self, environment: str, at: int) -> int | None:
        """Where the next ``\\end`` of an environment stands."""
        ends = self._ends.get(environment, [])
        index = bisect_left(ends, at)
        return ends[index] if index < len(ends) else None

    def after_options(self, at: int) -> int:
        """The position behind a star and ``[options]``."""
        match = _OPTIONS.match(self.text, at)
        return match.end() if match else at

    def group(self, at: int) -> tuple[int, int] | None:
        """Start and end of what is inside the ``{…}`` that comes next, if it is closed."""
        gap = _GAP.match(self.text, at)
        opening = gap.end() if gap else at
        closing = self._closes.get(opening)
        return None if closing is None else (opening + 1, closing)

    def argument(self, at: int) -> tuple[int, int] | None:
        """A group that is no more than one paragraph, as most arguments must be."""
        group = self.group(at)
        if group is None or group[1] - group[0] > _ONE_PARAGRAPH:
            return None
        return None if _BLANK_LINE.search(self.text, *group) else group

    def is_open(self, at: int) -> bool:
        """Whether a brace comes next (that may never close)."""
        gap = _GAP.match(self.text, at)
        return self.text.startswith("{", gap.end() if gap else at)
