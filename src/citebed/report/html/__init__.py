"""Self-contained HTML: one file, no request to anywhere, everything that is shown escaped."""
