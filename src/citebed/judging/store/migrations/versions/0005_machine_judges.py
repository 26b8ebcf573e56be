"""Add machine judges and their judgements."""

from alembic import op

from citebed.judging.store.schema import create_tables

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_tables(op.get_bind(), revision)
