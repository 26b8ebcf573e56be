"""Runs scored, summarised and compared, and what their scores rest on."""
