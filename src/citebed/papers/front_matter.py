"""Find the front matter of a paper: title, authors, DOI, year and abstract.

The title comes from the file's properties, if the page prints the same title. Otherwise it is the
block with the largest letters that is neither the name of a journal nor a label such as "Research
Article". Authors are the names next to the title. Properties count only if the page confirms them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import partial
from itertools import chain, pairwise, takewhile

from citebed.papers.pages import Line, group_while
from citebed.papers.paragraphs import place_texts
from citebed.papers.properties import Properties
from citebed.papers.references import join_lines
from citebed.papers.structure import Kind, Style, has_size, heads_references, plain_heading
from citebed.papers.vocabulary import phrases
from citebed.text.identifiers import doi_in
from citebed.text.names import NAME, NOT_NAMES, display_name, name_from_display, name_from_parts
from citebed.text.normalise import fold, unique
from citebed.text.regex import compile_regex
from citebed.wording import count

_ABSTRACT = re.compile(
    r"(?i:abstract|a ?b ?s ?t ?r ?a ?c ?t|summary|(?:kurz)?zusammenfassung|kurzfassung|résumé"
    r"|resumen|resumo|riassunto|samenvatting)(?:\s*[.:|—–-]+\s*|\s*$|\s+(?=[^\W\da-z_]))"
)
_SUMMARY = re.compile(r"summary\b", re.IGNORECASE)
_CITATION = re.compile(r"\[\d{1,3}[\],–-]|[(;,] ?(?:19|20)\d\d[a-z]?[);]")
_FIRST_PART = re.compile(rf"(?:{phrases('first_part_of_abstract')})\b", re.IGNORECASE)
_INTRODUCTION = re.compile(rf"(?:{phrases('introduction')})\W*", re.IGNORECASE)
_PART_OF_ABSTRACT = re.compile(rf"(?:{phrases('part_of_abstract')})\b.{{0,40}}", re.IGNORECASE)
_BEHIND = re.compile(f"(?:{phrases('after_abstract')})", re.IGNORECASE)
_COVER = re.compile(phrases("cover_sheet"), re.IGNORECASE)
_DATED = re.compile(r"\b(?:19|20)\d\d\b")
_LABEL = re.compile(
    rf"{phrases('kind_of_paper')}|.*(?:{phrases('place_of_paper')}).*|(?:received|accepted|published|\(?dated|©).*"
    r"|(?:fig(?:ure|\.)|tab(?:le|elle|\.)|abb(?:ildung|\.)) ?\d.*",
    re.IGNORECASE,
)
"""A line that is not a title: the kind of a paper, or the place where it was published."""
_JOURNAL = re.compile(rf"\b(?:{phrases('journal')})\b", re.IGNORECASE)
_MONTH = (
    r"(?:\d{1,2}\.?\s)?(?:jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-zä]*"
    r"\.?,?\s(?:\d{1,2}(?:\s?[–-]\s?\d{1,2})?,\s)?"
)
_YEAR = r"(?:20[0-4]\d|19[0-9]\d)"
_DATES = re.compile(rf"\b{_MONTH}({_YEAR})\b", re.IGNORECASE)
_YEARS = (
    re.compile(rf"\bpublished(?: online)?:?\s(?:on\s)?(?:{_MONTH})?({_YEAR})\b", re.IGNORECASE),
    re.compile(rf"(?:©|\(c\)|\bcopyright)\s?({_YEAR})", re.IGNORECASE),
    re.compile(rf"(?<!\d)({_YEAR})[,;]\s?\d{{1,4}}(?:\(\d+\))?[,:]"),
    re.compile(rf"\b\d{{1,4}}\s?\(({_YEAR})\)"),
    _DATES,
    re.compile(rf"(?<![\d.])({_YEAR})(?!\d)"),
)
"""Years on the first page, the most reliable first: year of publication, copyright, volume, a date,
any year."""
_NOT_A_NAME = re.compile(phrases("not_a_name"), re.IGNORECASE)
_BETWEEN_NAMES = re.compile(r"\s*(?:[,;·•&|/]|\b(?:(?i:and|und|sowie)|et|y)\b)\s*")
_MARKS = re.compile(
    r"[^\w\s.,;·•&|/'’‐‑()@:-]+|[\d⁰¹²³⁴-⁹⁻_]+|(?<=[a-zß-ÿ])ID(?=[\W\d]|$)"
    r"|(?<=[ ,])[a-z](?=[ ,*]|$)|\S{1,60}@\S{1,60}"
    r"|\([^()]{0,200}\)|(?<=,)\s*(?:Jr|Sr|I{2,3}|IV)\b\.?"
)
"""Marks of footnotes and affiliations, the icon of ORCID (``ID``), remarks in brackets."""
_DEGREE = re.compile(
    r"[A-Z][a-z]{0,3}\.?[A-Z][\w.()]{0,6}|(?:Senior |Student )?(?:Member|Fellow)|IEEE"
    r"|(?:[A-Z][a-z]{0,2}\. ?){2,4}|Dr|Jr|Sr"
)
_BEFORE_NAME = re.compile(
    r"^\s*(?:(?i:by|von|par|por|authors?:|autor(?:en|in|innen)?:)\s+(?=[^\W\da-z_]))?"
    r"(?:(?:Prof|Dr|PD|Priv|Dipl|Mag|Univ)"
    r"(?:\.-?|-)\s?(?:(?:Doz|Prof|Ing|Psych|Soz|Pol)\b\.?\s?)?|(?:[MB]\.\s?(?:A|Sc)|Ph\.\s?D)\.\s"
    r"|(?:h\.\s?c|habil|rer|nat|phil|med|jur|pol|soc|oec|theol)\.\s?)*"
)
_PERSON = compile_regex(NAME)
_PREFIX = re.compile(r"\b[a-z]{2,3}(?=[A-Z])")
"""For example in ``dePamphilis``."""
_RARE_PARTICLE = re.compile(r"\b(?:d[ao]|e|d[ae]ll[ae]|degli|vom|zum|v\.|op|'t|ould|st)\s")
_FULL_STOP = re.compile(r"(?<=\w[a-zß-ÿ])\.")
"""For example in ``Md. Abdul``."""
_SUFFIX = re.compile(r",?\s(?:Jr|Sr|I{2,3}|IV)\b\.?$")
_GROUPS = re.compile(r"(?:the )?(\S.{0,80}?) (collaboration|consortium)s?", re.IGNORECASE)
_GROUP = re.compile(
    r"(?:(?:and|for|on behalf of|in collaboration with)\s+)?(?:the\s+)?(\S.{0,80}?\s?"
    r"(?:collaborations?|consorti(?:um|a)|(?:study|working|research|investigators) group"
    r"|investigators|trialists))"
    r"|(?:and\s+|for\s+|on behalf of\s+)?the\s+(\S.{0,80}?\s"
    r"(?:initiative|network|task force|committee|team|group))",
    re.IGNORECASE,
)
_CITE_THIS = re.compile(r"(?:how to )?cite this (?:article|paper)", re.IGNORECASE)
_MOST_LINES, _MOST_BLOCKS, _MOST_LABELS = 400, 12, 40
_LISTED = 5
_LARGEST = 2.4
"""In sizes of prose: larger print, as of a journal's name, is no more likely a title."""
_BOX = 0.5
"""Largest width of boxes beside the text, as a share of the text's width."""
_SAME_ROW, _SAME_BLOCK = 0.3, 2.2
"""In font sizes: the largest distance of baselines in one row, and of lines in one title."""


