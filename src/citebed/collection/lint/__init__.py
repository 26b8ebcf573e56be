"""Lint: checks that find defects of a collection, and say how to correct them."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from citebed.collection.collection import Collection
from citebed.collection.lint import documents, judgements
from citebed.collection.lint.base import Check, Finding, Severity, Subject
from citebed.errors import UnknownName

__all__ = ["CHECKS", "Check", "Finding", "Severity", "Subject", "lint"]

CHECKS: dict[str, Check] = {
    check.name: check
    for check in (
        judgements.absent_documents,
        judgements.absent_queries,
        judgements.without_relevant,
        judgements.queries_without_text,
        judgements.equal_to_documents,
        judgements.papers_inside,
        judgements.duplicate_papers,
        judgements.same_context_ids,
        judgements.unknown_cites,
        judgements.sloppy_references,
        judgements.later_references,
        judgements.duplicate_references,
        judgements.skipped,
        documents.without_text,
        documents.without_title,
        documents.in_future,
        documents.implausible,
        documents.doi_disagrees,
        documents.numbered_ids,
        documents.duplicate_dois,
        documents.duplicate_documents,
        documents.near_duplicate_titles,
        documents.encoding_remains,
        documents.latex_remains,
        documents.markup_remains,
    )
}
"""All checks by name, in the order of the report."""


def lint(
    collection: Collection,
    only: Iterable[str] | None = None,
    *,
    examples: int | None = 5,
    today: datetime.date | None = None,
) -> list[Finding]:
    """Run all checks, or those named in ``only``, and return their findings, also empty ones.

    ``examples`` is the maximum number of examples of a finding (``None`` for all); ``today``
    replaces the current date. Raise ``UnknownName`` for an unknown check.
    """
    wanted = set(CHECKS) if only is None else set(only)
    for name in sorted(wanted - CHECKS.keys()):
        raise UnknownName("check", name, CHECKS)
    subject = Subject(collection) if today is None else Subject(collection, today)
    findings = []
    for check in (check for name, check in CHECKS.items() if name in wanted):
        rows = check.find(subject)
        findings.append(Finding(check, rows.height, rows[:examples].to_dicts()))
    return findings
