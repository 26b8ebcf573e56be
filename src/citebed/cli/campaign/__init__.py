"""``citebed campaign``: the modules follow the steps of a campaign."""

from __future__ import annotations

from citebed.cli.campaign import mails, pools, results
from citebed.cli.options import command_group

campaign = command_group(
    "Build a test collection with authors of papers, who judge papers that they cited (phase one) "
    "and others (phase two).",
    new=mails.new,
    settings=mails.settings,
    papers=mails.papers,
    invite=mails.invite,
    remind=mails.remind,
    returns=mails.returns,
    organiser=mails.organiser,
    organisers=mails.organisers,
    questions=pools.questions,
    suggest=pools.suggest,
    reformulate=pools.reformulate,
    exclude=pools.exclude,
    close=pools.close,
    search=pools.search,
    unmark=pools.unmark,
    pool=pools.pool,
    second=pools.second,
    agreement=results.agreement,
    disagreements=results.disagreements,
    status=results.status,
    problems=results.problems,
    exclusions=results.exclusions,
    tables=results.tables,
    export=results.export,
    backup=results.backup,
    restore=results.restore,
    simulate=results.simulate,
)
"""All commands in the order of the work."""
