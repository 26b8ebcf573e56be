"""Citations in a text that is being written: where the cursor is, and which papers fit there."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from citebed.collection.filters import Filter
from citebed.collection.names import clean_key
from citebed.drafts.bibliography import bib_entries
from citebed.drafts.reader import Form, parse_draft
from citebed.drafts.records import Entry
from citebed.drafts.tex_commands import NOTE, is_citation
from citebed.errors import CitebedError
from citebed.retrieval.library.library import Library
from citebed.retrieval.memory import LruCache
from citebed.retrieval.recommend.citation_keys import citation_items
from citebed.retrieval.recommend.display import Line, evidence_lines, format_authors
from citebed.retrieval.recommend.skipped_passages import PassageSkipped
from citebed.text.regex import compile_regex
from citebed.text.words import unaccented

# --- The cursor -------------------------------------------------------------------------------

_BEFORE, _AROUND = 2000, 4000
"""Characters before the cursor that can belong to a citation, and of a paragraph to each side."""
_COMMAND = re.compile(r"\\([A-Za-z]*[Cc]ite[A-Za-z]*)\*?")
_BLANK = r"[ \t]*+(?:\n[ \t]*+)?+"
_NOTES = rf"(?:{_BLANK}\([^(){{}}]*+\))*+(?:{_BLANK}(?:{NOTE}|<[^<>{{}}\n]*+>))*+"
_TEX = compile_regex(rf"{_NOTES}{_BLANK}\{{([^{{}}]*+)\Z")
_TEX_SEVERAL = compile_regex(
    rf"{_NOTES}(?:{_BLANK}\{{[^{{}}]*+\}}{_NOTES})*+{_BLANK}\{{([^{{}}]*+)\Z"
)
_SHAPES = {
    "markdown": r"(?<![\w@.\\/])-?@(?:\{([^{}\n]*)|(?P<bare>[\w:.#$%&\-+?<>~/]*))\Z",
    "typst": r"(?:(?<![\w@.\\/])@(?P<bare>[\w:.\-]*)"
             r"|#?\bcite\(\s*(?:<([^<>()\n]*)|label\(\s*\"([^\"\n]*)))\Z",
    "rst": r":(?:foot|full)?cite(?::\w+)*:`([^`\n]*)\Z",
}  # fmt: skip
"""The text from the start of a citation to the cursor; the group is the keys. No bracket surrounds
a ``bare`` key."""
_BARE_REST = re.compile(r"[\w:.#$%&\-+?<>~/]*")
_REST = re.compile(r"((?![.;:!?)\]])[^\s,{}\\%`<>\"]*)((?:\s*,[^\s,{}\\%`<>\"]*)*\s*[}`>\"]\)*)?")
"""The rest of a key after the cursor, and the other keys up to the closing bracket."""
_MARKDOWN_KEY = re.compile(r"[^\W_][\w]*(?:[:.#$%&\-+?<>~/]\w+)*|_\w*")
_TYPST_KEY = re.compile(r"[\w\-](?:[\w:.\-]*[\w\-])?")


class CitePoint(NamedTuple):
    """A place in a citation: the part from ``start`` to ``end`` is one key, of which the user typed
    ``typed`` before the cursor. The citation begins at ``begin`` and ends at ``close``.

    ``others`` are the other keys of this citation. ``is_bare`` if no bracket surrounds the key.
    """

    form: Form
    start: int
    end: int
    typed: str
    begin: int
    close: int
    others: frozenset[str] = frozenset()
    is_bare: bool = False

    def insert(self, key: str) -> str:
        """Return what to write from ``start`` to ``end`` for a key."""
        if self.is_bare and self.form == "markdown" and not _MARKDOWN_KEY.fullmatch(key):
            return f"{{{key}}}"
        return key


def find_cite_point(text: str, at: int, form: Form) -> CitePoint | None:
    """Return the citation at a position of a text, or ``None`` outside of citations."""
    low = max(0, at - _BEFORE)
    before = text[low:at]
    if found := re.search(_SHAPES.get(form, r"(?!)"), before):
        begin, first = low + found.start(), low + found.start(found.lastindex or 0)
    elif form in {"tex", "markdown"}:  # Markdown may contain LaTeX commands
        commands = [each for each in _COMMAND.finditer(before) if is_citation(each[1])]
        shape = _TEX_SEVERAL if commands and commands[-1][1].endswith("cites") else _TEX
        keys = shape.match(before, commands[-1].end()) if commands else None
        if keys is None:
            return None
        begin, first, form = low + commands[-1].start(), low + keys.start(1), "tex"
    else:
        return None
    start = 1 + first + max(text[first:at].rfind(","), text[first:at].rfind("\n"))
    typed = text[start:at].lstrip()
    start = at - len(typed)
    if found and found.lastgroup == "bare":  # the full stop of a sentence is not part of the key
        rest = _BARE_REST.match(text, at)
        end = max(at, start + len(text[start : rest.end() if rest else at].rstrip(":.?&~<>/")))
        return CitePoint(form, start, end, typed, begin, end, is_bare=True)
    rest = _REST.match(text, at, at + _BEFORE)
    end, close = (rest.end(1), rest.end()) if rest and rest[2] is not None else (at, at)
    keys_around = re.split(r"[,}`>\")]", f"{text[first:start]},{text[end:close]}")
    others = frozenset(key.strip() for key in keys_around if key.strip())
    return CitePoint(form, start, end, typed, begin, close, others)


# --- The sentence -----------------------------------------------------------------------------

_MARK = "qcursorq"
_GAP = re.compile(r"\n[ \t]*\n")
_ENOUGH_WORDS = 4
"""A shorter sentence is searched with the rest of its paragraph."""


def sentence_at(text: str, at: int, form: Form, point: CitePoint | None = None) -> str:
    """Return the sentence at a position as plain text, without the citation being written."""
    begin, close = (point.begin, point.close) if point else (at, at)
    if point is None:  # not inside a word
        word = re.compile(r"[\w\-']*").match(text, at)
        begin = close = word.end() if word else at
    low, high = max(0, begin - _AROUND), min(len(text), close + _AROUND)
    gaps = [gap.end() for gap in _GAP.finditer(text, low, begin)]
    low = gaps[-1] if gaps else low
    gap = _GAP.search(text, close, high)
    before, after = text[low:begin], text[close : gap.start() if gap else high]
    if form == "markdown" and (opened := re.search(r"\[[^][]*\Z", before)):
        before = before[: opened.start()]
        after = re.sub(r"\A[^][]*\]", "", after, count=1)
    lead = before.rstrip(" \t\n~")
    stop = lead[len(lead.rstrip(".!?")) :]  # a citation after the full stop belongs before it
    marked = f"{lead.removesuffix(stop)} {_MARK}{stop} {after}"
    try:
        draft = parse_draft(marked, form)
    except CitebedError:  # no prose here
        return ""
    for passage in draft.passages:
        sentences = passage.sentences or (passage.text,)
        for number, sentence in enumerate(sentences):
            if _MARK in sentence:
                is_short = len(sentence.split()) <= _ENOUGH_WORDS
                own = " ".join(sentences[: number + 1]) if is_short else sentence
                return " ".join(re.sub(rf"\s*{_MARK}", "", own).split())
    return ""


_MARKUP_END = r"([^\w\s.!?\\~]{0,3})(?:[^\w.!?\\{\[]|\\\w++|\{[^{}]*+\}|\[[^][]*+\])*+(?=[.!?]|\Z)"
"""What can follow the last word of a sentence: closing brackets, then citations, then a stop."""


def end_of_sentence(text: str, at: int, sentence: str) -> int:
    """Return the position after the last word of the sentence at ``at``; the end of the word there
    if citebed cannot find the last one."""
    words = re.findall(r"\w+", sentence)
    gap = _GAP.search(text, at, at + _AROUND)
    stop = gap.start() if gap else min(len(text), at + _AROUND)
    own = re.compile(r"\w*\Z").search(text, 0, at)
    rest = re.compile(r"\w*").match(text, at)
    place, end = own.start() if own else at, rest.end() if rest else at
    last = compile_regex(rf"\b{re.escape(words[-1])}\b{_MARKUP_END}" if words else r"(?!)")
    match = last.search(text, place, stop)
    return match.end(1) if match else end


def format_citation(form: Form, key: str) -> str:
    """Return a new citation of a key, to put after a word."""
    match form:
        case "tex":
            return f"~\\cite{{{key}}}"
        case "markdown":
            return f" [@{key if _MARKDOWN_KEY.fullmatch(key) else f'{{{key}}}'}]"
        case "typst":
            return f" @{key}" if _TYPST_KEY.fullmatch(key) else f' #cite(label("{key}"))'
        case "rst":
            return f" :cite:`{key}`"
    return f" [{key}]"


# --- Suggestions ------------------------------------------------------------------------------

_DEPTH, _MATCHES, _SHOWN = 200, 500, 40
"""Papers to rank by the sentence and by what is typed, and to suggest."""
_FUSION = 10
"""The constant of reciprocal rank fusion: small, because the first ranks matter."""
_SENTENCES = 64
_ABSTRACT = 600


class Suggestion(NamedTuple):
    """A paper to cite, with the key to type; without a ``doc_id`` only the .bib file has it."""

    doc_id: str
    key: str
    title: str
    authors: tuple[str, ...]
    year: int | None
    in_bib: bool

    @property
    def by(self) -> str:
        """The first authors."""
        return format_authors(self.authors) if self.authors else ""

    @property
    def words(self) -> str:
        """All words by which an editor can filter."""
        names = (each.replace(",", "") for each in self.authors)
        return " ".join(filter(None, (self.key, *names, self.title, str(self.year or ""))))

    def describe(self, venue: str = "", doi: str = "") -> str:
        """Return the record as Markdown."""
        about = " · ".join(filter(None, (self.by, str(self.year or ""), venue, doi)))
        return f"**{escape_markdown(self.title or self.key)}**\n\n{escape_markdown(about)}"


@dataclass(frozen=True)
class AuthorKeys:
    """The author's .bib files: their entries, and which documents they have under which key."""

    entries: tuple[Entry, ...] = ()
    texts: tuple[str, ...] = field(default=(), repr=False)
    keys: Mapping[str, str] = field(default_factory=dict)
    library: Library | None = field(default=None, repr=False)

    @classmethod
    def read(cls, texts: Sequence[str], library: Library | None) -> AuthorKeys:
        """Parse .bib files, given as texts, and find their entries in a collection."""
        entries = tuple(entry for text in texts for entry in bib_entries(text))
        if library is None or not entries:
            return cls(entries, tuple(texts), {}, library)
        doc_ids = sorted(library.recommender.lookup.in_libraries(texts))
        items = citation_items(library.collection, doc_ids, texts)
        keys = {each.document.doc_id: each.key for each in items if each.in_bib}
        return cls(entries, tuple(texts), keys, library)

    def find(self, key: str) -> Entry | None:
        """Return the entry with a key."""
        return next((each for each in self.entries if each.key == key), None)

    @cached_property
    def _folded(self) -> list[str]:
        return [unaccented(f"{each.key} {each.text}").lower() for each in self.entries]

    def match(self, typed: str) -> list[Entry]:
        """Return the entries with every typed word."""
        words, pairs = (
            unaccented(typed).lower().split(),
            zip(self.entries, self._folded, strict=True),
        )
        return [entry for entry, text in pairs if all(word in text for word in words)]


