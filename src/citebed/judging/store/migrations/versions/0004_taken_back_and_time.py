"""Judgements that take an earlier one back, and how long a judge looked at a paper."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("judgements", sa.Column("withdrawn", sa.Boolean()))
    op.add_column("judgements", sa.Column("took_ms", sa.Integer()))
