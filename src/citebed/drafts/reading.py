"""Reading a draft: which form it has, and from its text to passages and what it cites."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Literal, get_args

from citebed.drafts.files import Neighbours, bytes_of, document_kind, text_of
from citebed.drafts.findings import Findings, is_key, without_places
from citebed.drafts.plain import read_plain
from citebed.drafts.prose import passages_of
from citebed.drafts.records import Cited, Draft, Unit
from citebed.drafts.rst import read_rst
from citebed.drafts.typst.document import read_typst
from citebed.errors import CitebedError, UnknownName
from citebed.files.kinds import (
    HEAD_BYTES,
    NOTEBOOK,
    OPEN_DOCUMENT,
    WORD,
    is_pdf,
    why_no_pdf,
)
from citebed.patterns import compiled
from citebed.text.identifiers import arxiv_of_doi, normalise_doi
from citebed.text.normalise import unique
from citebed.wording import printable

Form = Literal["tex", "markdown", "text", "typst", "rst"]
DraftLike = str | Path | Draft
"""A text, the path of a draft, or a draft that was read."""

FORMS_BY_ENDING: dict[str, Form] = {
    ".tex": "tex", ".ltx": "tex", ".latex": "tex",
    ".md": "markdown", ".markdown": "markdown", ".qmd": "markdown", ".rmd": "markdown",
    ".mdown": "markdown", ".pandoc": "markdown",
    ".typ": "typst", ".rst": "rst", ".rest": "rst",
}  # fmt: skip
_TEX = re.compile(
    r"\\(?:documentclass|begin\s*\{|section\*?\s*\{|[A-Za-z]*[Cc]ite[A-Za-z]*\*?\s*[\[{])"
)
# A single ``#`` within a text may be that of a table (``# Queries``).
_MARKDOWN = compiled(
    r"\A---\n\w+:|\A\s*# \S|^#{2,6} \S|^```|\[[^\][@]*+@[\w{]|\]\(https?://", re.MULTILINE
)
# Comments and blank lines, then what a record of BibTeX, RIS, JSON or XML begins with.
_RECORDS = compiled(
    r"(?:[ \t]*+(?:%[^\n]*+)?\n)*+[ \t]*+(?:@\s*+\w++\s*+[{(]|TY  - |[\[{]\s*+[{\"]|<\?xml)"
)
_HEAD = 1 << 18
_NAMES_END = (
    *(".tex", ".md", ".markdown", ".txt", ".text", ".ltx", ".rst", ".typ", ".qmd", ".rmd"),
    *(".pdf", ".docx", ".odt", ".bib", ".ipynb", ".html", ".doc", ".rtf"),
)
_LONGEST_NAME = 255
"""Bytes of the longest file name there can be; longer arguments are text."""


def guess_form(text: str) -> Form:
    """The form of a text that has no file name to tell: by LaTeX commands, Markdown's signs."""
    head = text[:_HEAD]
    if _TEX.search(head):
        return "tex"
    return "markdown" if _MARKDOWN.search(head) else "text"


def read_draft(path: str | Path, within: str | Path | None = None) -> Draft:
    """The draft in a file, with the files beside it that it includes or names; ``within`` a
    folder, if one is given: a stranger's draft names what it likes.

    The form is told by the ending (``.tex``, ``.md``, ``.typ``, ``.rst``), else by the text itself;
    a PDF, a Word or OpenDocument file and a notebook by their first bytes. Raises ``CitebedError``
    for what cannot be read or is no text (a picture, nothing).
    """
    path = Path(path)
    form = FORMS_BY_ENDING.get(path.suffix.lower())
    neighbours = Neighbours(path, None if within is None else Path(within))
    return draft_of(bytes_of(path), str(path), form, neighbours)


def draft_of(
    data: bytes, name: str, form: Form | None = None, neighbours: Neighbours | None = None
) -> Draft:
    """The draft in some bytes, as from standard input; ``name`` is what errors call it."""
    neighbours = neighbours or Neighbours(None)
    path = neighbours.draft
    if is_pdf(data[:HEAD_BYTES], name):
        return _of_pdf(data, name, path)
    if name.lower().endswith(".pdf"):
        raise CitebedError(f"{name}: {why_no_pdf(data[:HEAD_BYTES])}")
    if (findings := _of_package(data, name, neighbours)) is not None:
        return _draft(findings, path)
    text, mended = text_of(data, name)
    _refuse_records(text, name, form)
    notes = ["bytes that are not UTF-8 were read as Windows-1252"] if mended else []
    return _read(text, form or guess_form(text), neighbours, notes)


def _of_pdf(data: bytes, name: str, path: Path | None) -> Draft:
    from citebed.drafts.pdf import read_pdf  # starts a process

    findings = Findings()
    read_pdf(data, name, findings)
    return _draft(findings, path)


def _of_package(data: bytes, name: str, neighbours: Neighbours) -> Findings | None:
    """What is found in a Word or OpenDocument file or a notebook; ``None`` for any other file."""
    kind = document_kind(data, name)
    findings = Findings()
    if kind == WORD:
        from citebed.drafts.office.word import read_word  # with the readers of XML

        read_word(data, name, findings)
    elif kind == OPEN_DOCUMENT:
        from citebed.drafts.office.opendocument import read_opendocument

        read_opendocument(data, name, findings)
    elif kind == NOTEBOOK:
        from citebed.drafts.notebook import read_notebook

        path = neighbours.draft
        read_notebook(data, name, path.name if path else "", findings)
        _read_bibliographies(findings, neighbours)
    else:
        return None
    return findings


