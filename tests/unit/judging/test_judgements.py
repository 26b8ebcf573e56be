"""Judgements are only added to, one counts, and nothing is saved twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import delete, func, select, text, update
from sqlalchemy.exc import DBAPIError
from tests.campaigns import current, save
from tests.unit.judging.conftest import TODAY, form_row

import citebed
from citebed.errors import CitebedError
from citebed.judging import Campaign, new_campaign
from citebed.judging import judgements as saving
from citebed.judging.assignments import assign_phase_one
from citebed.judging.judgements import Source, Verdict
from citebed.judging.responses import state_question
from citebed.judging.store.database import open_database
from citebed.judging.store.schema import CURRENT, HISTORY, judgements, metadata, now


@pytest.fixture
def stated(demo: citebed.Workbench, papers: Path, tmp_path: Path, url: str) -> Campaign:
    """A campaign of either engine, in which Ada has stated a question; her items are 1, 2 …"""
    made = new_campaign(tmp_path / "cr26", demo, papers, database=url)
    assign_phase_one(made, TODAY)
    with made.writing() as tx:
        form = form_row(tx, 1)
        state_question(tx, form, 1, "How do filters age?", _source())
    return made


def _source(seconds: int = 0) -> Source:
    return Source(1, 1, "web", now() + timedelta(seconds=seconds))


def test_the_last_word_counts_and_the_earlier_ones_stay(stated: Campaign) -> None:
    with stated.writing() as tx:
        outcomes = [
            save(tx, _source(at), Verdict(1, value)).outcome
            for at, value in enumerate((2, 2, 3, None))
        ]
        assert outcomes == ["new", "same", "new", "new"]
        found = current(tx, 1, 1)
        assert found is not None
        assert found.value is None
        rows = tx.execute(select(judgements).order_by(judgements.c.id)).all()
    assert [row.value for row in rows] == [2, 3, None]
    assert [row.supersedes for row in rows] == [None, rows[0].id, rows[1].id]


def test_an_act_of_judging_is_saved_once_however_often_it_is_sent(stated: Campaign) -> None:
    with stated.writing() as tx:
        first = save(tx, _source(), Verdict(1, 2, key="k"))
        save(tx, _source(1), Verdict(1, 4))
        assert save(tx, _source(2), Verdict(1, 2, key="k")) == (first.judgement_id, "same")
        found = current(tx, 1, 1)
        assert found is not None
        assert found.value == 4
        with pytest.raises(CitebedError, match="another judgement"):
            save(tx, _source(), Verdict(2, 2, key="k"))


def test_what_was_said_earlier_does_not_replace_what_was_said_later(stated: Campaign) -> None:
    with stated.writing() as tx:
        save(tx, _source(), Verdict(1, 2))
        assert save(tx, _source(-60), Verdict(1, 1)).outcome == "later"
        found = current(tx, 1, 1)
    assert found is not None
    assert found.value == 2


def _clock(monkeypatch: pytest.MonkeyPatch, **back: int) -> None:
    """Set the clock of this machine."""
    set_to = now() - timedelta(**back)
    monkeypatch.setattr(saving, "now", lambda: set_to)


def _values(campaign: Campaign) -> list[tuple[int | None, bool | None]]:
    with campaign.reading() as tx:
        rows = tx.execute(select(judgements).order_by(judgements.c.id)).all()
    return [(row.value, row.outranked) for row in rows]


def test_every_act_is_on_record_also_one_that_came_too_late(stated: Campaign) -> None:
    with stated.writing() as tx:
        first = save(tx, _source(), Verdict(1, 2, key="first")).judgement_id
        late = Verdict(1, 1, key="late")
        assert save(tx, _source(-60), late) == (first, "later")
        assert save(tx, _source(-60), late).outcome == "later"  # sent again
        assert save(tx, _source(-60), Verdict(1, 2, key="as-before")).outcome == "same"
        found = current(tx, 1, 1)
    assert found is not None
    assert found.id == first
    assert _values(stated) == [(2, None), (1, True), (2, True)]


@pytest.mark.parametrize("minutes", [1, 60 * 24 * 365])
def test_a_clock_that_went_back_drops_no_answer(
    stated: Campaign, monkeypatch: pytest.MonkeyPatch, minutes: int
) -> None:
    with stated.writing() as tx:
        save(tx, _source(), Verdict(1, 2, key="before"))
    _clock(monkeypatch, minutes=minutes)
    with stated.writing() as tx:
        source = _source(-60 * minutes)
        assert save(tx, source, Verdict(1, 4, key="after")).outcome == "new"
        found = current(tx, 1, 1)
    assert found is not None
    assert found.value == 4
    assert _values(stated) == [(2, None), (4, None)]


def _of(browser: str, sequence: int, seconds: int = 0) -> Source:
    return _source(seconds)._replace(browser=browser, sequence=sequence)


def test_acts_of_a_browser_are_in_the_order_of_its_queue_whatever_clocks_say(
    stated: Campaign,
) -> None:
    with stated.writing() as tx:
        save(tx, _of("phone", 7), Verdict(1, 1, key="seven"))
        later = save(tx, _of("phone", 8, -3600), Verdict(1, 2, key="eight"))
        assert later.outcome == "new"  # its own clock says that it is an hour older
        assert save(tx, _of("desk", 1), Verdict(1, 3, key="one")).outcome == "new"
        late = save(tx, _of("phone", 6, 10), Verdict(1, 4, key="six"))
        assert late.outcome == "later"  # overtaken on its way
        found = current(tx, 1, 1)
    assert found is not None
    assert (found.value, found.browser, found.sequence) == (3, "desk", 1)
    assert _values(stated) == [(1, None), (2, None), (3, None), (4, True)]


def test_the_database_refuses_to_change_what_was_said(stated: Campaign) -> None:
    with stated.writing() as tx:
        save(tx, _source(), Verdict(1, 2))
        by_row = tx.connection.dialect.name == "sqlite"  # whose triggers see no empty table
        numbers = {t: tx.scalar(select(func.count()).select_from(t)) for t in HISTORY}
    tried = 0
    for table in (table for table, rows in numbers.items() if rows or not by_row):
        for change in (delete(table), update(table).values(id=999)):
            with (
                pytest.raises((DBAPIError, CitebedError), match="not changed"),
                stated.writing() as tx,
            ):
                tx.execute(change)
            tried += 1
    assert tried >= 4


def test_two_first_judgements_or_two_successors_cannot_be(stated: Campaign) -> None:
    with stated.writing() as tx:
        first = save(tx, _source(), Verdict(1, 2)).judgement_id
    row = {"item_id": 1, "person_id": 1, "comment": "", "via": "web", "form_id": 1}
    row |= {"answered_at": now(), "recorded_at": now()}
    for number, supersedes in enumerate((None, first, first)):
        adding = judgements.insert().values(**row, key=f"k{number}", supersedes=supersedes)
        if number == 1:
            with stated.writing() as tx:
                tx.execute(adding)
            continue
        with pytest.raises(DBAPIError), stated.writing() as tx:
            tx.execute(adding)


def test_savers_at_once_make_one_chain(stated: Campaign) -> None:
    def one(number: int) -> None:
        verdict = Verdict(1 + number % 3, 1 + number % 4, f"comment {number}")
        stated.run_with_retry(lambda tx: save(tx, _source(number), verdict))

    with ThreadPoolExecutor(12) as threads:
        list(threads.map(one, range(60)))
    with stated.reading() as tx:
        last = tx.execute(select(judgements.c.item_id).where(CURRENT)).scalars().all()
        first = tx.scalars(
            select(judgements.c.item_id).where(judgements.c.supersedes.is_(None))
        ).all()
    assert sorted(last) == sorted(first) == [1, 2, 3]


def test_migrations_make_the_schema_that_the_code_has(stated: Campaign) -> None:
    with stated.database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_a_database_of_a_newer_version_is_refused(stated: Campaign, url: str) -> None:
    with stated.writing() as tx:
        tx.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(CitebedError, match="newer citebed"):
        open_database(url)


def test_places_that_are_not_a_database_are_reported(tmp_path: Path) -> None:
    with pytest.raises(CitebedError, match="there is no database"):
        open_database(tmp_path / "none.sqlite")
    for wrong in ("mysql://x/y", "postgresql:///x y://"):
        with pytest.raises(CitebedError):
            open_database(wrong)
    (tmp_path / "x.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(CitebedError, match="is not a database"):
        open_database(tmp_path / "x.sqlite")
