"""Create the first released schema, as declared in `schema`.

Versions 0001 to 0003 were never released; the last unreleased version had the same tables.
"""

from alembic import op

from citebed.judging.store.schema import create_tables

revision = "0004"
down_revision = None
branch_labels = None
depends_on = None

POSTGRESQL = """
    CREATE FUNCTION citebed_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'what was said is not changed'; END $$
"""


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(POSTGRESQL)
    create_tables(op.get_bind(), revision)
