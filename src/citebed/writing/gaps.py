"""Find the gaps of a draft: placeholders for citations, and sentences that lack a citation.

citebed searches the file itself for placeholders, by the syntax of its format. To learn which
sentence each belongs to, it puts a mark in its place and reads the marked draft with the reader of
its format: the sentence then cites the mark. A mark that no sentence cites is in a comment or in
code, and is not a gap. Positions are bytes of the file, so filling a gap keeps all other bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from citebed.drafts.bibliography import split_entries
from citebed.drafts.files import IncludedFiles, decode_text, document_kind, read_draft_bytes
from citebed.drafts.parsed_draft import is_placeholder
from citebed.drafts.prose import ADD_CITATION, PLACEHOLDER
from citebed.drafts.reader import FORMS_BY_ENDING, draft_from_bytes, guess_form
from citebed.drafts.records import Draft, Passage, Place
from citebed.drafts.tex_commands import is_citation, parse_keys
from citebed.errors import CitebedError
from citebed.files.file_kinds import HEAD_BYTES, NOTEBOOK, OPEN_DOCUMENT, WORD, is_pdf
from citebed.text.regex import compile_regex
from citebed.wording import printable

OFFICE = ("word", "opendocument")
_FORMS_BY_KIND = {WORD: "word", OPEN_DOCUMENT: "opendocument", NOTEBOOK: "notebook"}
_INCLUDED = (".tex", ".ltx", ".typ")
_MOST_GAPS = 10_000
_FEWEST_WORDS = 5


class Style(NamedTuple):
    """How to write keys into a gap: ``before``, each key in ``item``, ``between`` them, ``after``.

    ``is_name`` if the gap is the place of a key inside a citation that exists.
    """

    before: str = ""
    item: str = "{}"
    between: str = ","
    after: str = ""
    is_name: bool = False

    def write(self, keys: Sequence[str]) -> str:
        """Return the text for these keys."""
        items = (self.item.replace("{}", key) for key in keys)
        return f"{self.before}{self.between.join(items)}{self.after}"


_LATEX, _PANDOC = Style("\\cite{", after="}"), Style("[", "@{}", "; ", "]")
_TYPST = Style("", "@{}", " ")
_NAME, _AT_KEY = Style(is_name=True), Style("", "@{}", "; ", is_name=True)


class Span(NamedTuple):
    """A possible gap: its offsets in a file or in a ``member`` of an archive, how to fill it, what
    is ``written`` there, the keys in the same citation, and the text before it (in an archive)."""

    start: int
    end: int
    style: Style
    written: str = ""
    cites: tuple[str, ...] = ()
    member: str = ""
    lead: str = ""


@dataclass(frozen=True)
class Gap:
    """A place that needs a citation.

    ``kind`` is ``placeholder``, or ``claim`` for a sentence that makes a claim and cites nothing;
    ``probability`` is how likely a claim needs a citation. ``line`` and ``column`` count from 1, in
    characters; in a Word or OpenDocument file, the line is the paragraph, and in a notebook it is
    in the cell that ``file`` names. ``passage`` is the paragraph, and ``sentence`` the number of a
    sentence in it. ``written`` is the placeholder. ``lead`` are the words of the sentence before
    the gap, after the citation before it. A gap that citebed cannot fill has no ``span``.
    """

    number: int
    kind: str
    file: str
    line: int
    column: int
    passage: Passage
    sentence: int
    written: str = ""
    lead: str = ""
    probability: float | None = None
    path: Path | None = field(default=None, repr=False)
    span: Span | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """The sentence."""
        return self.passage.sentences[self.sentence]

    @property
    def hint(self) -> str:
        """What the placeholder says about the work: ``Smith 2019`` for ``[CITE: Smith 2019]``."""
        words = re.findall(r"[^\W\d_]+|\d+", re.sub(r"\\[A-Za-z]+|@", " ", self.written))
        return " ".join(word for word in words if word.lower() not in _NO_HINT)

    @property
    def suggestion_context(self) -> Passage:
        """The passage to search with: the sentence, with its paragraph and ``lead`` as context."""
        hint = f" {self.hint}" if self.hint else ""
        sentences, text = self.passage.sentences, f"{self.text}{hint}"
        if len(text.split()) < _FEWEST_WORDS:  # "As in [?]." is too little to search with
            text = f"{sentences[self.sentence - 1] if self.sentence else self.passage.text} {text}"
        lead = f"{self.lead}{hint}" if self.lead else text
        return Passage(
            text, line=self.line, column=self.column, section=self.passage.section,
            number=self.number, sentences=(text,), sentence_cites=((),), wanted=(0,),
            places=(Place("", self.line, self.column),), context=(sentences, (lead,)),
        )  # fmt: skip


@dataclass(frozen=True)
class Gaps:
    """The gaps of a draft, the draft without them, and the contents of its files by path."""

    items: tuple[Gap, ...]
    draft: Draft
    form: str
    path: Path
    files: Mapping[Path, bytes] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Gap]:
        return iter(self.items)


def find_gaps(
    draft: str | Path,
    *,
    text: str | None = None,
    claims: bool = False,
    min_probability: float | None = None,
) -> Gaps:
    """Return the gaps of the draft in a file.

    ``text`` is the unsaved text of the file, as an editor has it. With ``claims``, sentences that
    make a claim without a citation are gaps, too, if a citation is missing with at least
    ``min_probability``.
    """
    path = Path(draft)
    data = read_draft_bytes(path) if text is None else text.encode("utf-8", "surrogatepass")
    finder = _Finder(path, data)
    found = [*finder.placeholders(), *(finder.claims(min_probability) if claims else ())]
    ordered = enumerate(sorted(found, key=itemgetter(0)), 1)
    items = tuple(replace(gap, number=number) for number, (_, gap) in ordered)
    return Gaps(items, finder.draft, finder.form, path, finder.files)


# --- Marks and sentences --------------------------------------------------------------------------

Ordered = tuple[tuple[int, int, int], Gap]
"""A gap after its position: a passage, a sentence, and an offset."""

_MARK = "10.0000/citebed-gap-{}"
"""What a gap cites while the draft is read: a DOI, so the reader does not look it up in a
bibliography. No registrant has this prefix."""
_MARKED = re.compile(r"10\.0000/citebed-gap-(\d+)")
_MARK_STYLES = {
    "markdown": _PANDOC, "notebook": _PANDOC, "text": _LATEX, "word": _LATEX,
    "opendocument": _LATEX, "rst": Style(" doi:", after=" "),
}  # fmt: skip
_WORD = re.compile(r"[^\W_]+")
_CLOSED = re.compile(r"[\"'’”)\]}*_$]*(?=[.!?;:])")
_EXACT = "surrogateescape"
_FAR = 400
"""The most bytes of markup between two words of a sentence."""


class _Finder:
    """Finds the gaps of one draft. ``draft`` has no marks; ``files`` are the contents of its files.

    Each possible gap has a number, which is in its mark.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self.form = _find_form(path, data)
        self.files: dict[Path, bytes] = {}
        self._path, self._data = path, data
        self._spans: dict[Path, dict[int, Span]] = {}
        self._numbers = count()
        self._macros: set[str] = set()
        self._marked = self._read()
        self.draft = _without_marks(self._marked)

    def _read(self) -> Draft:
        """Read the draft with a mark in each place that may be a gap."""
        files = IncludedFiles(self._path, edit=self._mark)
        data = self._mark(self._path, self._data)
        return draft_from_bytes(data, str(self._path), self.form, files)  # type: ignore[arg-type]

    def _mark(self, path: Path, data: bytes) -> bytes:
        """Return a file with marks; search it for placeholders when it is read first."""
        if path != self._path and path.suffix.lower() not in _INCLUDED:
            return data
        if path not in self.files:
            if self.form in OFFICE:
                from citebed.writing.office_citations import find_office_spans

                spans = find_office_spans(data, str(path))
            else:  # as latin-1, a text has one character for each byte
                spans = _scan(data.decode("latin-1"), self.form, self._macros)
            self.files[path] = data
            self._spans[path] = {next(self._numbers): span for span in spans}
            if sum(map(len, self._spans.values())) > _MOST_GAPS:
                what = f"the draft has more than {_MOST_GAPS:,} placeholders; split it"
                raise CitebedError(f"{printable(path)}: {what}.")
        marks = {}
        for number, span in self._spans[path].items():
            style = span.style if span.style.is_name else _MARK_STYLES.get(self.form, span.style)
            marks[span._replace(style=style)] = [_MARK.format(number)]
        if self.form in OFFICE:
            from citebed.writing.office_citations import replace_office_spans

            texts = {span: span.style.write(names) for span, names in marks.items()}
            return replace_office_spans(data, str(path), texts)
        return fill_spans(self.files[path], marks, self.form)

    def placeholders(self) -> Iterator[Ordered]:
        """Yield the gaps whose marks are in the draft."""
        entries = {key for text in self.draft.library for key, _ in split_entries(text)}
        sentences, elsewhere = _find_marks(self._marked), set(_marks(self._marked.cited.dois))
        for path, spans in self._spans.items():
            at = (-1, 0)
            for number, span in spans.items():
                if span.style.is_name and span.written in entries:
                    continue  # an entry of the bibliography has this name
                if span.style is _LATEX:  # its file has no citation; use the style of the draft
                    span = span._replace(style=self._style)  # noqa: PLW2901
                if number in sentences:
                    at = sentences[number][0]
                    passage = self.draft.passages[at[0]]
                    yield (*at, span.start), self._gap(path, span, passage, at[1])
                elif number in elsewhere:  # outside of prose, such as in a table
                    data = self.files[path]
                    start, end = data.rfind(b"\n", 0, span.start) + 1, data.find(b"\n", span.end)
                    line = data[start : end if end >= 0 else None].decode("utf-8", "replace")
                    words = _WORD.findall(re.sub(r"\\[A-Za-z]+", " ", span.lead or line))
                    passage = Passage(" ".join(words), sentences=(" ".join(words),), number=0)
                    yield (*at, span.start), self._gap(path, span, passage, 0)

    @cached_property
    def _style(self) -> Style:
        return _find_own_style(b"\n".join(self.files.values()).decode("latin-1"), self.form)

    def claims(self, min_probability: float | None) -> Iterator[Ordered]:
        """Yield the sentences that lack a citation, with the place to put it if it is certain."""
        from citebed.writing.claims import find_claims  # loads word vectors

        paths = {printable(path): path for path in self.files}
        claims = []
        last = dict.fromkeys(self.files, 0)
        for passage, sentence, probability in find_claims(self.draft, min_probability):
            path = paths.get(self.draft.file_of(passage.places[sentence]), self._path)
            number, span = next(self._numbers), self._end(path, passage, sentence, last[path])
            if span is not None:
                last[path] = span.end
                self._spans[path][number] = span
            claims.append((number, path, span, passage, sentence, probability))
        found = _find_marks(self._read()) if any(last.values()) else {}
        for number, path, span, passage, sentence, probability in claims:
            at = (passage.number - 1, sentence)
            # The mark must arrive in this sentence, and nowhere else.
            certain = span if set(found.get(number, ())) == {at} else None
            gap = self._gap(path, certain, passage, sentence, probability)
            yield (*at, certain.start if certain else 0), gap

    def _gap(
        self,
        path: Path,
        span: Span | None,
        passage: Passage,
        sentence: int,
        probability: float | None = None,
    ) -> Gap:
        """Return a gap without its number; one with a ``probability`` is a claim."""
        place = passage.places[sentence] if passage.places else Place()
        file, line, column = self.draft.file_of(place), place.line, place.column
        written = lead = ""
        if span is not None:
            data, start = self.files[path], span.start
            before = span.lead or data[max(0, start - _LEAD) : start].decode("utf-8", "replace")
            lead = _find_lead(before, passage.sentences[sentence])
            written = span.written
            if self.form not in OFFICE:
                written = written.encode("latin-1").decode("utf-8", "replace")
            if probability is None and self.form not in _FORMS_BY_KIND.values():
                file, line_start = str(path), data.rfind(b"\n", 0, start) + 1
                line = data.count(b"\n", 0, start) + 1
                column = len(data[line_start:start].decode("utf-8", "replace")) + 1
        kind = "placeholder" if probability is None else "claim"
        return Gap(
            0, kind, printable(file), line, column, passage, sentence, printable(written), lead,
            probability, path, span,
        )  # fmt: skip

    def _end(self, path: Path, passage: Passage, sentence: int, last: int) -> Span | None:
        """Return the empty span before the full stop of a sentence that ends after ``last``; if it
        is not found, ``None``."""
        if self.form in OFFICE:
            return None
        data, place = self.files[path], passage.places[sentence]
        text = data.decode("latin-1")
        words = _WORD.findall(passage.sentences[sentence])
        words = [word.encode().decode("latin-1") for word in words]
        if self.form == "notebook":  # its lines count from the start of a cell
            pattern = re.compile(r"[^\w\n]+".join(map(re.escape, words[:5])))
            at = match.start() if (match := pattern.search(text, last)) else -1
        else:
            lines = data.splitlines(keepends=True)[: place.line]
            lines[-1] = (
                lines[-1].decode("utf-8", _EXACT)[: place.column - 1].encode("utf-8", _EXACT)
            )
            at = sum(map(len, lines))
        for word in words if at >= 0 else ():
            next_at = text.find(word, at, at + _FAR)
            at = next_at + len(word) if next_at >= 0 else at
        if at <= last:
            return None
        if closed := _CLOSED.match(text, at):
            at = closed.end()
        own, blank = _find_own_style(text, self.form), "~" if self.form == "tex" else " "
        own = self._style if own is _LATEX else own
        return Span(at, at, own._replace(before=f"{blank}{own.before}"))