_NamesReader = Callable[[Sequence[Line]], tuple[str, ...]]
"""Returns the names in lines of one font."""


@dataclass(frozen=True)
class FrontMatter:
    """The front matter of a paper, without its abstract."""

    title: str = ""
    authors: tuple[str, ...] = ()
    doi: str | None = None
    year: int | None = None
    notes: tuple[str, ...] = ()
    lines: frozenset[int] = field(default_factory=frozenset)
    """Its lines, and those of a cover sheet and of boxes beside the text, by ``id``."""


def parse_front_matter(
    pages: Sequence[Sequence[Line]], style: Style, properties: Properties
) -> FrontMatter:
    """Return the front matter of a paper, given the lines of its pages in reading order."""
    cover = pages[0] if len(pages) > 1 and _is_cover(pages[0], style) else ()
    page = pages[1] if cover else pages[0]
    front = _parse_page(page, pages, style, properties, is_cover=False)
    if cover:
        outer = _parse_page(cover, pages, style, properties, is_cover=True)
        named = outer if outer.authors else front
        lines = front.lines | set(map(id, cover))
        title = outer.title or front.title
        front = FrontMatter(title, named.authors, notes=named.notes, lines=lines)
    titled = _letters(front.title)
    year = _find_year(line for line in (*cover, *page) if _letters(line.text) not in titled)
    return replace(front, doi=_find_doi([*cover, *page], pages[-1], properties), year=year)


