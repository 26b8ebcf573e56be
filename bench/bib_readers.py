"""What do pybtex and bibtexparser 2 read in real BibTeX files that citebed reads otherwise?

Every difference in keys, titles, authors, years and DOIs over the `.bib` files of
`formats/real-bib.tar.xz` is counted by what it comes from, and each cause has a verdict: ours is
right, theirs is, or one may argue. A difference of no known cause is "unexplained": to be looked
at. Run: python bench/bib_readers.py [FILES …] [--show CAUSE] [--only title]
Needs both (`pip install pybtex "bibtexparser>=2"`).
"""

from __future__ import annotations

import argparse
import html
import logging
import re
import tarfile
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from citebed.collection.formats.base import Chunk, decode, normalise_newlines
from citebed.collection.formats.bibtex import parse
from citebed.records import Document
from common import shared_data

FIELDS = ("key", "title", "author", "year", "doi")
Values = dict[str, Any]


class Entry(NamedTuple):
    """The fields that a reader returns for an entry, normalised to be compared; ``raw`` is the
    input."""

    key: str
    values: Values
    raw: dict[str, str]
    type: str = ""


# --- the three readers ----------------------------------------------------------------------


def by_citebed(text: str) -> list[Entry]:
    found = parse(Chunk(text.encode("utf-8", "replace"), "compared.bib"))
    return [_ours(document) for document in found if isinstance(document, Document)]


def _ours(document: Document) -> Entry:
    values = {"title": document.title, "year": document.year, "doi": document.doi}
    names = [_turned(name) for name in document.authors]
    return Entry(document.doc_id, {**values, "author": names}, {"bibtex": document.bibtex or ""})


def _turned(name: str) -> str:
    """``Family | Given`` of ``Family, Suffix, Given``."""
    family, _, rest = name.partition(", ")
    suffix, _, given = rest.rpartition(", ")
    return f"{family} {suffix}|{given}"


def by_pybtex(text: str) -> list[Entry]:
    from pybtex.bibtex.utils import split_name_list
    from pybtex.database import Person
    from pybtex.database.input.bibtex import LowLevelParser, month_names
    from pybtex.errors import capture
    from pybtex.richtext import Text
    from pybtex.utils import CaseInsensitiveDict

    def plain(raw: str) -> str:
        return str(Text.from_latex(raw))

    def name(raw: str) -> str:
        person = Person(raw)
        family = person.prelast_names + person.last_names + person.lineage_names
        given = person.first_names + person.middle_names
        return f"{plain(' '.join(family))}|{plain(' '.join(given))}"

    entries = []
    with capture():
        macros = CaseInsensitiveDict(month_names)
        parser = LowLevelParser(text, handle_error=lambda _: None, macros=macros)
        for kind, (key, *rest) in parser:
            if kind.lower() in ("string", "preamble"):
                continue
            (parts,) = rest
            raw: dict[str, str] = {}
            for field, values in parts:
                raw.setdefault(field.lower(), " ".join("".join(values).split()))
            author = raw.get("author", "")
            names = [_tried(name, part, part) for part in split_name_list(author)]
            title = _tried(plain, raw.get("title", ""), "")
            entries.append(_theirs((key or "", kind), raw, title, names))
    return entries


def by_bibtexparser(text: str) -> list[Entry]:
    import bibtexparser
    from bibtexparser import middlewares

    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)
    library = bibtexparser.parse_string(text)
    decoder = middlewares.LatexDecodingMiddleware()
    entries = []
    for block in library.blocks:
        entry = getattr(block, "ignore_error_block", block)
        if not isinstance(entry, bibtexparser.model.Entry):
            continue
        raw = {field.key.lower(): str(field.value) for field in reversed(entry.fields)}
        read = lambda value: decoder._transform_python_value_string(value)[0]  # noqa: E731
        author = raw.get("author", "")
        names = _tried(_bibtexparser_names, author, []) if author else []
        names = ["|".join(_tried(read, part, part) for part in name) for name in names]
        title = _tried(read, raw.get("title", ""), "")
        entries.append(_theirs((entry.key, entry.entry_type), raw, title, names))
    return entries