def _refuse_records(text: str, name: str, form: Form | None) -> None:
    """Raise for a bibliography, which is nothing to ask with, and say what can be done with it."""
    is_bib = name.lower().endswith(".bib")
    if form is not None or not (is_bib or _RECORDS.match(text[:_HEAD])):
        return
    from citebed.collection.formats.recognising import recognise  # with all the readers

    format = recognise(text[:_HEAD])
    if is_bib or format is not None:
        what = f"{name}: this is a bibliography ({format.title if format else 'BibTeX'}), no draft"
        more = f"To mark what is in it: citebed recommend COLLECTION DRAFT --bib {name}"
        raise CitebedError(
            f"{what}. To recommend from it: citebed import COLLECTION {name}. "
            f"{more if is_bib else ''}".rstrip()
        )


def parse_draft(text: str, form: Form | None = None) -> Draft:
    """The draft in a text that has no file: the files it names are noted, not read."""
    if form is not None and form not in get_args(Form):
        raise UnknownName("form of text", form, get_args(Form))
    if not text.strip():
        raise CitebedError("the text is empty; expected a sentence, a paragraph or a whole draft")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
    return _read(text, form or guess_form(text), Neighbours(None), [])


def draft_in(given: DraftLike) -> tuple[Draft, Unit]:
    """The draft in a text or file, and the pieces of it that ask by default.

    A single word with the ending of a draft (``paper.tex``), or nearly (``paper.txet``), is the
    name of a file. So is a line with blanks that has such an ending (``my paper.tex``), or that is
    nearly the name of a file in its folder.
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
            near = _file_like(given)
            hint = f". Did you mean '{printable(near)}'?" if near else ""
            raise CitebedError(f"there is no file '{printable(given)}'{hint}")
        return read_draft(Path(given)), "paragraph"
    if (data := _bytes_of(given)) is not None:
        return draft_of(data, "the text"), "text"
    return parse_draft(given), "text"


def _is_file_name(text: str) -> bool:
    """Whether a text ends as the names of drafts do, or, if it is one word, nearly so."""
    ending = Path(text).suffix.lower()
    if re.search(r"\s", text):
        return ending in _NAMES_END or Path(text).exists() or _file_like(text) is not None
    return bool(difflib.get_close_matches(ending, _NAMES_END, n=1))


def _file_like(text: str) -> str | None:
    """The draft beside a path that does not exist whose name is most like it."""
    path = Path(text)
    try:
        names = [each.name for each in path.parent.iterdir() if each.suffix.lower() in _NAMES_END]
    except OSError:
        return None
    found = difflib.get_close_matches(path.name, names, n=1, cutoff=0.8)
    return str(path.with_name(found[0])) if found else None


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


def _read(text: str, form: Form, neighbours: Neighbours, notes: list[str]) -> Draft:
    findings = Findings()
    text = without_places(text)
    for what in notes:
        findings.note(what)
    if form == "tex":
        from citebed.drafts.tex.document import TexReader

        TexReader(findings, neighbours).read(text)
    elif form == "markdown":
        # its library takes time to import
        from citebed.drafts.markdown import read_markdown

        read_markdown(text, findings)
    elif form == "typst":
        read_typst(text, findings, neighbours)
    elif form == "rst":
        read_rst(text, findings)
    else:
        read_plain(text, findings)
    _read_bibliographies(findings, neighbours)
    return _draft(findings, neighbours.draft)


def _read_bibliographies(findings: Findings, neighbours: Neighbours) -> None:
    # Places for DOIs in the prose are made by ``passages_of``: what is cited is known after it.
    if findings.bibliographies:
        # with the reader of BibTeX
        from citebed.drafts.bibliography.bibfiles import read_bibliographies

        read_bibliographies(findings, neighbours)


def _draft(findings: Findings, path: Path | None) -> Draft:
    passages = passages_of(findings)
    if not passages:
        findings.note("no prose was found in the text")
    return Draft(
        passages=passages,
        title=findings.title,
        authors=unique(findings.authors),
        cited=_cited(findings),
        bibliography_files=tuple(findings.bibliographies),
        notes=findings.notes,
        file=printable(path) if path else "",
        library=tuple(findings.library),
    )


def _cited(findings: Findings) -> Cited:
    """What the text cites by name, and the works in its own list of references."""
    names, entries = findings.cited_names(), findings.entries
    arxiv = [name.removeprefix("arXiv:") for name in names if name.startswith("arXiv:")]
    dois = [doi for name in names if (doi := normalise_doi(name))]
    dois += [entry.doi for entry in entries if entry.doi]
    arxiv += [entry.arxiv for entry in entries if entry.arxiv]
    arxiv += [number for doi in dois if (number := arxiv_of_doi(doi))]
    return Cited(
        keys=unique(name for name in names if is_key(name)),
        dois=unique(dois),
        arxiv=unique(arxiv),
        titles=unique(entry.title for entry in entries),
        numbers=tuple(sorted(findings.numbers)),
        entries=tuple(entries),
        authored=tuple(findings.authored),
    )
