"""Databases and backups of other versions: some are updated, others refused."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.campaigns import small_campaign

from citebed.errors import CitebedError
from citebed.judging import restore_campaign
from citebed.judging.store.database import UNRELEASED, open_database


@pytest.mark.parametrize("version", UNRELEASED)
def test_a_database_from_before_the_first_release_is_told_what_to_do(
    tmp_path: Path, version: str
) -> None:
    opened = open_database(tmp_path / "old.sqlite", create=True)
    with opened.writing() as tx:
        tx.execute(text(f"UPDATE alembic_version SET version_num = '{version}'"))
    with pytest.raises(CitebedError, match=rf"{version}.*campaign backup.*campaign restore"):
        open_database(tmp_path / "old.sqlite")


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
