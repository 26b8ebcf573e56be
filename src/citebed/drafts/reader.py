"""Read a draft: detect its format, and return its passages and citations."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Literal, get_args

from citebed.drafts.files import IncludedFiles, decode_text, document_kind, read_draft_bytes
from citebed.drafts.parsed_draft import Block, Origin, ParsedDraft, Raw, is_key, without_places
from citebed.drafts.plain import read_plain
from citebed.drafts.prose import make_passages
from citebed.drafts.records import PAGE, Cited, Draft, Place, Unit
from citebed.drafts.references import parse_entry
from citebed.drafts.rst import read_rst
from citebed.drafts.typst import read_typst
from citebed.errors import CitebedError, UnknownName
from citebed.files.file_kinds import (
    HEAD_BYTES,
    NOTEBOOK,
    OPEN_DOCUMENT,
    WORD,
    explain_not_pdf,
    is_pdf,
)
from citebed.text.identifiers import arxiv_of_doi, normalise_doi
from citebed.text.normalise import unique
from citebed.text.regex import compile_regex
from citebed.wording import printable

Form = Literal["tex", "markdown", "text", "typst", "rst"]
DraftLike = str | Path | Draft
"""A text, the path of a draft, or a draft."""

FORMS_BY_ENDING: dict[str, Form] = {
    ".tex": "tex", ".ltx": "tex", ".latex": "tex",
    ".md": "markdown", ".markdown": "markdown", ".qmd": "markdown", ".rmd": "markdown",
    ".mdown": "markdown", ".pandoc": "markdown",
    ".typ": "typst", ".rst": "rst", ".rest": "rst",
}  # fmt: skip
_TEX = re.compile(
    r"\\(?:documentclass|begin\s*\{|section\*?\s*\{|[A-Za-z]*[Cc]ite[A-Za-z]*\*?\s*[\[{])"
)
# A single ``#`` inside a text may belong to a table (``# Queries``).
_MARKDOWN = compile_regex(
    r"\A---\n\w+:|\A\s*# \S|^#{2,6} \S|^```|\[[^\][@]*+@[\w{]|\]\(https?://", re.MULTILINE
)
# Comments and blank lines, then the start of a BibTeX, RIS, JSON or XML record.
_RECORDS = compile_regex(
    r"(?:[ \t]*+(?:%[^\n]*+)?\n)*+[ \t]*+(?:@\s*+\w++\s*+[{(]|TY  - |[\[{]\s*+[{\"]|<\?xml)"
)
_HEAD = 1 << 18
_NAMES_END = (
    *(".tex", ".md", ".markdown", ".txt", ".text", ".ltx", ".rst", ".typ", ".qmd", ".rmd"),
    *(".pdf", ".docx", ".odt", ".bib", ".ipynb", ".html", ".doc", ".rtf"),
)
_OTHER_ENDINGS = (".pdf", ".docx", ".docm", ".odt", ".ipynb")
_LONGEST_NAME = 255
"""Bytes of the longest possible file name; a longer argument is a text."""


def is_draft_file(path: Path) -> bool:
    """Return True if a file has the ending of a draft (not ``.txt``) or a PDF."""
    return path.suffix.lower() in {*FORMS_BY_ENDING, *_OTHER_ENDINGS}


def guess_form(text: str) -> Form:
    """Guess the format of a text without a file name, from LaTeX commands and Markdown markup."""
    head = text[:_HEAD]
    if _TEX.search(head):
        return "tex"
    return "markdown" if _MARKDOWN.search(head) else "text"


def read_draft(path: str | Path, within: str | Path | None = None) -> Draft:
    """Read the draft in a file, with the files that it includes.

    For a draft from someone else, ``within`` limits these files to a folder. The suffix determines
    the format (``.tex``, ``.md``, ``.typ``, ``.rst``), or else the text itself; for PDF, Word,
    OpenDocument and notebooks, the first bytes do. Raise ``CitebedError`` for a file that cannot be
    read or contains no text.
    """
    path = Path(path)
    form = FORMS_BY_ENDING.get(path.suffix.lower())
    files = IncludedFiles(path, None if within is None else Path(within))
    return draft_from_bytes(read_draft_bytes(path), str(path), form, files)


def draft_from_bytes(
    data: bytes, name: str, form: Form | None = None, files: IncludedFiles | None = None
) -> Draft:
    """Read a draft from bytes, such as standard input; error messages use ``name``."""
    files = files or IncludedFiles(None)
    parsed = ParsedDraft()
    if is_pdf(data[:HEAD_BYTES], name):
        _read_pdf(data, name, parsed)
        return _finish(parsed, files)
    if name.lower().endswith(".pdf"):
        raise CitebedError(f"{name}: {explain_not_pdf(data[:HEAD_BYTES])}")
    # Each of these readers imports a parser.
    kind = document_kind(data, name)
    if kind == WORD:
        from citebed.drafts.word import read_word

        read_word(data, name, parsed)
    elif kind == OPEN_DOCUMENT:
        from citebed.drafts.opendocument import read_opendocument

        read_opendocument(data, name, parsed)
    elif kind == NOTEBOOK:
        from citebed.drafts.markdown import read_notebook

        read_notebook(data, name, files.draft.name if files.draft else "", parsed)
    else:
        text, not_utf8 = decode_text(data, name)
        _refuse_records(text, name, form)
        if not_utf8:
            parsed.note("bytes that are not UTF-8 were read as Windows-1252")
        _read_text(text, form or guess_form(text), parsed, files)
    return _finish(parsed, files)


def _read_pdf(data: bytes, name: str, parsed: ParsedDraft) -> None:
    """Read a PDF; the line of a position is the page, which is all that a reader can find again.

    Raise ``FormatError`` if it cannot be read.
    """
    from citebed.papers.child_process import PaperFile, PaperProblem, read_paper  # starts a process
    from citebed.papers.paper import PlacedText

    paper = read_paper(PaperFile(name, data))
    if isinstance(paper, PaperProblem):
        raise paper.error
    parsed.title, parsed.authors = paper.title, paper.authors
    texts = [(PlacedText(paper.abstract), "Abstract", "")] if paper.abstract else []
    texts += [(p.content, p.section, "item" if p.is_item else "") for p in paper.paragraphs]
    for content, section, kind in texts:
        page = content.places[0].page + 1 if content.places else 1
        raw = Raw(content.text, [Origin(0, Place(PAGE, page), exact=False)])
        parsed.blocks.append(Block(content.text, raw, section, kind))
    for number, entry in enumerate(paper.references, 1):
        boxes = entry.content.places
        place = Place(PAGE, boxes[0].page + 1 if boxes else 1)
        label = entry.label or str(number)
        parsed.entries.append(parse_entry(label, entry.content.text, place))
    for note in paper.notes:
        parsed.note(note)


def _refuse_records(text: str, name: str, form: Form | None) -> None:
    """Raise ``CitebedError`` for a bibliography, which is not a draft."""
    is_bib = name.lower().endswith(".bib")
    if form is not None or not (is_bib or _RECORDS.match(text[:_HEAD])):
        return
    from citebed.collection.formats.detection import recognise

    format = recognise(text[:_HEAD])
    if is_bib or format is not None:
        what = (
            f"{name}: this is a bibliography ({format.title if format else 'BibTeX'}), not a draft"
        )
        more = f"To mark the papers in it: citebed recommend COLLECTION DRAFT --bib {name}"
        raise CitebedError(
            f"{what}. To recommend from it: citebed import COLLECTION {name}. "
            f"{more if is_bib else ''}".rstrip()
        )


def parse_draft(text: str, form: Form | None = None) -> Draft:
    """Read a draft from a text; the files that it includes are noted, but not read."""
    if form is not None and form not in get_args(Form):
        raise UnknownName("form of text", form, get_args(Form))
    if not text.strip():
        raise CitebedError("the text is empty; expected a sentence, a paragraph or a whole draft")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
    parsed, files = ParsedDraft(), IncludedFiles(None)
    _read_text(text, form or guess_form(text), parsed, files)
    return _finish(parsed, files)


def resolve_draft(source: DraftLike) -> tuple[Draft, Unit]:
    """Return the draft in a text or file, and the default unit to search with.

    A single word with the suffix of a draft (``paper.tex``), or a similar one (``paper.txet``), is
    a file name. So is a line with blanks that has such a suffix (``my paper.tex``), or that is
    similar to the name of a file in its folder.
    """
    if isinstance(source, Draft):
        return source, "paragraph"
    if isinstance(source, Path):
        return read_draft(source), "paragraph"
    if not isinstance(source, str):
        raise CitebedError(
            f"expected a text, the path of a draft, or a list of these; found {source!r:.60}, "
            f"which is of type {type(source).__name__}"
        )
    if may_be_path(source) and _is_file_name(source):
        if not Path(source).exists():
            near = _similar_file(source)
            hint = f". Did you mean '{printable(near)}'?" if near else ""
            raise CitebedError(f"there is no file '{printable(source)}'{hint}")
        return read_draft(Path(source)), "paragraph"
    if (data := _original_bytes(source)) is not None:
        return draft_from_bytes(data, "the text"), "text"
    return parse_draft(source), "text"


def _is_file_name(text: str) -> bool:
    """Return True if a text has the suffix of a draft, or, for one word, a similar suffix."""
    ending = Path(text).suffix.lower()
    if re.search(r"\s", text):
        return ending in _NAMES_END or Path(text).exists() or _similar_file(text) is not None
    return bool(difflib.get_close_matches(ending, _NAMES_END, n=1))


def _similar_file(text: str) -> str | None:
    """Return the draft with the most similar name in the folder of a missing file."""
    path = Path(text)
    try:
        names = [each.name for each in path.parent.iterdir() if each.suffix.lower() in _NAMES_END]
    except OSError:
        return None
    similar = difflib.get_close_matches(path.name, names, n=1, cutoff=0.8)
    return str(path.with_name(similar[0])) if similar else None


def _original_bytes(text: str) -> bytes | None:
    """Return the bytes of an argument that was not UTF-8, or ``None`` for a text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        whole = re.sub("[\ud800-\udc7f\udd00-\udfff]", "\ufffd", text)  # half a character
        return whole.encode("utf-8", "surrogateescape")
    return None


