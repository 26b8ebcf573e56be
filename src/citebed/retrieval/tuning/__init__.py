"""Tuning: weights that a collection taught are sharpened by real citing, of drafts and queries."""
