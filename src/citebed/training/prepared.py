"""Training texts: documents, and what citing papers say of them; and the file that holds them.

The file is JSON Lines packed with xz: a line that says what follows, a line for each document, a
line for each context. It is all that training needs, on whatever machine.

A citing paper is learned from or kept for measuring by its fold, which follows from its id alone:
every run and every machine parts them alike, and a paper that is added moves no other. Contexts
whose papers were parted by year say their part themselves.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from citebed.errors import FormatError
from citebed.files.lines import parse_json_object, read_numbered_lines
from citebed.files.output_files import replace_files
from citebed.text.sentences import split_sentences

KIND = "citebed training texts"
_EXPECTED = "Expected a file that 'citebed train prepare' wrote."


class DocumentText(NamedTuple):
    """What is read of a document; ``field`` is empty where all documents are of one."""

    doc_id: str
    title: str
    abstract: str
    keywords: tuple[str, ...] = ()
    field: str = ""

    def text(self, keywords: bool = True) -> str:
        """The text that models read: title, abstract and keywords."""
        named = f" {', '.join(self.keywords)}" if keywords and self.keywords else ""
        return f"{self.title}. {self.abstract}{named}".strip(" .")


class CitingText(NamedTuple):
    """A sentence or two of a citing paper without its markers; ``cited`` are documents' places.

    ``part`` is what it is for (``training``, ``development``, ``test``); if empty, the paper's fold
    says it.
    """

    paper_id: str
    text: str
    cited: tuple[int, ...]
    part: str = ""


class Form(NamedTuple):
    """A document by place, with or without its title, its keywords, a sentence of its abstract."""

    place: int
    title: bool = True
    keywords: bool = True
    without: int = -1


@dataclass(frozen=True)
class TrainingTexts:
    """Documents and the contexts that cite them; ``about`` says what they were made from."""

    documents: Sequence[DocumentText]
    contexts: Sequence[CitingText]
    about: Mapping[str, Any] = field(default_factory=dict)

    def part(self, name: str, shift: int = 0) -> list[CitingText]:
        """The contexts for ``training``, ``development`` or the ``test``, by citing paper."""
        return [
            each
            for each in self.contexts
            if (each.part or part_of(fold_of(each.paper_id), shift)) == name
        ]

    @cached_property
    def cited(self) -> list[int]:
        """The documents that any context cites, by place: those that answers are looked for in."""
        return sorted({place for each in self.contexts for place in each.cited})

    @cached_property
    def sentences(self) -> list[list[str]]:
        """The sentences of every document's abstract."""
        return [split_sentences(each.abstract) for each in self.documents]

    def document_text(self, form: Form) -> str:
        """The text of a document in one of its forms."""
        document = self.documents[form.place]
        said = document.abstract
        if form.without >= 0:
            kept = enumerate(self.sentences[form.place])
            said = " ".join(sentence for at, sentence in kept if at != form.without)
        shown = document._replace(abstract=said, title=document.title if form.title else "")
        return shown.text(form.keywords)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all texts, and of who cites what."""
        digest = hashlib.sha256()
        for line in _lines(self):
            digest.update(line)
        return digest.hexdigest()


def _lines(texts: TrainingTexts) -> Iterator[bytes]:
    for one in texts.documents:
        yield _line(_said(one, ("keywords", "field")))
    for each in texts.contexts:
        yield _line(_said(each, ("part",)))


def _said(row: DocumentText | CitingText, optional: Sequence[str]) -> dict[str, Any]:
    """A row without those of its fields that are empty and need not be there."""
    return {k: v for k, v in row._asdict().items() if v or k not in optional}


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def write_prepared(path: Path, texts: TrainingTexts) -> None:
    """Write the file, whole or not at all."""
    head = {
        "kind": KIND,
        "format": 1,
        "documents": len(texts.documents),
        "contexts": len(texts.contexts),
        "fingerprint": texts.fingerprint,
        "about": texts.about,
    }
    with replace_files(path) as (draft,), lzma.open(draft, "wb", preset=6) as packed:
        packed.write(_line(head))
        packed.writelines(_lines(texts))


def read_prepared(path: Path) -> TrainingTexts:
    """The training texts of a file; one that is cut short, changed or of another kind is told."""
    lines = ((at, line) for at, line in read_numbered_lines(path) if line)
    at, line = next(lines, (1, b"{}"))
    head = _row(path, at, line)
    if head.get("kind") != KIND or head.get("format") != 1:
        raise FormatError(path, at, f"these are no training texts of format 1. {_EXPECTED}")
    rows = [(at, _row(path, at, line)) for at, line in lines]
    number = head.get("documents")
    if not isinstance(number, int) or len(rows) != number + head.get("contexts", 0):
        what = f"found {len(rows):,} lines, not as many as its first line says. {_EXPECTED}"
        raise FormatError(path, None, what)
    documents = [_document(path, *each) for each in rows[:number]]
    contexts = [_context(path, *each, number) for each in rows[number:]]
    texts = TrainingTexts(documents, contexts, head.get("about", {}))
    if texts.fingerprint != head.get("fingerprint"):
        raise FormatError(path, None, "its texts are not those that were written. Make it anew.")
    return texts


def _row(path: Path, at: int, line: bytes) -> dict[str, Any]:
    return parse_json_object(path, at, line.decode("utf-8", "replace"), _EXPECTED)


def _document(path: Path, at: int, row: dict[str, Any]) -> DocumentText:
    found = [row.get(name) for name in ("doc_id", "title", "abstract")]
    keywords, field_name = row.get("keywords", []), row.get("field", "")
    if not all(isinstance(text, str) for text in [*found, *keywords, field_name]):
        raise FormatError(path, at, f"is no document. {_EXPECTED}")
    doc_id, title, abstract = map(str, found)
    return DocumentText(doc_id, title, abstract, tuple(keywords), field_name)


def _context(path: Path, at: int, row: dict[str, Any], documents: int) -> CitingText:
    cited = row.get("cited")
    known = isinstance(cited, list) and all(
        isinstance(place, int) and 0 <= place < documents for place in cited
    )
    paper_id, text, part = row.get("paper_id"), row.get("text"), row.get("part", "")
    named = isinstance(paper_id, str) and isinstance(text, str) and part in ("", *PARTS)
    if not (named and known and cited):
        raise FormatError(path, at, f"is no context. {_EXPECTED}")
    return CitingText(str(paper_id), str(text), tuple(cited), part)


PARTS = ("training", "development", "test")
FOLDS = 20
TEST = 0
DEVELOPMENT = 1


def fold_of(paper_id: str) -> int:
    """The fold of a citing paper, 0 to 19."""
    return int(hashlib.sha256(paper_id.encode()).hexdigest()[:8], 16) % FOLDS


def part_of(fold: int, shift: int = 0) -> str:
    """What a fold is for: ``test``, ``development`` or ``training``.

    With a ``shift`` of n fold n is the test, and the one after it development.
    """
    turned = (fold - shift) % FOLDS
    return {TEST: "test", DEVELOPMENT: "development"}.get(turned, "training")


def part_of_year(year: int | None, test_year: int | None) -> str:
    """What a paper of a year is for where papers are parted by year: those of ``test_year`` and
    later are the test, those of the year before development; empty where nothing is known."""
    if test_year is None or year is None:
        return ""
    if year >= test_year:
        return "test"
    return "development" if year == test_year - 1 else "training"