def may_be_path(text: str) -> bool:
    """Return True if a text can be the name of a file."""
    is_short = len(text.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME
    return bool(text) and is_short and "\n" not in text and "\0" not in text


def _read_text(text: str, form: Form, parsed: ParsedDraft, files: IncludedFiles) -> None:
    text = without_places(text)
    if form == "tex":
        from citebed.drafts.tex import TexReader

        TexReader(parsed, files).read(text)
    elif form == "markdown":
        # imports markdown-it
        from citebed.drafts.markdown import read_markdown

        read_markdown(text, parsed)
    elif form == "typst":
        read_typst(text, parsed, files)
    elif form == "rst":
        read_rst(text, parsed)
    else:
        read_plain(text, parsed)


def _finish(parsed: ParsedDraft, files: IncludedFiles) -> Draft:
    """Read the bibliographies that a draft names, and return the draft."""
    if parsed.bibliographies:
        # imports the BibTeX parser
        from citebed.drafts.bibliography import read_bibliographies

        read_bibliographies(parsed, files)
    passages = make_passages(parsed)  # adds citations of DOIs in the prose
    if not passages:
        parsed.note("the text contains no prose")
    names, entries = parsed.cited_names(), parsed.entries
    arxiv = [name.removeprefix("arXiv:") for name in names if name.startswith("arXiv:")]
    dois = [doi for name in names if (doi := normalise_doi(name))]
    dois += [entry.doi for entry in entries if entry.doi]
    arxiv += [entry.arxiv for entry in entries if entry.arxiv]
    arxiv += [number for doi in dois if (number := arxiv_of_doi(doi))]
    return Draft(
        passages=passages,
        title=parsed.title,
        authors=unique(parsed.authors),
        cited=Cited(
            keys=unique(name for name in names if is_key(name)),
            dois=unique(dois),
            arxiv=unique(arxiv),
            titles=unique(entry.title for entry in entries),
            numbers=tuple(sorted(parsed.numbers)),
            entries=tuple(entries),
            authored=tuple(parsed.author_year),
        ),
        bibliography_files=tuple(parsed.bibliographies),
        notes=parsed.notes,
        file=printable(files.draft) if files.draft else "",
        library=tuple(parsed.library),
        library_files=tuple(parsed.library_files),
    )