class Suggester:
    """Suggests papers of a collection, by the sentence and by what is typed."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._ranked: LruCache[tuple[str, frozenset[str]], list[int]] = LruCache(_SENTENCES)

    def rank(self, sentence: str, excluded: frozenset[str]) -> list[int]:
        """Return the numbers of the papers that fit a sentence best, if any."""

        def search() -> list[int]:
            try:
                best = self.library.recommender.rank(sentence, _DEPTH, exclude=excluded)
            except PassageSkipped:  # the first words of a sentence are not an error
                return []
            return [int(each) for each in self.library.index.ids.find_all(best)]

        return self._ranked.get((sentence, excluded), search) if sentence else []

    def suggest(
        self, sentence: str, typed: str, mine: AuthorKeys, excluded: frozenset[str] = frozenset()
    ) -> list[Suggestion]:
        """Return up to 40 papers, best first; ``excluded`` were rejected for this draft, and are
        only suggested if the user types their names."""
        ids = self.library.index.ids
        orders = [self.rank(sentence, excluded)]
        listed = [] if orders[0] else list(mine.entries)
        if typed.strip():
            listed = mine.match(typed)
            names = {key: name for name, key in mine.keys.items()}
            own = ids.find_all([names[each.key] for each in listed if each.key in names]).tolist()
            matched, matches = self.library.finder.complete(typed, _MATCHES)
            matches[own] = True
            orders = [
                [*dict.fromkeys([*own, *matched.tolist()])],
                [each for each in orders[0] if matches[each]],
            ]
        scores = defaultdict[int, float](float)
        for order in orders:  # reciprocal rank fusion
            for place, number in enumerate(order):
                scores[number] += 1 / (_FUSION + place)
        best = sorted(scores, key=lambda number: -scores[number])[:_SHOWN]
        found = self._suggestions(best, mine)
        known = {each.key for each in found}
        for entry in listed:  # in the .bib file, but not in the collection
            if len(found) < _SHOWN and entry.key not in known:
                found.append(suggestion_from_entry(entry))
        wanted = typed.strip().lower()
        return sorted(found, key=lambda each: each.key.lower() != wanted) if wanted else found

    def look_up(self, name: str, mine: AuthorKeys) -> Suggestion | None:
        """Return the paper with a citation key: the author's own, or the collection's."""
        doc_id = next((each for each, key in mine.keys.items() if key == name), None)
        if doc_id is None:
            if (entry := mine.find(name)) is not None:
                return suggestion_from_entry(entry)
            doc_id = self.library.recommender.lookup.find(name)
        number = -1 if doc_id is None else self.library.index.ids.find(doc_id)
        return self._suggestions([number], mine)[0] if number >= 0 else None

    def _suggestions(self, docs: Sequence[int], mine: AuthorKeys) -> list[Suggestion]:
        rows = {row["doc_id"]: row for row in self.library.catalogue.rows(docs)} if docs else {}
        keys = {name: clean_key(row["cite_key"]) for name, row in rows.items()}
        keys |= mine.keys
        reserved = {entry.key.lower() for entry in mine.entries}
        taken = [name for name in rows.keys() - mine.keys.keys() if keys[name].lower() in reserved]
        if taken:  # the author's .bib has another work under this key
            items = citation_items(self.library.collection, taken, mine.texts)
            keys |= {each.document.doc_id: each.key for each in items}
        found = []
        for name, row in rows.items():
            about = row["title"], tuple(row["authors"] or ()), row["year"]
            found.append(Suggestion(name, keys[name], *about, in_bib=name in mine.keys))
        return found

    def describe(self, found: Suggestion, sentence: str = "") -> str:
        """Return a paper as Markdown: its record, why it fits the sentence, and its abstract."""
        if not found.doc_id:
            return found.describe()
        document = self.library.collection.document(found.doc_id)
        parts = [found.describe(document.venue or "", document.doi or "")]
        among: Any = Filter(doc_ids=frozenset({found.doc_id}))
        with suppress(PassageSkipped):  # a sentence without words to search for
            recommend = self.library.recommender.recommend
            for best in recommend(sentence, 1, min_probability=0, among=among) if sentence else ():
                lines = [Line("because of", best.reason), *evidence_lines(best, several=False)]
                for label, text, by in lines:
                    shown = escape_markdown(f"“{text}” {by}" if by else text)
                    parts += [f"*{label}*: {shown}"] if text else []
        if document.abstract:
            short = textwrap.shorten(document.abstract, _ABSTRACT, placeholder=" …")
            parts.append(escape_markdown(short))
        parts.append("*in your .bib file*" if found.in_bib else "*not in your .bib file*")
        return "\n\n".join(parts)


def suggestion_from_entry(entry: Entry) -> Suggestion:
    """Return an entry of a .bib file that the collection does not have."""
    authors = entry.text.removesuffix(f". {entry.year}").partition(f". {entry.title}")[0]
    return Suggestion(
        "", entry.key, entry.title, tuple(authors.split("; ")), entry.year, in_bib=True
    )


def escape_markdown(text: str) -> str:
    """Return a text from a record for Markdown: no markup, links, images or HTML."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|<>~&$:@])", r"\\\1", " ".join(text.split()))