def _find_form(path: Path, data: bytes) -> str:
    """Return the format of a draft; raise ``CitebedError`` if gaps cannot be filled in it."""
    if is_pdf(data[:HEAD_BYTES], str(path)):
        what = "a PDF cannot be filled in; name the file that it was made from"
        raise CitebedError(f"{printable(path)}: {what}.")
    if kind := document_kind(data, str(path)):
        return _FORMS_BY_KIND[kind]
    text, _ = decode_text(data, str(path))
    if b"\0" in data:
        raise CitebedError(f"{printable(path)}: this text is saved as UTF-16; save it as UTF-8.")
    return FORMS_BY_ENDING.get(path.suffix.lower()) or guess_form(text)


def _marks(names: Iterable[str]) -> Iterator[int]:
    return (int(match[1]) for name in names if (match := _MARKED.fullmatch(name)))


def _find_marks(draft: Draft) -> dict[int, list[tuple[int, int]]]:
    """Return the sentences with each mark, as indexes of a passage and a sentence in it."""
    found: dict[int, list[tuple[int, int]]] = {}
    for at, passage in enumerate(draft.passages):
        for sentence, cites in enumerate(passage.sentence_cites):
            for number in _marks(cites):
                found.setdefault(number, []).append((at, sentence))
    return found


