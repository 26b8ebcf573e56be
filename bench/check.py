"""Measure `citebed check`: detection and false alarms per kind of reference.

    python bench/check.py hallmark
    python bench/check.py made ACM-CR-COLLECTION [--seed 1] [--count 500]
    python bench/check.py removed ACM-CR-COLLECTION [--seed 1] [--count 500]

``hallmark`` reads HALLMARK's public development set and its supplement (references by a chatbot).
Its collection holds the valid entries, and the works whose true title an explanation quotes. An
entry can be judged if the collection holds the work: one with its title, with the title that the
explanation quotes, or with its DOI or arXiv id.

``made`` changes records of five fields in known ways and prints them as .bib entries and in twenty
styles. ``removed`` does the same with works that the collection no longer holds: every verdict
other than "not in this collection" is a false accusation. The fields are computer science
(ACM-CR), life sciences (eLife), computational linguistics (eight volumes of the ACL Anthology),
CACM, and astroparticle physics (the .bib files of a thesis). Limits were set while looking at
HALLMARK's valid entries and at seeds 0 to 3; only references of other seeds, such as seed 5, are
unseen. Errors that a style does not print (a missing author after "et al.") do not count, nor do
other authors under a title that works by several people have.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.reference_styles import STYLES, Work

import citebed
from citebed.collection.formats.bibtex_scanner import RawEntry
from citebed.collection.formats.bibtex_writer import format_names
from citebed.drafts.bibliography import document_from_entry
from citebed.text.titles import plain_title
from citebed.writing.reference_check import (
    FINE,
    NOT_FOUND,
    NOT_HELD,
    WRONG,
    ReferenceChecker,
    ReferenceOptions,
)
from citebed.writing.reference_comparison import (
    StatedReference,
    stated_from_document,
    stated_from_text,
)
from common import shared_data

VERDICTS = (FINE, WRONG, NOT_FOUND, NOT_HELD)
THIS_YEAR = 2026
Row = dict[str, Any]


def table(
    title: str, counts: dict[str, Counter[str]], wanted: dict[str, str] | None = None
) -> None:
    """Print the verdicts by kind; with ``wanted``, the share with the wanted verdict."""
    print(f"\n{title}\n{'kind':24}{'n':>6}" + "".join(f"{name:>24}" for name in VERDICTS))
    for kind, each in counts.items():
        line = f"{kind:24}{each.total():6}" + "".join(f"{each[name]:24}" for name in VERDICTS)
        share = f"   {each[wanted[kind]] / each.total():.3f}" if wanted else ""
        print(line + share)


# --- HALLMARK ---------------------------------------------------------------------------------

NOT_FOUND_KINDS = ("swapped_authors", "placeholder_authors", "merged_citation",
                   "hybrid_fabrication", "chimeric_title", "plausible_fabrication")  # fmt: skip
VENUE_KINDS = ("wrong_venue", "nonexistent_venue", "preprint_as_published")
_ORIGINAL = re.compile(r"\(original: '(.+)'\)\s*$")


def stated_of(row: Row) -> StatedReference:
    fields = {name: value for name, value in row["fields"].items() if value}
    raw = RawEntry(row["bibtex_type"], row["bibtex_key"], fields, "", 1)
    return stated_from_document(document_from_entry(raw), fields.get("author", ""))


def columns_of(stated: StatedReference, doc_id: str) -> Row:
    own = {name: getattr(stated, name) for name in ReferenceChecker.COLUMNS if name != "doc_id"}
    return {**own, "doc_id": doc_id, "authors": list(stated.authors)}


def plain(titles: Iterable[str]) -> list[str]:
    return pl.select(plain_title(pl.Series(list(titles), dtype=pl.String))).to_series().to_list()


def hallmark(_: argparse.Namespace) -> None:
    folder = shared_data("hallmark")
    with lzma.open(folder / "dev_public.jsonl.xz", "rt", encoding="utf-8") as lines:
        dev = [json.loads(line) for line in lines]
    chatbot = [json.loads(line) for line in (folder / "supplement_chatgpt_citations.jsonl").open()]
    for name, rows in (("dev", dev), ("chatbot", chatbot)):
        stated = [stated_of(row) for row in rows]
        held = [columns_of(s, row["bibtex_key"]) for s, row in zip(stated, rows, strict=True)
                if row["label"] == "VALID"]  # fmt: skip
        valid = set(plain(each["title"] for each in held))
        quoted = [
            match[1] if (match := _ORIGINAL.search(row["explanation"])) else "" for row in rows
        ]
        for at, title in enumerate(quoted):
            if title and plain([title])[0] not in valid:
                held.append(columns_of(stated[at], f"true-{at}") | {"title": title})
        checker = ReferenceChecker(pl.DataFrame(held, infer_schema_length=None))
        titles, dois = set(plain(each["title"] for each in held)), {each["doi"] for each in held}
        named = zip(stated, plain(s.title for s in stated), quoted, strict=True)
        known = [bool(s.doi and s.doi in dois) or p in titles or bool(q) for s, p, q in named]
        for complete in (False, True):
            options = ReferenceOptions(complete=complete, this_year=THIS_YEAR)
            verdicts = checker.check(stated, options)
            for which, title in ((True, "works that the collection holds"), (False, "other works")):
                counts: dict[str, Counter[str]] = {}
                for row, verdict, is_known in zip(rows, verdicts, known, strict=True):
                    kind = row.get("hallucination_type") or "VALID"
                    if is_known is which:
                        counts.setdefault(kind, Counter())[verdict.name] += 1
                shown = dict(sorted(counts.items()))
                table(
                    f"HALLMARK {name}, {len(held)} records, {'--complete, ' * complete}{title}",
                    shown,
                )
                if which:
                    found = sum(
                        (counts.get(kind, Counter()) for kind in NOT_FOUND_KINDS), Counter()
                    )
                    alarms = counts["VALID"].total() - counts["VALID"][FINE]
                    print(f"not found: {found[NOT_FOUND]} of {found.total()} "
                          f"({found[NOT_FOUND] / max(1, found.total()):.3f}), not fine: "
                          f"{found.total() - found[FINE]}; false alarms: {alarms} of "
                          f"{counts['VALID'].total()}")  # fmt: skip


# --- Made references --------------------------------------------------------------------------

WANTED = {
    "exact": FINE, "other venue string": FINE, "initials": FINE, "LaTeX accents": FINE,
    "no subtitle": FINE, "et al.": FINE, "year next to it": FINE, "preprint": FINE,
    "case and hyphens": FINE, "wrong year": WRONG, "wrong DOI": WRONG, "wrong pages": WRONG,
    "author missing": WRONG, "author added": WRONG, "authors reordered": WRONG,
    "word changed": WRONG, "swapped authors": NOT_FOUND, "placeholder authors": NOT_FOUND,
    "DOI of another work": NOT_FOUND, "blended title": NOT_FOUND,
}  # fmt: skip
"""The kinds of made references and the verdict each should get."""
_GIVEN = [
    "Petra",
    "Yacouba",
    "Yuki",
    "Lucas",
    "Elena",
    "Viktor",
    "Amara",
    "Henrik",
    "Fatima",
    "Takeshi",
    "Oscar",
    "Laura",
]
_FAMILY = [
    "Silva",
    "Ndiaye",
    "Sato",
    "Horvat",
    "Larsson",
    "Benali",
    "Okonkwo",
    "Fischer",
    "Kowalczyk",
    "Adjei",
    "Brandt",
]


def change(  # noqa: PLR0912, PLR0915 - one case for each kind
    kind: str, row: Row, others: Sequence[Row], rng: random.Random
) -> Row | None:
    """Return a record changed in one way; ``None`` if this record cannot be changed so."""
    new = dict(row)
    names, title, other = list(row["authors"]), row["title"], rng.choice(others)
    first = re.fullmatch(r"(\d{2,5})[-–]+(\d{2,5})", row["pages"] or "")
    match kind:
        case "other venue string":
            new["venue"] = rng.choice(("CoRR", "Proc. Int. Conf. on Things", "Proceedings"))
        case "initials":
            new["authors"] = [_initials(name) for name in names]
        case "no subtitle":
            head, colon, _ = title.partition(": ")
            if not colon or len(head) < 25:
                return None
            new["title"] = head
        case "et al.":
            if len(names) < 3:
                return None
            new |= {"authors": names[:1], "and_others": True}
        case "year next to it":
            new["year"] = row["year"] + rng.choice((-1, 1))
        case "preprint":
            new |= {"venue": "arXiv preprint", "pages": None, "type": "misc", "doi": None}
        case "case and hyphens":
            new["title"] = title.lower().replace("-", " ")
        case "wrong year":
            new["year"] = row["year"] + rng.choice((-9, -6, -4, -3, 3, 4))
        case "wrong DOI":
            if not row["doi"]:
                return None
            new["doi"] = f"{row['doi'].partition('/')[0]}/{rng.randint(10**6, 10**7)}"
        case "wrong pages":
            if not first:
                return None
            start = int(first[1]) + rng.randint(20, 400)
            new["pages"] = f"{start}–{start + int(first[2]) - int(first[1])}"
        case "author missing":
            if len(names) < 2:
                return None
            new["authors"] = names[:-1] if len(names) > 2 else names[:1]
        case "author added":
            new["authors"] = [*names, f"{rng.choice(_FAMILY)}, {rng.choice(_GIVEN)}"]
        case "authors reordered":
            if len({name.partition(",")[0] for name in names}) < 2:
                return None
            new["authors"] = [*names[1:], names[0]]
        case "word changed":
            words = title.split(" ")
            at = [n for n, word in enumerate(words) if len(word) > 5 and word.isalpha()]
            pool = [w for w in other["title"].split(" ") if len(w) > 5 and w.isalpha()]
            if len(words) < 6 or not at or not pool:
                return None
            words[rng.choice(at)] = rng.choice(pool)
            new["title"] = " ".join(words)
        case "swapped authors":
            new["authors"] = list(other["authors"])
        case "placeholder authors":
            new["authors"] = [f"{rng.choice(_FAMILY)}, {rng.choice(_GIVEN)}" for _ in range(3)]
        case "DOI of another work":
            if not other["doi"]:
                return None
            made = f"{rng.choice(_FAMILY)}, {rng.choice(_GIVEN)}"
            words = [*title.split(" ")[:3], *rng.choice(others)["title"].split(" ")[-3:]]
            new |= {"doi": other["doi"], "authors": [made], "title": " ".join(words)}
        case "blended title":
            same = [each for each in others if each["authors"][0] == names[0]
                    and each["title"].split(" ")[-2:] != title.split(" ")[-2:]
                    and each["title"].split(" ")[:2] != title.split(" ")[:2]]  # fmt: skip
            if not same:
                return None
            left, right = title.split(" "), rng.choice(same)["title"].split(" ")
            if len(left) < 6 or len(right) < 6:
                return None
            words = [*left[: len(left) // 2], *right[len(right) // 2 :]]
            new |= {"title": " ".join(words), "doi": None}
    is_changed = any(new[name] != row[name] for name in row) or kind in ("exact", "LaTeX accents")
    return new if is_changed or kind == "case and hyphens" else None


def _initials(name: str) -> str:
    family, _, given = name.partition(", ")
    return f"{family}, {' '.join(word[0] + '.' for word in given.split())}" if given else family


def _accents(text: str) -> str:
    marks = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"'}
    signs = [unicodedata.normalize("NFD", sign) for sign in text]
    return "".join(
        f"{{\\{marks[s[1]]}{s[0]}}}" if s[1:] in marks else unicodedata.normalize("NFC", s)
        for s in signs
    )


def as_bib(row: Row, kind: str) -> StatedReference:
    """Return the reference in a .bib entry, read back as `citebed check` reads it."""
    venue = "journal" if row["type"] == "article" else "booktitle"
    fields = {
        "author": format_names(tuple(row["authors"])) + " and others" * bool(row.get("and_others")),
        "title": row["title"], venue: row["venue"] or "", "year": str(row["year"]),
        "doi": row["doi"] or "", "pages": (row["pages"] or "").replace("–", "--"),
    }  # fmt: skip
    if kind == "LaTeX accents":
        fields = {name: _accents(value) if name in ("author", "title") else value
                  for name, value in fields.items()}  # fmt: skip
    raw = RawEntry(row["type"] or "misc", "x", {n: v for n, v in fields.items() if v}, "", 1)
    return stated_from_document(document_from_entry(raw), fields["author"])


def as_printed(
    row: Row, kind: str, rng: random.Random, original: Row | None = None
) -> StatedReference | None:
    """Return the reference as one of the styles prints it, read back by the parser; ``None`` if it
    prints the original in the same way, as a missing author after ``et al.``"""
    styles = [style for name, style in STYLES.items() if name not in ("preprint", "physics")]
    style, has_doi = rng.choice(styles), rng.random() < 0.3
    text = print_reference(row, kind, style, has_doi=has_doi)
    if original is not None and text == print_reference(original, kind, style, has_doi=has_doi):
        return None
    return stated_from_text(text)


def print_reference(row: Row, kind: str, style: Callable[[Work], str], *, has_doi: bool) -> str:
    pages = re.fullmatch(r"(\d{1,5})[-–]+(\d{1,5})", row["pages"] or "")
    work = Work(
        row["title"], tuple(row["authors"]), row["year"], row["venue"] or "Some Journal", 12,
        (int(pages[1]), int(pages[2])) if pages else (135, 144),
        row["doi"] if kind in ("wrong DOI", "DOI of another work") or has_doi else None,
        row["type"] == "inproceedings",
    )  # fmt: skip
    text = style(work)
    if work.doi and work.doi not in text:
        text = f"{text} https://doi.org/{work.doi}"
    if kind == "et al.":
        names = row["authors"][0].partition(",")[0]
        text = f"{names} et al. {row['year']}. {row['title']}. {row['venue'] or 'Some Journal'}."
    return text if pages else re.sub(r"[,:]? ?\(?(?:pp?\. |pages )?135–144\)?", "", text)


def fields_of_work(collection: Path | None) -> dict[str, pl.DataFrame]:
    """Return the documents of each field."""
    columns = list(ReferenceChecker.COLUMNS)
    found: dict[str, pl.DataFrame] = {}
    if collection is not None:
        found["ACM-CR"] = citebed.open(collection).documents.select(columns)
    with tempfile.TemporaryDirectory() as folder:
        sources = {
            "eLife": shared_data("elife") / "documents.jsonl.xz",
            "Anthology": shared_data("acl-anthology-sample"),
            "CACM": shared_data("cacm") / "cacm.all",
            "physics": sorted(shared_data("theses").glob("*/articles/*/*.bib")),
        }
        for name, source in sources.items():
            made = citebed.create(Path(folder) / name, source)
            found[name] = made.documents.select(columns)
    return found


def draw(
    documents: pl.DataFrame, kind: str, count: int, rng: random.Random
) -> list[tuple[Row, Row]]:
    """Return up to ``count`` pairs of a record and the record changed in this way."""
    usable = documents.filter(
        (pl.col("authors").list.len() > 0) & pl.col("year").is_not_null()
        & (pl.col("title").str.len_chars() > 25)
    )  # fmt: skip
    # A title that works by several people have is no evidence against other authors.
    title = plain_title(pl.col("title"))
    is_shared = (title.len().over(title) > 1) & (
        pl.col("authors").list.first().n_unique().over(title) > 1
    )
    if kind in ("swapped authors", "placeholder authors"):
        usable = usable.filter(~is_shared)
    rows = usable.sample(min(usable.height, 60 * count), seed=rng.randint(0, 1 << 30)).to_dicts()
    pairs: list[tuple[Row, Row]] = []
    by_author: dict[str, list[Row]] = {}
    for row in usable.to_dicts() if kind == "blended title" else ():
        by_author.setdefault(row["authors"][0], []).append(row)
    for row in rows:
        others = by_author[row["authors"][0]] if by_author else rows
        new = change(kind, row, others, rng)
        if new is not None and len(pairs) < count:
            pairs.append((row, new))
    return pairs


def made(arguments: argparse.Namespace) -> None:
    """Measure references to works that the collection holds, or with ``removed``, does not."""
    removed = arguments.what == "removed"
    each = max(1, arguments.count // len(WANTED))
    for field, documents in fields_of_work(arguments.collection).items():
        for form in ("bib", "printed"):
            rng = random.Random(arguments.seed)
            counts: dict[str, Counter[str]] = {}
            pairs = {kind: draw(documents, kind, each, rng) for kind in WANTED}
            gone = [row["doc_id"] for some in pairs.values() for row, _ in some] if removed else []
            title = plain_title(pl.col("title"))  # with reprints and copies
            twins = documents.filter(pl.col("doc_id").is_in(gone)).select(title).to_series()
            left = documents.filter(~title.is_in(twins.implode()))
            checker = ReferenceChecker(left)
            for kind, some in pairs.items():
                if removed and WANTED[kind] == NOT_FOUND:
                    continue  # these works do not exist
                original = [row if WANTED[kind] == WRONG else None for row, _ in some]
                made_of = [as_bib(new, kind) if form == "bib" else as_printed(new, kind, rng, row)
                           for (_, new), row in zip(some, original, strict=True)]  # fmt: skip
                some = [pair for pair, each in zip(some, made_of, strict=True) if each]  # noqa: PLW2901
                stated = [each for each in made_of if each]
                verdicts = checker.check(stated, ReferenceOptions(this_year=THIS_YEAR))
                counts[kind] = Counter(verdict.name for verdict in verdicts)
                wanted = NOT_HELD if removed else WANTED[kind]
                for (row, _), s, verdict in zip(some, stated, verdicts, strict=True):
                    if arguments.show and verdict.name != wanted:
                        about = f"{s.text[:150]} | {verdict.reason} | {verdict.nearest[:110]}"
                        print(f"  {kind}: {verdict.name}: {about} | true: {row['title'][:80]}")
            counts = {kind: some for kind, some in counts.items() if some.total()}
            title = f"{field} ({left.height:,} records), {form}, seed {arguments.seed}"
            wanted = dict.fromkeys(WANTED, NOT_HELD) if removed else WANTED
            table(title + ", removed works" * removed, counts, wanted)
            total = sum(counts.values(), Counter())
            if removed:
                accused = total[WRONG] + total[NOT_FOUND]
                print(f"accused: {accused} of {total.total()}; called fine: {total[FINE]}")
            else:
                summarise(counts)


def summarise(counts: dict[str, Counter[str]]) -> None:
    """Print detection and false alarms."""
    by_wanted = {verdict: sum((some for kind, some in counts.items() if WANTED[kind] == verdict),
                              Counter()) for verdict in VERDICTS}  # fmt: skip
    fine, wrong, absent = by_wanted[FINE], by_wanted[WRONG], by_wanted[NOT_FOUND]
    alarms = fine[WRONG] + fine[NOT_FOUND]
    print(f"false alarms {alarms}/{fine.total()} ({alarms / max(1, fine.total()):.3f}); "
          f"wrong details found {wrong[WRONG]}/{wrong.total()} "
          f"({wrong[WRONG] / max(1, wrong.total()):.3f}); not found detected "
          f"{absent[NOT_FOUND]}/{absent.total()} "
          f"({absent[NOT_FOUND] / max(1, absent.total()):.3f})")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("hallmark", "made", "removed"))
    parser.add_argument("collection", type=Path, nargs="?", help="an imported ACM-CR")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=500, help="references per field and form")
    parser.add_argument("--show", action="store_true", help="print what went wrong")
    arguments = parser.parse_args()
    (hallmark if arguments.what == "hallmark" else made)(arguments)


if __name__ == "__main__":
    main()
