"""Ranking by several signals at once, weighed by a small model that has learned from citations."""
