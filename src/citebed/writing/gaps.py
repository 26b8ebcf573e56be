"""Find the gaps of a draft: placeholders for citations, and sentences that lack a citation.

A placeholder is searched for in the file itself, by the syntax of its format. To learn which
sentence it belongs to, citebed puts a mark in its place and reads the marked draft with the reader
of its format: the sentence then cites the mark. A mark that no sentence cites is in a comment or in
code, and is no gap. Positions are bytes of the file, so filling a gap leaves all other bytes alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, get_args

from citebed.drafts.bibliography import split_entries
from citebed.drafts.files import IncludedFiles, decode_text, document_kind, read_draft_bytes
from citebed.drafts.parsed_draft import is_placeholder
from citebed.drafts.prose import PLACEHOLDER
from citebed.drafts.reader import FORMS_BY_ENDING, Form, draft_from_bytes, guess_form
from citebed.drafts.records import Draft, Passage, Place
from citebed.drafts.tex_commands import is_citation, parse_keys
from citebed.errors import CitebedError
from citebed.files.file_kinds import HEAD_BYTES, NOTEBOOK, OPEN_DOCUMENT, WORD, is_pdf
from citebed.text.regex import compile_regex
from citebed.wording import printable

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


@dataclass(frozen=True)
class Gap:
    """A place that needs a citation.

    ``kind`` is ``placeholder``, or ``claim`` for a sentence that makes a claim and cites nothing;
    ``probability`` is that of a claim to need a citation. ``written`` is the placeholder, ``hint``
    what it says about the work (``[CITE: Smith 2019]``). ``line`` and ``column`` count from 1, in
    characters; in a Word or OpenDocument file, the line is the paragraph, and in a notebook it is
    in the cell that ``file`` names. ``passage`` is the paragraph, and ``sentence`` the number of a
    sentence in it. ``cites`` are the keys that stand in the same citation. ``lead`` are the
    words of the sentence before the gap, after the citation before it. A gap that citebed cannot
    fill has no ``span``.
    """

    number: int
    kind: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    written: str
    hint: str
    passage: Passage
    sentence: int
    cites: tuple[str, ...] = ()
    probability: float | None = None
    lead: str = ""
    path: Path | None = field(default=None, repr=False)
    span: Span | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """The sentence."""
        return self.passage.sentences[self.sentence]

    @property
    def suggestion_context(self) -> Passage:
        """The passage to search with: the sentence, with its paragraph and ``lead`` as context."""
        hint = f" {self.hint}" if self.hint else ""
        sentences, text = self.passage.sentences, f"{self.text}{hint}"
        if len(text.split()) < _FEWEST_WORDS:  # "As in [?]." says too little alone
            text = f"{sentences[self.sentence - 1] if self.sentence else self.passage.text} {text}"
        lead = (f"{self.lead}{hint}",) if self.lead else (text,)
        return Passage(
            text, line=self.line, column=self.column, section=self.passage.section,
            number=self.number, sentences=(text,), sentence_cites=((),), wanted=(0,),
            places=(Place("", self.line, self.column),),
            context=(sentences, lead),
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


class Span(NamedTuple):
    """A possible gap: where it is in a file, what is written there, and how to fill it."""

    start: int
    end: int
    style: Style
    written: str
    cites: tuple[str, ...] = ()
    member: str = ""
    lead: str = ""


_MOST_GAPS = 10_000
_MARK = "10.0000/citebed-gap-{}"
"""What a gap cites while the draft is read. The reader knows it as a DOI, so it is not looked up in
a bibliography; no registrant has this prefix."""
_MARKED = re.compile(r"10\.0000/citebed-gap-(\d+)")
_MARK_STYLES = {
    "markdown": Style("[", "@{}", after="]"), "notebook": Style("[", "@{}", after="]"),
    "text": Style("\\cite{", after="}"), "rst": Style(" doi:", after=" "),
}  # fmt: skip
_WITH_GAPS = (".tex", ".ltx", ".typ")
_KINDS = {WORD: "word", OPEN_DOCUMENT: "opendocument", NOTEBOOK: "notebook"}


def find_gaps(
    draft: str | Path,
    *,
    text: str | None = None,
    claims: bool = False,
    min_probability: float | None = None,
    within: str | Path | None = None,
) -> Gaps:
    """Return the gaps of the draft in a file.

    ``text`` is the unsaved text of the file, as an editor has it. With ``claims``, sentences that
    make a claim without a citation are gaps, too, if a citation is missing with at least
    ``min_probability``. For a draft from someone else, ``within`` limits the files that it includes
    to a folder.
    """
    path = Path(draft)
    data = read_draft_bytes(path) if text is None else text.encode("utf-8", "surrogatepass")
    finder = _Finder(path, data, None if within is None else Path(within))
    return finder.find(claims=claims, min_probability=min_probability)


class _Finder:
    """Finds the gaps of one draft."""

    def __init__(self, path: Path, data: bytes, within: Path | None) -> None:
        self._path, self._data, self._within = path, data, within
        self._form = _find_form(path, data)
        self._macros: set[str] = set()
        self._files: dict[Path, bytes] = {}
        self._spans: list[tuple[Path, Span]] = []
        self._by_file: dict[Path, list[int]] = {}

    def find(self, *, claims: bool, min_probability: float | None) -> Gaps:
        """Return all gaps, in the order of the draft."""
        marked = self._read()
        draft = _without_marks(marked)
        gaps = self._gaps(marked, draft)
        if claims:
            gaps += self._claims(draft, min_probability)
        # A gap outside of prose follows the gap before it in its file.
        before: dict[Path | None, tuple[int, int]] = {}
        order = dict[int, tuple[int, int]]()
        for gap in gaps:
            in_prose = (gap.passage.number, gap.sentence) if gap.passage.number else None
            before[gap.path] = order[id(gap)] = in_prose or before.get(gap.path, (0, 0))
        gaps.sort(key=lambda gap: (*order[id(gap)], gap.span.start if gap.span else 0))
        numbered = tuple(replace(gap, number=number) for number, gap in enumerate(gaps, 1))
        return Gaps(numbered, draft, self._form, self._path, dict(self._files))

    def _read(self) -> Draft:
        """Read the draft with a mark in each place that may be a gap."""
        files = IncludedFiles(self._path, self._within, edit=self._mark)
        form = self._form if self._form in get_args(Form) else None
        data = self._mark(self._path, self._data)
        return draft_from_bytes(data, str(self._path), form, files)  # type: ignore[arg-type]

    def _mark(self, path: Path, data: bytes) -> bytes:
        """Return a file with marks; remember its spans when it is read for the first time."""
        is_draft = path == self._path
        if not is_draft and path.suffix.lower() not in _WITH_GAPS:
            return data
        if path not in self._by_file:
            self._files[path] = data
            spans = self._scan(data)
            if len(self._spans) + len(spans) > _MOST_GAPS:
                what = f"the draft has more than {_MOST_GAPS:,} placeholders; split it"
                raise CitebedError(f"{printable(path)}: {what}.")
            first = len(self._spans)
            self._spans += [(path, span) for span in spans]
            self._by_file[path] = list(range(first, len(self._spans)))
        marks = {}
        if self._form in ("word", "opendocument"):
            from citebed.writing.office_citations import mark_office

            own = {n: self._spans[n][1] for n in self._by_file[path]}
            texts = {span: span.style.write([_MARK.format(n)]) for n, span in own.items()}
            return mark_office(data, str(path), texts)
        for number in self._by_file[path]:
            span = self._spans[number][1]
            style = span.style if span.style.is_name else _MARK_STYLES.get(self._form, span.style)
            marks[span._replace(style=style)] = [_MARK.format(number)]
        return fill_spans(data, marks, self._form)

    def _scan(self, data: bytes) -> list[Span]:
        if self._form in ("word", "opendocument"):
            from citebed.writing.office_citations import find_office_spans

            return find_office_spans(data, str(self._path), PLACEHOLDER)
        text = data.decode("latin-1")  # one character for each byte
        return scan(text, self._form, self._macros)

    def _gaps(self, marked: Draft, draft: Draft) -> list[Gap]:
        """Return the gaps whose marks the reader found in the draft."""
        entries = {key for text in draft.library for key, _ in split_entries(text)}
        at: dict[int, tuple[Passage, int]] = {}
        for before, passage in zip(marked.passages, draft.passages, strict=True):
            for sentence, cites in enumerate(before.sentence_cites):
                for number in _marks(cites):
                    at.setdefault(number, (passage, sentence))
        gaps = []
        for number in sorted({*at, *_marks(marked.cited.dois)}):
            if number >= len(self._spans):
                continue
            path, span = self._spans[number]
            if span.written in entries and span.style.is_name:
                continue  # an entry of the bibliography has this name
            passage, sentence = at.get(number) or (self._line_passage(path, span), 0)
            gaps.append(self._gap(path, span, passage, sentence, draft))
        return gaps

    def _line_passage(self, path: Path, span: Span) -> Passage:
        """Return the line around a gap that is outside of prose, in a table."""
        data = self._files[path]
        start, end = data.rfind(b"\n", 0, span.start) + 1, data.find(b"\n", span.end)
        line = data[start : end if end >= 0 else None].decode("utf-8", "replace")
        words = " ".join(re.findall(r"[^\W_]+", re.sub(r"\\[A-Za-z]+", " ", line)))
        return Passage(words, sentences=(words,), sentence_cites=((),), number=0)

    def _gap(self, path: Path, span: Span, passage: Passage, sentence: int, draft: Draft) -> Gap:
        place = passage.places[sentence] if sentence < len(passage.places) else Place()
        file, line, column = draft.file_of(place), place.line, place.column
        last, data = (line, column), self._files[path]
        before = span.lead or data[max(0, span.start - _LEAD) : span.start].decode(
            "utf-8", "replace"
        )
        if self._form not in _KINDS.values():
            file = str(path)
            line, column = _position(data, span.start)
            last = _position(data, span.end)
        return Gap(
            0, "placeholder", printable(file), line, column, *last, printable(span.written),
            _hint(span.written), passage, sentence, span.cites, None,
            _lead(before, passage.sentences[sentence]), path, span,
        )  # fmt: skip

    def _claims(self, draft: Draft, min_probability: float | None) -> list[Gap]:
        """Return the sentences that lack a citation, with the place to put it if it is certain."""
        from citebed.writing.claims import find_claims  # loads word vectors

        found = find_claims(draft, min_probability)
        names = {printable(path): path for path in self._files}
        spans: dict[int, tuple[Path, Span]] = {}
        after: dict[Path, int] = {}
        for at, (passage, sentence, _) in enumerate(found):
            path = names.get(draft.file_of(passage.places[sentence]), self._path)
            span = self._sentence_end(path, passage, sentence, after.get(path, 0))
            if span is not None:
                after[path] = span.end
                spans[at] = (path, span)
        numbers = {at: len(self._spans) + n for n, at in enumerate(spans)}
        for at, (path, span) in spans.items():
            self._by_file[path].append(numbers[at])
            self._spans.append((path, span))
        cited: dict[int, set[tuple[int, int]]] = {}
        for passage in (self._read() if spans else draft).passages:
            for sentence, cites in enumerate(passage.sentence_cites):
                for number in _marks(cites):
                    cited.setdefault(number, set()).add((passage.number, sentence))
        gaps = []
        for at, (passage, sentence, probability) in enumerate(found):
            path, span = spans.get(at, (self._path, None))
            # The mark must arrive in this sentence, and nowhere else.
            if cited.get(numbers.get(at, -1)) != {(passage.number, sentence)}:
                span = None
            empty = Span(0, 0, Style(), "")
            gap = self._gap(path, span or empty, passage, sentence, draft)
            place = passage.places[sentence]
            gaps.append(replace(
                gap, kind="claim", span=span, probability=probability,
                file=printable(draft.file_of(place)), line=place.line, column=place.column,
            ))  # fmt: skip
        return gaps

    def _sentence_end(self, path: Path, passage: Passage, sentence: int, after: int) -> Span | None:
        """Return the empty span before the full stop of a sentence; ``None`` if it is not found."""
        if self._form in ("word", "opendocument") or path not in self._files:
            return None
        data = self._files[path]
        text = data.decode("latin-1")
        words = [
            word.encode().decode("latin-1") for word in _WORD.findall(passage.sentences[sentence])
        ]
        if self._form == "notebook":
            first = re.compile(r"[^\w\n]+".join(map(re.escape, words[:5]))).search(text, after)
            at = first.start() if first else -1
        else:
            place = passage.places[sentence]
            at = _offset(data, place.line, place.column)
        for word in words if at >= 0 else ():
            next_at = text.find(word, at, at + _FAR)
            at = next_at + len(word) if next_at >= 0 else at
        if at < 0 or at <= after:
            return None
        if end := _CLOSED.match(text, at):
            at = end.end()
        own = _own_style(text, self._form)
        gap = "~" if self._form == "tex" else " "
        return Span(at, at, own._replace(before=f"{gap}{own.before}"), "")


_WORD = re.compile(r"[^\W_]+")
_CLOSED = re.compile(r"[\"'’”)\]}*_$]*(?=[.!?;:])")
_FAR = 400
"""Bytes of markup between two words of a sentence."""


def _offset(data: bytes, line: int, column: int) -> int:
    """Return the offset of a line and column, from 1 and in characters; -1 if there is none."""
    at = 0
    for _ in range(line - 1):
        at = data.find(b"\n", at) + 1
        if not at:
            return -1
    end = data.find(b"\n", at)
    start = data[at : end if end >= 0 else None].decode("utf-8", "replace")[: column - 1]
    return at + len(start.encode())


def _find_form(path: Path, data: bytes) -> str:
    """Return the format of a draft; raise ``CitebedError`` if gaps cannot be filled in it."""
    if is_pdf(data[:HEAD_BYTES], str(path)):
        what = "a PDF cannot be filled in; name the file that it was made from"
        raise CitebedError(f"{printable(path)}: {what}.")
    if kind := document_kind(data, str(path)):
        return _KINDS[kind]
    text, _ = decode_text(data, str(path))
    if b"\0" in data:
        raise CitebedError(f"{printable(path)}: this text is saved as UTF-16; save it as UTF-8.")
    return FORMS_BY_ENDING.get(path.suffix.lower()) or guess_form(text)


def _marks(names: Iterable[str]) -> Iterator[int]:
    return (int(match[1]) for name in names if (match := _MARKED.fullmatch(name)))


def _unmarked(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if not _MARKED.fullmatch(name))


def _without_marks(draft: Draft) -> Draft:
    passages = []
    for each in draft.passages:
        cites = tuple(map(_unmarked, each.sentence_cites))
        pairs = enumerate(zip(each.sentence_cites, cites, strict=True))
        wanted = {at for at, (before, after) in pairs if before != after}
        passages.append(replace(
            each, cites=_unmarked(each.cites), sentence_cites=cites,
            wanted=tuple(sorted({*each.wanted, *wanted})),
        ))  # fmt: skip
    cited = replace(draft.cited, dois=_unmarked(draft.cited.dois))
    return replace(draft, passages=tuple(passages), cited=cited)


def _position(data: bytes, at: int) -> tuple[int, int]:
    """Return line and column, from 1 and in characters, of a byte of a text."""
    start = data.rfind(b"\n", 0, at) + 1
    return data.count(b"\n", 0, at) + 1, len(data[start:at].decode("utf-8", "replace")) + 1


_LEAD = 400
"""Bytes before a gap that may be words of its sentence."""
_CITED = re.compile(
    r"\n\s*\n|[.!?]\s|\\[A-Za-z]*[Cc]ite[A-Za-z]*\*?(?:\[[^][]*\])*(?:\{[^{}]*\})?|\[[^][]*@[^][]*\]"
    r"|@[\w:-]+|`[^`\n]*`|\[\?+\]"
)


def _lead(before: str, sentence: str) -> str:
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


def _hint(written: str) -> str:
    """Return what a placeholder says about the work: ``Smith 2019`` for ``[CITE: Smith 2019]``."""
    words = re.findall(r"[^\W\d_]+|\d+", re.sub(r"\\[A-Za-z]+|@", " ", written))
    return " ".join(word for word in words if word.lower() not in _NO_HINT)


# --- Placeholders in the syntax of each format ----------------------------------------------------


_TEX_COMMAND = compile_regex(r"\\([A-Za-z]*[Cc]ite[A-Za-z]*+)\*?")
_NOTE_COMMAND = compile_regex(
    r"\\(?:todo|TODO|fixme|FIXME)\*?(?:\[[^][\n]*+\])?\{\s*+(?:please )?"
    r"(?:(?:add|insert|find|put|get|needs?|missing) )?(?:(?:an?|the|some|more) )?"
    r"(?:cite|citations?|refs?|references?)\b[^{}\n]{0,80}\}",
    re.IGNORECASE,
)
_GAP_COMMAND = re.compile(
    r"\\((?:cite|citation)s?(?:needed|todo|missing|here|me)"
    r"|(?:needs?|todo|missing|add|to|insert)(?:cite|citation|ref|reference)s?)(?![A-Za-z])"
    r"(?:\[[^][\n]*\])?(?:\{([^{}\n]*)\})?",
    re.IGNORECASE,
)
_DEFINITION = compile_regex(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand|(?:New|Renew)DocumentCommand|def)"
    r"\*?\s*+\{?\\([A-Za-z@]++)\}?[^{}\n]*+\{((?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+)\}"
)
_AFTER_COMMAND = re.compile(r"(?:\\[A-Za-z@]+\*?|\])\s*$")
_ROLE = re.compile(r"(?::|\{)((?:foot|full)?cite(?:[:a-z]{0,20}?))(?::|\})`([^`\n]{0,500})`")
_DATA_CITE = re.compile(r"data-cite\s*=\s*\\?[\"']([^\"'<>\\]{0,500})\\?[\"']")
_AT_GROUP = compile_regex(r"\[([^][@\n]*+@[^][\n]*+)\](?!\()")
_AT_NAME = re.compile(r"(?<![\w./}@])@(?:\{[^{}\n]*\}|[\w?][\w?:.+/-]*|(?=[\s\],;]|$))")
_BARE = re.compile(r"(?<![\w./}@])@(?:\?+|TODO|FIXME|XXX)(?![\w/:.-]*\w)")
_TYPST_CITE = compile_regex(r"#cite\(([^()\n]*+(?:\([^()\n]*+\)[^()\n]*+)?)\)")
_TYPST_LABEL = re.compile(r"<([^<>]*)>|label\(\s*\"([^\"]*)\"\s*\)")
_OPEN_NAME = Style(is_name=True)
_HIDDEN = Style("hidden")
_NOT_IN_BRACKETS = frozenset(
    """
    citet textcite citeauthor citeyear citeyearpar citetitle citealt citealp nocite footcite
    citealias defcitealias citedate citeurl fullcite footfullcite supercite
    """.split()  # noqa: SIM905
)


def scan(text: str, form: str, macros: set[str]) -> list[Span]:
    """Return the places of a text that may be gaps, in order and without overlaps.

    ``macros`` are the names of LaTeX commands that stand for a placeholder; those that the text
    defines are added.
    """
    own = _own_style(text, form)
    spans: list[Span] = []
    if form == "typst":
        spans += _typst_spans(text)
    else:
        spans += _tex_spans(text, own, macros)
    if form in ("markdown", "notebook"):
        for group in _AT_GROUP.finditer(text):
            spans += _at_spans(text, group)
        spans += (_whole(m, Style("", "@{}", "; ", "", True)) for m in _BARE.finditer(text))
        for match in _DATA_CITE.finditer(text):
            spans += _name_spans(text, *match.span(1))
    if form in ("markdown", "notebook", "rst"):
        for match in _ROLE.finditer(text):
            spans += _name_spans(text, *match.span(2))
    if form == "rst":
        spans += (_whole(match, own) for match in re.finditer(r"\[(?:TODO|FIXME|XXX+)\]_", text))
    for match in PLACEHOLDER.finditer(text):
        if _is_prose(text, match, form):
            end = match.end() + (form == "rst" and text.startswith("_", match.end()))
            spans.append(Span(match.start(), end, own, match[0]))
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return [span for span in kept if span.style is not _HIDDEN]


def _whole(match: re.Match[str], style: Style) -> Span:
    return Span(match.start(), match.end(), style, match[0])


def _name_spans(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the placeholders among the names between two offsets, which commas separate."""
    inner = text[start:end]
    names = [name.strip() for name in inner.split(",")]
    if not any(names):
        yield Span(start, end, _OPEN_NAME, "")
        return
    known = tuple(name for name in names if name and not is_placeholder(name))
    at, group = start, list[tuple[int, int]]()
    for part, name in zip(inner.split(","), names, strict=True):
        if name and is_placeholder(name):
            first = at + len(part) - len(part.lstrip())
            group.append((first, first + len(name)))
        at += len(part) + 1
    if not group:
        return
    # ``{?, ?}`` is one gap; ``{?, a, ?}`` are two.
    runs = [[group[0]]]
    for span in group[1:]:
        between = text[runs[-1][-1][1] : span[0]]
        runs[-1:] = [[*runs[-1], span]] if not between.strip(" ,\n\t") else [runs[-1], [span]]
    for run in runs:
        first, last = run[0][0], run[-1][1]
        yield Span(first, last, _OPEN_NAME, text[first:last], known)


