"""Many judgements saved together end as if they had been saved one after the other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from sqlalchemy import select
from tests.campaigns import answer_phase_one, small_campaign
from tests.reference.saving import save_one

from citebed.judging import Campaign
from citebed.judging.judgements import SaveResult, Source, Verdict, save_all
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import judgements

START = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Four authors with a few items each; nothing stays of what a test saves."""
    made = small_campaign(tmp_path_factory.mktemp("saving"))
    answer_phase_one(made)
    return made


acts = some.lists(
    some.builds(
        lambda person, item, value, comment, key, minute, queue: (
            Source(person, person, "web", START + timedelta(minutes=minute))._replace(
                browser=queue and queue[0], sequence=queue and queue[1]
            ),
            Verdict(item, value, comment, f"key-{key}"),
        ),
        some.integers(1, 2),
        some.integers(1, 3),
        some.sampled_from([None, 1, 2, 3]),
        some.sampled_from(["", "why"]),
        some.integers(1, 12),
        some.integers(0, 3),
        some.none() | some.tuples(some.sampled_from("ab"), some.integers(0, 4)),
    ),
    max_size=25,
)


def _history(tx: Transaction) -> list[tuple[Any, ...]]:
    columns = [column for column in judgements.c if column.name != "recorded_at"]
    return [tuple(row) for row in tx.execute(select(*columns).order_by(judgements.c.id))]


@given(acts, some.integers(1, 25))
def test_together_is_one_after_the_other(campaign: Campaign, done: list[Any], size: int) -> None:
    found = []
    for together in (False, True):
        with campaign.database.engine.connect() as connection, connection.begin() as begun:
            tx = Transaction(campaign, connection)
            told: list[Any] = []
            for at in range(0, len(done), size):
                some_acts = done[at : at + size]
                if together:
                    told += save_all(tx, some_acts)
                else:
                    told += [save_one(tx, *act) for act in some_acts]
            keyed = {row[0]: row for row in _history(tx)}
            begun.rollback()
        found.append((_named(told, keyed), _chains(keyed)))
    assert found[0] == found[1]


def _named(told: list[Any], keyed: dict[int, Any]) -> list[Any]:
    """Outcomes, with judgements told apart by their acts instead of their numbers."""
    place = judgements.c.keys().index("key")
    return [
        (keyed[each.judgement_id][place], each.outcome)
        if isinstance(each, SaveResult)
        else str(each)
        for each in told
    ]


def _chains(keyed: dict[int, Any]) -> dict[str, Any]:
    """Every act with what it says and the act that it supersedes."""
    names = [column.name for column in judgements.c if column.name != "recorded_at"]
    rows = {number: dict(zip(names, row, strict=True)) for number, row in keyed.items()}
    return {
        row["key"]: {
            **{name: row[name] for name in names if name not in ("id", "supersedes")},
            "supersedes": rows[row["supersedes"]]["key"] if row["supersedes"] else None,
        }
        for row in rows.values()
    }