def _is_cover(page: Sequence[Line], style: Style) -> bool:
    """Return True for the sheet that a repository adds before the first page of a paper."""
    text = " ".join(line.text for line in page)
    prose = [line for block in _text_blocks(page, style) for line in block]
    return (
        _COVER.search(text) is not None
        and sum(has_size(line, style.size) for line in prose) < 6
        and not any(is_beginning(line, style) for line in page)
    )


def _parse_page(
    page: Sequence[Line],
    pages: Sequence[Sequence[Line]],
    style: Style,
    properties: Properties,
    *,
    is_cover: bool,
) -> FrontMatter:
    """Return title and authors on a page."""
    texts = _text_blocks(page, style)
    begins = [line for line in page if is_beginning(line, style)]
    ends = begins or [line for block in texts for line in block]
    end = min(ends, key=lambda line: line.baseline, default=None)
    start = end.baseline if end else float("inf")
    beside = _find_boxes(page, texts, style)
    outside = beside | {id(line) for block in texts for line in block}
    over = [line for line in page if line.baseline < start - 1 and id(line) not in outside]
    crosses = any(line.column < 0 and line.size > 1.08 * style.size for line in over)
    if end and end.column >= 0 and not crosses:
        # The front matter is in one column, and may be in one before its abstract.
        own = [line for line in over if line.column in (-1, end.column)]
        earlier = [line for line in page if -1 < line.column < end.column]
        over = [line for line in earlier if id(line) not in outside] or [
            line
            for line in over
            if any(
                _looks_like(line, each)
                and abs(line.baseline - each.baseline) < _SAME_ROW * line.size
                for each in own
            )
        ]
    rows = group_while(  # baselines in a row differ a little
        sorted(over, key=lambda line: line.baseline),
        lambda row, line: line.baseline - row[0].baseline < _SAME_ROW * line.size,
    )
    above = [line for row in rows for line in sorted(row, key=lambda line: line.left)][:_MOST_LINES]
    words = frozenset(
        word.text.strip(".,;:()")
        for each in pages[:3]
        for line in each
        for word in line.words
        if word.text[0].islower() and word.font.name == style.font
    )
    read_names = partial(_read_names, words=words, leading=style.leading)
    blocks = _title_blocks(above, style, read_names)
    lines = frozenset(map(id, above)) | beside
    title = _find_title(blocks, style, properties.title, read_names)
    if not title:
        return FrontMatter(lines=lines if begins else frozenset())
    inside = set(map(id, title))
    below = [line for line in above if line.baseline > title[0].baseline and id(line) not in inside]
    over_title = [
        line
        for line in reversed(above)
        if line.baseline < title[0].baseline
        and not (_LABEL.fullmatch(line.text) or _JOURNAL.search(line.text))
    ]
    over_title = [*takewhile(lambda line: _looks_like(line, over_title[0]), over_title)][::-1]
    abstract = next((block for block in texts if block[-1].baseline > start), [])
    next_to_abstract = [
        line
        for line in page
        if abstract
        and start - 2 < line.baseline < abstract[-1].baseline
        and (line.right < abstract[1].left or line.left > abstract[1].right)
    ]
    places = (below, over_title, next_to_abstract)
    read_names = partial(read_names, on_cover=is_cover)
    authors, notes = _find_authors(places, properties.authors, read_names)
    if not (begins or authors or is_cover or title[0].size > 1.1 * style.size):
        return FrontMatter()
    (content,) = place_texts([title])
    return FrontMatter(content.text.rstrip(" *∗†"), authors, notes=notes, lines=lines)