def _bibtexparser_names(author: str) -> list[tuple[str, str]]:
    from bibtexparser.middlewares.names import (
        parse_single_name_into_parts,
        split_multiple_persons_names,
    )

    parts = [
        parse_single_name_into_parts(n, strict=False) for n in split_multiple_persons_names(author)
    ]
    return [(" ".join(p.von + p.last + p.jr), " ".join(p.first)) for p in parts]


def _tried(function: Callable[[str], Any], given: str, otherwise: Any) -> Any:
    try:
        return function(given)
    except Exception:  # a peer's reader of LaTeX or names may fail on what is neither
        return otherwise


def _theirs(head: tuple[str, str], raw: dict[str, str], title: str, names: list[str]) -> Entry:
    year = re.search(r"\d{4}", raw.get("year", "") or raw.get("date", ""))
    doi = re.sub(
        r"^(https?://)?(dx\.)?doi\.org/|^doi: *", "", raw.get("doi", "").strip(), flags=re.I
    )
    found = {"title": title, "author": [n for n in names if n.strip("|") != "others"]}
    found |= {"year": int(year[0]) if year else None, "doi": doi.replace("\\", "").lower() or None}
    return Entry(" ".join(head[0].split()), found, raw, head[1].lower())


# --- what is different ----------------------------------------------------------------------


def letters(text: str) -> str:
    """Letters and digits alone, accents and all; in the order in which they are read."""
    text = unicodedata.normalize("NFC", text).casefold()
    return "".join(c for c in text if c.isalnum())


def same(field: str, ours: Any, theirs: Any) -> bool:
    if field == "title":
        return letters(ours) == letters(theirs)
    if field == "author":
        ordered = [[tuple(map(letters, n.split("|"))) for n in names] for names in (ours, theirs)]
        return list(dict.fromkeys(ordered[0])) == list(dict.fromkeys(ordered[1]))
    return ours == theirs


class Difference(NamedTuple):
    """A field that is read otherwise; ``theirs`` or ``ours`` of ``None`` has no such entry."""

    file: str
    field: str
    key: str
    ours: Any
    theirs: Any
    raw: dict[str, str]
    type: str = ""


def differences(file: str, ours: list[Entry], theirs: list[Entry]) -> Iterator[Difference]:
    """Entries are paired by key, the first of a key with the first."""
    mine: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in ours:
        mine[entry.key].append(entry)
    for entry in theirs:
        if not mine[entry.key]:
            yield Difference(file, "key", entry.key, None, entry.key, entry.raw, entry.type)
            continue
        own = mine[entry.key].pop(0)
        for field in FIELDS[1:]:
            values = own.values[field], entry.values[field]
            if not same(field, *values):
                yield Difference(file, field, entry.key, *values, entry.raw)
    for entry in (entry for rest in mine.values() for entry in rest):
        yield Difference(file, "key", entry.key, entry.key, None, entry.raw)


# --- what it comes from ---------------------------------------------------------------------

OURS, THEIRS, EITHER = "ours right", "theirs right", "arguable"


def text_of(value: Any) -> str:
    return " and ".join(value) if isinstance(value, list) else str(value or "")


def bare(value: Any) -> str:
    """Letters without their accents."""
    parts = unicodedata.normalize("NFKD", text_of(value).casefold())
    return "".join(c for c in parts if c.isalnum()).replace("ı", "i")


def raw_of(d: Difference) -> str:
    return d.raw.get(d.field, "")


def keyless(entry: str) -> bool:
    return re.match(r"@\w+\s*[{(]\s*(,|\w+\s*=)", entry) is not None


def left_by_us(value: Any) -> bool:
    return re.search(r"\\[A-Za-z]|ifmmode|vphantom|elsefi", text_of(value)) is not None


