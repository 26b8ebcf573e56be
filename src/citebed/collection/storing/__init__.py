"""The folder of a collection: its manifest, atomic changes, tables and shards."""
