"""Citations in a text that is being written: where the cursor is, and which papers fit there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from citebed.collection.names import clean_key
from citebed.drafts.reader import Form, parse_draft
from citebed.drafts.records import Entry
from citebed.drafts.tex_commands import NOTE, is_citation
from citebed.errors import CitebedError
from citebed.retrieval.library.library import Library
from citebed.retrieval.memory import LruCache
from citebed.retrieval.recommend.citation_keys import citation_items
from citebed.retrieval.recommend.display import format_authors
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
_MARKDOWN = re.compile(r"(?<![\w@.\\/])-?@(?:\{([^{}\n]*)|([\w:.#$%&\-+?<>~/]*))\Z")
_TYPST = re.compile(
    r"(?:(?<![\w@.\\/])@([\w:.\-]*)|#?\bcite\(\s*(?:<([^<>()\n]*)|label\(\s*\"([^\"\n]*)))\Z"
)
_RST = re.compile(r":(?:foot|full)?cite(?::\w+)*:`([^`\n]*)\Z")
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
    match form:
        case "tex":
            return _in_command(text, at, low, before)
        case "markdown":
            found = _MARKDOWN.search(before) if "@" in before else None
            if found is None:
                return _in_command(text, at, low, before) if "\\" in before else None
        case "typst":
            found = _TYPST.search(before)
        case "rst":
            found = _RST.search(before)
        case _:
            return None
    if found is None:
        return None
    group = found.lastindex or 1
    is_bare = {"markdown": group == 2, "typst": group == 1}.get(form, False)
    return _point(text, at, form, low + found.start(), low + found.start(group), is_bare=is_bare)


def _in_command(text: str, at: int, low: int, before: str) -> CitePoint | None:
    """Return the place in a LaTeX citation command."""
    for command in reversed([*_COMMAND.finditer(before)]):
        if is_citation(command[1]):
            shape = _TEX_SEVERAL if command[1].endswith("cites") else _TEX
            found = shape.match(before, command.end())
            if found is None:
                return None
            return _point(text, at, "tex", low + command.start(), low + found.start(1))
    return None


def _point(
    text: str, at: int, form: Form, begin: int, first: int, *, is_bare: bool = False
) -> CitePoint:
    """Return the key at ``at`` in a citation that begins at ``begin``, with keys from ``first``."""
    listed = text[first:at]
    start = first + max(listed.rfind(","), listed.rfind("\n")) + 1
    start += len(text[start:at]) - len(text[start:at].lstrip())
    if is_bare:  # the full stop of a sentence is not part of the key
        rest = _BARE_REST.match(text, at)
        end = max(at, start + len(text[start : rest.end() if rest else at].rstrip(":.?&~<>/")))
        return CitePoint(form, start, end, text[start:at], begin, end, is_bare=True)
    found = _REST.match(text, at, at + _BEFORE)
    is_closed = found is not None and found[2] is not None
    end, close = (found.end(1), found.end()) if found and is_closed else (at, at)
    keys = re.split(r"[,}`>\")]", f"{text[first:start]},{text[end:close]}")
    others = frozenset(key.strip() for key in keys if key.strip())
    return CitePoint(form, start, end, text[start:at], begin, close, others)


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
        for number, sentence in enumerate(passage.sentences or (passage.text,)):
            if _MARK in sentence:
                own = _unmarked(sentence)
                if len(own.split()) < _ENOUGH_WORDS:
                    own = _unmarked(" ".join(passage.sentences[: number + 1]))
                return own
    return ""


def _unmarked(sentence: str) -> str:
    return " ".join(re.sub(rf"\s*{_MARK}", "", sentence).split())


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

_DEPTH, _MATCHES = 200, 500
"""Papers to rank by the sentence, and by what is typed."""
_FUSION = 10
"""The constant of reciprocal rank fusion: small, because the first ranks matter."""
_SENTENCES = 64


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
        from citebed.drafts.bibliography import bib_entries

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
        self._ranked: LruCache[tuple[str, frozenset[str]], list[str]] = LruCache(_SENTENCES)

    def rank(self, sentence: str, excluded: frozenset[str]) -> list[str]:
        """Return the ids of the papers that fit a sentence best, if any."""

        def search() -> list[str]:
            try:
                return self.library.recommender.rank(sentence, _DEPTH, exclude=excluded)
            except PassageSkipped:  # the first words of a sentence are not an error
                return []

        return self._ranked.get((sentence, excluded), search) if sentence else []

    def suggest(
        self,
        sentence: str,
        typed: str,
        mine: AuthorKeys,
        *,
        k: int = 40,
        excluded: frozenset[str] = frozenset(),
    ) -> list[Suggestion]:
        """Return up to ``k`` papers, best first; ``excluded`` were rejected for this draft, and are
        only suggested if the user types their names."""
        ranked = self.rank(sentence, excluded)
        numbers = self.library.index.ids.find_all(ranked).tolist()
        finder = self.library.finder
        scores: dict[int, float] = {}
        listed = [] if numbers else list(mine.entries)
        if typed.strip():
            own_keys = {key: name for name, key in mine.keys.items()}
            listed = mine.match(typed)
            matched = finder.complete(typed)[: _MATCHES * 20].tolist()
            held = [own_keys[each.key] for each in listed if each.key in own_keys]
            matched = [*dict.fromkeys([*self.library.index.ids.find_all(held).tolist(), *matched])]
            allowed = {*matched}
            numbers = [number for number in numbers if number in allowed]
            scores = {n: 1 / (_FUSION + place) for place, n in enumerate(matched[:_MATCHES])}
        for place, number in enumerate(numbers):
            scores[number] = scores.get(number, 0.0) + 1 / (_FUSION + place)
        best = sorted(scores, key=lambda number: -scores[number])[:k]
        found = self._suggestions(best, mine)
        known = {each.key for each in found}
        for entry in listed:  # in the .bib file, but not in the collection
            if len(found) < k and entry.key not in known:
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
        rows = self.library.catalogue.rows(docs) if docs else []
        reserved = {entry.key.lower() for entry in mine.entries}
        taken = [row for row in rows if row["doc_id"] not in mine.keys
                 and clean_key(row["cite_key"]).lower() in reserved]  # fmt: skip
        renamed = self._rename([row["doc_id"] for row in taken], mine) if taken else {}
        found = []
        for row in rows:
            name = row["doc_id"]
            key = mine.keys.get(name) or renamed.get(name) or clean_key(row["cite_key"])
            authors, title = tuple(row["authors"] or ()), row["title"]
            found.append(Suggestion(name, key, title, authors, row["year"], name in mine.keys))
        return found

    def _rename(self, doc_ids: Sequence[str], mine: AuthorKeys) -> dict[str, str]:
        """Return keys for documents whose own key means another work in the author's .bib."""
        items = citation_items(self.library.collection, doc_ids, mine.texts)
        return {each.document.doc_id: each.key for each in items}

    # --- What people read -----------------------------------------------------------------------

    def describe(self, found: Suggestion, sentence: str = "") -> str:
        """Return a paper as Markdown: its record, why it fits the sentence, and its abstract."""
        if not found.doc_id:
            return found.describe()
        document = self.library.collection.document(found.doc_id)
        parts = [found.describe(document.venue or "", document.doi or "")]
        for label, text in self._reasons(found, sentence):
            parts.append(f"*{label}*: {escape_markdown(text)}")
        if document.abstract:
            parts.append(escape_markdown(_shorten(document.abstract)))
        parts.append("*in your .bib file*" if found.in_bib else "*not in your .bib file*")
        return "\n\n".join(parts)

    def _reasons(self, found: Suggestion, sentence: str) -> list[tuple[str, str]]:
        """Return why a paper fits a sentence, as labels and texts."""
        if not sentence:
            return []
        from citebed.collection.filters import Filter

        among: Any = Filter(doc_ids=frozenset({found.doc_id}))
        try:
            made = self.library.recommender.recommend(sentence, 1, min_probability=0, among=among)
        except PassageSkipped:
            return []
        if not made.items:
            return []
        best = made.items[0]
        rows = [("because of", best.reason), ("abstract", best.abstract_sentence)]
        rows += [("cited elsewhere", f"“{text}” {by}") for text, by in
                 zip(best.citing_sentences[:1], best.cited_by[:1], strict=False)]  # fmt: skip
        return [(label, text) for label, text in rows if text]


def suggestion_from_entry(entry: Entry) -> Suggestion:
    """Return an entry of a .bib file that the collection does not have."""
    authors = tuple(
        entry.text.removesuffix(f". {entry.year}").partition(f". {entry.title}")[0].split("; ")
    )
    return Suggestion("", entry.key, entry.title, authors, entry.year, in_bib=True)


_ABSTRACT = 600


def _shorten(text: str) -> str:
    return text if len(text) <= _ABSTRACT else f"{text[:_ABSTRACT].rsplit(' ', 1)[0]} …"


def escape_markdown(text: str) -> str:
    """Return a text from a record for Markdown: no markup, links, images or HTML."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|<>~&$:@])", r"\\\1", " ".join(text.split()))