def _tex_spans(text: str, own: Style, macros: set[str]) -> Iterator[Span]:
    """Yield the gaps in LaTeX commands, which may also be in Markdown and plain text."""
    if "\\" not in text:
        return
    definitions = []
    for match in _DEFINITION.finditer(text):
        definitions.append(match.span())
        if "#" not in match[2] and (PLACEHOLDER.search(match[2]) or _NOTE_COMMAND.search(match[2])):
            macros.add(match[1])
    # A definition is no gap, and hides what is in it.
    yield from (Span(*span, _HIDDEN, "") for span in definitions)
    if macros:
        names = "|".join(map(re.escape, sorted(macros)))
        for match in re.finditer(rf"\\(?:{names})(?![A-Za-z@])(?:\{{\}})?", text):
            yield _whole(match, own)
    for match in _GAP_COMMAND.finditer(text):
        yield _whole(match, own)
    for match in _NOTE_COMMAND.finditer(text):
        yield _whole(match, own)
    for match in _TEX_COMMAND.finditer(text):
        name = match[1]
        if name != "nocite" and is_citation(name) and not _GAP_COMMAND.match(text, match.start()):
            _, end = parse_keys(name, text, match.end())
            if end > match.end() and text[end - 1] == "}":
                start = text.rindex("{", 0, end - 1) + 1
                if "%" not in text[start:end]:
                    yield from _name_spans(text, start, end - 1)