def _title_blocks(
    lines: Sequence[Line], style: Style, read_names: _NamesReader
) -> list[list[Line]]:
    """Return lines of one look that are close below each other, whatever is beside them."""

    def continues(block: Sequence[Line], line: Line) -> bool:
        last = block[-1]
        step = line.baseline - last.baseline
        return (
            _looks_like(line, last)
            and step < max(_SAME_BLOCK * line.size, 1.3 * style.leading)
            and (step < _SAME_ROW * line.size or _overlaps(line, last))
            and not (last.text.isupper() and not line.text.isupper())
            and (len(read_names([line])) < 2 or bool(read_names([last])))
        )

    return _group_near(lines, 8, continues, lambda line: sum(map(str.isalpha, line.text)) > 1)


def _group_near(
    lines: Sequence[Line],
    back: int,
    continues: Callable[[Sequence[Line], Line], bool],
    may_begin: Callable[[Line], bool] = bool,
) -> list[list[Line]]:
    """Return blocks of lines; a line may continue any of the last ``back`` blocks."""
    blocks: list[list[Line]] = []
    for line in lines:
        block = next((each for each in reversed(blocks[-back:]) if continues(each, line)), None)
        if block is not None:
            block.append(line)
        elif may_begin(line):
            blocks.append([line])
    return blocks


def _find_boxes(
    page: Sequence[Line], texts: Sequence[Sequence[Line]], style: Style
) -> frozenset[int]:
    """Return the ``id`` of each line in narrow boxes on the left and right of the text."""
    wide = [line for block in texts for line in block if line.size > 0.88 * style.size]
    if not wide:
        return frozenset()
    left, right = min(line.left for line in wide) - 1, max(line.right for line in wide) + 1
    small = [line for line in page if line.size < 1.1 * style.size]
    narrow: set[int] = set()
    for box in (
        [line for line in small if line.right < left],
        [line for line in small if line.left > right],
    ):
        edges = [edge for line in box for edge in (line.left, line.right)]
        if edges and max(edges) - min(edges) < _BOX * (right - left):
            narrow.update(map(id, box))
    return frozenset(narrow)


def is_beginning(line: Line, style: Style) -> bool:
    """Return True if a line may head the abstract, the introduction or a list of references."""
    if line.size > 1.45 * style.size:
        return False
    plain = plain_heading(line.text)
    introduces = _INTRODUCTION.fullmatch(plain) is not None or heads_references(line.text)
    return introduces or _heads_abstract(line) or _heads_part(line)


def _heads_part(line: Line) -> bool:
    """Return True for a line that begins with the label of an abstract's first part."""
    label = _FIRST_PART.match(line.text)
    if label is None:
        return False
    first, after = line.words[0], line.words[-1]
    return label.end() == len(line.text.rstrip(" :")) or (
        first.font != after.font or (first.text.isupper() and not line.text.isupper())
    )


def _heads_abstract(line: Line) -> bool:
    """Return True for a heading of an abstract, alone or at the beginning of its first line."""
    match = _ABSTRACT.match(line.text)
    if match is None or match.end() == len(line.text):
        return match is not None
    first, after = line.words[0], line.words[-1]
    marked = re.search(r"[.:|—–-]", match[0]) is not None
    return marked or first.text.isupper() or first.font != after.font


def _looks_like(line: Line, other: Line) -> bool:
    return abs(line.size - other.size) < 0.03 * other.size and line.bold == other.bold


def _overlaps(line: Line, other: Line) -> bool:
    return line.left < other.right and other.left < line.right


