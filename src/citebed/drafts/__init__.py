"""Drafts: from a file or a text to passages that ask for citations, and what is cited already.

``read_draft`` reads a file with what it includes (LaTeX, Markdown, Typst, reStructuredText, plain
text, Word, OpenDocument, a notebook, a PDF), ``parse_draft`` a text; ``pieces`` gives what to
search with; ``already_cited`` and ``is_the_paper`` say which documents of a collection not to
recommend.
"""

# ruff: isort: skip_file
from __future__ import annotations

from typing import TYPE_CHECKING

from citebed.lazy import names_on_first_use

if TYPE_CHECKING:
    from citebed.drafts.bibliography.matching import (
        already_cited as already_cited,
        is_the_paper as is_the_paper,
    )
    from citebed.drafts.reading import DraftLike as DraftLike, Form as Form, draft_in as draft_in
    from citebed.drafts.reading import draft_of as draft_of, guess_form as guess_form
    from citebed.drafts.reading import parse_draft as parse_draft, read_draft as read_draft
    from citebed.drafts.records import Cited as Cited, Draft as Draft, Entry as Entry
    from citebed.drafts.records import Passage as Passage, Place as Place
    from citebed.drafts.records import Unit as Unit, pieces as pieces

__getattr__, __dir__ = names_on_first_use(__name__)
