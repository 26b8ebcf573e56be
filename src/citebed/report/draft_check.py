"""The findings in a draft: as text, as lines for editors, and as SARIF for code review tools."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import quote

from citebed._version import __version__
from citebed.wording import count as count_of
from citebed.wording import json_text, list_first
from citebed.writing.check import KINDS, CheckReport
from citebed.writing.reference_check import NOT_HELD

_VERDICTS = ("fine", "wrong details", "not found", NOT_HELD)
_LISTED = 3
"""Keys in a list; a shared library may have thousands that are never cited."""


def check_lines(report: CheckReport) -> Iterator[str]:
    """Yield the findings for people, by file and line, and the counts at the end."""
    unused = [row["key"] for row in report.rows if row["kind"] == "unused-entry"]
    others = [row for row in report.rows if row["kind"] != "unused-entry"]
    for file, rows in groupby(others, key=itemgetter("file")):
        yield file or "the text"
        for row in rows:
            place = f"page {row['line']}" if _is_pdf(row) else f"{row['line']}:{row['column']}"
            yield f"  {place:>8}  {row['severity']:7}  {_describe(row)}"
            is_absent = row["kind"] == "not-found"
            about = {"printed": is_absent and row["printed"]}
            if is_absent or row["kind"].startswith("wrong"):
                about["nearest" if is_absent else "record"] = row["nearest"]
            yield from (f"{'':21}{name}: {value}" for name, value in about.items() if value)
        yield ""
    verdicts = report.references["verdict"]
    unknown = report.references.filter(verdicts == NOT_HELD)["key"].to_list()
    for what, keys in (("never cited", unused), (NOT_HELD, unknown)):
        yield from [f"{what}: {list_first(keys, _LISTED)}"] if keys else []
    yield from [""] if unused or unknown else []
    if verdicts.len():
        numbers = (f"{count:,} {name}" for name in _VERDICTS if (count := report.counts.get(name)))
        yield f"{count_of(verdicts.len(), 'reference')}: {', '.join(numbers)}"
    yield count_of(len(others), "finding") if others else "nothing wrong"


def _is_pdf(row: dict[str, Any]) -> bool:
    """Return True for a finding in a PDF, whose line is the page."""
    return str(row["file"]).lower().endswith(".pdf")


def _describe(row: dict[str, Any]) -> str:
    return f"{row['key']}: {row['message']}" if row["key"] else str(row["message"])


def editor_lines(report: CheckReport) -> Iterator[str]:
    """Yield a finding per line: ``file:line:column: severity: message [kind]``."""
    for row in report.rows:
        message = " ".join(_describe(row).split())
        yield (
            f"{row['file']}:{row['line']}:{row['column']}: {row['severity']}: {message} "
            f"[{row['kind']}]"
        )


def check_sarif(report: CheckReport) -> str:
    """Return the findings in SARIF 2.1.0, with fixes."""
    rules = [
        {"id": kind, "shortDescription": {"text": meaning},
         "defaultConfiguration": {"level": severity}}
        for kind, (severity, meaning) in KINDS.items()
    ]  # fmt: skip
    driver = {"name": "citebed", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": [_result(row) for row in report.rows],
           "columnKind": "unicodeCodePoints"}  # fmt: skip
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json_text({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _result(row: dict[str, Any]) -> dict[str, Any]:
    artifact = {"uri": quote(Path(row["file"] or "text").as_posix())}
    place: dict[str, Any] = {"artifactLocation": artifact}
    page = f"page {row['line']}: " if _is_pdf(row) else ""
    if not page:
        place["region"] = {"startLine": row["line"], "startColumn": row["column"]}
    result: dict[str, Any] = {
        "ruleId": row["kind"], "level": row["severity"],
        "message": {"text": f"{page}{_describe(row)}"}, "locations": [{"physicalLocation": place}],
    }  # fmt: skip
    if row["fix"] is not None:
        names = ("startLine", "line"), ("startColumn", "column"), ("endLine", "end_line")
        region = {name: row[f"fix_{own}"] for name, own in (*names, ("endColumn", "end_column"))}
        change = {"deletedRegion": region, "insertedContent": {"text": row["fix"]}}
        changes = [{"artifactLocation": artifact, "replacements": [change]}]
        result["fixes"] = [{"artifactChanges": changes}]
    return result
