"""Sharded collections: one index per shard, searched with the statistics of the whole
collection.
"""
