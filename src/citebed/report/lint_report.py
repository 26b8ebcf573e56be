"""What lint found, for people and for programs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from citebed.collection.lint import Finding

_WIDTH = 88


def lint_rows(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """A row for each check and, if it found something, for each of its examples.

    Fields: ``check``, ``severity``, ``count`` and, for an example, ``place``, ``id``, ``what``.
    """
    rows: list[dict[str, Any]] = []
    for finding in findings:
        head = {
            "check": finding.check.name,
            "severity": finding.check.severity,
            "count": finding.count,
        }
        nothing = {"place": None, "id": None, "what": None}
        rows += [{**head, **example} for example in finding.examples] or [{**head, **nothing}]
    return rows


def lint_text(findings: Sequence[Finding]) -> str:
    """The findings in order of severity, each with examples and how to mend it."""
    found = [finding for finding in findings if finding.count]
    blocks = [
        _block(finding)
        for severity in ("error", "warning", "note")
        for finding in found
        if finding.check.severity == severity
    ]
    passed = [finding.check.name for finding in findings if not finding.count]
    counts = ", ".join(
        f"{sum(f.check.severity == severity for f in found)} {severity}s"
        for severity in ("error", "warning", "note")
    )
    blocks.append(f"{len(findings)} checks: {counts}, {len(passed)} passed")
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
