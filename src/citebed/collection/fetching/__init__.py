"""Download public collections."""