def _without_marks(draft: Draft) -> Draft:
    def clean(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if not _MARKED.fullmatch(name))

    passages = []
    for each in draft.passages:
        cites = tuple(map(clean, each.sentence_cites))
        marked = {at for at, names in enumerate(each.sentence_cites) if names != cites[at]}
        wanted = tuple(sorted(marked.union(each.wanted)))
        passages.append(replace(each, cites=clean(each.cites), sentence_cites=cites, wanted=wanted))
    cited = replace(draft.cited, dois=clean(draft.cited.dois))
    return replace(draft, passages=tuple(passages), cited=cited)


_LEAD = 400
"""Bytes before a gap that may be words of its sentence."""
_CITED = re.compile(
    r"\n\s*\n|[.!?]\s|\\[A-Za-z]*[Cc]ite[A-Za-z]*\*?(?:\[[^][]*\])*(?:\{[^{}]*\})?|\[[^][]*@[^][]*\]"
    r"|@[\w:-]+|`[^`\n]*`|\[\?+\]"
)


def _find_lead(before: str, sentence: str) -> str:
    """Return the words of a sentence in the text before a gap, after the citation before it."""
    parts = [part for part in _CITED.split(PLACEHOLDER.sub("\n\n", before)) if _WORD.search(part)]
    own = set(_WORD.findall(sentence))
    return " ".join(word for word in _WORD.findall(parts[-1]) if word in own) if parts else ""


