"""``citebed campaign``: the modules follow the steps of a campaign."""

from __future__ import annotations

from citebed.cli.campaign import judges, mails, pools, results
from citebed.cli.options import command_group

campaign = command_group(
    "Build a test collection with authors of papers, who judge papers that they cited (phase one) "
    "and others (phase two).",
    mails.new, mails.settings, mails.papers, mails.invite, mails.remind, mails.returns,
    mails.organiser, mails.organisers,
    pools.questions, pools.suggest, pools.reformulate, pools.exclude, pools.close, pools.search,
    pools.unmark, pools.pool, pools.compare, pools.second,
    judges.judge, judges.judges, judges.assess, judges.next_,
    results.agreement, results.disagreements, results.preferences, results.status, results.problems,
    results.exclusions, results.tables, results.export, results.backup, results.restore,
    results.simulate,
)  # fmt: skip
"""All commands in the order of the work."""
