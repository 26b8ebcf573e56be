"""Runs and judgements as tables and as files (TREC, KBA, Parquet), their order, and times."""
