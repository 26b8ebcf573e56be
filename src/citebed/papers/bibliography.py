"""The documents that references may be: those of a collection, or of any bibliography."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from citebed.papers.annotation import Candidate
from citebed.papers.matching import ReferenceMatcher
from citebed.papers.references import ParsedReference

LIKELY = 0.5
"""A document that a reference is with this probability is taken for it."""
_WORTH_A_LOOK = 0.02


class Bibliography:
    """Documents by which references are known; as `ReferenceMatcher` takes them."""

    def __init__(self, documents: pl.DataFrame) -> None:
        self._matcher = ReferenceMatcher(documents)
        dois = documents["doi"] if "doi" in documents.columns else [None] * documents.height
        self._known = dict(
            zip(documents["doc_id"], zip(documents["title"], dois, strict=True), strict=True)
        )

    @property
    def dois(self) -> set[str]:
        """The DOIs of all documents that have one."""
        return {doi for _title, doi in self._known.values() if doi}

    def doi(self, doc_id: str) -> str | None:
        """The DOI of a document."""
        doi: str | None = self._known[doc_id][1]
        return doi

    def candidates(self, references: Sequence[ParsedReference]) -> list[tuple[Candidate, ...]]:
        """For each reference the documents that it may be, the likeliest first."""
        found = self._matcher.match(references, least=_WORTH_A_LOOK)
        return [
            tuple(
                self._candidate(doc_id, probability)
                for doc_id, probability in (
                    (match.doc_id, match.probability),
                    (match.runner_up, match.runner_up_probability),
                )
                if doc_id is not None and probability >= _WORTH_A_LOOK
            )
            if match
            else ()
            for match in found
        ]

    def _candidate(self, doc_id: str, probability: float) -> Candidate:
        title, doi = self._known[doc_id]
        return Candidate(doc_id, title, round(probability, 4), doi)
