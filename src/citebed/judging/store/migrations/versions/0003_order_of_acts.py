"""What tells the order of acts without clocks, and which acts came after a later answer."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

FIRST = sa.text("supersedes IS NULL AND outranked IS NULL")


def upgrade() -> None:
    op.add_column("judgements", sa.Column("browser", sa.String(80)))
    op.add_column("judgements", sa.Column("sequence", sa.BigInteger()))
    op.add_column("judgements", sa.Column("outranked", sa.Boolean()))
    op.add_column("returns", sa.Column("undated", sa.Boolean()))
    op.drop_index("uq_judgements_first", "judgements")
    op.create_index(
        "uq_judgements_first",
        "judgements",
        ["item_id", "person_id"],
        unique=True,
        sqlite_where=FIRST,
        postgresql_where=FIRST,
    )
