"""Drafts: from a file or a text to passages that ask for citations, and what is cited already.

``read_draft`` reads a ``.tex``, ``.md`` or ``.txt`` file with what it includes, ``parse_draft``
a text; ``pieces`` gives what to search with; ``already_cited`` and ``is_the_paper`` say which
documents of a collection not to recommend.
"""

from __future__ import annotations

from citebed.drafts.matching import already_cited, is_the_paper
from citebed.drafts.reading import Form, draft_of, guess_form, parse_draft, read_draft
from citebed.drafts.records import Cited, Draft, Entry, Passage, Unit, pieces

__all__ = [
    "Cited",
    "Draft",
    "Entry",
    "Form",
    "Passage",
    "Unit",
    "already_cited",
    "draft_of",
    "guess_form",
    "is_the_paper",
    "parse_draft",
    "pieces",
    "read_draft",
]
