"""References of documents as styles of many fields print them, with the slips of a reader of PDFs.

The parser of references is tested on them, and what a match is worth is fitted to them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Work:
    """The fields that a style prints; authors as ``Family, Given``."""

    title: str
    authors: tuple[str, ...]
    year: int
    venue: str = "Journal of Made Up Things"
    volume: int = 12
    pages: tuple[int, int] = (135, 144)
    doi: str | None = None
    in_proceedings: bool = False


# --- Names ------------------------------------------------------------------------------------


def _parts(name: str) -> tuple[str, str]:
    family, _, given = name.partition(", ")
    return family, given


def _initials(given: str, point: str = ".", between: str = " ") -> str:
    words = [word for word in re.split(r"[\s.]+", given) if word]
    return between.join("-".join(p[0] + point for p in word.split("-") if p) for word in words)


def display(name: str) -> str:
    family, given = _parts(name)
    return f"{given} {family}".strip()


def before(name: str) -> str:
    family, given = _parts(name)
    return f"{_initials(given)} {family}".strip()


def behind(name: str, comma: str = ", ", point: str = ".", between: str = " ") -> str:
    family, given = _parts(name)
    return family + (comma + _initials(given, point, between) if given else "")


def _listed(names: Sequence[str], last: str = ", and ", two: str = " and ") -> str:
    if len(names) < 2:
        return "".join(names)
    return ", ".join(names[:-1]) + (two if len(names) == 2 else last) + names[-1]


def _shortened(names: Sequence[str], most: int) -> tuple[list[str], bool]:
    return (list(names), False) if len(names) <= most else ([names[0]], True)


def _ended(title: str) -> str:
    return title if title[-1:] in "?!." else title + "."


def _pages(work: Work) -> str:
    return f"{work.pages[0]}–{work.pages[1]}"


def _doi(work: Work, before: str = " https://doi.org/", after: str = "") -> str:
    return f"{before}{work.doi}{after}" if work.doi else ""


# --- Styles -----------------------------------------------------------------------------------


def acm(work: Work) -> str:
    names = _listed([display(name) for name in work.authors])
    journal = f"{work.venue} {work.volume}, 3 ({work.year}),"
    place = f"In {work.venue}." if work.in_proceedings else journal
    return f"{names}. {work.year}. {_ended(work.title)} {place} {_pages(work)}.{_doi(work)}"


def acm_initials(work: Work) -> str:
    names = _listed([before(name) for name in work.authors])
    place = f"In Proc. of {work.venue}" if work.in_proceedings else f"{work.venue} {work.volume}"
    return f"{names}. {work.year}. {_ended(work.title)} {place}. {_pages(work)}."


def ieee(work: Work) -> str:
    names, others = _shortened([before(name) for name in work.authors], 6)
    listed = names[0] + " et al." if others else _listed(names)
    mark = "" if work.title[-1:] in "?!" else ","
    tail = f"pp. {_pages(work)}, {work.year}." + _doi(work, " doi: ", ".")
    journal = f"{work.venue}, vol. {work.volume}, no. 3"
    place = f"in {work.venue}" if work.in_proceedings else journal
    return f"{listed}, “{work.title}{mark}” {place}, {tail}"


def lncs(work: Work) -> str:
    names, others = _shortened([behind(name, between="") for name in work.authors], 9)
    listed = ", ".join(names) + (", et al." if others else "")
    journal = f"{work.venue} {work.volume}(3), "
    place = f"In: {work.venue}, pp. " if work.in_proceedings else journal
    end = f"{_pages(work)} ({work.year}).{_doi(work)}"
    return f"{listed}: {_ended(work.title)} {place}{end}"


def apa(work: Work) -> str:
    names = [behind(name) for name in work.authors]
    listed = _listed(names, ", & ", ", & ")
    if len(names) > 20:
        listed = ", ".join(names[:19]) + f", … {names[-1]}"
    journal = f"{work.venue}, {work.volume}(3), {_pages(work)}."
    place = f"In {work.venue} (pp. {_pages(work)})." if work.in_proceedings else journal
    return f"{listed} ({work.year}). {_ended(work.title)} {place}{_doi(work)}"


def vancouver(work: Work) -> str:
    names = [behind(name, " ", "", "") for name in work.authors]
    listed = ", ".join(names) if len(names) <= 6 else ", ".join(names[:6]) + ", et al"
    place = f"{work.venue}. {work.year};{work.volume}:{_pages(work)}."
    return f"{listed}. {_ended(work.title)} {place}{_doi(work, ' doi: ', '.')}"


def nature(work: Work) -> str:
    names, others = _shortened([behind(name) for name in work.authors], 5)
    listed = f"{names[0]} et al." if others else _listed(names, " & ", " & ")
    return (
        f"{listed} {_ended(work.title)} {work.venue} {work.volume}, {_pages(work)} ({work.year})."
    )


def plain(work: Work) -> str:
    names = _listed([display(name) for name in work.authors])
    journal = f"{work.venue}, {work.volume}(3):{_pages(work)}"
    place = f"In {work.venue}, pages {_pages(work)}" if work.in_proceedings else journal
    return f"{names}. {_ended(work.title)} {place}, {work.year}.{_doi(work, ' doi: ', '.')}"


def abbrv(work: Work) -> str:
    names = _listed([before(name) for name in work.authors])
    place = f"In {work.venue}" if work.in_proceedings else f"{work.venue}, {work.volume}"
    return f"{names}. {_ended(work.title)} {place}, pages {_pages(work)}, {work.year}."


def plainnat(work: Work) -> str:
    names = _listed([display(name) for name in work.authors])
    place = f"{work.venue}, {work.volume}:{_pages(work)}."
    return f"{names} ({work.year}). {_ended(work.title)} {place}"


def chicago(work: Work) -> str:
    names = [work.authors[0], *(display(name) for name in work.authors[1:])]
    listed = _listed(names, ", and ", ", and ").rstrip(".")
    mark = "" if work.title[-1:] in "?!" else "."
    place = f"{work.venue} {work.volume} (3): {_pages(work)}."
    return f"{listed}. {work.year}. “{work.title}{mark}” {place}"


def mla(work: Work) -> str:
    first = work.authors[0].rstrip(".")
    if len(work.authors) > 2:
        listed = f"{first}, et al."
    else:
        both = [first, *(display(name) for name in work.authors[1:])]
        listed = _listed(both, "", ", and ").rstrip(".") + "."
    mark = "" if work.title[-1:] in "?!" else "."
    place = f"{work.venue}, vol. {work.volume}, no. 3, {work.year}, pp. {_pages(work)}."
    return f"{listed} “{work.title}{mark}” {place}"


def elsevier(work: Work) -> str:
    names = ", ".join(before(name) for name in work.authors)
    place = f"{work.venue} {work.volume} ({work.year}) {_pages(work)}."
    return f"{names}, {work.title}, {place}{_doi(work, ' doi:', '.')}"


def ams(work: Work) -> str:
    names = _listed([display(name) for name in work.authors])
    place = f"{work.venue} {work.volume} ({work.year}), no. 3, {_pages(work)}."
    return f"{names}, {work.title}, {place}"


def harvard(work: Work) -> str:
    names = ", ".join(behind(name, between="") for name in work.authors)
    place = f"{work.venue} {work.volume}, {_pages(work)}."
    return f"{names}, {work.year}. {_ended(work.title)} {place}{_doi(work)}"


def acs(work: Work) -> str:
    names = "; ".join(behind(name) for name in work.authors)
    return f"{names} {_ended(work.title)} {work.venue} {work.year}, {work.volume}, {_pages(work)}."


def springer(work: Work) -> str:
    names = ", ".join(behind(name, " ", "", "") for name in work.authors)
    place = f"{work.venue} {work.volume}:{_pages(work)}."
    return f"{names} ({work.year}) {_ended(work.title)} {place}{_doi(work)}"


def cell(work: Work) -> str:
    names = _listed([behind(name, between="") for name in work.authors], ", and ", ", and ")
    place = f"{work.venue} {work.volume}, {_pages(work)}."
    return f"{names} ({work.year}). {_ended(work.title)} {place}"


def physics(work: Work) -> str:
    names = _listed([before(name) for name in work.authors])
    return f"{names}, {work.title}, {work.venue} {work.volume}, {work.pages[0]} ({work.year})."


def preprint(work: Work) -> str:
    names = _listed([display(name) for name in work.authors])
    place = f"arXiv preprint arXiv:1801.01234 ({work.year})."
    return f"{names}. {work.year}. {_ended(work.title)} {place}"


Style = Callable[[Work], str]
STYLES: dict[str, Style] = {
    style.__name__: style
    for style in (
        acm, acm_initials, ieee, lncs, apa, vancouver, nature, plain, abbrv, plainnat, chicago,
        mla, elsevier, ams, harvard, acs, springer, cell, physics, preprint,
    )
}  # fmt: skip


# --- Slips ------------------------------------------------------------------------------------


def in_lines(text: str, rng: random.Random, width: int = 80) -> str:
    """The text in lines as a column has them: words broken with hyphens, addresses without."""
    lines, line = [], ""
    for word in text.split(" "):
        room = width - len(line) - 1
        if len(word) <= room:
            line = f"{line} {word}" if line else word
            continue
        head, tail = _broken(word, room, rng)
        lines.append(f"{line} {head}".strip() if head else line)
        line = tail
    return "\n".join([*filter(None, lines), line])


def _broken(word: str, room: int, rng: random.Random) -> tuple[str, str]:
    if "://" in word or word.startswith("10."):
        cuts = [at for at in range(4, min(room, len(word))) if word[at - 1] in "/."]
        return (word[: cuts[-1]], word[cuts[-1] :]) if cuts else ("", word)
    if room > 4 and len(word) > 7 and word.isalpha() and rng.random() < 0.7:
        cut = rng.randint(2, min(room - 1, len(word) - 3))
        return word[:cut] + "-", word[cut:]
    return "", word


_OTHER_LETTER = {"l": "1", "i": "l", "o": "0", "m": "rn", "e": "c", "h": "b", "n": "u", "t": "f"}


def with_slips(text: str, rng: random.Random, share: float) -> str:
    """The text with letters misread, left out or doubled, and blanks lost; one in ``1 / share``."""
    signs = []
    for sign in text:
        if rng.random() >= share or sign in "\n.,:()":
            signs.append(sign)
        elif sign == " ":
            signs.append("" if rng.random() < 0.5 else " ")
        else:
            signs.append(rng.choice((_OTHER_LETTER.get(sign, sign), "", sign + sign)))
    return "".join(signs)


_SUBTITLE = re.compile(r"[:?] ")


def retold(work: Work, rng: random.Random) -> Work:
    """Return a work with the slips of a citing author: another year, no subtitle or a word less (as
    the"""
    title, year = work.title, work.year
    draw = rng.random()
    if draw < 0.06 and len(head := _SUBTITLE.split(title)[0]) > 15:
        title = head
    elif draw < 0.1 and title.count(" ") > 5:
        words = title.split(" ")
        del words[rng.randrange(1, len(words) - 1)]
        title = " ".join(words)
    elif draw < 0.4:
        title = title[:1] + title[1:].lower()
    if rng.random() < 0.12:
        year += rng.choice((-6, -4, -3, -2, -1, -1, -1, 1, 1, 1, 2, 5))
    venue = work.venue if rng.random() < 0.6 else _short(work.venue)
    return replace(work, title=title, year=year, venue=venue)


def _short(venue: str) -> str:
    capitals = [word for word in re.findall(r"[A-Z]{3,}", venue) if word not in ("ACM", "IEEE")]
    return capitals[0] if capitals else " ".join(word[:4] + "." for word in venue.split()[:4])