def _text_blocks(page: Sequence[Line], style: Style) -> list[list[Line]]:
    """Return the blocks of lines on a page that consist of sentences."""

    def continues(block: Sequence[Line], line: Line) -> bool:
        last = block[-1]
        return (
            0 < line.baseline - last.baseline < max(1.9 * line.size, 1.3 * style.leading)
            and has_size(line, last.size)
            and _overlaps(line, last)
            and (line.bold, line.main.font.italic) == (last.bold, last.main.font.italic)
        )

    blocks = _group_near(page, 6, continues)
    for block in blocks:  # the first line of a paragraph is full
        right = max(line.right for line in block)
        while len(block) > 2 and block[0].right < right - 4 * block[0].size:
            del block[0]
    return [block for block in blocks if _has_sentences(block, style)]


def _has_sentences(block: Sequence[Line], style: Style) -> bool:
    if len(block) < 3 or block[0].size > 1.3 * style.size:
        return False
    words = [word.text for line in block for word in line.words if word.text[0].isalpha()]
    small = sum(not word[0].isupper() for word in words)
    if len(words) < 20 or small < 0.5 * len(words):
        return False
    text = " ".join(line.text for line in block)
    return len(words) > 40 or re.search(r"[a-zß-ÿ)\]”][.!?] [^\W\da-z_]", text) is not None


# --- Title ----------------------------------------------------------------------------------------


def _find_title(
    blocks: Sequence[Sequence[Line]], style: Style, stated: str, read_names: _NamesReader
) -> Sequence[Line]:
    """Return the lines of the title; ``stated`` is the title in the file's properties."""
    scores = []
    by_size = sorted(range(len(blocks)), key=lambda at: -blocks[at][0].size)
    for at in by_size[:_MOST_BLOCKS]:
        block = blocks[at]
        text = " ".join(line.text for line in block)
        if block[0].size < 0.85 * style.size or not 3 < sum(map(str.isalpha, text)) < 600:
            continue
        if printed := _printed_title(block, stated):
            scores.append((9 + block[0].size / style.size, -at, printed))
            continue
        plain = re.sub(r"(?<=\b\w) (?=\w\b)", "", text)
        if _LABEL.fullmatch(plain.strip(" .:|")):
            continue
        score = min(block[0].size / style.size, _LARGEST) + 0.2 * block[0].bold
        after = blocks[at + 1 : at + 3]
        named = [
            each[0].size < min(1.03 * block[0].size, 1.6 * style.size) and read_names(each)
            for each in after
        ]
        if any(named[:1]):
            score += 1.5
        elif any(named):  # behind a subtitle
            near = after[0][0].baseline - block[-1].baseline < 2.4 * after[0][0].size
            score += 1.5 if near else 0.6
        words = len(text.split())
        is_name = not any(named[:1]) and bool(read_names(block))
        if words < 10 and len(text) < 120 and is_name:
            score -= 3
        elif words < 8 and not any(named[:1]) and _JOURNAL.search(text):
            score -= 0.8
        if words < 2:
            score -= 2
        scores.append((score, -at, block))
    return max(scores, key=lambda each: each[:2])[2] if scores else ()


def _printed_title(block: Sequence[Line], stated: str) -> Sequence[Line]:
    """Return the lines of a block that print the stated title, and the rest of its block."""
    wanted = _letters(stated)
    if len(wanted) < 10 or " " not in stated.strip():
        return ()
    texts = [_letters(line.text) for line in block]
    whole = "".join(texts)
    if len(whole) < 0.85 * len(wanted):
        return ()
    if whole in wanted or (whole.startswith(wanted) and len(whole) < 2 * len(wanted)):
        return block
    for begin in range(len(block)):
        for end in range(begin + 1, len(block) + 1):
            part = "".join(texts[begin:end])
            if len(part) > 1.2 * len(wanted):
                break
            if len(part) > 0.85 * len(wanted) and (
                part == wanted or SequenceMatcher(None, part, wanted, autojunk=False).ratio() > 0.88
            ):
                return block[begin:end]
    return ()


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", fold(text)).casefold()


# --- Authors --------------------------------------------------------------------------------------


