"""Streams of documents, runs over them, and their judgements with times."""
