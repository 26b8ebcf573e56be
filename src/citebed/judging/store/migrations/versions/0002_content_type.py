"""What a mail says of a piece that came back: its kind and its charset."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("returns", sa.Column("content_type", sa.Text()))
