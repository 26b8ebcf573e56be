"""The folder of a collection: its tables, its manifest, and changing all files at once."""
