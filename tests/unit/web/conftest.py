"""A campaign as it is served, in memory: four judges with lists, and an organiser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher
from sqlalchemy import func, select
from starlette.testclient import TestClient
from tests.campaigns import copied, links, listed_items, small_campaign, with_lists
from tests.postgresql import (  # noqa: F401 - fixtures
    create_database,
    postgresql,
    postgresql_server,
)

from citebed.judging import Campaign, organisers
from citebed.judging.organisers import add_organiser
from citebed.judging.store.database import open_database
from citebed.judging.store.schema import events, judgements
from citebed.web.campaigns.app import create_app

NAME, PASSWORD = "Olga", "correct horse battery"


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """The campaign in SQLite that tests get copies of."""
    return with_lists(small_campaign(tmp_path_factory.mktemp("served")))


@pytest.fixture(scope="session")
def made_in_postgresql(
    postgresql_server: Path,  # noqa: F811 - the fixture
    tmp_path_factory: pytest.TempPathFactory,
) -> Campaign:
    """The campaign in PostgreSQL that tests get copies of."""
    folder, url = tmp_path_factory.mktemp("served"), create_database(postgresql_server)
    made = with_lists(small_campaign(folder, database=url))
    made.database.close()
    return made


@pytest.fixture(params=["sqlite", "postgresql"])
def campaign(request: pytest.FixtureRequest, tmp_path: Path) -> Campaign:
    """Phase one is answered, and every author has a list of phase two."""
    if request.param == "sqlite":
        return copied(request.getfixturevalue("made_once"), tmp_path)
    made: Campaign = request.getfixturevalue("made_in_postgresql")
    server = request.getfixturevalue("postgresql_server")
    url = create_database(server, made.database.engine.url.database or "")
    return Campaign(open_database(url), made.name, tmp_path / made.name)


@pytest.fixture(autouse=True)
def _quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes take long on purpose, and tests make many."""
    quick = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(organisers, "_hasher", lambda: quick)


@pytest.fixture
def client(campaign: Campaign) -> Iterator[TestClient]:
    """Return a browser without a login."""
    app = create_app(campaign, secure=False)
    with TestClient(app, base_url="http://campaign.test", follow_redirects=False) as made:
        yield made


class Judge:
    """One judge's page, as its script talks to the server."""

    def __init__(self, client: TestClient, campaign: Campaign, at: int = 0, phase: int = 2) -> None:
        self.code, self.token = list(links(campaign, phase).items())[at]
        self.items = listed_items(campaign, self.code)
        self.page = f"/cr/judge/{self.token}"
        self._client = client
        self._acts = 0

    def send(self, what: str, **body: Any) -> Any:
        """An act with a key of its own, unless one is given."""
        self._acts += 1
        act = {"key": f"{self.code}-{self._acts}", **body}
        return self._client.post(f"/cr/api/judge/{self.token}/{what}", json=act)


@pytest.fixture
def judge(client: TestClient, campaign: Campaign) -> Judge:
    """The first judge, in phase two."""
    return Judge(client, campaign)


@pytest.fixture
def other(client: TestClient, campaign: Campaign) -> Judge:
    """Another judge, in phase two."""
    return Judge(client, campaign, 1)


@pytest.fixture
def author(client: TestClient, campaign: Campaign) -> Judge:
    """The first judge, in phase one."""
    return Judge(client, campaign, phase=1)


def csrf_in(page: str) -> str:
    """The token of a page's forms."""
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found is not None
    return found[1]


def log_in(client: TestClient, name: str = NAME, password: str = PASSWORD) -> Any:
    """Fill in the login form, and send it."""
    csrf = csrf_in(client.get("/cr/login").text)
    return client.post("/cr/login", data={"csrf": csrf, "name": name, "password": password})


class Desk:
    """An organiser who is logged in."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.csrf = csrf_in(self.get("/dashboard").text)

    def get(self, path: str, **query: Any) -> Any:
        """A page."""
        response = self.client.get(f"/cr{path}", params=query)
        assert response.status_code == 200, response.text
        return response

    def post(self, path: str, **fields: Any) -> Any:
        """A form that one of the pages sends."""
        return self.client.post(f"/cr{path}", data={"csrf": self.csrf, **fields})


@pytest.fixture(name="organiser")
def _organiser(campaign: Campaign) -> None:
    """Olga may log in."""
    add_organiser(campaign.database, NAME, PASSWORD)


@pytest.fixture
def desk(client: TestClient, campaign: Campaign) -> Desk:
    """Olga is logged in."""
    add_organiser(campaign.database, NAME, PASSWORD)
    assert log_in(client).status_code == 303
    return Desk(client)


def count(campaign: Campaign, table: Any, *conditions: Any) -> int:
    """How many rows there are."""
    chosen = select(func.count()).select_from(table).where(*conditions)
    with campaign.reading() as tx:
        return int(tx.scalar(chosen) or 0)


def refusals(campaign: Campaign) -> list[str]:
    """Return the reasons for refused logins, in order."""
    mine = select(events.c.detail).where(events.c.what == "refused").order_by(events.c.id)
    with campaign.reading() as tx:
        return [detail["why"] for detail in tx.scalars(mine)]


def judged(campaign: Campaign) -> int:
    """How many judgements there are, earlier ones too."""
    return count(campaign, judgements)
