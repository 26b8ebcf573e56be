"""Scores of runs, their summaries, comparisons and coverage."""
