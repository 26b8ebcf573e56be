"""One writer for many: it confirms only what is on disk, and one refusal affects no other."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, insert, select, text

from citebed.errors import CitebedError
from citebed.judging.settings import CampaignSettings
from citebed.judging.store.campaign_store import CampaignStore, Transaction, create_campaign
from citebed.judging.store.database import Unavailable, open_database
from citebed.judging.store.group_commit import MOST_AT_ONCE, GroupCommit
from citebed.judging.store.schema import now, organisers


@pytest.fixture
def store(tmp_path: Path) -> CampaignStore:
    """A campaign without anything in it."""
    return _empty(str(tmp_path / "d.sqlite"))


def _empty(url: str) -> CampaignStore:
    database = open_database(url, create=True)
    return create_campaign(database, "cr", CampaignSettings("Title", "collection"))


def add(name: str, *, refuse: bool = False) -> Any:
    """Work that adds a row, and may refuse afterwards."""

    def work(tx: Transaction) -> str:
        row = {"name": name, "password": "", "created_at": now()}
        tx.execute(insert(organisers).values(row))
        if refuse:
            raise CitebedError(f"not {name}")
        return name

    return work


def names(store: CampaignStore) -> set[str]:
    """Return the names that another process would see."""
    with store.database.reading() as connection:
        return set(connection.scalars(select(organisers.c.name)))


def test_what_is_told_is_there_and_a_refusal_leaves_no_trace(store: CampaignStore) -> None:
    writer = GroupCommit(store)
    done = [(f"{n}", n % 5 == 0, writer.submit(add(f"{n}", refuse=n % 5 == 0))) for n in range(50)]
    for name, refused, future in done:
        if refused:
            with pytest.raises(CitebedError, match=f"not {name}$"):
                future.result(20)
        else:
            assert future.result(20) == name
            assert name in names(store)
    assert len(names(store)) == 40
    writer.close()


def test_many_that_wait_are_committed_together(store: CampaignStore) -> None:
    writer = GroupCommit(store)
    with store.database.writing() as connection:  # no other writer can start meanwhile
        writer.submit(add("first"))
        time.sleep(0.05)
        waiting = [writer.submit(add(f"{n}")) for n in range(MOST_AT_ONCE)]
        connection.execute(text("SELECT 1"))
        assert not any(future.done() for future in waiting)
    changes: list[int] = []
    waiting[0].add_done_callback(lambda _: changes.append(len(names(store))))
    for future in waiting:
        future.result(20)
    assert changes == [MOST_AT_ONCE + 1]  # all were stored when the first was confirmed
    writer.close()


def test_two_that_cannot_both_be(store: CampaignStore) -> None:
    writer = GroupCommit(store)
    with store.database.writing():
        writer.submit(add("first"))
        time.sleep(0.05)
        done = [writer.submit(add(name)) for name in ("a", "same", "same", "b")]
    told = []
    for future in done:
        try:
            told.append(future.result(60))
        except Unavailable:
            told.append("refused")
    assert told == ["a", "same", "refused", "b"]
    assert names(store) == {"first", "a", "same", "b"}
    writer.close()


def test_a_writer_that_is_closed_has_written_what_waited(store: CampaignStore) -> None:
    writer = GroupCommit(store)
    done = [writer.submit(add(f"{n}")) for n in range(20)]
    writer.close()
    assert all(future.done() for future in done)
    with pytest.raises(Unavailable):
        writer.submit(add("late"))
    writer.open()
    assert writer.submit(add("again")).result(20) == "again"
    writer.close()


def test_a_mistake_in_citebed_is_reported_and_the_writer_goes_on(store: CampaignStore) -> None:
    writer = GroupCommit(store)

    def broken(_: Transaction) -> None:
        raise ZeroDivisionError

    with pytest.raises(Unavailable):
        writer.submit(broken).result(20)
    assert writer.submit(add("next")).result(20) == "next"
    writer.close()


def _too_long(tx: Transaction) -> str:
    return str(add("x" * 300)(tx))  # of 200, which SQLite does not mind


def _broken(_: Transaction) -> str:
    raise ZeroDivisionError


@pytest.mark.parametrize("work", [_too_long, _broken])
def test_one_that_fails_fails_alone(url: str, work: Any) -> None:
    store = _empty(url)
    writer = GroupCommit(store)
    held = threading.Event()
    writer.submit(lambda _: held.wait(20))  # the others wait for it, and are done together
    done = [writer.submit(each) for each in (add("a"), work, add("b"), add("c"))]
    held.set()
    if work is _broken:
        with pytest.raises(Unavailable):
            done[1].result(20)
    elif store.database.engine.dialect.name == "postgresql":
        with pytest.raises(CitebedError, match="cannot store") as told:
            done[1].result(20)
        assert not isinstance(told.value, Unavailable)  # trying again would not help
    assert [done[at].result(20) for at in (0, 2, 3)] == ["a", "b", "c"]
    assert {"a", "b", "c"} <= names(store)
    writer.close()


def test_whoever_waits_no_longer_stops_nobody(store: CampaignStore) -> None:
    writer = GroupCommit(store)
    with store.database.writing():
        writer.submit(add("first"))
        time.sleep(0.05)
        gone = [writer.submit(add(f"gone {n}")) for n in range(MOST_AT_ONCE)]
        assert all(future.cancel() for future in gone)
    assert writer.submit(add("next")).result(20) == "next"
    assert names(store) == {"first", "next"}
    writer.close()


def test_many_threads(store: CampaignStore) -> None:
    writer = GroupCommit(store)

    def work(thread: int) -> None:
        for n in range(10):
            writer.submit(add(f"{thread}-{n}")).result(30)

    threads = [threading.Thread(target=work, args=[n]) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.database.reading() as connection:
        assert connection.scalar(select(func.count()).select_from(organisers)) == 160
    writer.close()