CAUSES: tuple[tuple[str, str, str, Callable[[Difference], bool]], ...] = (
    # entries
    ("key", "no document (xdata, set, settings)", OURS,
     lambda d: d.type in ("xdata", "set", "control", "ieeetranbstctl")),
    ("key", "an entry without a key, which gets one from us", OURS,
     lambda d: d.theirs == "" or keyless(d.raw.get("bibtex", ""))),
    ("key", "no entry: no fields, or commented out", OURS,
     lambda d: d.ours is None and not any(name[0].isalpha() for name in d.raw)),
    ("key", "an entry that only we read", OURS, lambda d: d.theirs is None),
    ("key", "an entry that only they read", THEIRS, lambda d: d.ours is None),
    # both of us have the entry
    ("", "only they have it", THEIRS, lambda d: not d.ours and d.field in ("title", "author")),
    ("", "our text has a command's name left", THEIRS, lambda d: left_by_us(d.ours)),
    ("", "lent by xdata, crossref or a join of strings", OURS,
     lambda d: "xdata" in str(d.raw).lower() or '" #' in raw_of(d) or "# " in raw_of(d)),
    ("", "a string that is not defined", EITHER, lambda d: raw_of(d).startswith(",")),
    ("", "the entry closes early for them (a brace too many)", OURS,
     lambda d: not d.theirs and not raw_of(d) and d.field != "doi"),
    ("title", "with its subtitle", OURS,
     lambda d: "subtitle" in d.raw and bare(d.ours).startswith(bare(d.theirs))),
    ("title", "they leave LaTeX in the text", OURS, lambda d: bool(re.search(r"[\\$]", d.theirs))),
    ("title", "they leave HTML in the text", OURS, lambda d: html.unescape(d.theirs) != d.theirs),
    ("title", "a word they drop (a command, or what it is around)", OURS,
     lambda d: len(bare(d.theirs)) < len(bare(d.ours))),
    ("author", "names by parts (family=…, given=…)", OURS, lambda d: "given=" in raw_of(d)),
    ("author", "they leave LaTeX in the name", OURS, lambda d: "\\" in text_of(d.theirs)),
    ("author", "a list of people in braces", EITHER,
     lambda d: " and " in " ".join(raw_of(d).split()).lower() and raw_of(d).startswith("{")),
    ("author", "a group's name in braces that we take apart", THEIRS,
     lambda d: raw_of(d).startswith("{") and raw_of(d).count(",") > 1 and len(d.ours) == 1),
    ("author", "braces kept around the field of a key that comes twice", OURS,
     lambda d: raw_of(d).startswith("{") and d.theirs[0].endswith("|")),
    ("author", "`and` twice, `et al.`, or a comma before `and`", OURS,
     lambda d: bool(re.search(r"\band\s+and\b|,\s+and\b|and\s*,|\bet al", raw_of(d), re.I))),
    ("author", "they read both halves of ifmmode", OURS, lambda d: "ifmmode" in raw_of(d)),
    ("author", "they lose an accent (\\v{S}najder)", OURS,
     lambda d: "\\" in raw_of(d) and bare(d.ours) == bare(d.theirs)
     and letters(text_of(d.theirs)) < letters(text_of(d.ours))),
    ("author", "they part a name behind a command (Hau\\ss ner)", OURS,
     lambda d: "\\" in raw_of(d)
     and text_of(d.theirs).count(" ") > text_of(d.ours).replace(" |", "|").count(" ")),
    ("author", "they do not know a command, or drop its argument", OURS,
     lambda d: bool(re.search(r"\\(mbox|law|accent|relax)", raw_of(d)))),
    ("author", "a misspelt command (\\~.{n})", EITHER, lambda d: "\\~." in raw_of(d)),
    ("author", "a first initial in a small letter (m. Zubair)", EITHER,
     lambda d: bool(re.search(r"(^|and\s+)[a-z]\.\s", raw_of(d)))),
    ("author", "quotes or the next field in the name", OURS, lambda d: '"' in text_of(d.theirs)),
    ("year", "a year before Christ, or the year 0", EITHER,
     lambda d: d.ours is None and "-0" in d.raw.get("date", "") + "-" + d.raw.get("date", "")),
    ("doi", "found in the address or the key", OURS, lambda d: d.theirs is None),
    ("doi", "an address, a resolver, braces or quotes around it", OURS,
     lambda d: d.ours is not None and d.ours in re.sub(r"[{}\\\s]", "", d.theirs)),
    ("doi", "what they report as a DOI is not one", OURS,
     lambda d: d.ours is None and not re.search(r"(?<!\d)10\.\d{4,9}/\S", d.theirs)),
    ("doi", "only they have it", THEIRS, lambda d: d.ours is None),
    ("year", "only they have it", THEIRS, lambda d: d.ours is None),
    ("author", "a name that we part or join wrongly", THEIRS, lambda d: "{" in raw_of(d)),
    ("author", "a name that we part or join wrongly", THEIRS,
     lambda d: bool(re.search(r"\\[a-z]+ |[a-z]\. |=", raw_of(d)))),
)  # fmt: skip
"""Field (any, for none), cause, verdict and test; the first that holds explains a difference."""