_NO_HINT = frozenset(
    """
    todo fixme tbd xxx cite cites citation citations needed need needs ref refs reference references
    add insert find put get missing please an a the some more here this me for to on of
    """.split()  # noqa: SIM905
)


# --- Placeholders in the syntax of each format ----------------------------------------------------

_TEX_COMMAND = compile_regex(r"\\([A-Za-z]*[Cc]ite[A-Za-z]*+)\*?")
_CITING = compile_regex(_TEX_COMMAND.pattern + r"(?:\[[^][\n]*+\])*+\{([^{}]*+)\}")
_NOTE_COMMAND = compile_regex(
    rf"\\(?:todo|fixme)\*?(?:\[[^][\n]*+\])?\{{\s*+{ADD_CITATION}[^{{}}\n]{{0,80}}\}}",
    re.IGNORECASE,
)
_GAP_COMMAND = re.compile(
    r"\\(?:(?:cite|citation)s?(?:needed|todo|missing|here|me)"
    r"|(?:needs?|todo|missing|add|to|insert)(?:cite|citation|ref|reference)s?)(?![A-Za-z])"
    r"(?:\[[^][\n]*\])?(?:\{[^{}\n]*\})?",
    re.IGNORECASE,
)
_DEFINITION = compile_regex(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand|(?:New|Renew)DocumentCommand|def)"
    r"\*?\s*+\{?\\([A-Za-z@]++)\}?[^{}\n]*+\{((?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+)\}"
)
_RST_MARK = re.compile(r"\[(?:TODO|FIXME|XXX+)\]_")
_ROLE = re.compile(
    r"(?::|\{)(?P<role>(?:foot|full)?cite[:a-z]{0,20}?)(?::|\})`(?P<names>[^`\n]{0,500})`"
)
_DATA_CITE = re.compile(r"data-cite\s*=\s*\\?[\"'](?P<names>[^\"'<>\\]{0,500})\\?[\"']")
_AT_GROUP = compile_regex(r"\[([^][@\n]*+@[^][\n]*+)\](?!\()")
_AT_NAME = re.compile(r"(?<![\w./}@])@(?:\{[^{}\n]*\}|[\w?][\w?:.+/-]*(?<![:.])|(?=[\s\],;]|$))")
_BARE = re.compile(r"(?<![\w./}@])@(?:\?+|TODO|FIXME|XXX)(?![\w/:.-]*\w)")
_LISTED = re.compile(r"[^\s,](?:[^,]*[^\s,])?")
_TYPST_CITE = compile_regex(
    r"(?P<before>#cite\([^()<>\n]*+)(?P<label><(?P<name>[^<>\n]*+)>|label\(\s*+\"(?P<text>[^\"\n]*+)"
    r"\"\s*+\))?+(?P<after>[^()\n]*+(?:\([^()\n]*+\)[^()\n]*+)?\))"
)
_AFTER_COMMAND = re.compile(r"(?:\\[A-Za-z@]+\*?|\])\s*$")
_AFTER_CALL = re.compile(r"[\w\])]$")
_MARKUP = ("markdown", "notebook", "rst")
_NOT_IN_BRACKETS = frozenset(
    """
    citet textcite citeauthor citeyear citeyearpar citetitle citealt citealp nocite footcite
    citealias defcitealias citedate citeurl fullcite footfullcite supercite
    """.split()  # noqa: SIM905
)


