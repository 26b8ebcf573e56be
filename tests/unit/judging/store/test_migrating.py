"""Campaigns that an earlier citebed began go on in this one."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, inspect
from tests.campaigns import small_campaign

from citebed.judging import restore_campaign
from citebed.judging.store.engine import open_database
from citebed.judging.store.migrating import MIGRATIONS
from citebed.judging.store.schema import metadata


def test_a_database_of_the_first_schema_is_brought_to_this_one(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    engine = create_engine(f"sqlite:///{path}")
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    engine.dispose()
    opened = open_database(path)
    columns = {column["name"] for column in inspect(opened.engine).get_columns("returns")}
    assert "content_type" in columns
    with opened.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


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
