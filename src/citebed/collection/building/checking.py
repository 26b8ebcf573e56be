"""What an import must come to: one that gives nothing is an error, and says why."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from citebed.collection.formats.bibtex_cut import ONLY_STRINGS
from citebed.collection.rules import Rules
from citebed.collection.storing.import_report import ImportReport
from citebed.collection.tables import IMPORT, Frames
from citebed.errors import CitebedError, UnknownName
from citebed.text.languages import is_language, language_code, language_names
from citebed.wording import count

ENTRY_TYPES = frozenset(
    (
        "article", "book", "bookinbook", "booklet", "collection", "dataset", "inbook",
        "incollection", "inproceedings", "inreference", "manual", "mastersthesis", "misc", "mvbook",
        "mvcollection", "mvproceedings", "online", "patent", "periodical", "phdthesis",
        "proceedings", "reference", "report", "software", "suppbook", "techreport", "thesis",
        "unpublished",
    )
)  # fmt: skip
"""The entry types of BibTeX and BibLaTeX, as they are stored."""


def check_types(rules: Rules, types: Collection[str]) -> None:
    """A type that neither BibTeX nor any record has is a slip of the pen."""
    known = ENTRY_TYPES | set(types)
    for name in rules.types:
        if name not in known:
            raise UnknownName("entry type", name, known)


def check_languages(rules: Rules, stated: Collection[str]) -> None:
    """Likewise a language of which nobody has heard, and that no record states."""
    codes = {language_code(name) for name in stated}
    for name in rules.languages:
        if not is_language(name) and language_code(name) not in codes:
            more = "Any code of two letters (ISO 639-1) is known too."
            raise UnknownName("language", name, {*language_names(), *codes}, more)


def check_yield(report: ImportReport, frames: Frames, named: Collection[str]) -> None:
    """Documents that are all left out, or files in which there is nothing, are an error."""
    if report.records and not report.documents:
        reasons = "; ".join(f"{why} {number:,}" for why, number in report.set_aside.items())
        what = f"of {count(report.records, 'record')} none would be kept: {reasons}"
        raise CitebedError(f"{what}. Nothing was changed; give other rules.")
    sources = frames[f"{IMPORT}/sources"]
    useful = set(sources.filter(pl.col("records") > 0)["source"])
    if not useful:
        raise CitebedError(_nothing(report, named) or "nothing would be left. Nothing was changed.")
    copies = set(named) - set(sources["source"])  # what is in them was read before
    lenders = report.problems.filter(pl.col("what") == ONLY_STRINGS)["source"]
    if named and not copies and useful.isdisjoint(named) and lenders.is_in(list(named)).sum() == 0:
        raise CitebedError(_nothing(report, named))


def _nothing(report: ImportReport, named: Collection[str]) -> str:
    """Why there is nothing in any of the files that were named, as far as it is known."""
    top = pl.col("source").str.split("!").list.first()
    found = report.problems.filter(top.is_in(list(named)))
    if not named or found.is_empty():
        return "" if not named else "nothing was imported: no record is in what was named."
    first = found.row(0, named=True)
    place = first["source"] if first["kind"] == "ignored" else f"{first['source']}:{first['line']}"
    more = f" (and {found.height - 1:,} more)" if found.height > 1 else ""
    reads = "citebed reads BibTeX, RIS, CSL-JSON and more, see its page on formats"
    return f"nothing was imported: {place}: {first['what']}{more}. {reads}."
