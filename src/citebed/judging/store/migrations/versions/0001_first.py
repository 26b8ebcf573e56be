"""The first schema."""

import sqlalchemy as sa
from alembic import op

from citebed.judging.store.schema import UtcTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

HISTORY = (
    "returns",
    "wordings",
    "approvals",
    "searches",
    "marks",
    "judgements",
    "exclusions",
    "events",
)
SQLITE = """
    CREATE TRIGGER %s_%s BEFORE %s ON %s
    BEGIN SELECT RAISE(ABORT, 'what was said is not changed'); END
"""
POSTGRESQL = """
    CREATE FUNCTION citebed_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'what was said is not changed'; END $$
"""


def upgrade() -> None:
    _create_tables()
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


def _create_tables() -> None:
    op.create_table(
        "campaigns",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaigns")),
        sa.UniqueConstraint("name", name=op.f("uq_campaigns_name")),
    )
    op.create_table(
        "logins",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("address", sa.String(length=80), nullable=False),
        sa.Column("right", sa.Boolean(), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_logins")),
    )
    op.create_index(op.f("ix_logins_address"), "logins", ["address"], unique=False)
    op.create_index(op.f("ix_logins_at"), "logins", ["at"], unique=False)
    op.create_index(op.f("ix_logins_name"), "logins", ["name"], unique=False)
    op.create_table(
        "organisers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organisers")),
        sa.UniqueConstraint("name", name=op.f("uq_organisers_name")),
    )
    op.create_table(
        "papers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("label", sa.String(length=200), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("year", sa.Integer(), nullable=True),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("online_on", sa.Date(), nullable=True),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_papers_campaign_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_papers")),
        sa.UniqueConstraint("campaign_id", "label", name=op.f("uq_papers_campaign_id_label")),
    )
    op.create_index(op.f("ix_papers_campaign_id"), "papers", ["campaign_id"], unique=False)
    op.create_table(
        "people",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("email", sa.String(length=320), nullable=True),
        sa.Column("opted_out_at", UtcTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_people_campaign_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_people")),
        sa.UniqueConstraint("campaign_id", "email", name=op.f("uq_people_campaign_id_email")),
    )
    op.create_index(op.f("ix_people_campaign_id"), "people", ["campaign_id"], unique=False)
    op.create_table(
        "sessions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("organiser_id", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(length=64), nullable=False),
        sa.Column("csrf", sa.String(length=64), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("expires_at", UtcTime(), nullable=False),
        sa.Column("ended_at", UtcTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["organiser_id"], ["organisers.id"], name=op.f("fk_sessions_organiser_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
        sa.UniqueConstraint("token", name=op.f("uq_sessions_token")),
    )
    op.create_index(op.f("ix_sessions_organiser_id"), "sessions", ["organiser_id"], unique=False)
    op.create_table(
        "authorships",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("paper_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["paper_id"], ["papers.id"], name=op.f("fk_authorships_paper_id")),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_authorships_person_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_authorships")),
        sa.UniqueConstraint(
            "paper_id", "person_id", name=op.f("uq_authorships_paper_id_person_id")
        ),
    )
    op.create_index(op.f("ix_authorships_paper_id"), "authorships", ["paper_id"], unique=False)
    op.create_index(op.f("ix_authorships_person_id"), "authorships", ["person_id"], unique=False)
    op.create_table(
        "cited",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("paper_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("authors", sa.Text(), nullable=False),
        sa.Column("year", sa.Integer(), nullable=True),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("doc_id", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["paper_id"], ["papers.id"], name=op.f("fk_cited_paper_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cited")),
        sa.UniqueConstraint("paper_id", "number", name=op.f("uq_cited_paper_id_number")),
    )
    op.create_index(op.f("ix_cited_paper_id"), "cited", ["paper_id"], unique=False)
    op.create_table(
        "forms",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(length=40), nullable=False),
        sa.Column("phase", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("paper_id", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("made_at", UtcTime(), nullable=False),
        sa.Column("expires_at", UtcTime(), nullable=False),
        sa.Column("revoked_at", UtcTime(), nullable=True),
        sa.CheckConstraint("phase IN (1, 2)", name=op.f("ck_forms_phase")),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_forms_campaign_id")
        ),
        sa.ForeignKeyConstraint(["paper_id"], ["papers.id"], name=op.f("fk_forms_paper_id")),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_forms_person_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_forms")),
        sa.UniqueConstraint("code", name=op.f("uq_forms_code")),
        sa.UniqueConstraint(
            "paper_id",
            "person_id",
            "phase",
            "round",
            name=op.f("uq_forms_paper_id_person_id_phase_round"),
        ),
    )
    op.create_index(op.f("ix_forms_campaign_id"), "forms", ["campaign_id"], unique=False)
    op.create_index(op.f("ix_forms_paper_id"), "forms", ["paper_id"], unique=False)
    op.create_index(op.f("ix_forms_person_id"), "forms", ["person_id"], unique=False)
    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("what", sa.String(length=40), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("form_id", sa.Integer(), nullable=True),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_events_campaign_id")
        ),
        sa.ForeignKeyConstraint(["form_id"], ["forms.id"], name=op.f("fk_events_form_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
    op.create_index(op.f("ix_events_campaign_id"), "events", ["campaign_id"], unique=False)
    op.create_index(op.f("ix_events_form_id"), "events", ["form_id"], unique=False)
    op.create_table(
        "mails",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("form_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("written_at", UtcTime(), nullable=False),
        sa.Column("sent_at", UtcTime(), nullable=True),
        sa.CheckConstraint(
            "state IN ('written', 'sending', 'sent', 'failed', 'held')", name=op.f("ck_mails_state")
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_mails_campaign_id")
        ),
        sa.ForeignKeyConstraint(["form_id"], ["forms.id"], name=op.f("fk_mails_form_id")),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_mails_person_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mails")),
        sa.UniqueConstraint("key", name=op.f("uq_mails_key")),
    )
    op.create_index(op.f("ix_mails_campaign_id"), "mails", ["campaign_id"], unique=False)
    op.create_index(op.f("ix_mails_form_id"), "mails", ["form_id"], unique=False)
    op.create_index(op.f("ix_mails_person_id"), "mails", ["person_id"], unique=False)
    op.create_table(
        "questions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("form_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("query_id", sa.String(length=260), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_questions_campaign_id")
        ),
        sa.ForeignKeyConstraint(["form_id"], ["forms.id"], name=op.f("fk_questions_form_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_questions")),
        sa.UniqueConstraint(
            "campaign_id", "query_id", name=op.f("uq_questions_campaign_id_query_id")
        ),
        sa.UniqueConstraint("form_id", "number", name=op.f("uq_questions_form_id_number")),
    )
    op.create_index(op.f("ix_questions_campaign_id"), "questions", ["campaign_id"], unique=False)
    op.create_index(op.f("ix_questions_form_id"), "questions", ["form_id"], unique=False)
    op.create_table(
        "returns",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("via", sa.String(length=20), nullable=True),
        sa.Column("form_id", sa.Integer(), nullable=True),
        sa.Column("answered_at", UtcTime(), nullable=False),
        sa.Column("received_at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_returns_campaign_id")
        ),
        sa.ForeignKeyConstraint(["form_id"], ["forms.id"], name=op.f("fk_returns_form_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_returns")),
        sa.UniqueConstraint("campaign_id", "sha256", name=op.f("uq_returns_campaign_id_sha256")),
    )
    op.create_index(op.f("ix_returns_campaign_id"), "returns", ["campaign_id"], unique=False)
    op.create_index(op.f("ix_returns_form_id"), "returns", ["form_id"], unique=False)
    op.create_table(
        "exclusions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("question_id", sa.Integer(), nullable=False),
        sa.Column("rule", sa.String(length=40), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("lifted", sa.Boolean(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["question_id"], ["questions.id"], name=op.f("fk_exclusions_question_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_exclusions")),
    )
    op.create_index(op.f("ix_exclusions_question_id"), "exclusions", ["question_id"], unique=False)
    op.create_table(
        "problems",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("return_id", sa.Integer(), nullable=False),
        sa.Column("line", sa.Integer(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("settled_at", UtcTime(), nullable=True),
        sa.Column("settled_by", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["return_id"], ["returns.id"], name=op.f("fk_problems_return_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_problems")),
    )
    op.create_index(op.f("ix_problems_return_id"), "problems", ["return_id"], unique=False)
    op.create_table(
        "searches",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("question_id", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("results", sa.JSON(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["question_id"], ["questions.id"], name=op.f("fk_searches_question_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_searches")),
    )
    op.create_index(op.f("ix_searches_question_id"), "searches", ["question_id"], unique=False)
    op.create_table(
        "wordings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("question_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("classes", sa.JSON(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("via", sa.String(length=20), nullable=False),
        sa.Column("return_id", sa.Integer(), nullable=True),
        sa.Column("at", UtcTime(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('stated', 'reformulated', 'corrected')", name=op.f("ck_wordings_kind")
        ),
        sa.ForeignKeyConstraint(
            ["question_id"], ["questions.id"], name=op.f("fk_wordings_question_id")
        ),
        sa.ForeignKeyConstraint(["return_id"], ["returns.id"], name=op.f("fk_wordings_return_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_wordings")),
    )
    op.create_index(op.f("ix_wordings_question_id"), "wordings", ["question_id"], unique=False)
    op.create_index(op.f("ix_wordings_return_id"), "wordings", ["return_id"], unique=False)
    op.create_table(
        "approvals",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("wording_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("approved", sa.Boolean(), nullable=False),
        sa.Column("via", sa.String(length=20), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_approvals_person_id")),
        sa.ForeignKeyConstraint(
            ["wording_id"], ["wordings.id"], name=op.f("fk_approvals_wording_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approvals")),
    )
    op.create_index(op.f("ix_approvals_person_id"), "approvals", ["person_id"], unique=False)
    op.create_index(op.f("ix_approvals_wording_id"), "approvals", ["wording_id"], unique=False)
    op.create_table(
        "marks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("question_id", sa.Integer(), nullable=False),
        sa.Column("search_id", sa.Integer(), nullable=True),
        sa.Column("doc_id", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("marked", sa.Boolean(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["question_id"], ["questions.id"], name=op.f("fk_marks_question_id")
        ),
        sa.ForeignKeyConstraint(["search_id"], ["searches.id"], name=op.f("fk_marks_search_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_marks")),
    )
    op.create_index(op.f("ix_marks_question_id"), "marks", ["question_id"], unique=False)
    op.create_index(op.f("ix_marks_search_id"), "marks", ["search_id"], unique=False)
    op.create_table(
        "pools",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("question_id", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("wording_id", sa.Integer(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("made_at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["question_id"], ["questions.id"], name=op.f("fk_pools_question_id")
        ),
        sa.ForeignKeyConstraint(["wording_id"], ["wordings.id"], name=op.f("fk_pools_wording_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pools")),
        sa.UniqueConstraint("question_id", "round", name=op.f("uq_pools_question_id_round")),
    )
    op.create_index(op.f("ix_pools_question_id"), "pools", ["question_id"], unique=False)
    op.create_index(op.f("ix_pools_wording_id"), "pools", ["wording_id"], unique=False)
    op.create_table(
        "found",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("pool_id", sa.Integer(), nullable=False),
        sa.Column("doc_id", sa.Text(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["pool_id"], ["pools.id"], name=op.f("fk_found_pool_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_found")),
        sa.UniqueConstraint(
            "pool_id", "doc_id", "method", name=op.f("uq_found_pool_id_doc_id_method")
        ),
    )
    op.create_index(op.f("ix_found_pool_id"), "found", ["pool_id"], unique=False)
    op.create_table(
        "items",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("question_id", sa.Integer(), nullable=False),
        sa.Column("reference_id", sa.Integer(), nullable=True),
        sa.Column("pool_id", sa.Integer(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("doc_id", sa.Text(), nullable=True),
        sa.Column("shown", sa.JSON(), nullable=True),
        sa.Column("drawn", sa.JSON(), nullable=True),
        sa.CheckConstraint(
            "(reference_id IS NULL) <> (pool_id IS NULL)", name=op.f("ck_items_phase")
        ),
        sa.ForeignKeyConstraint(["pool_id"], ["pools.id"], name=op.f("fk_items_pool_id")),
        sa.ForeignKeyConstraint(
            ["question_id"], ["questions.id"], name=op.f("fk_items_question_id")
        ),
        sa.ForeignKeyConstraint(["reference_id"], ["cited.id"], name=op.f("fk_items_reference_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_items")),
        sa.UniqueConstraint(
            "question_id", "reference_id", name=op.f("uq_items_question_id_reference_id")
        ),
    )
    op.create_index(op.f("ix_items_pool_id"), "items", ["pool_id"], unique=False)
    op.create_index(op.f("ix_items_question_id"), "items", ["question_id"], unique=False)
    op.create_index(op.f("ix_items_reference_id"), "items", ["reference_id"], unique=False)
    op.create_index(
        "uq_items_pooled",
        "items",
        ["question_id", "doc_id"],
        unique=True,
        sqlite_where=sa.text("pool_id IS NOT NULL"),
        postgresql_where=sa.text("pool_id IS NOT NULL"),
    )
    op.create_table(
        "judgements",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("value", sa.Integer(), nullable=True),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("via", sa.String(length=20), nullable=False),
        sa.Column("form_id", sa.Integer(), nullable=False),
        sa.Column("return_id", sa.Integer(), nullable=True),
        sa.Column("key", sa.String(length=80), nullable=False),
        sa.Column("supersedes", sa.Integer(), nullable=True),
        sa.Column("answered_at", UtcTime(), nullable=False),
        sa.Column("recorded_at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(["form_id"], ["forms.id"], name=op.f("fk_judgements_form_id")),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name=op.f("fk_judgements_item_id")),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_judgements_person_id")),
        sa.ForeignKeyConstraint(
            ["return_id"], ["returns.id"], name=op.f("fk_judgements_return_id")
        ),
        sa.ForeignKeyConstraint(
            ["supersedes"], ["judgements.id"], name=op.f("fk_judgements_supersedes")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judgements")),
        sa.UniqueConstraint("key", name=op.f("uq_judgements_key")),
        sa.UniqueConstraint("supersedes", name=op.f("uq_judgements_supersedes")),
    )
    op.create_index(op.f("ix_judgements_form_id"), "judgements", ["form_id"], unique=False)
    op.create_index(op.f("ix_judgements_item_id"), "judgements", ["item_id"], unique=False)
    op.create_index(op.f("ix_judgements_person_id"), "judgements", ["person_id"], unique=False)
    op.create_index(op.f("ix_judgements_return_id"), "judgements", ["return_id"], unique=False)
    op.create_index(
        "uq_judgements_first",
        "judgements",
        ["item_id", "person_id"],
        unique=True,
        sqlite_where=sa.text("supersedes IS NULL"),
        postgresql_where=sa.text("supersedes IS NULL"),
    )