def _at_spans(text: str, group: re.Match[str]) -> Iterator[Span]:
    """Yield the placeholders in Markdown's ``[@a; @?]``."""
    names = list(_AT_NAME.finditer(text, group.start(1), group.end(1)))
    known = tuple(m[0][1:].strip("{}") for m in names if not _is_open(m[0]))
    for match in names:
        if _is_open(match[0]):
            end = match.start() + len(match[0].rstrip(".,;:"))
            style = Style("", "@{}", "; ", "", True)
            yield Span(match.start(), max(end, match.start() + 1), style, match[0], known)


def _is_open(name: str) -> bool:
    name = name[1:].strip("{}").rstrip(".,;:")
    return not name or is_placeholder(name)


def _typst_spans(text: str) -> Iterator[Span]:
    for match in _TYPST_CITE.finditer(text):
        label = _TYPST_LABEL.search(match[1])
        name = (label[1] or label[2] or "").strip() if label else ""
        if label is None and not match[1].strip():
            yield _whole(match, Style("", "#cite(<{}>)", " "))
        elif label is not None and (not name or is_placeholder(name)):
            start = match.start(1)
            before, after = text[match.start() : start + label.start()], match[1][label.end() :]
            style = Style("", f"{before}<{{}}>{after})", " ")
            yield Span(*match.span(), style, label[0])
    for match in _AT_NAME.finditer(text):
        if len(match[0]) > 1 and match[0][1] != "{" and _is_open(match[0]):
            end = match.start() + len(match[0].rstrip(".,;:"))
            yield Span(match.start(), end, Style("", "@{}", " "), text[match.start() : end])


