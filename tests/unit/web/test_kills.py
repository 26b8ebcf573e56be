"""An answer once acknowledged is never lost: the server is killed at random moments.

Twenty judges click away, each in a thread over a connection of its own. The server is killed with
SIGKILL in the middle, started again, and the judges go on, sending what was not acknowledged once
more under the same key. At the end every acknowledged judgement is there, and none twice.
"""

from __future__ import annotations

import http.client
import json
import random
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from tests.campaigns import links, listed_items, small_campaign, with_lists
from tests.sampling import sized
from tests.servers import Servers, servers

from citebed.judging import Campaign
from citebed.judging.store.database import open_database
from citebed.judging.store.schema import judgements

JUDGES = 20
ROUNDS = sized(5, 200)
LONGEST_PAUSE = 0.05


@dataclass
class Clicking:
    """A judge who clicks on until told to stop; what is not acknowledged is sent again."""

    token: str
    items: list[int]
    servers: Servers
    seed: int
    acknowledged: dict[str, int] = field(default_factory=dict)
    last_value: dict[int, int | None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    resent: int = 0
    stopped: bool = False

    def run(self) -> None:
        """Click, one item after the other."""
        chance = random.Random(self.seed)
        number = 0
        while not self.stopped:
            number += 1
            act: dict[str, Any] = {
                "item": chance.choice(self.items),
                "value": chance.choice([0, 1, None]),
                "comment": f"{number}",
                "key": f"judge-{self.seed}-{number}",
            }
            while (answer := self._send(act)) is None:
                self.resent += 1
                time.sleep(0.01)
            self.acknowledged[act["key"]] = answer
            self.last_value[act["item"]] = act["value"]

    def _send(self, act: dict[str, object]) -> int | None:
        """The judgement's number; nothing if no answer came."""
        connection = http.client.HTTPConnection("127.0.0.1", self.servers.port, timeout=10)
        try:
            address = f"/cr/api/judge/{self.token}/judgement"
            headers = {"Content-Type": "application/json"}
            connection.request("POST", address, json.dumps(act), headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()
        if response.status == 503:
            return None
        if response.status != 200 or answer["outcome"] == "later":
            self.problems.append(f"{response.status} {answer}")
        return int(answer.get("judgement", 0))


@pytest.fixture(params=["sqlite", "postgresql"])
def campaign(request: pytest.FixtureRequest, tmp_path: Path) -> Campaign:
    """Twenty judges with lists, in either database."""
    url = None if request.param == "sqlite" else request.getfixturevalue("postgresql")
    authors = [f"Judge {number}" for number in range(JUDGES)]
    return with_lists(small_campaign(tmp_path, authors, database=url))


def test_no_acknowledged_judgement_is_lost_or_doubled(campaign: Campaign) -> None:
    before = campaign.judgements.height
    chance = random.Random(7)
    with servers(campaign.folder) as running:
        running.start()
        judges = [
            Clicking(token, listed_items(campaign, code), running, seed)
            for seed, (code, token) in enumerate(links(campaign).items())
        ]
        threads = [threading.Thread(target=judge.run) for judge in judges]
        for thread in threads:
            thread.start()
        for _ in range(ROUNDS):
            _wait_for(judges, chance.randrange(1, 3 * JUDGES))
            time.sleep(chance.random() * LONGEST_PAUSE)
            running.kill()
            running.start()
        _wait_for(judges, JUDGES)
        for judge in judges:
            judge.stopped = True
        for thread in threads:
            thread.join()
        running.kill(signal.SIGTERM)
    assert [judge.problems for judge in judges] == [[]] * JUDGES
    assert all(judge.acknowledged for judge in judges)
    assert sum(judge.resent for judge in judges) > 0
    _check(campaign, judges, before)


def _wait_for(judges: list[Clicking], more: int) -> None:
    """Wait for so many more confirmations, so that no process is killed before it works."""
    wanted = more + sum(len(judge.acknowledged) for judge in judges)
    until = time.monotonic() + 30
    while sum(len(judge.acknowledged) for judge in judges) < wanted:
        assert time.monotonic() < until, "the server answers nobody"
        time.sleep(0.001)


def _check(campaign: Campaign, judges: list[Clicking], before: int) -> None:
    """Compare what judges know with what a fresh look into the database says."""
    database = open_database(campaign.database.engine.url.render_as_string(hide_password=False))
    with database.reading() as connection:
        stored = connection.execute(select(judgements).where(judgements.c.via == "web")).all()
    database.close()
    numbers = {row.key: row.id for row in stored}
    acknowledged = {key: n for judge in judges for key, n in judge.acknowledged.items()}
    assert {key: numbers.get(key) for key in acknowledged} == acknowledged
    assert len(numbers) == len(acknowledged)  # everybody went on until the last was acknowledged
    assert set(Counter(row.supersedes for row in stored if row.supersedes).values()) == {1}
    ended = {row.id for row in stored} - {row.supersedes for row in stored}
    current = {row.item_id: row.value for row in stored if row.id in ended}
    assert current == {item: v for judge in judges for item, v in judge.last_value.items()}
    assert campaign.judgements.height == before + len(current)
