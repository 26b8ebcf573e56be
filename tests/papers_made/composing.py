"""A made-up paper: its references, its sections, what every sentence says and cites."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.papers_made.wording import FAMILIES, GIVEN, Field, sentence, title


@dataclass(frozen=True)
class Reference:
    """An entry of a bibliography."""

    key: str
    authors: tuple[tuple[str, str], ...]
    """Family and given names."""
    title: str
    year: int
    kind: str
    venue: str
    details: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Citation:
    """A place that cites, in brackets or as part of its sentence."""

    keys: tuple[str, ...]
    textual: bool
    locator: str = ""


@dataclass(frozen=True)
class Said:
    """A sentence: its pieces, with a citation between each two of them."""

    pieces: tuple[str, ...]
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True)
class Block:
    """A paragraph, an item of a list, or text between paragraphs."""

    kind: str
    sentences: tuple[Said, ...] = ()
    note: str = ""


@dataclass
class Paper:
    """A generated paper."""

    field: Field
    title: str
    authors: tuple[tuple[str, str], ...]
    year: int
    abstract: tuple[Said, ...]
    references: tuple[Reference, ...]
    sections: list[tuple[str, list[Block]]] = field(default_factory=list)


def compose(
    words: Field, seed: int, entries: int = 26, paragraphs: int = 4, authors: int = 0
) -> Paper:
    """A paper in the words of a field, the same for the same seed; by default of 1-3 authors."""
    draw = random.Random(seed)
    references = _references(words, draw, entries)
    waiting = [reference.key for reference in references]
    draw.shuffle(waiting)
    paper = Paper(
        words,
        title(words, draw),
        tuple(_people(draw, draw.choice((1, 2, 3)))),
        draw.randint(2012, 2024),
        tuple(_plain(words, draw) for _ in range(4)),
        references,
    )
    for number, heading in enumerate(words.headings):
        blocks = [_paragraph(words, draw, waiting, references) for _ in range(paragraphs)]
        if number == 0:
            blocks[1:1] = [_item(words, draw, waiting, references) for _ in range(3)]
        blocks.insert(draw.randint(1, paragraphs), Block(("figure", "table")[number % 2]))
        if number in (2, 3):
            blocks.append(_around_formula(words, draw, waiting, references))
        paper.sections.append((heading, blocks))
    if authors:
        paper.authors = tuple(_people(draw, authors))
    return paper


def _people(draw: random.Random, count: int) -> list[tuple[str, str]]:
    return [(family, draw.choice(GIVEN)) for family in draw.sample(FAMILIES, count)]


def _references(words: Field, draw: random.Random, count: int) -> tuple[Reference, ...]:
    made: list[Reference] = []
    titles: set[str] = set()
    while len(made) < count:
        said = title(words, draw)
        if said in titles:
            continue
        titles.add(said)
        twin = made[-1] if made and len(made) % 7 == 3 else None
        people = twin.authors if twin else tuple(_people(draw, draw.choice((1, 1, 2, 2, 3, 4, 6))))
        year = twin.year if twin else draw.randint(1985, 2022)
        kind = draw.choice(("article", "article", "article", "inproceedings", "book", "misc"))
        venue = draw.choice(words.journals)
        made.append(
            Reference(f"r{len(made)}", people, said, year, kind, venue, _details(kind, draw))
        )
    return tuple(made)


def _details(kind: str, draw: random.Random) -> tuple[tuple[str, str], ...]:
    first = draw.randint(1, 900)
    pages = ("pages", f"{first}--{first + draw.randint(3, 30)}")
    number = draw.randint(10000, 99999)
    if kind == "article":
        found = [("volume", str(draw.randint(2, 90))), ("number", str(draw.randint(1, 12))), pages]
        return (*found, ("doi", f"10.5555/made.{number}.{first}")) if number % 2 else tuple(found)
    if kind == "inproceedings":
        return (pages, ("address", draw.choice(("Oslo", "Porto", "Graz"))))
    if kind == "book":
        return (("publisher", "Elmwood Press"), ("address", draw.choice(("Leiden", "Bergen"))))
    address = f"https://www.example.org/archive/records-of-the-survey/{number}/volume-{first}.html"
    return (("url", address), ("howpublished", "Technical report"))


def _plain(words: Field, draw: random.Random) -> Said:
    return Said((sentence(words, draw.choice(words.plain), draw),))


def _citing(
    words: Field, draw: random.Random, waiting: list[str], references: tuple[Reference, ...]
) -> Said:
    text = sentence(words, draw.choice(words.citing), draw)
    pieces, citations = [""], []
    for part in text.replace("{P}", "\0P\0").replace("{T}", "\0T\0").split("\0"):
        if part in ("P", "T"):
            count = 1 if part == "T" else draw.choice((1, 1, 1, 2, 3, 5))
            keys = tuple(dict.fromkeys(_take(draw, waiting, references) for _ in range(count)))
            located = part == "P" and len(keys) == 1 and draw.random() < 0.12
            citations.append(
                Citation(keys, part == "T", f"p.~{draw.randint(2, 90)}" if located else "")
            )
            pieces.append("")
        else:
            pieces[-1] += part
    return Said(tuple(pieces), tuple(citations))


def _take(draw: random.Random, waiting: list[str], references: tuple[Reference, ...]) -> str:
    return waiting.pop() if waiting else draw.choice(references).key


def _sentences(
    words: Field,
    draw: random.Random,
    waiting: list[str],
    references: tuple[Reference, ...],
    count: int,
) -> tuple[Said, ...]:
    return tuple(
        _citing(words, draw, waiting, references) if draw.random() < 0.5 else _plain(words, draw)
        for _ in range(count)
    )


def _paragraph(
    words: Field, draw: random.Random, waiting: list[str], references: tuple[Reference, ...]
) -> Block:
    note = ""
    if draw.random() < 0.15:
        note = sentence(words, draw.choice(words.plain), draw)
    said = _sentences(words, draw, waiting, references, draw.randint(3, 7))
    return Block("paragraph", said, note)


def _item(
    words: Field, draw: random.Random, waiting: list[str], references: tuple[Reference, ...]
) -> Block:
    return Block("item", _sentences(words, draw, waiting, references, 2))


def _around_formula(
    words: Field, draw: random.Random, waiting: list[str], references: tuple[Reference, ...]
) -> Block:
    return Block("formula", _sentences(words, draw, waiting, references, 4))