def _is_prose(text: str, match: re.Match[str], form: str) -> bool:
    """Return False for brackets that belong to the syntax of the format."""
    before = text[max(0, match.start() - 60) : match.start()]
    following = text[match.end() : match.end() + 1]
    if form == "typst":
        return not (match[0].startswith("[") and re.search(r"[\w\])]$", before))
    if form in ("markdown", "notebook", "rst"):
        is_link = match[0].startswith("[") and following in ("(", "[", ":")
        return not (before.endswith("]") or is_link)
    return not (match[0].startswith("[") and _AFTER_COMMAND.search(before))


def _own_style(text: str, form: str) -> Style:
    """Return how this draft writes a citation in running text."""
    if form == "typst":
        return Style("", "@{}", " ")
    commands = Counter(
        name for name in _TEX_COMMAND.findall(text)
        if is_citation(name) and name not in _NOT_IN_BRACKETS and not name[0].isupper()
    )  # fmt: skip
    slash = "\\\\" if form == "notebook" else "\\"
    if form == "tex":
        default = "autocite" if "{biblatex}" in text else "citep" if "natbib}" in text else "cite"
        name = max(commands, key=lambda name: (commands[name], name)) if commands else default
        return Style(f"\\{name}{{", after="}")
    roles = Counter(match[1] for match in _ROLE.finditer(text))
    if form == "rst":
        role = max(roles, key=lambda name: (roles[name], name)) if roles else "cite"
        return Style(f":{role}:`", after="`")
    if roles:
        return Style(f"{{{max(roles, key=lambda name: (roles[name], name))}}}`", after="`")
    if commands.total() > len(_AT_GROUP.findall(text)):
        name = max(commands, key=lambda name: (commands[name], name))
        return Style(f"{slash}{name}{{", after="}")
    return Style("[", "@{}", "; ", "]")


_LABEL = re.compile(r"[\w][\w:.-]*")
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
