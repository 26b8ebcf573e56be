"""Run Alembic migrations in the transaction that `open_database` began."""

from alembic import context

from citebed.judging.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
