"""Import on an engine: read, merged and written by its workers, as one machine does it."""