def explained(d: Difference) -> tuple[str, str]:
    for field, cause, verdict, holds in CAUSES:
        if field in ("", d.field) and (d.field != "key" or field == "key") and holds(d):
            return cause, verdict
    return "unexplained", "unexplained"


# --- the table ------------------------------------------------------------------------------

READERS = {"pybtex": by_pybtex, "bibtexparser": by_bibtexparser}


def texts(paths: list[Path]) -> Iterator[tuple[str, str]]:
    """The files to compare, decoded as citebed does: encodings are not at issue."""
    for path in paths:
        yield path.name, normalise_newlines(decode(path.read_bytes())[0])
    if not paths:
        with tarfile.open(shared_data("formats") / "real-bib.tar.xz") as archive:
            for member in sorted(archive.getmembers(), key=lambda member: member.name):
                if (file := archive.extractfile(member) if member.isfile() else None) is not None:
                    yield member.name, normalise_newlines(decode(file.read())[0])


def compare(paths: list[Path], show: str | None) -> tuple[Counter[tuple[str, ...]], Counter[str]]:
    """How often there is each (field, verdict, cause, reader), and how many entries each reads."""
    found: Counter[tuple[str, ...]] = Counter()
    entries: Counter[str] = Counter()
    for file, text in texts(paths):
        ours = by_citebed(text)
        entries["citebed"] += len(ours)
        for name, reader in READERS.items():
            theirs = reader(text)
            entries[name] += len(theirs)
            for d in differences(file, ours, theirs):
                cause, verdict = explained(d)
                found[d.field, verdict, cause, name] += 1
                if show and show in (cause, verdict):
                    print(f"{name} {file} {d.key}\n  ours   {d.ours}\n  theirs {d.theirs}")
                    print(f"  raw    {raw_of(d)[:200]!r}")
    return found, entries


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("files", nargs="*", type=Path)
    options.add_argument(
        "--show", metavar="CAUSE", help="print the differences of a cause or verdict"
    )
    arguments = options.parse_args()
    found, entries = compare(arguments.files, arguments.show)
    print("entries: " + ", ".join(f"{name} {number:,}" for name, number in entries.items()))
    print(f"{'':8}{'':14}{'':58}" + "".join(f"{name:>14}" for name in READERS))
    order = {field: number for number, field in enumerate(FIELDS)}
    kinds = {row[:3] for row in found}
    for field, verdict, cause in sorted(kinds, key=lambda row: (order[row[0]], *row[1:])):
        numbers = "".join(f"{found[field, verdict, cause, name]:14,}" for name in READERS)
        print(f"{field:8}{verdict:14}{cause:58}{numbers}")
    for verdict in (OURS, EITHER, THEIRS, "unexplained"):
        sums = (
            sum(n for row, n in found.items() if row[1] == verdict and row[3] == name)
            for name in READERS
        )
        print(f"{'all':8}{verdict:14}{'':58}" + "".join(f"{number:14,}" for number in sums))


if __name__ == "__main__":
    main()
