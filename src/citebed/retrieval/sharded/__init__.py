"""Collections in shards: an index a shard, searched with the numbers of the whole collection."""
