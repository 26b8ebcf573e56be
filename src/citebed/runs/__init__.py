"""Runs and judgements: tables, files (TREC, KBA, Parquet), rank order, fusion, and times."""
