"""Judgements as the web saves them: whatever was clicked by many judges meanwhile, in one go."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from citebed.errors import CitebedError
from citebed.judging.answers.answering import judge_all
from citebed.judging.asking.judge_links import LinkRefused, forms_of_links
from citebed.judging.store.handle import CampaignStore
from citebed.judging.store.judgements import Source, Told, Verdict

WEB = "web"
"""The way of what is answered on the web."""


class Clicked(NamedTuple):
    """A judgement, the token of the link by which its judge came, and its place in a queue."""

    token: str
    verdict: Verdict
    at: datetime
    browser: str | None = None
    sequence: int | None = None


def save_clicks(
    store: CampaignStore, connection: Connection, clicks: Sequence[Clicked]
) -> list[Told]:
    """Save what may be saved, in the order given; of the others tell why not."""
    opened = forms_of_links(store, connection, [click.token for click in clicks])
    told: list[Told | None] = []
    let_in = []
    for click in clicks:
        form = opened[click.token]
        told.append(form if isinstance(form, LinkRefused) else None)
        if not isinstance(form, CitebedError):
            source = Source(form.person_id, form.id, WEB, click.at)
            source = source._replace(browser=click.browser, sequence=click.sequence)
            let_in.append((form, click.verdict, source))
    saved = iter(judge_all(store, connection, let_in))
    return [next(saved) if each is None else each for each in told]
