"""Scores slice by slice: judged ranks, measures, weights, trends."""
