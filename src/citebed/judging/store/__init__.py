"""The database of a campaign, its judgements and its backups."""
