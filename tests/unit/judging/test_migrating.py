"""Databases and backups of other versions: some are updated, others refused."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import create_engine, delete, insert, inspect, select, text, update
from sqlalchemy.exc import DBAPIError
from tests.campaigns import small_campaign

from citebed.errors import CitebedError
from citebed.judging import restore_campaign
from citebed.judging.store.database import UNRELEASED, _config, open_database
from citebed.judging.store.schema import campaigns, machine_judges, now


@pytest.mark.parametrize("version", UNRELEASED)
def test_a_database_from_before_the_first_release_is_told_what_to_do(
    tmp_path: Path, version: str
) -> None:
    opened = open_database(tmp_path / "old.sqlite", create=True)
    with opened.writing() as tx:
        tx.execute(text(f"UPDATE alembic_version SET version_num = '{version}'"))
    with pytest.raises(CitebedError, match=rf"{version}.*campaign backup.*campaign restore"):
        open_database(tmp_path / "old.sqlite")


def test_a_database_of_the_first_release_gets_the_newer_tables(url: str) -> None:
    target = url if "://" in url else f"sqlite:///{url}"
    engine = create_engine(target.replace("postgresql://", "postgresql+psycopg://"))
    config = _config()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0004")
        row = {"name": "old", "settings": {"title": "t", "collection": "c"}, "secret": "ab" * 32}
        connection.execute(
            insert(campaigns).values(row | {"simulated": False, "created_at": now()})
        )
        assert "machine_judges" not in inspect(connection).get_table_names()
    engine.dispose()
    with open_database(url).writing() as connection:
        assert connection.scalar(select(campaigns.c.name)) == "old"
        judge = {"campaign_id": 1, "name": "m", "kind": "program", "version": "1", "prompt": ""}
        judge |= {"prompt_sha256": "", "settings": {}, "made_at": now()}
        connection.execute(insert(machine_judges).values(judge))
    for change in (update(machine_judges).values(name="n"), delete(machine_judges)):
        with (
            pytest.raises(DBAPIError, match="what was said is not changed"),
            open_database(url).writing() as connection,
        ):
            connection.execute(change)


def test_a_backup_from_before_a_table_was_there_is_restored(tmp_path: Path) -> None:
    campaign = small_campaign(tmp_path)
    campaign.backup(tmp_path / "new.jsonl")
    *rows, last = (tmp_path / "new.jsonl").read_text().splitlines(True)
    end = json.loads(last)
    assert end["rows"].pop("machine_judges") == end["rows"].pop("machine_judgements") == 0
    (tmp_path / "old.jsonl").write_text("".join([*rows, json.dumps(end)]))
    (tmp_path / "bad.jsonl").write_text("".join([*rows, json.dumps(end | {"rows": [1]})]))
    place = (tmp_path / "again", tmp_path / "collection", str(tmp_path / "again.sqlite"))
    with pytest.raises(CitebedError, match="checksum mismatch"):
        restore_campaign(tmp_path / "bad.jsonl", *place)
    again = restore_campaign(tmp_path / "old.jsonl", *place)
    assert again.status().height == campaign.status().height


def test_a_backup_from_before_a_column_was_there_is_restored(tmp_path: Path) -> None:
    campaign = small_campaign(tmp_path)
    (tmp_path / "f.txt").write_text("no form")
    campaign.returns(tmp_path / "f.txt")
    campaign.backup(tmp_path / "new.jsonl.gz")
    head, *rows, last = gzip.decompress((tmp_path / "new.jsonl.gz").read_bytes()).splitlines(True)
    kept = []
    for row in map(json.loads, rows):
        row.pop("content_type", None)
        kept.append(json.dumps(row).encode() + b"\n")
    digest = hashlib.sha256(b"".join(kept)).hexdigest()
    end = json.dumps({**json.loads(last), "sha256": digest}).encode()
    (tmp_path / "old.jsonl").write_bytes(b"".join([head, *kept, end]))
    again = restore_campaign(
        tmp_path / "old.jsonl", tmp_path / "again", tmp_path / "collection",
        str(tmp_path / "again.sqlite"),
    )  # fmt: skip
    assert again.problems["file"].to_list() == ["f.txt"]
