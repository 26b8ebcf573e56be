"""Sources, cut into chunks, parsed into tables in worker processes."""