def _scan(text: str, form: str, macros: set[str]) -> list[Span]:
    """Return the places of a text that may be gaps, in order and without overlaps.

    ``macros`` are the names of LaTeX commands that stand for a placeholder; those that the text
    defines are added.
    """

    def hide_definition(match: re.Match[str]) -> str:
        has_gap = PLACEHOLDER.search(match[2]) or _NOTE_COMMAND.search(match[2])
        if has_gap and "#" not in match[2]:
            macros.add(match[1])
        return "\0" * len(match[0])

    own = _find_own_style(text, form)
    text = text if form == "typst" else _DEFINITION.sub(hide_definition, text)
    spans = [*(_typst_spans(text, own) if form == "typst" else _tex_spans(text, own, macros))]
    for match in _ROLE.finditer(text) if form in _MARKUP else ():
        spans += _name_spans(text, *match.span("names"))
    if form in ("markdown", "notebook"):
        for pattern, name, style in ((_DATA_CITE, _LISTED, _NAME), (_AT_GROUP, _AT_NAME, _AT_KEY)):
            for match in pattern.finditer(text):
                spans += _name_spans(text, *match.span(1), name, style)
        spans += (Span(*match.span(), _AT_KEY, match[0]) for match in _BARE.finditer(text))
    if form == "rst":
        spans += (Span(*match.span(), own, match[0]) for match in _RST_MARK.finditer(text))
    for match in PLACEHOLDER.finditer(text):
        if _is_prose(text, match, form):
            end = match.end() + (form == "rst" and text.startswith("_", match.end()))
            spans.append(Span(match.start(), end, own, match[0]))
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def _tex_spans(text: str, own: Style, macros: set[str]) -> Iterator[Span]:
    """Yield the placeholders in LaTeX commands, which Markdown and plain text may contain, too."""
    patterns = [_GAP_COMMAND, _NOTE_COMMAND]
    if macros:
        names = "|".join(map(re.escape, sorted(macros)))
        patterns.append(re.compile(rf"\\(?:{names})(?![A-Za-z@])(?:\{{\}})?"))
    for pattern in patterns:
        yield from (Span(*match.span(), own, match[0]) for match in pattern.finditer(text))
    for match in _TEX_COMMAND.finditer(text):
        name = match[1]
        if name != "nocite" and is_citation(name) and not _GAP_COMMAND.match(text, match.start()):
            _, end = parse_keys(name, text, match.end())
            if end > match.end() and text[end - 1] == "}":
                start = text.rindex("{", 0, end - 1) + 1
                if "%" not in text[start:end]:
                    yield from _name_spans(text, start, end - 1)


