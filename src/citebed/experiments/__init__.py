"""Experiments on a collection: its runs and judgements, evaluations, and published tables."""
