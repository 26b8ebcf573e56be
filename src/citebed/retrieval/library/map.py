"""A map: documents around a draft or a paper in two dimensions, with groups, ties and gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from citebed.frames import MultiTableResult
from citebed.retrieval.library.map_svg import map_svg
from citebed.wording import count

ROLES = ("centre", "cited", "citing", "recommended", "cited with", "similar")
"""Why a document is on a map: it is what the map is around; the draft or the paper cites it; it
cites the paper; the draft should cite it; it is cited together with others; it is like them."""
EDGES = ("citation", "cited together", "similar")
Rows = tuple[dict[str, Any], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Map(MultiTableResult):
    """Documents around a draft or a paper.

    ``nodes`` have places (``x``, ``y`` from 0 to 1), a ``role``, a ``group`` and the number of
    papers here that cite them (``citations``); ``groups`` have a ``label``, a phrase of titles, how
    many documents they have and how many of them are ``cited``;
    ``edges`` tie ``source`` and ``target`` with a ``weight``; ``gaps`` are the groups of which a
    draft cites nothing, largest first: what its related work leaves out.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("nodes", "groups", "edges", "gaps")
    MAIN: ClassVar[str] = "groups"

    nodes: Rows
    groups: Rows
    edges: Rows
    gaps: Rows
    notes: tuple[str, ...] = ()

    def rows(self, part: str = "nodes") -> list[dict[str, Any]]:
        """One of the ``PARTS`` as flat rows."""
        return list(getattr(self, part))

    @property
    def summary(self) -> str:
        """In a line, what is on the map."""
        gaps = f"; nothing cited of {count(len(self.gaps), 'group')}" if self.gaps else ""
        return f"{count(len(self.nodes), 'document')} in {count(len(self.groups), 'group')}{gaps}"

    def svg(self, width: int = 800, height: int = 560) -> str:
        """The map as a picture."""
        return map_svg(self.nodes, self.groups, self.edges, (width, height))

    def _repr_html_(self) -> str:
        return self.svg()
