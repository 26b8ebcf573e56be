"""Create the first released schema, as declared in `schema`.

Versions 0001 to 0003 were never released; the last unreleased version had the same tables.
"""

from alembic import op

from citebed.judging.store.schema import HISTORY, metadata

revision = "0004"
down_revision = None
branch_labels = None
depends_on = None

SQLITE = """
    CREATE TRIGGER %s_%s BEFORE %s ON %s
    BEGIN SELECT RAISE(ABORT, 'what was said is not changed'); END
"""
POSTGRESQL = """
    CREATE FUNCTION citebed_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'what was said is not changed'; END $$
"""


def upgrade() -> None:
    metadata.create_all(op.get_bind())
    if op.get_bind().dialect.name == "sqlite":
        for table in HISTORY:
            for change in ("UPDATE", "DELETE"):
                op.execute(SQLITE % (table, change.lower(), change, table))
        return
    op.execute(POSTGRESQL)
    for table in HISTORY:
        op.execute(
            f"CREATE TRIGGER {table}_history BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "EXECUTE FUNCTION citebed_refuse()"
        )