def _typst_spans(text: str, own: Style) -> Iterator[Span]:
    for match in _TYPST_CITE.finditer(text):
        name = match["name"] or match["text"] or ""
        if match["label"] and (not name.strip() or is_placeholder(name.strip())):
            style = Style("", f"{match['before']}<{{}}>{match['after']}", " ")
            yield Span(*match.span(), style, match["label"])
        elif match[0][:-1].rstrip() == "#cite(":
            yield Span(*match.span(), Style("", "#cite(<{}>)", " "), match[0])
    for match in _AT_NAME.finditer(text):
        if match[0][1:2] not in ("", "{"):
            yield from _name_spans(text, *match.span(), _AT_NAME, own)


def _name_spans(
    text: str, start: int, end: int, name: re.Pattern[str] = _LISTED, style: Style = _NAME
) -> Iterator[Span]:
    """Yield the placeholders among the names between two offsets; adjacent ones are one gap."""
    known, runs = list[str](), list[tuple[int, int]]()
    for match in name.finditer(text, start, end):
        key = match[0].lstrip("@").strip("{}")
        if key and not is_placeholder(key):
            known.append(key)
        elif runs and not text[runs[-1][1] : match.start()].strip(" ,\r\n\t"):
            runs[-1] = (runs[-1][0], match.end())
        else:
            runs.append(match.span())
    if not known and not runs:
        yield Span(start, end, style)
    for first, last in runs:
        yield Span(first, last, style, text[first:last], tuple(known))


