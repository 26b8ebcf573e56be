"""Findings of lint, as text and as rows."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import polars as pl

from citebed.collection import Collection
from citebed.collection.lint import Finding, lint
from citebed.frames import TableResult
from citebed.wording import count

_WIDTH = 88


class Findings(TableResult, tuple[Finding, ...]):
    """The findings of each check, in the order of the checks; prints like the command."""

    def __repr__(self) -> str:
        return lint_text(self).rstrip("\n")

    @property
    def has_errors(self) -> bool:
        """Whether a check of severity ``error`` found something."""
        return any(each.count and each.check.severity == "error" for each in self)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Flat rows as ``--json`` prints them: per check or, if it found something, per example.

        Fields: ``check``, ``severity``, ``count`` and, for an example, ``place``, ``id``, ``what``.
        """
        rows: list[dict[str, Any]] = []
        for finding in self:
            check = finding.check
            head = {"check": check.name, "severity": check.severity, "count": finding.count}
            nothing = {"place": None, "id": None, "what": None}
            rows += [{**head, **example} for example in finding.examples] or [{**head, **nothing}]
        return rows

    @cached_property
    def table(self) -> pl.DataFrame:
        """The rows as a table."""
        return pl.DataFrame(self.rows, infer_schema_length=None)

    def main_table(self) -> pl.DataFrame:
        """The checks that found something, with their examples."""
        return self.table.filter(pl.col("count") > 0)


def linted(
    collection: Collection, only: Iterable[str] | None = None, *, examples: int | None = 3
) -> Findings:
    """Check a collection for problems, with the named checks or with all."""
    return Findings(lint(collection, only, examples=examples))


def lint_text(findings: Sequence[Finding]) -> str:
    """Write the findings by severity, with examples and how to fix them."""
    hits = [finding for finding in findings if finding.count]
    blocks = [
        _block(finding)
        for severity in ("error", "warning", "note")
        for finding in hits
        if finding.check.severity == severity
    ]
    passed = [finding.check.name for finding in findings if not finding.count]
    counts = ", ".join(
        count(sum(f.check.severity == severity for f in hits), severity)
        for severity in ("error", "warning", "note")
    )
    blocks.append(f"{count(len(findings), 'check')}: {counts}, {len(passed)} passed")
    if passed:
        listed = f"passed: {', '.join(passed)}"
        blocks[-1] += "\n" + textwrap.fill(
            listed, _WIDTH, subsequent_indent="  ", break_on_hyphens=False
        )
    return "\n\n".join(blocks) + "\n"


def _block(finding: Finding) -> str:
    check = finding.check
    lines = [f"{check.severity}: {check.title} ({finding.count:,})  [{check.name}]"]
    for example in finding.examples:
        place = f"{example['place']}: " if example["place"] else ""
        name = f"{example['id']}: " if example["id"] else ""
        text = f"{place}{name}{example['what']}"
        lines.append(textwrap.shorten(text, 4 * _WIDTH, placeholder=" …"))
        lines[-1] = textwrap.indent(textwrap.fill(lines[-1], _WIDTH - 4), "    ")
    if finding.count > len(finding.examples):
        lines.append(f"    … and {finding.count - len(finding.examples):,} more")
    lines.append(
        textwrap.fill(f"mend: {check.mend}", _WIDTH, initial_indent="  ", subsequent_indent="  ")
    )
    return "\n".join(lines)
