"""What to ask for a draft, and what to leave out: its passages, and what it cites already."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from citebed.collection import Collection
from citebed.drafts import Draft, Passage, Unit, draft_of, parse_draft, pieces, read_draft
from citebed.drafts.wanting import wanted_first
from citebed.errors import CitebedError
from citebed.wording import count, printable

Given = str | Path | Draft
"""A text, the path of a draft, or a draft that was read."""

_ENDINGS = (
    *(".tex", ".md", ".markdown", ".txt", ".text", ".ltx", ".rst"),
    *(".pdf", ".docx", ".odt", ".bib", ".ipynb", ".html"),
)
DEFAULT_NUMBER, DEFAULT_OF_SEVERAL = 10, 3
"""So many documents a text gets, and each of several passages, unless a number is asked for."""
_LONGEST_NAME = 255
"""Bytes of the longest file name there can be; longer arguments are text."""


class Questions(NamedTuple):
    """The draft, the passages that may ask, the documents that are no answer, and what reading
    had to say.

    Of citations by authors and year that can mean several documents, ``perhaps`` has these: they
    are no answer where they are cited so.
    """

    draft: Draft
    passages: list[Passage]
    left_out: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    perhaps: Mapping[str, frozenset[str]] = {}

    @property
    def number(self) -> int:
        """How many documents a passage gets, unless a number is asked for: of many, a few each."""
        return DEFAULT_NUMBER if len(self.passages) == 1 else DEFAULT_OF_SEVERAL

    def no_answers(self, passage: Passage) -> frozenset[str]:
        """The documents that are no answer for a passage."""
        return self.left_out.union(*(self.perhaps.get(name, ()) for name in passage.cites))


def questions_of(
    collection: Collection, given: Given, each: str | None, *, keep_cited: bool
) -> Questions:
    """What to ask for a text or a draft: by default for each paragraph of a draft, for a text
    with the whole of it."""
    draft, by_default = read_given(given)
    unit: Any = each or by_default  # checked by those who cut the draft
    passages = wanted_first(pieces(draft, unit))
    if not passages:
        raise CitebedError("there is no prose in the text; expected a sentence or a paragraph")
    notes = () if isinstance(given, Draft) else draft.notes
    if keep_cited:
        return Questions(draft, passages, notes=notes)
    return Questions(draft, passages, *_cited(collection, draft, notes))


def read_given(given: Given) -> tuple[Draft, Unit]:
    """The draft in a text or file, and the pieces of it that ask by default.

    A single word with the ending of a draft (``paper.tex``), or nearly (``paper.txet``), is the
    name of a file.
    """
    if isinstance(given, Draft):
        return given, "paragraph"
    if isinstance(given, Path):
        return read_draft(given), "paragraph"
    if not isinstance(given, str):
        raise CitebedError(
            f"expected a text, the path of a draft, or a list of these; found {given!r:.60}, "
            f"which is of type {type(given).__name__}"
        )
    if may_be_path(given) and _is_file_name(given):
        if not Path(given).exists():
            raise CitebedError(f"there is no file '{printable(given)}'")
        return read_draft(Path(given)), "paragraph"
    if (data := _bytes_of(given)) is not None:
        return draft_of(data, "the text"), "text"
    return parse_draft(given), "text"


def _is_file_name(text: str) -> bool:
    """Whether a text is one word that ends as the names of drafts do, or nearly so."""
    ending = Path(text).suffix.lower()
    return not re.search(r"\s", text) and bool(difflib.get_close_matches(ending, _ENDINGS, n=1))


def _bytes_of(text: str) -> bytes | None:
    """The bytes of an argument that were no UTF-8; ``None`` for what is text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        whole = re.sub("[\ud800-\udc7f\udd00-\udfff]", "\ufffd", text)  # half a character
        return whole.encode("utf-8", "surrogateescape")
    return None


def may_be_path(text: str) -> bool:
    """Whether a text could name a file at all."""
    is_short = len(text.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME
    return bool(text) and is_short and "\n" not in text and "\0" not in text


def _cited(
    collection: Collection, draft: Draft, notes: tuple[str, ...]
) -> tuple[frozenset[str], tuple[str, ...], dict[str, frozenset[str]]]:
    """The documents that a draft cites already or is itself, the notes, and what it cites perhaps:
    of a citation by authors and year that fits several documents, no one can tell which it means.
    """
    cited = draft.cited
    if not (
        draft.title or any((cited.keys, cited.dois, cited.arxiv, cited.entries, cited.authored))
    ):
        return frozenset(), notes, {}
    from citebed.drafts import already_cited, is_the_paper
    from citebed.drafts.authored import by_authors

    columns = ("doc_id", "title", "doi", "url", "aliases", "keys", "cite_key", "arxiv")
    documents = collection.scan_documents().select(*columns, "authors", "year").collect()
    found = already_cited(cited, documents) | is_the_paper(draft.title, None, documents)
    named = by_authors(cited.authored, documents)
    found = found.union(*(names for names in named.values() if len(names) == 1))
    return frozenset(found), notes, {cite: names for cite, names in named.items() if len(names) > 1}


# --- What gets no answer ------------------------------------------------------------------------


_HINTS = {
    "a good match": "; --least 0 shows the best there is",
    "in the index": "; is it in another language, or on another subject?",
}


def silence_notes(silent: Iterable[tuple[str, Passage]]) -> list[str]:
    """One note for each kind of passage that gets no answer: how many there are, and where.

    A kind is a noun with what follows it: ``caption``, ``passage in German``.
    """
    kinds: dict[str, list[Passage]] = {}
    for kind, passage in silent:
        kinds.setdefault(kind, []).append(passage)
    return [_silence_note(kind, passages) for kind, passages in kinds.items()]


def _silence_note(kind: str, passages: Sequence[Passage]) -> str:
    from citebed.drafts.findings import lines_of
    from citebed.drafts.records import Place

    many = re.sub(r"^\w+|(?<=^heading or )\w+", r"\g<0>s", kind)
    where = lines_of([Place(each.source, each.line, each.column) for each in passages])
    hint = next((hint for end, hint in _HINTS.items() if kind.endswith(end)), "")
    return f"no answer for {count(len(passages), kind, many)} ({where}){hint}"
