"""A document and what is around it: who cites it in which words, what goes with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from citebed.frames import MultiTableResult
from citebed.records import Document
from citebed.retrieval.recommend.display import format_authors
from citebed.wording import count, for_terminal

Rows = tuple[dict[str, Any], ...]


@dataclass(frozen=True, eq=False, repr=False)
class About(MultiTableResult):
    """All that a collection knows of a document.

    ``cited_by`` has a row for each sentence that cites it (``paper_id``, ``doc_id`` where the paper
    is a document here, ``by``, ``year``, ``section``, ``sentence``), newest first; ``cites`` the
    documents that it cites here; ``cited_with`` those that are cited together with it, in how many
    ``sentences``, ``paragraphs`` and ``papers``; ``similar`` those most like it.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("document", "cited_by", "cites", "cited_with", "similar")
    MAIN: ClassVar[str] = "document"

    document: Document
    row: dict[str, Any]
    link: str
    key: str
    bibtex: str
    cited_by: Rows = ()
    cites: Rows = ()
    cited_with: Rows = ()
    similar: Rows = ()

    @property
    def citing_papers(self) -> int:
        """How many papers here cite it."""
        return len({row["paper_id"] for row in self.cited_by})

    def rows(self, part: str) -> list[dict[str, Any]]:
        """One of the ``PARTS`` as flat rows."""
        return [dict(self.row)] if part == "document" else list(getattr(self, part))

    def __repr__(self) -> str:
        lines = [self.row["title"] or self.row["doc_id"], f"  {_in_a_line(self.row)}"]
        lines += [f"  cite as: {self.key}", f"  {self.link}" if self.link else ""]
        said = [f"{row['by']}: {row['sentence']}" for row in self.cited_by if row["sentence"]]
        several = (
            (f"cited by {count(self.citing_papers, 'paper')} here", said),
            ("cites", [_titled(row) for row in self.cites]),
            ("cited together with", [_titled(row) for row in self.cited_with]),
            ("similar", [_titled(row) for row in self.similar]),
        )
        for head, found in several:
            lines += [head, *(f"  - {each}" for each in found[:5])] if found else []
        return for_terminal("\n".join(filter(None, lines)))


def _in_a_line(row: dict[str, Any]) -> str:
    parts = (format_authors(row["authors"]), str(row["year"] or ""), row["venue"], row["doi"])
    return " · ".join(filter(None, parts))


def _titled(row: dict[str, Any]) -> str:
    year = f" ({row['year']})" if row["year"] else ""
    return f"{row['title'] or row['doc_id']}{year}"
