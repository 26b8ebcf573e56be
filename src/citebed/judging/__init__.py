"""Campaigns: a test collection built with its authors, in two phases."""
