"""Opening databases that may come from strangers."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import func, select
from tests.campaigns import answer_phase_one, small_campaign
from tests.hot_journals import forge_journal, make_database

from citebed.collection import import_sources
from citebed.errors import CitebedError
from citebed.judging import new_campaign
from citebed.judging.store import database as engine
from citebed.judging.store.backup import backup, restore
from citebed.judging.store.campaign_store import CampaignStore
from citebed.judging.store.database import open_database
from citebed.judging.store.schema import campaigns, forms


def test_a_journal_that_names_a_file_of_the_users_deletes_nothing(tmp_path: Path) -> None:
    victim = tmp_path / "thesis.tex"
    victim.write_text("precious")
    make_database(tmp_path / "a.sqlite")
    forge_journal(tmp_path / "a.sqlite", victim)
    with pytest.raises(CitebedError, match="names another file"):
        open_database(tmp_path / "a.sqlite")
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("linked", ["campaigns", "campaigns/new.sqlite"])
def test_a_new_campaign_follows_no_link_in_the_collection(tmp_path: Path, linked: str) -> None:
    (tmp_path / "a.bib").write_text("@article{one, title={One paper of one kind}}\n")
    import_sources(tmp_path / "c", [tmp_path / "a.bib"])
    home = tmp_path / "home"
    home.mkdir()
    make_database(home / "new.sqlite")
    before = (home / "new.sqlite").read_bytes()
    place = tmp_path / "c" / linked
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(home / "new.sqlite" if linked.endswith("sqlite") else home)
    with pytest.raises(CitebedError, match=r"is a link|is not a plain file"):
        new_campaign(tmp_path / "new", tmp_path / "c")
    assert (home / "new.sqlite").read_bytes() == before


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    campaign = small_campaign(tmp_path_factory.mktemp("made"))
    answer_phase_one(campaign)
    campaign.database.close()
    return Path(str(campaign.database.engine.url.database))


@pytest.fixture
def database(made_once: Path, tmp_path: Path) -> Path:
    """The database of a campaign with forms, mails and judgements."""
    return Path(shutil.copy(made_once, tmp_path / "c.sqlite"))


def change(path: Path, *statements: str) -> None:
    """Change a database as a stranger might, whatever its triggers say."""
    connection = sqlite3.connect(path, isolation_level=None)
    triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    kept = triggers.fetchall()
    for name, _ in kept:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    for statement in statements:
        connection.execute(statement)
    for _, statement in kept:
        connection.execute(statement)
    connection.close()


def test_a_database_of_citebed_is_opened_again(database: Path) -> None:
    change(database, "ANALYZE", "VACUUM")
    open_database(database).close()


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("CREATE VIEW v AS SELECT hex(zeroblob(400000000))", r"malformed database schema \(v\)"),
        ("CREATE VIEW v AS SELECT 1", "view 'v' is not citebed's"),
        ("CREATE TRIGGER t AFTER INSERT ON marks BEGIN DELETE FROM items; END", "trigger 't'"),
        ("ALTER TABLE people ADD COLUMN big AS (hex(zeroblob(400000000)))", r"\(people\) - too"),
        ("ALTER TABLE people ADD COLUMN big AS (name || name)", "table 'people' differs"),
        ("CREATE INDEX i ON people (hex(name))", r"\(i\) - too many arguments"),
        ("CREATE INDEX i ON people (name)", "index 'i' is not citebed's"),
        ("DROP TABLE alembic_version", "it is not a campaign database"),
        ("CREATE TABLE t (x)", "table 't' is not citebed's"),
        ("INSERT INTO alembic_version VALUES ('0004')", "it has several schema versions"),
    ],
)
def test_a_campaigns_database_with_another_schema_is_refused(
    database: Path, statement: str, what: str
) -> None:
    change(database, statement)
    before = database.read_bytes()
    with pytest.raises(CitebedError, match=f"not created by citebed.*{what}"):
        open_database(database)
    assert database.read_bytes() == before


def test_a_view_in_place_of_the_version_is_not_read(tmp_path: Path) -> None:
    bomb = "CREATE VIEW alembic_version AS SELECT hex(zeroblob(400000000)) AS version_num"
    make_database(tmp_path / "a.sqlite", bomb)
    with pytest.raises(CitebedError, match=r"malformed database schema \(alembic_version\)"):
        open_database(tmp_path / "a.sqlite")


def test_a_database_of_another_program_gets_no_tables_of_citebed(tmp_path: Path) -> None:
    make_database(tmp_path / "a.sqlite", "CREATE TABLE bookmarks (address)")
    before = (tmp_path / "a.sqlite").read_bytes()
    with pytest.raises(CitebedError, match="it is not a campaign database"):
        open_database(tmp_path / "a.sqlite", create=True)
    assert (tmp_path / "a.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE wordings SET kind = 'guessed'", "CHECK constraint failed in wordings"),
        ("DELETE FROM people", r"row 1 of its table '\w+' refers to a missing row"),
    ],
)
def test_a_campaigns_database_that_breaks_its_own_rules_is_refused(
    database: Path, statement: str, why: str
) -> None:
    change(database, statement)
    with pytest.raises(CitebedError, match=why):
        open_database(database)


def test_json_that_is_nested_deeper_than_python_reads_is_damage(database: Path) -> None:
    deep = '{"a":' * 950 + "1" + "}" * 950
    change(database, f"UPDATE forms SET content = '{deep}'")
    opened = open_database(database)
    try:
        with (
            pytest.raises(CitebedError, match="JSON that is nested too deeply"),
            opened.reading() as connection,
        ):
            _deep(600, lambda: connection.execute(select(forms)).all())
    finally:
        opened.close()


def _deep(levels: int, work: Callable[[], object]) -> object:
    return work() if levels == 0 else _deep(levels - 1, work)


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        ("UPDATE people SET name = x'00'", "people"),
        ("UPDATE papers SET year = 9e999", "papers"),
        ("UPDATE papers SET year = 3000000000", "papers"),
        ("UPDATE papers SET online_on = '2026-02-31'", "papers"),
        ("UPDATE forms SET content = '{'", "forms"),
        ("UPDATE forms SET content = x'7b7d'", "forms"),
        ("UPDATE forms SET expires_at = 'soon'", "forms"),
        ("UPDATE forms SET expires_at = '2026-13-01 00:00:00.000000'", "forms"),
        ("UPDATE forms SET expires_at = '0000-01-01 00:00:00.000000'", "forms"),
        ("UPDATE judgements SET value = 'yes'", "judgements"),
        ("UPDATE judgements SET withdrawn = 2", "judgements"),
        ("UPDATE wordings SET classes = 'null'", "wordings"),
        ("UPDATE wordings SET classes = '[7]'", "wordings"),
        ("UPDATE forms SET content = '[]'", "forms"),
        ("UPDATE forms SET content = '{}', phase = 2", "forms"),
        ("""UPDATE forms SET content = '{"asked": [7]}'""", "forms"),
        ("""UPDATE forms SET content = '{"asked": [{"question": 1, "wording": 1}]}'""", "forms"),
        (
            """UPDATE forms SET content =
            '{"asked": [{"question": 999, "wording": 1, "items": []}]}'""",
            "forms",
        ),
        (
            """UPDATE forms SET content =
            '{"asked": [{"question": 1, "wording": 1, "items": [999]}]}'""",
            "forms",
        ),
        ("""UPDATE items SET shown = '{"title": 7}'""", "items"),
        ("""UPDATE items SET shown = '{"title": "a", "b": 1}'""", "items"),
    ],
)
def test_a_campaigns_database_with_values_of_other_types_is_refused(
    database: Path, statement: str, table: str
) -> None:
    change(database, statement)
    with pytest.raises(CitebedError, match=f"row 1 of its table '{table}' has a value of a wrong"):
        open_database(database)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE campaigns SET secret = ''", "the secret in campaign 'cr' of .* is damaged"),
        ("UPDATE campaigns SET secret = 'zz'", "the secret in campaign 'cr' of .* is damaged"),
        ("UPDATE campaigns SET settings = '[]'", "settings are damaged"),
        ("UPDATE campaigns SET settings = '{}'", r"settings are damaged \(title: Field required"),
        (
            "UPDATE campaigns SET settings = json_set(settings, '$.open_days', 'many')",
            r"settings are damaged \(open_days",
        ),
    ],
)
def test_a_campaign_with_a_damaged_secret_or_settings_is_refused(
    database: Path, statement: str, what: str
) -> None:
    change(database, statement)
    with pytest.raises(CitebedError, match=what):
        CampaignStore(open_database(database), "cr")


def changed_backup(database: Path, change: Callable[[str], str]) -> Path:
    """A backup of a campaign whose lines were changed, with a checksum that fits."""
    store = CampaignStore(open_database(database), "cr")
    path = database.with_name("b.jsonl")
    backup(store, path)
    head, *lines = path.read_text().splitlines(keepends=True)
    rows = [change(line) for line in lines[:-1]]
    end = json.loads(lines[-1])
    end["sha256"] = hashlib.sha256("".join(rows).encode()).hexdigest()
    path.write_text(head + "".join(rows) + json.dumps(end) + "\n")
    return path


def test_a_backup_with_an_empty_secret_is_not_restored(database: Path, tmp_path: Path) -> None:
    secret = CampaignStore(open_database(database), "cr").secret.hex()
    changed = changed_backup(database, lambda line: line.replace(secret, ""))
    empty = open_database(tmp_path / "new.sqlite", create=True)
    with pytest.raises(CitebedError, match=r"the secret in campaign 'cr' of .* is damaged"):
        restore(changed, empty)
    with empty.reading() as connection:
        assert connection.scalar(select(func.count()).select_from(campaigns)) == 0


@pytest.mark.parametrize(
    ("table", "values", "why"),
    [
        ("papers", {"year": "x"}, "row 1 of its table 'papers' has a value of a wrong type"),
        ("people", {"name": [7]}, "Error binding parameter"),
        ("people", {"id": 2**63}, "too large"),
        ("people", {"name": "\ud800"}, "surrogates not allowed"),
        ("papers", {"year": 2**31}, "row 1 of its table 'papers' has a value of a wrong type"),
        ("judgements", {"item_id": 999}, "FOREIGN KEY constraint failed"),
        ("judgements", {"withdrawn": "no"}, "Not a boolean value"),
        ("wordings", {"kind": "guessed"}, "CHECK constraint failed"),
        ("forms", {"content": []}, "row 1 of its table 'forms' has a value of a wrong type"),
        ("forms", {"table": ["forms"]}, "unknown table"),
    ],
)
def test_a_backup_with_values_of_other_types_is_not_restored(
    database: Path, tmp_path: Path, table: str, values: dict[str, object], why: str
) -> None:
    def change_row(line: str) -> str:
        row = json.loads(line)
        return json.dumps(row | values) + "\n" if row["table"] == table else line

    changed = changed_backup(database, change_row)
    empty = open_database(tmp_path / "new.sqlite", create=True)
    with pytest.raises(CitebedError, match=why):
        restore(changed, empty)
    with empty.reading() as connection:
        assert connection.scalar(select(func.count()).select_from(campaigns)) == 0


def test_a_campaign_that_was_restored_is_opened_again(database: Path, tmp_path: Path) -> None:
    unchanged = changed_backup(database, str)
    restore(unchanged, open_database(tmp_path / "new.sqlite", create=True)).database.close()
    assert CampaignStore(open_database(tmp_path / "new.sqlite"), "cr").secret


def test_a_lock_that_another_holds_on_postgresql_is_not_waited_for_for_ever(
    postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(engine._PATIENCE, "options", "-c lock_timeout=200ms")
    one, other = (open_database(postgresql) for _ in range(2))
    failed = list[BaseException]()

    def take() -> None:
        try:
            with other.writing(turn=7):
                pass
        except CitebedError as error:
            failed.append(error)

    with one.writing(turn=7):
        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        thread.join(20)
    assert isinstance(failed[0], engine.Unavailable)
    assert "lock timeout" in str(failed[0])
    assert "lock_timeout" not in one.url
    with other.writing(turn=7):
        pass
