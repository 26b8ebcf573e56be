"""Lint: what is wrong or doubtful in a collection, where, and how to mend it.

A check is a value in one table, ``CHECKS``; ``lint`` runs them.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from citebed.collection.collection import Collection
from citebed.collection.lint import citing, documents, duplicates, judgements
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
        citing.papers_inside,
        citing.duplicate_papers,
        citing.same_context_ids,
        citing.unknown_cites,
        citing.sloppy_references,
        citing.later_references,
        citing.duplicate_references,
        citing.skipped,
        documents.without_text,
        documents.without_title,
        documents.in_future,
        documents.implausible,
        documents.doi_disagrees,
        documents.numbered_ids,
        duplicates.duplicate_dois,
        duplicates.duplicate_documents,
        duplicates.near_duplicate_titles,
        documents.encoding_remains,
        documents.latex_remains,
        documents.markup_remains,
    )
}
"""All checks by name, in the order in which they are reported."""


def lint(
    collection: Collection,
    only: Iterable[str] | None = None,
    *,
    examples: int | None = 5,
    today: datetime.date | None = None,
) -> list[Finding]:
    """Run the checks named in ``only`` (all of them for ``None``) on a collection.

    Gives a finding for each check in the order of ``CHECKS``, with count 0 where nothing was
    found; ``examples`` is how many places each lists (``None`` for all). ``today`` is what
    dates are compared with. Raises ``UnknownName`` for a check that does not exist.
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
