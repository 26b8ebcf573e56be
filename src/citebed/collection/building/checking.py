"""What an import must come to: one that gives nothing is an error, and says why.

Texts of documents in which the name of a LaTeX command seems to be left.

A command that is not known leaves its name behind (``\\foo bar`` is ``foo bar``), and a reader
that goes wrong leaves more. This looks at what came out, beside what was read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import polars as pl

from citebed.collection.building.import_report import ImportReport
from citebed.collection.formats.biblatex import ONLY_STRINGS
from citebed.collection.tables import IMPORT, Frames
from citebed.errors import CitebedError
from citebed.text.latex import KNOWN_COMMANDS
from citebed.wording import count


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
    rows = report.problems.filter(top.is_in(list(named)))
    if not named or rows.is_empty():
        return "" if not named else "nothing was imported: no record is in what was named."
    first = rows.row(0, named=True)
    place = first["source"] if first["kind"] == "ignored" else f"{first['source']}:{first['line']}"
    more = f" (and {rows.height - 1:,} more)" if rows.height > 1 else ""
    reads = "citebed reads BibTeX, RIS, CSL-JSON and more, see its page on formats"
    return f"nothing was imported: {place}: {first['what']}{more}. {reads}."


# --- LaTeX that is left -----------------------------------------------------------------------


TELLTALES = (
    "ifmmode", "textquote", "textbackslash", "textasci", "textsuperscript", "textsubscript",
    "textbf", "textit", "textrm", "textsc", "texttt", "textsf", "textless", "textgreater",
    "textendash", "textemdash", "textellipsis", "textregistered", "texttrademark", "textdegree",
    "mathrm", "mathbf", "mathcal", "mathbb", "mathit", "mathsf", "mathfrak", "mathscr",
    "ensuremath", "operatorname", "boldsymbol", "leqslant", "geqslant", "varepsilon", "cprime",
    "noopsort", "vphantom",
)  # fmt: skip
"""Names of commands that no text has otherwise, in part or whole."""

FIELDS = ("title", "authors", "venue", "abstract")
_COMMAND = r"\\[A-Za-z]{3,}\s*\{?"
_SHOWN = 20


def latex_left(documents: pl.LazyFrame) -> pl.DataFrame:
    """A row for each such text: ``doc_id``, ``source``, ``line``, ``field``, and some of it."""
    texts = documents.select(
        "doc_id", "source", "line", "title", "venue", "abstract", "bibtex",
        authors=pl.col("authors").list.join("; "),
    )  # fmt: skip
    telling = pl.any_horizontal(
        pl.col(name).str.contains("|".join(TELLTALES)).fill_null(value=False) for name in FIELDS
    )
    doubtful = (
        texts.with_columns(telling=telling)
        .filter(pl.col("telling") | pl.col("bibtex").str.contains(_COMMAND))
        .with_columns(names=_unknown_commands())
        .filter(pl.col("telling") | (pl.col("names").list.len() > 0))
        .drop("bibtex")
        .collect()
    )
    left = [text for row in doubtful.iter_rows(named=True) for text in _left_in(row)]
    schema = {"doc_id": pl.String(), "source": pl.String(), "line": pl.Int64()}
    return pl.DataFrame(left, {**schema, "field": pl.String(), "text": pl.String()})


def _unknown_commands() -> pl.Expr:
    """The commands of an entry that would leave their names: not known, and no brace behind them.

    Two backslashes are a line's end or part of a Windows path.
    """
    raw = pl.col("bibtex").str.replace_all("\\\\", " ", literal=True).str.extract_all(_COMMAND)
    bare = pl.element().filter(~pl.element().str.ends_with("{")).str.strip_chars("\\ \t\r\n")
    known = pl.element().is_in(sorted(KNOWN_COMMANDS))
    return raw.list.eval(bare).list.eval(pl.element().filter(~known).unique(maintain_order=True))


def _left_in(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of a document with a telltale, or the name of a command that is not known."""
    words = "|".join([*TELLTALES, *(row["names"] or ())])
    pattern = re.compile(words)
    place = {name: row[name] for name in ("doc_id", "source", "line")}
    left = []
    for field in FIELDS:
        if match := pattern.search(row[field] or ""):
            start, end = max(0, match.start() - _SHOWN), match.end() + _SHOWN
            left.append({**place, "field": field, "text": match.string[start:end]})
    return left


class LatexLeft:
    """How many such ``texts`` there are in documents that pass by in pieces."""

    def __init__(self) -> None:
        self.texts = 0

    def counted(self, pieces: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """The pieces as they are."""
        for piece in pieces:
            self.texts += latex_left(piece.lazy()).height
            yield piece
