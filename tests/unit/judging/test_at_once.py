"""Organisers who do the same thing at the same time, in several processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy import Connection, select
from tests.campaigns import answer_phase_one, small_campaign

from citebed.errors import CitebedError
from citebed.judging import Campaign, open_campaign
from citebed.judging.organisers import add_organiser, organiser_names
from citebed.judging.settings import CampaignSettings
from citebed.judging.store.campaign_store import create_campaign
from citebed.judging.store.database import Database
from citebed.judging.store.schema import forms, items, mails, pools

_T = TypeVar("_T")
MANY = 4


@pytest.fixture
def several(tmp_path: Path, url: str) -> list[Campaign]:
    """One campaign, open as often as if each were another process."""
    campaign = small_campaign(tmp_path, ["Ada Bell", "Ben Carr", "Cy Dee"], database=url)
    answer_phase_one(campaign)
    return [open_campaign(campaign.folder) for _ in range(MANY)]


def _at_once(work: Callable[[Campaign], _T], campaigns: list[Campaign]) -> list[_T]:
    """Have all do it, beginning at the same moment."""
    start = threading.Barrier(len(campaigns))

    def begin(campaign: Campaign) -> _T:
        start.wait(30)
        return work(campaign)

    with ThreadPoolExecutor(len(campaigns)) as threads:
        return list(threads.map(begin, campaigns))


@pytest.fixture
def _slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give others the time to come between: every change ends a moment later."""
    usual = Database.writing

    @contextmanager
    def writing(self: Database, *turn: int, **named: int) -> Iterator[Connection]:
        with usual(self, *turn, **named) as connection:
            yield connection
            threading.Event().wait(0.02)

    monkeypatch.setattr(Database, "writing", writing)


@pytest.mark.usefixtures("_slow")
def test_many_who_invite_and_pool_at_once(several: list[Campaign]) -> None:
    first = several[0]
    written = _at_once(lambda campaign: campaign.invite(["text"]), several)
    assert sum(map(len, written)) == 3  # each mail is written by one of them
    queries = first.questions["query_id"].to_list()
    ranked = {f"d{40 - n}": 40.0 - n for n in range(30)}
    run = {"r": dict.fromkeys(queries, ranked)}
    made = _at_once(lambda campaign: campaign.pool(run, 5), several)
    assert sorted(each.query_id for one in made for each in one) == queries
    _at_once(lambda campaign: campaign.invite(["text"]), several)
    with first.reading() as tx:
        assert len(tx.execute(select(pools)).all()) == 3
        pooled = tx.execute(select(items).where(items.c.pool_id.is_not(None))).all()
        assert len(pooled) == 15
        second = tx.execute(select(forms).where(forms.c.phase == 2)).all()
        assert [form.round for form in second] == [1, 1, 1]
        assert len(tx.execute(select(mails)).all()) == 6


@pytest.mark.usefixtures("_slow")
def test_many_who_ask_the_same_second_judge_at_once(several: list[Campaign]) -> None:
    query = several[0].questions["query_id"][0]
    several[0].pool({"r": {query: {"d30": 1.0, "d31": 0.5}}}, 2)
    asked = _at_once(lambda one: one.second_judge(query, "Zoe", "zoe@example.org"), several)
    assert sorted(asked) == [False] * (MANY - 1) + [True]


@pytest.mark.usefixtures("_slow")
def test_a_name_is_given_once(several: list[Campaign]) -> None:
    def begin(campaign: Campaign) -> str:
        try:
            create_campaign(campaign.database, "other", CampaignSettings("t", "c"))
        except CitebedError as error:
            return str(error).partition(" '")[0]
        return "made"

    told = _at_once(begin, several)
    assert sorted(told) == ["made"] + ["there is already a campaign"] * (MANY - 1)
    _at_once(lambda one: add_organiser(one.database, "Olga", "correct horse battery"), several)
    assert organiser_names(several[0].database) == ["Olga"]
