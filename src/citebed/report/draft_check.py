"""The findings in a draft: as text, as lines for editors, and as SARIF for code review tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from citebed._version import __version__
from citebed.wording import count, json_text, list_first
from citebed.writing.check import KINDS, CheckReport
from citebed.writing.reference_check import NOT_HELD

_VERDICTS = ("fine", "wrong details", "not found", NOT_HELD)
_LISTED = 3
"""Keys in a list; a shared library may have thousands that are never cited."""


def check_lines(report: CheckReport) -> Iterator[str]:
    """Yield the findings for people, by file and line, and the counts at the end."""
    file = None
    unused: list[str] = []
    for row in report.rows:
        if row["kind"] == "unused-entry":
            unused.append(row["key"])
            continue
        if row["file"] != file:
            yield from ([""] if file is not None else [])
            file = row["file"]
            yield file or "the text"
        place = f"page {row['line']}" if _is_pdf(row) else f"{row['line']}:{row['column']}"
        yield f"  {place:>8}  {row['severity']:7}  {_describe(row)}"
        if row["kind"] == "not-found":
            yield f"{'':21}printed: {row['printed']}"
        if row["kind"] == "not-found" and row["nearest"]:
            yield f"{'':21}nearest: {row['nearest']}"
        elif row["kind"].startswith("wrong") and row["nearest"]:
            yield f"{'':21}record: {row['nearest']}"
    if unused:
        yield from ([""] if file is not None else [])
        yield f"never cited: {list_first(unused, _LISTED)}"
    unknown = report.references.filter(report.references["verdict"] == NOT_HELD)["key"].to_list()
    if unknown:
        yield from ([""] if file is not None and not unused else [])
        yield f"not in this collection: {list_first(unknown, _LISTED)}"
    yield from ([""] if file is not None or unused or unknown else [])
    if report.references.height:
        numbers = (
            f"{report.counts[name]:,} {name}" for name in _VERDICTS if report.counts.get(name)
        )
        yield f"{count(report.references.height, 'reference')}: {', '.join(numbers)}"
    others = report.findings.filter(report.findings["kind"] != "unused-entry")
    yield count(others.height, "finding") if others.height else "nothing wrong"


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
        {
            "id": kind, "shortDescription": {"text": meaning},
            "defaultConfiguration": {"level": severity},
        }
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
    message = _describe(row)
    if _is_pdf(row):
        message = f"page {row['line']}: {message}"
    else:
        place["region"] = {"startLine": row["line"], "startColumn": row["column"]}
    result: dict[str, Any] = {
        "ruleId": row["kind"], "level": row["severity"], "message": {"text": message},
        "locations": [{"physicalLocation": place}],
    }  # fmt: skip
    if row["fix"] is not None:
        region = {
            "startLine": row["fix_line"], "startColumn": row["fix_column"],
            "endLine": row["fix_end_line"], "endColumn": row["fix_end_column"],
        }  # fmt: skip
        change = {"deletedRegion": region, "insertedContent": {"text": row["fix"]}}
        result["fixes"] = [
            {"artifactChanges": [{"artifactLocation": artifact, "replacements": [change]}]}
        ]
    return result
