"""Judges and other users of the machine see neither the database nor its path nor links."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.campaigns import small_campaign
from tests.unit.web.conftest import Judge

from citebed.judging import Campaign
from citebed.judging.store.database import open_database


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_broken_database_is_not_named_to_judges(
    client: TestClient, campaign: Campaign, judge: Judge, caplog: pytest.LogCaptureFixture
) -> None:
    if campaign.database.engine.dialect.name != "sqlite":
        pytest.skip("a file is broken here")
    place = campaign.database.engine.url.database or ""
    client.cookies.set("citebed_session", "x")
    campaign.database.close()
    for ending in ("-wal", "-shm"):
        Path(f"{place}{ending}").unlink(missing_ok=True)
    Path(place).write_bytes(b"no database at all" * 1000)
    answers = [
        client.get(judge.page),
        client.get("/cr/login"),
        judge.send("judgement", item=judge.items[0], value=1),
    ]
    for answer in answers:
        assert answer.status_code == 503
        assert "Try again" in answer.text
        for told in ("sqlite", Path(place).name, "database", str(Path(place).parent)):
            assert told not in answer.text
    # The organiser's log has it.
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert any(place in error for error in errors)


def test_a_missing_collection_is_not_named_to_judges(
    client: TestClient, campaign: Campaign, judge: Judge, tmp_path: Path
) -> None:
    nowhere = tmp_path / "secret-place"
    campaign.folder.mkdir(exist_ok=True)
    vars(campaign).pop("collection", None)  # open already where the campaign is new (PostgreSQL)
    (campaign.folder / "campaign.toml").write_text(
        f'name = "cr"\ndatabase = "x"\ncollection = "{nowhere}"\n'
    )
    answer = client.get(judge.page)
    assert answer.status_code == 503
    assert "secret-place" not in answer.text


def test_what_has_links_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    campaign = small_campaign(tmp_path)
    (tmp_path / "old.jsonl").write_text("an earlier one")
    written = campaign.invite(["text"])
    campaign.backup(tmp_path / "old.jsonl")
    campaign.backup(tmp_path / "new.jsonl.gz")
    place = Path(campaign.database.engine.url.database or "")
    private = [*written, tmp_path / "old.jsonl", tmp_path / "new.jsonl.gz", *_beside(place)]
    assert {path.name: oct(_mode(path)) for path in private if _mode(path) != 0o600} == {}
    assert len(private) >= 8


def _beside(place: Path) -> list[Path]:
    """A database and its log."""
    return sorted(place.parent.glob(f"{place.name}*"))


def test_a_database_that_is_shared_on_purpose_stays_so(tmp_path: Path) -> None:
    campaign = small_campaign(tmp_path)
    place = Path(campaign.database.engine.url.database or "")
    place.chmod(0o660)
    open_database(place).close()
    assert _mode(place) == 0o660
