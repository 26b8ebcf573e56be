"""Add pairs of papers and the preferences of judges."""

from alembic import op

from citebed.judging.store.schema import create_tables

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_tables(op.get_bind(), revision)