def _is_prose(text: str, match: re.Match[str], form: str) -> bool:
    """Return False for brackets that belong to the syntax of the format, such as links."""
    before = text[max(0, match.start() - 60) : match.start()]
    is_square = match[0].startswith("[")
    if form in _MARKUP:
        is_link = is_square and text.startswith(("(", "[", ":"), match.end())
        return not (is_link or before.endswith("]"))
    pattern = _AFTER_CALL if form == "typst" else _AFTER_COMMAND
    return not (is_square and pattern.search(before))


def _find_own_style(text: str, form: str) -> Style:
    """Return how this draft writes most citations in running text."""

    def most_common(names: Sequence[str], default: str = "") -> str:
        counts = Counter(names)
        return max(counts, key=lambda name: (counts[name], name), default=default)

    if form == "typst":
        return _TYPST
    roles = [match["role"] for match in _ROLE.finditer(text)]
    every = [
        name for name, keys in _CITING.findall(text)
        if is_citation(name) and (form != "tex" or not is_placeholder(keys.strip() or "?"))
    ]  # fmt: skip
    commands = [name for name in every if name not in _NOT_IN_BRACKETS and not name[0].isupper()]
    if form == "tex":
        # A file without citations in brackets may have others, or load a package.
        is_natbib = "natbib}" in text or "citet" in every
        is_biblatex = "biblatex}" in text or "textcite" in every
        default = "autocite" if is_biblatex else "citep" if is_natbib else ""
        name = most_common(commands, default)
        return Style(f"\\{name}{{", after="}") if name else _LATEX
    if form == "rst":
        return Style(f":{most_common(roles, 'cite')}:`", after="`")
    if roles:
        return Style(f"{{{most_common(roles)}}}`", after="`")
    if len(commands) > len(_AT_GROUP.findall(text)):
        slash = "\\\\" if form == "notebook" else "\\"
        return Style(f"{slash}{most_common(commands)}{{", after="}")
    return _PANDOC


_LABEL = re.compile(r"\w[\w:.-]*")
_PANDOC_KEY = compile_regex(r"\w++(?:[:.#$%&+?<>~/-]\w++)*+")


def fill_spans(data: bytes, chosen: Mapping[Span, Sequence[str]], form: str) -> bytes:
    """Return a text file with keys in these places, and all other bytes unchanged."""
    pieces, at = [], 0
    for span in sorted(chosen):
        style, keys = span.style, chosen[span]
        if form == "typst" and not all(map(_LABEL.fullmatch, keys)):
            label = style.item.replace("@{}", "#cite(<{}>)").replace("<{}>", 'label("{}")')
            style = style._replace(item=label)
        elif "@{}" in style.item and not all(map(_PANDOC_KEY.fullmatch, keys)):
            style = style._replace(item=style.item.replace("@{}", "@{{}}"))
        pieces += [data[at : span.start], style.write(keys).encode()]
        at = span.end
    return b"".join([*pieces, data[at:]])
