"""A small campaign on the demo collection, for tests of judging."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.campaigns import save
from tests.postgresql import postgresql, postgresql_server  # noqa: F401 - fixtures

import citebed
from citebed.judging import Campaign, new_campaign, open_campaign
from citebed.judging.assignments import FormRow, assign_phase_one, form_items
from citebed.judging.judgements import Source, Verdict
from citebed.judging.questions import apply_rules
from citebed.judging.responses import state_question
from citebed.judging.store.campaign_store import Transaction
from citebed.judging.store.schema import forms, now

PAPERS = """paper_id,title,authors,online
demo-filters,,Ada Bell <ada@example.org>; Ben Carr <ben@example.org>,2020-01-01
demo-judging,,Cy Dee <cy@example.org>,2030-01-01
demo-passages,,"Di ""O'Eff"" <di@example.org>; Ed Fay",
"""
TODAY = date(2026, 1, 1)


@pytest.fixture(scope="session")
def demo(demo_indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> citebed.Workbench:
    """The demo collection with its index; do not change it."""
    folder = tmp_path_factory.mktemp("judging") / "demo"
    return citebed.open(shutil.copytree(demo_indexed, folder))


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the database URL of a campaign: both engines run the same tests."""
    if request.param == "sqlite":
        return str(tmp_path / "c.sqlite")
    return str(request.getfixturevalue("postgresql"))


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """Return three source papers; one is not online yet."""
    path = tmp_path / "papers.csv"
    path.write_text(PAPERS, "utf-8")
    return path


@pytest.fixture(scope="session")
def fresh_campaign(demo: citebed.Workbench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a campaign and its database that tests get copies of."""
    folder = tmp_path_factory.mktemp("fresh")
    (folder / "papers.csv").write_text(PAPERS, "utf-8")
    new_campaign(
        folder / "cr26", demo, folder / "papers.csv", database=str(folder / "c.sqlite"),
        contact="me@example.org",
    ).database.close()  # fmt: skip
    return folder


@pytest.fixture
def campaign(fresh_campaign: Path, tmp_path: Path) -> Campaign:
    """A campaign before anybody was asked."""
    shutil.copytree(fresh_campaign, tmp_path, dirs_exist_ok=True)
    facts = tmp_path / "cr26" / "campaign.toml"
    facts.write_text(facts.read_text().replace(str(fresh_campaign), str(tmp_path)))
    return open_campaign(tmp_path / "cr26")


Answer = Callable[..., FormRow]


@pytest.fixture
def answer(campaign: Campaign) -> Answer:
    """Answer a form: the text of a question, and the values of its first items."""

    def answered(form_id: int, text: str, values: list[int | None], number: int = 1) -> FormRow:
        with campaign.writing() as tx:
            form = form_row(tx, form_id)
            source = Source(form.person_id, form.id, "web", now())
            if form.phase == 1:
                state_question(tx, form, number, text, source)
            known = form_items(tx, form)
            for at, value in enumerate(values, 1):
                save(tx, source, Verdict(known[number, at], value))
            apply_rules(tx)
            return form

    return answered


def form_row(tx: Transaction, form_id: int) -> FormRow:
    """A form by its number."""
    return tx.execute(select(forms).where(forms.c.id == form_id)).one()


@pytest.fixture
def asked(campaign: Campaign) -> Campaign:
    """The authors of the two papers that are online have their forms: 1 Ada, 2 Ben, 3 Di."""
    assert assign_phase_one(campaign, TODAY) == [1, 2, 3]
    return campaign
