"""Options of a recommend call, shared by the command line, the web API and Python."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from citebed.collection.filters import Filter
from citebed.errors import CitebedError
from citebed.retrieval.search.queries import checked_date


@dataclass(frozen=True, kw_only=True)
class RecommendOptions:
    """The papers to recommend and to leave out.

    ``k``: number of papers; by default up to 10 for one text and 3 for each passage of a draft.
    ``each``: unit to recommend for, ``text``, ``paragraph`` or ``sentence``; by default the whole
    of a text, and each paragraph of a draft.
    ``before``: only papers published up to this date (``2019`` or ``2019-07-31``), inclusive.
    ``min_probability``: only papers with at least this probability of being right; 0 always shows
    the best.
    ``among``: only papers that pass this filter. It does not change their scores and evidence.
    ``bib``: your .bib files, in addition to a draft's own. Papers in them are marked.
    ``in_bib``: only papers that are in one of these .bib files.
    ``keep_cited``: also recommend papers that the draft already cites.
    ``exclude``: ids of papers to leave out.
    ``relevant``, ``nonrelevant``: papers (by id, DOI, arXiv id or key) that you marked as good, or
    as not what you mean. The former stay in the list and re-rank the others; the latter never
    appear, in no other edition either. In a draft, a mark applies to the most similar passage.
    """

    k: int | None = None
    each: str | None = None
    before: str | None = None
    min_probability: float | None = None
    among: Filter | None = None
    bib: str | Path | Sequence[str | Path] = ()
    in_bib: bool = False
    keep_cited: bool = False
    exclude: Collection[str] = ()
    relevant: Collection[str] = ()
    nonrelevant: Collection[str] = ()

    def __post_init__(self) -> None:
        probability = self.min_probability
        if probability is not None and not 0 <= probability <= 1:
            raise CitebedError(
                f"the minimum probability is {probability}; expected a number from 0 to 1"
            )
        if self.before is not None:
            object.__setattr__(self, "before", checked_date(self.before))

    def for_passage(self, cited: Collection[str]) -> RecommendOptions:
        """Return options that also leave out what a passage cites."""
        return replace(self, exclude={*self.exclude, *cited})

    @property
    def bib_files(self) -> Sequence[str | Path]:
        """The .bib files in ``bib``."""
        return (self.bib,) if isinstance(self.bib, str | Path) else self.bib
