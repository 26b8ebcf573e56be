"""Read drafts: split a file or text into passages, and find what it cites already.

``read_draft`` reads a file with the files that it includes (LaTeX, Markdown, Typst,
reStructuredText, plain text, Word, OpenDocument, notebook or PDF), and ``parse_draft`` a text.
``pieces`` returns the passages to search with. ``find_cited_documents`` and ``find_own_documents``
return the documents of a collection that should not be recommended.
"""

# ruff: isort: skip_file
from __future__ import annotations

from typing import TYPE_CHECKING

from citebed.lazy import names_on_first_use

if TYPE_CHECKING:
    from citebed.drafts.document_matching import (
        find_cited_documents as find_cited_documents,
        find_own_documents as find_own_documents,
    )
    from citebed.drafts.reader import DraftLike as DraftLike, Form as Form
    from citebed.drafts.reader import draft_from_bytes as draft_from_bytes, guess_form as guess_form
    from citebed.drafts.reader import parse_draft as parse_draft, read_draft as read_draft
    from citebed.drafts.reader import resolve_draft as resolve_draft
    from citebed.drafts.records import Cited as Cited, Draft as Draft, Entry as Entry
    from citebed.drafts.records import Passage as Passage, Place as Place
    from citebed.drafts.records import Unit as Unit, pieces as pieces

__getattr__, __dir__ = names_on_first_use(__name__)