def _find_authors(
    places: Sequence[Sequence[Line]], stated: str, read_names: _NamesReader
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the authors in the first place that has any, and notes about them.

    If lines differ in font, prefer those with a name in the properties, or else the largest print.
    """
    known = set(map(_name_key, _stated_names(stated)))
    for lines in places:
        looks: list[list[Line]] = []
        for line in lines:
            look = next((each for each in looks if _looks_like(line, each[0])), None)
            if look is None:
                looks.append([line])
            else:
                look.append(line)
        looks.sort(key=lambda look: -look[0].size)
        if named := list(filter(None, map(read_names, looks))):
            confirmed = (names for names in named if known.intersection(map(_name_key, names)))
            return _reconcile(next(confirmed, named[0]), stated)
    return _reconcile((), stated)


def _read_names(
    lines: Sequence[Line], *, words: Collection[str], leading: float, on_cover: bool = False
) -> tuple[str, ...]:
    """Return the authors named in lines of one font; skip lines with other text.

    ``words`` are words of the paper in small letters. A cover sheet may have a single author as
    ``Author, Ann``.
    """
    texts = [_names_text(line) for line in lines]
    if inverted := _inverted_names(" ".join(texts), may_be_one=on_cover):
        return inverted
    listed = any(_BETWEEN_NAMES.search(text.strip(" ,")) for text in texts)
    whole, last = "", None
    for line, text in zip(lines, texts, strict=True):
        parts = _split_names(text)
        authors = [_author(part, words) for part in parts]
        foreign = next(
            (n for n, p in enumerate(parts) if not authors[n] and _NOT_A_NAME.search(p)), len(parts)
        )
        joined = False
        if last is not None:
            step, most = line.baseline - last.baseline, max(1.9 * line.size, 1.3 * leading)
            joined = listed and _SAME_ROW * line.size < step < most
        between = " " if joined else " ; "
        if foreign < len(parts):  # as in "Ann Author, University of Northtown"
            if foreign and all(authors[:foreign]):
                whole += between + ", ".join(parts[:foreign])
            last = None
        elif (any(authors) or last is not None) and all(
            author or (n in (0, len(parts) - 1) and _PERSON.fullmatch(f"{part} X"))  # half a name
            for n, (part, author) in enumerate(zip(parts, authors, strict=True))
        ):
            whole, last = whole + between + text, line
        else:
            last = None
    parts = [part for part in _split_names(whole) if _author(part, words)]
    if _are_family_first(parts):
        return tuple(name_from_parts(*part.rsplit(None, 1)) for part in parts)
    names = [_author(part, words) for part in parts]
    if any(name.isupper() and len(name) > 8 for name in names) and all(map(str.isupper, names)):
        names = [name.title() for name in names]
    return unique(names)


def _are_family_first(parts: Sequence[str]) -> bool:
    """Return True for names such as ``Author AB, Writer C``, but not ``Ann AUTHOR, Bob LI``."""
    last = [part.rpartition(" ")[2] for part in parts]
    return (
        len(parts) > 1
        and all(each.isupper() and each.isalpha() and len(each) < 4 for each in last)
        and not any(part.isupper() for part in parts)
        and any(len(each) == 1 or not re.search("[AEIOUY]", each) for each in last)
    )


def _names_text(line: Line) -> str:
    """Return a line of authors with commas in place of marks, without titles and remarks."""
    words = []
    for each in line.words:
        word, end = each, len(each.text)
        if word.raised:
            base = word.text[: end - word.raised - word.tail]
            word = word._replace(text=f"{base},{word.text[end - word.tail :]}", raised=0, tail=0)
        elif word.size < 0.85 * line.size and word.baseline < line.baseline - 0.1 * line.size:
            word = word._replace(text=",", size=line.size)
        words.append(word)
    (content,) = place_texts([[Line(line.page, tuple(words), line.column)]])
    text = fold(content.text)
    if _DATED.search(text):
        return ""
    if (groups := _GROUPS.fullmatch(text.strip(" ,*∗"))) is not None:
        names = filter(None, _BETWEEN_NAMES.split(groups[1]))
        text = ", ".join(f"{name} {groups[2]}" for name in names)
    return _MARKS.sub(",", text)


def _inverted_names(text: str, *, may_be_one: bool = False) -> tuple[str, ...]:
    """Return the names in ``Author, Ann; Writer, Bob``, or () if a text has another form."""
    parts = [part.strip(" ,").split(",") for part in text.split(";") if part.strip(" ,")]
    if any(len(part) != 2 or not _author(f"{part[1].strip()} {part[0]}") for part in parts):
        return ()
    if all(" " in part[0].strip() and _DEGREE.fullmatch(part[1].strip()) for part in parts):
        return ()
    if len(parts) == 1 and not (may_be_one and min(len(part.split()) for part in parts[0]) == 1):
        return ()
    return tuple(name_from_parts(*part) for part in parts)


def _split_names(text: str) -> list[str]:
    parts = (_BEFORE_NAME.sub("", part.strip()) for part in _BETWEEN_NAMES.split(text))
    return [part for each in parts if (part := each.strip(" .-’'")) and not _DEGREE.fullmatch(part)]


def _author(part: str, common: Collection[str] = ()) -> str:
    """Return the person or group that a part of a list of authors names, or ""."""
    if (group := _GROUP.fullmatch(part)) is not None:
        return group[1] or group[2]
    part = _SUFFIX.sub("", _FULL_STOP.sub("", part))
    words = part.split()
    is_person = (
        1 < len(words) < 8
        and words[0] not in NOT_NAMES
        and _NOT_A_NAME.search(part) is None
        and not all(word.lower() in common for word in words)
        and _PERSON.fullmatch(_RARE_PARTICLE.sub("de ", _PREFIX.sub("", part))) is not None
    )
    return name_from_display(part) if is_person else ""


def _reconcile(
    printed: tuple[str, ...], properties: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the authors, and a note if the page and the file's properties disagree.

    Properties may name a program, an uploader or one of several authors.
    """
    stated = _stated_names(properties)
    remaining = iter(map(_name_key, printed))
    if all(_name_key(name) in remaining for name in stated):
        return printed, ()
    return printed, (
        f"authors come from the page: {_shown(printed)}; the file's "
        f"properties name {_shown(stated)}",
    )


def _stated_names(properties: str) -> tuple[str, ...]:
    """Return the names in the author property of a file."""
    plain = _MARKS.sub(",", fold(properties))
    return _inverted_names(plain, may_be_one=True) or tuple(
        author for part in _split_names(plain) if (author := _author(part))
    )


def _name_key(name: str) -> tuple[str, str]:
    """Return family name and first initial, which identify a person within a paper."""
    family, _, given = name.casefold().partition(", ")
    return family, given[:1]


def _shown(names: Sequence[str]) -> str:
    more = f" and {count(len(names) - _LISTED, 'other')}" if len(names) > _LISTED else ""
    return ", ".join(map(display_name, names[:_LISTED])) + more or "none"


# --- Abstract -------------------------------------------------------------------------------------


def find_abstract(
    lines: Sequence[Line], kinds: Sequence[Kind], style: Style
) -> tuple[Line | None, list[Line]]:
    """Return the heading and the lines of the abstract, given the lines after the front matter.

    Without a heading "Abstract", it is the first text that looks different from the prose.
    """
    first = lines[0].page if lines else 0
    near = [at for at, line in enumerate(lines) if line.page < first + 3]
    heads = (at for at in near if _heads_abstract(lines[at]))
    labels = (  # such as "Aims" in the first line of the text, or beside it
        at
        for at, (line, after) in enumerate(pairwise(lines[:_MOST_LABELS]))
        if _heads_part(line)
        and (len(line.words) > 3 or abs(after.baseline - line.baseline) < 0.5 * line.size)
    )
    begin = next(chain(heads, labels), None)
    if begin is None:
        page = [
            lines[at]
            for at in near
            if lines[at].page == first and kinds[at] not in (Kind.CAPTION, Kind.RUNNING)
        ]
        block = next(iter(_text_blocks(page, style)), [])
        inside = set(map(id, block))
        over = takewhile(lambda at: id(lines[at]) not in inside, near)
        is_first = not any(kinds[at] is Kind.HEADING for at in over)
        is_abstract = is_first and not (
            not block or _is_like_prose(block, style) or _BEHIND.match(block[0].text)
        )
        return None, block if is_abstract else []
    head = lines[begin]
    alone = _ABSTRACT.fullmatch(plain_heading(head.text)) is not None or len(head.words) < 3
    looks = {
        _heading_look(line)
        for line, kind in zip(lines, kinds, strict=True)
        if kind is Kind.HEADING and line.page > head.page
    }
    abstract: list[Line] = []
    for line, kind in zip(lines[begin + alone :], kinds[begin + alone :], strict=True):
        left = min(each.left for each in abstract[:3] or [head])
        right = max(each.right for each in abstract[:3] or [head])
        if kind is Kind.RUNNING or (
            (line.left > right or line.right < left)
            and line.page == head.page
            and not (not abstract and abs(line.baseline - head.baseline) < 0.5 * head.size)
            and not (abstract and line.left > right and line.baseline < abstract[-1].baseline)
        ):
            continue  # a box beside the abstract
        plain = plain_heading(line.text)
        is_part = (
            _PART_OF_ABSTRACT.fullmatch(plain)
            and _heading_look(line) not in looks
            and (not abstract or _PART_OF_ABSTRACT.match(abstract[0].text))
            and not (abstract and _INTRODUCTION.fullmatch(plain))
        )
        below = abstract and (line.page, line.column) == (abstract[-1].page, abstract[-1].column)
        step = line.baseline - abstract[-1].baseline if below else 0.0
        if (
            line.page > head.page + 1
            or (len(abstract) > 2 and step > 3.2 * line.size and kind is Kind.PROSE)
            or kind is Kind.CAPTION
            or _BEHIND.match(line.text)
            or (abstract and (_heads_abstract(line) or (kind is Kind.HEADING and not is_part)))
        ):
            break
        if abstract and not has_size(line, abstract[-1].size) and kind is not Kind.HEADING:
            if kind is Kind.PROSE:
                break
            continue
        abstract.append(line)
    if _SUMMARY.match(head.text) and any(_CITATION.search(line.text) for line in abstract):
        return None, []  # the first section
    return (head if alone else None), abstract


def _heading_look(line: Line) -> tuple[float, str]:
    return round(line.size, 1), line.main.font.name


def _is_like_prose(block: Sequence[Line], style: Style) -> bool:
    """Return True if a block has the font and the line distance of prose, and its width."""
    first = block[1]
    if first.column < 0 and any(column > 0 for _, column in style.columns):
        return False
    left, right = style.columns.get((-1, first.column)) or style.edges(first)
    indented = first.left - left > style.size and right - first.right > style.size
    return (
        has_size(first, style.size)
        and first.main.font.name == style.font
        and abs(block[2].baseline - first.baseline - style.leading) < 0.12 * style.leading
        and not indented
    )


def strip_abstract_heading(text: str) -> str:
    """Return an abstract without the word "Abstract" that begins it."""
    return _ABSTRACT.sub("", text, count=1) if _ABSTRACT.match(text) else text


# --- DOI and year ---------------------------------------------------------------------------------


def _find_doi(lines: Sequence[Line], last: Sequence[Line], properties: Properties) -> str | None:
    """Return the DOI of a paper: the one in its properties, or the first on its first page.

    Older papers print it on their last page, in a line such as "Cite this article as: …".
    """
    at = next((n for n, line in enumerate(last) if _CITE_THIS.match(line.text)), len(last))
    texts = [line.text for line in (*lines, *last[at : at + 6])]
    pairs = pairwise([*texts, ""])
    found = (doi_in(join_lines("\n".join(pair))) for pair in pairs if "10." in pair[0])
    dois = list(filter(None, found))
    first = next(iter(dois), None)
    whole = next((doi for doi in dois if first and doi.startswith(f"{first}.")), first)
    return properties.doi or whole


def _find_year(lines: Iterable[Line]) -> int | None:
    """Return the first year in the most reliable form, or the latest of several dates."""
    text = "\n".join(line.text for line in lines if "ownload" not in line.text)
    for pattern in _YEARS:
        if years := pattern.findall(text):
            return int(max(years) if pattern is _DATES else years[0])
    return None
